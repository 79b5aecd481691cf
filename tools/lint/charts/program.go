// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// errNoAnswer tells that the program ended before it answered: a chart of the
// request made it crash, or it could not start.
var errNoAnswer = errors.New("the helm program gave no answer")

// ask runs the program with one request about charts, which are paths of this
// machine, and returns what it found in each.
func (l *linter) ask(ctx context.Context, program string, charts []string) ([]Result, error) {
	question, err := json.Marshal(l.request(charts))
	if err != nil {
		return nil, fmt.Errorf("asking the helm program: %w", err)
	}
	var out bytes.Buffer
	ran := l.o.Runner.Run(ctx, run.Command{
		Args: []string{program, "lint"}, Env: l.o.Env,
		Stdin: bytes.NewReader(question), Stdout: &out,
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("linting charts: %w", context.Cause(ctx))
	}
	var answer Response
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return nil, fail.With(fail.Unavailable, errors.Join(errNoAnswer, ran))
	}
	if answer.Error != "" {
		return nil, fail.With(answer.Code, errors.New(answer.Error))
	}
	if len(answer.Charts) != len(charts) {
		return nil, fail.With(fail.Unavailable, fmt.Errorf("the helm program was asked about %d charts and answered about %d", len(charts), len(answer.Charts)))
	}
	return answer.Charts, nil
}

func (l *linter) request(charts []string) Request {
	r := Request{
		Charts: charts, Strict: l.o.Strict, KubeVersion: l.o.KubeVersion, Namespace: l.o.Namespace,
		Set: l.o.Set, Thorough: l.o.Thorough, OptionalValues: l.o.OptionalValues,
	}
	for _, v := range l.o.Values {
		r.Values = append(r.Values, below(l.task.Root, v))
	}
	return r
}

// findings are those of one chart, with paths from the root of the tree.
func findings(root string, r Result) []lint.Finding {
	var all []lint.Finding
	for _, f := range r.Findings {
		all = append(all, lint.Finding{
			File: relative(root, f.File), Line: f.Line, Column: f.Column,
			Rule: f.Rule, Message: f.Message, Severity: lint.Severity(f.Severity),
		})
	}
	return all
}

func below(root, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(root, name)
}

func relative(root, file string) string {
	if rel, err := filepath.Rel(root, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(file)
}
