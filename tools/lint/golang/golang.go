// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package golang is lint-go: golangci-lint, as a process of its own, over
// every module of a tree, with one report. Packages of which nothing changed,
// neither in themselves nor in what they import, are not looked at again.
//
// golangci-lint is under the GPL: it is run, never linked.
package golang

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Options are those of one run.
type Options struct {
	Runner run.Runner
	// Tool returns the path of golangci-lint; it may compile it first.
	Tool func(context.Context) (string, error)
	// Version names the tool's version: it is part of what results depend on.
	Version string
	Config  string   // file of rules, from the root of the tree; empty: none
	Cache   string   // folder of golangci-lint's own cache, for this tree alone
	Environ []string // of the process
	Args    []string // further arguments of golangci-lint run
	GoTool  string   // go, for its version
}

// Chosen are the files that lint-go looks at, as in Istio's make files; others
// only decide whether something changed.
func Chosen() func(string) bool { return lint.Named("*.go", "!*.gen.go", "!*.pb.go") }

// Linter makes the linter for the engine.
func Linter(o Options) lint.Linter {
	l := lint.Linter{
		Name:  "go",
		Files: lint.Named("*.go", "go.mod", "go.sum", "go.work", "*.s", "*.c", "*.h", ".golangci.*"),
		Rules: strings.Join(append([]string{o.Version}, o.Args...), " "),
		Whole: func(ctx context.Context, t lint.Task) (lint.Outcome, error) {
			return (&linter{o: o, task: t}).run(ctx)
		},
	}
	if o.Config != "" {
		l.Config = []string{o.Config}
	}
	return l
}

type linter struct {
	o    Options
	task lint.Task
	tool string
	goes string // the Go version of this run
}

// run asks whether anything changed at all before it looks closer.
func (l *linter) run(ctx context.Context) (lint.Outcome, error) {
	if !slices.ContainsFunc(l.task.Files, Chosen()) {
		return lint.Outcome{Notes: []string{"there are no Go files"}}, nil
	}
	var err error
	if l.goes, err = goVersion(ctx, l.o, l.task.Root); err != nil {
		return lint.Outcome{}, err
	}
	inputs := l.task.Files
	if l.o.Config != "" {
		inputs = append(slices.Clone(inputs), l.o.Config)
	}
	all := "all " + l.around()
	if l.task.Fix || l.task.Since != nil {
		_, _ = l.task.Memory.Recall(all, "") // what is asked for stays in the memory
		return l.modules(ctx)
	}
	for _, f := range inputs {
		_, _ = l.task.Memory.Recall("package "+path.Dir(f), "")
	}
	return l.task.Memory.Remember(all, inputs, func() (lint.Outcome, error) { return l.modules(ctx) })
}

// modules looks at one module after the other: golangci-lint uses all
// processors by itself.
func (l *linter) modules(ctx context.Context) (lint.Outcome, error) {
	all := lint.Outcome{Version: "golangci-lint " + l.o.Version}
	t, err := readTree(l.task.Root, l.task.Files)
	if err != nil {
		return all, err
	}
	if t.strays > 0 {
		all.Notes = append(all.Notes, fmt.Sprintf("%d Go files are below no go.mod", t.strays))
	}
	told := map[lint.Finding]bool{} // one package may bring up a fault in another
	for _, m := range t.modules {
		out, err := l.module(ctx, t, m)
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		if err != nil {
			all.Failures = append(all.Failures, lint.Failure{File: path.Join(m.Dir, "go.mod"), Err: err.Error()})
		}
		for _, f := range out.Findings {
			if !told[f] {
				told[f] = true
				all.Findings = append(all.Findings, f)
			}
		}
		all.Files += out.Files
		all.Cached += out.Cached
		all.Notes = append(all.Notes, out.Notes...)
		all.Failures = append(all.Failures, out.Failures...)
	}
	return all, nil
}

func (l *linter) module(ctx context.Context, t *tree, m *module) (lint.Outcome, error) {
	if m.err != nil {
		return lint.Outcome{}, m.err
	}
	if len(m.asked) == 0 {
		return lint.Outcome{Notes: []string{m.name() + " has no Go files"}}, nil
	}
	states, err := l.states(t, m)
	if err != nil {
		return lint.Outcome{}, err
	}
	var dirs map[string]bool
	if l.task.Since != nil {
		dirs = changed(l.task.Since)
	}
	var out lint.Outcome
	var ask []string
	for _, dir := range m.asked {
		known, ok := l.task.Memory.Recall("package "+dir, states[dir])
		if l.task.Since != nil && !t.touched(m, dir, l.task.Since, dirs) {
			continue
		}
		out.Files++
		if ok && !l.task.Fix {
			out.Cached++
			out.Findings = append(out.Findings, known.Findings...)
			continue
		}
		ask = append(ask, dir)
	}
	if len(ask) == 0 {
		return out, nil
	}
	found, failures, err := l.look(ctx, m, ask)
	if err != nil {
		return out, err
	}
	out.Failures = append(out.Failures, failures...)
	out.Findings = append(out.Findings, found...)
	// Beside one that does not compile, golangci-lint is silent about others.
	if len(failures) > 0 || slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Rule == typecheck }) {
		return out, nil
	}
	now, err := l.states(t, m)
	if err != nil {
		return out, err
	}
	l.keep(ask, states, now, found)
	return out, nil
}

// keep remembers what was found in each package. A finding that lies in none
// of them, in go.mod for instance, goes with the first. What changed while
// golangci-lint looked, by its own fixes or by an editor, is not remembered:
// nobody knows which of the two was looked at.
func (l *linter) keep(asked []string, before, now map[string]string, found []lint.Finding) {
	by := map[string][]lint.Finding{}
	for _, f := range found {
		dir := path.Dir(f.File)
		if !slices.Contains(asked, dir) {
			dir = asked[0]
		}
		by[dir] = append(by[dir], f)
	}
	for _, dir := range asked {
		if before[dir] == now[dir] {
			l.task.Memory.Keep("package "+dir, now[dir], lint.Outcome{Findings: by[dir], Files: 1})
		}
	}
}

// absolutePaths is the version from which golangci-lint can print them.
const absolutePaths = "v2.1.0"

// typecheck is what golangci-lint says has found that code does not compile.
const typecheck = "typecheck"

// look has packages of a module looked at. golangci-lint passes over packages
// for other systems in silence below ./..., but when it is given their names it
// complains of them, and at times says nothing of what it found in others. So
// these are left out, and the others asked about again.
func (l *linter) look(ctx context.Context, m *module, dirs []string) ([]lint.Finding, []lint.Failure, error) {
	if err := l.ensure(ctx, m); err != nil {
		return nil, nil, err
	}
	for {
		stdout, stderr, err := l.golangci(ctx, m, dirs)
		gone := l.excluded(m, stdout, stderr)
		rest := slices.DeleteFunc(slices.Clone(dirs), func(d string) bool { return gone[d] })
		switch {
		case len(rest) == 0 && len(dirs) > 0:
			return nil, nil, nil
		case len(rest) == len(dirs):
			return l.readReport(m, stdout, stderr, err)
		}
		dirs = rest
	}
}

// golangci runs the tool over packages of a module.
func (l *linter) golangci(ctx context.Context, m *module, dirs []string) (stdout, complaints string, err error) {
	args := []string{l.tool, "run", "--output.json.path", "stdout", "--output.text.path", "stderr", "--output.text.print-issued-lines=false",
		"--show-stats=false", "--issues-exit-code", "1", "--allow-parallel-runners", "--color", "never",
		"--max-issues-per-linter", "0", "--max-same-issues", "0"}
	if l.task.Fix {
		args = append(args, "--fix")
	}
	if l.o.Config != "" {
		args = append(args, "--config", filepath.Join(l.task.Root, filepath.FromSlash(l.o.Config)))
	}
	if semver.Compare(l.o.Version, absolutePaths) >= 0 {
		args = append(args, "--path-mode", "abs")
	}
	args = append(args, l.o.Args...)
	if len(dirs) == len(m.asked) {
		args = append(args, "./...")
	} else {
		for _, d := range dirs {
			args = append(args, "./"+m.rel(d))
		}
	}
	var stderr tail
	l.task.Note("slipway: golangci-lint %s looks at %d of %d packages of %s", l.o.Version, len(dirs), len(m.asked), m.name())
	stdout, err = run.Output(ctx, l.o.Runner, run.Command{Args: args, Dir: filepath.Join(l.task.Root, filepath.FromSlash(m.Dir)), Env: l.environ(), Stderr: &stderr})
	return stdout, stderr.String(), err
}

// environ keeps the cache of one tree apart from that of others, since
// golangci-lint would bring back findings of a tree that is gone
// (https://github.com/golangci/golangci-lint/issues/6695), and bounds memory.
func (l *linter) environ() []string {
	extra := []string{"GOLANGCI_LINT_CACHE=" + l.o.Cache}
	if limit := memoryLimit(l.o.Environ, "/"); limit != "" {
		extra = append(extra, "GOMEMLIMIT="+limit)
	}
	return run.Environ(l.o.Environ, extra...)
}

// ensure has the tool, and holds its Go version against the module's: a linter
// that was compiled with an older Go cannot read the module
// (https://github.com/golangci/golangci-lint/issues/5641).
func (l *linter) ensure(ctx context.Context, m *module) error {
	if l.tool == "" {
		tool, err := l.o.Tool(ctx)
		if err != nil {
			return err
		}
		l.tool = tool
	}
	if m.Go == "" {
		return nil
	}
	built, err := builtWith(l.tool)
	if err != nil {
		return fmt.Errorf("asking %s for its Go version: %w", l.tool, err)
	}
	if older(built, m.Go) {
		return fail.With(fail.Unavailable, fmt.Errorf("golangci-lint %s was compiled with Go %s, and %s wants Go %s: install Go %s or newer and remove %s, which is compiled anew then",
			l.o.Version, built, path.Join(m.Dir, "go.mod"), m.Go, m.Go, l.tool))
	}
	return nil
}

var errNoReport = errors.New("golangci-lint gave no report")
