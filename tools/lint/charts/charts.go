// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package charts lints Helm charts: the verdict is that of helm lint, with
// places. Helm's library is large, so it is linked into a program of its own,
// tools/cmd/helm, which is compiled when a chart is linted first; this package
// asks that program and is light.
package charts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Options say how charts are linted. Without more than Program and Runner,
// charts are linted as helm lint does without flags.
type Options struct {
	// Program returns the path of the helm program; it may compile it first.
	// It is called only when a chart has to be linted.
	Program func(context.Context) (string, error)
	Runner  run.Runner
	Env     []string // the whole environment of the program; nil: that of this process

	Strict      bool     // warnings fail the run, as in helm lint --strict
	KubeVersion string   // as in helm lint --kube-version
	Namespace   string   // as in helm lint --namespace; empty: default
	Values      []string // values files, slash paths from the root of the tree
	Set         []string // as in helm lint --set

	// Thorough makes errors also of what helm lint does not see: names of
	// values in templates that neither values.yaml nor values.schema.json has,
	// and fields of manifests that are no strings where all of Kubernetes has
	// strings.
	Thorough       bool
	OptionalValues []string // names of values that are fine, as in OptionalAnnotation
}

// Linter makes the linter of that name for the engine. The charts are the
// folders of those Chart.yaml files that files chooses.
func Linter(name string, files func(string) bool, o Options) lint.Linter {
	return lint.Linter{
		Name: name, Files: files, Config: o.Values,
		Rules: fmt.Sprintf("1 %s %t %q %q %q %q %t %q", HelmVersion, o.Strict, o.KubeVersion, o.Namespace, o.Values, o.Set, o.Thorough, o.OptionalValues),
		Whole: func(ctx context.Context, t lint.Task) (lint.Outcome, error) {
			root, err := filepath.Abs(t.Root)
			if err != nil {
				return lint.Outcome{}, fmt.Errorf("finding the root of the tree: %w", err)
			}
			t.Root = root
			return (&linter{o: o, task: t}).run(ctx)
		},
	}
}

type linter struct {
	o    Options
	task lint.Task
}

// chart is one chart to lint.
type chart struct {
	dir   string // slash path from the root of the tree
	state string // stands for all that the verdict depends on; empty: it cannot be told
}

// run asks about all charts that are new or changed at once: the program
// works on them side by side.
func (l *linter) run(ctx context.Context) (lint.Outcome, error) {
	out := lint.Outcome{Version: "helm " + HelmVersion}
	var ask []chart
	for _, dir := range Find(l.task.Files) {
		names, err := Inputs(l.task.Root, dir)
		if err == nil && !l.touched(dir, names) {
			continue
		}
		c := chart{dir: dir}
		if err == nil {
			c.state = l.state(names)
		}
		out.Files++
		if known, ok := l.recall(c); ok {
			out.Cached++
			out.Findings = append(out.Findings, known...)
			continue
		}
		ask = append(ask, c)
	}
	if len(ask) > 0 {
		program, err := l.o.Program(ctx)
		if err != nil {
			return out, err
		}
		if err := l.lint(ctx, program, ask, &out); err != nil {
			return out, err
		}
	}
	out.Findings = dedupe(out.Findings)
	return out, nil
}

// touched tells whether a chart is to be looked at when only changes count.
func (l *linter) touched(dir string, names []string) bool {
	since := l.task.Since
	if since == nil {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return since.Files[n] }) ||
		slices.ContainsFunc(since.Deleted, func(n string) bool { return dir == "." || strings.HasPrefix(n, dir+"/") })
}

// state stands for the contents of a chart and of the values files. An input
// that cannot be read has no state: the chart is linted each time.
func (l *linter) state(names []string) string {
	sum := sha256.New()
	for _, n := range slices.Concat(names, l.o.Values) {
		content := ""
		if !strings.HasSuffix(n, "/") {
			var err error
			if content, err = l.task.Memory.Sum(l.task.Root, n); err != nil {
				return ""
			}
		}
		_, _ = fmt.Fprintf(sum, "%q %s\n", n, content)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

func (l *linter) recall(c chart) ([]lint.Finding, bool) {
	if c.state == "" {
		return nil, false
	}
	known, ok := l.task.Memory.Recall(c.dir, c.state)
	return known.Findings, ok
}

// lint asks the program. When it dies of a chart, the charts are asked about
// one by one, so that one chart costs the verdict on no other.
func (l *linter) lint(ctx context.Context, program string, ask []chart, out *lint.Outcome) error {
	results, err := l.ask(ctx, program, l.paths(ask))
	if errors.Is(err, errNoAnswer) && len(ask) > 1 {
		for _, c := range ask {
			err := l.lint(ctx, program, []chart{c}, out)
			if ctx.Err() != nil {
				return err
			}
			if err != nil {
				out.Failures = append(out.Failures, lint.Failure{File: path.Join(c.dir, "Chart.yaml"), Err: err.Error()})
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	for i, r := range results {
		found := findings(l.task.Root, r)
		out.Findings = append(out.Findings, found...)
		if ask[i].state != "" {
			l.task.Memory.Keep(ask[i].dir, ask[i].state, lint.Outcome{Findings: found, Files: 1})
		}
	}
	return nil
}

func (l *linter) paths(charts []chart) []string {
	var all []string
	for _, c := range charts {
		all = append(all, below(l.task.Root, c.dir))
	}
	return all
}

// dedupe sorts findings by place and keeps one of those that say the same:
// charts that share a dependency also share its faults.
func dedupe(all []lint.Finding) []lint.Finding {
	slices.SortStableFunc(all, func(a, b lint.Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(all)
}
