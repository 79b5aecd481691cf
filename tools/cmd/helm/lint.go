// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"

	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

func lintAll(r charts.Request) ([]charts.Result, error) {
	s, err := newSettings(r)
	if err != nil {
		return nil, err
	}
	results := make([]charts.Result, len(r.Charts))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, dir := range r.Charts {
		group.Go(func() error {
			results[i] = lintOne(dir, s)
			return nil
		})
	}
	_ = group.Wait() // the workers return no error
	return results, nil
}

// job is one chart on its way through the lint.
type job struct {
	settings
	dir    string
	parsed map[string]*yaml.Node // YAML files of the chart
	result charts.Result
}

// lintOne lints one chart. What cannot be read is a finding, and so is a panic
// of Helm's library: it costs the verdict on no other chart.
func lintOne(dir string, s settings) (result charts.Result) {
	j := &job{settings: s, dir: dir, parsed: map[string]*yaml.Node{}, result: charts.Result{Dir: dir}}
	defer func() {
		if broken := recover(); broken != nil {
			j.giveUp(fmt.Errorf("helm broke down on this chart: %v", broken))
			result = j.result
		}
	}()
	// The same guard, in the same words, as that of helm lint.
	if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err != nil {
		j.giveUp(fmt.Errorf("unable to check Chart.yaml file in chart: %w", err))
		return j.result
	}
	if err := j.helm(); err != nil {
		j.giveUp(err)
		return j.result
	}
	j.report()
	return j.result
}

func (j *job) giveUp(err error) {
	j.result.Errors = append(j.result.Errors, err.Error())
	j.result.Failed = true
	j.found(charts.RuleLint, j.inFile("Chart.yaml"), severityError, oneLine(err.Error()))
}

// helm runs the rules of helm lint, and weighs what they say, as the Lint action
// of Helm does. The action itself would link all of kubectl too.
func (j *job) helm() error {
	values, err := j.values()
	if err != nil {
		return err
	}
	linter := lint.RunAll(j.dir, values, j.namespace, lint.WithKubeVersion(j.kube))
	lowest := support.ErrorSev
	if j.strict {
		lowest = support.WarningSev
	}
	for _, m := range linter.Messages {
		j.result.Messages = append(j.result.Messages, charts.Message{
			Severity: severityName(m.Severity), Path: m.Path, Text: m.Err.Error(),
		})
		if m.Severity >= lowest {
			j.result.Failed = true
		}
	}
	return nil
}

func severityName(severity int) string {
	switch severity {
	case support.InfoSev:
		return "INFO"
	case support.WarningSev:
		return "WARNING"
	case support.ErrorSev:
		return "ERROR"
	default:
		return "UNKNOWN"
	}
}
