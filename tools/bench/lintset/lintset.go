// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package lintset measures the linters beside the programs that they stand in
// for: on the files of a tree, each run a process of its own, nothing
// remembered from the run before.
package lintset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/istio-ecosystem/slipway/tools/bench"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Options say what is measured.
type Options struct {
	Runner run.Runner
	Self   []string // the command that runs goals, without their names
	Env    []string // of Self
	Tree   string   // a tree with the rules of istio/common-files
	Corpus string   // folder with many more files; empty: none
	Dir    string   // empty folder for copies
	Times  int      // runs of each; 0: 3
}

// corpusFiles is how many files of a kind are taken from the corpus.
const corpusFiles = 2000

// peer is a program that a linter stands in for, or that does the same.
type peer struct {
	goal  string // of ours
	args  []string
	times [2]float64 // how many times as long it should take: on the tree, on the corpus
}

func peers() []peer {
	return []peer{
		{goal: "lint-markdown", args: []string{"mdl", "--ignore-front-matter", "--style", "common/config/mdl.rb"}, times: [2]float64{5, 15}},
		{goal: "lint-markdown", args: []string{"markdownlint-cli2", "--no-globs"}, times: [2]float64{1, 1}},
		{goal: "lint-python", args: []string{"autopep8", "--max-line-length", "160", "--exit-code", "-d", "-j2"}, times: [2]float64{1, 40}},
		{goal: "lint-python", args: []string{"pycodestyle", "--max-line-length", "160"}, times: [2]float64{1, 10}},
		{goal: "lint-yaml", args: []string{"yamllint", "-f", "parsable", "-c", "common/config/.yamllint.yml"}, times: [2]float64{18, 18}},
		{goal: "lint-scripts", args: []string{"shellcheck", "-x"}, times: [2]float64{1, 1}},
	}
}

// chosen are the files that a goal looks at.
func chosen(goal string) func(string) bool {
	switch goal {
	case "lint-markdown":
		return lint.Named("*.md")
	case "lint-python":
		return lint.Named("*.py", "!*_pb2.py")
	case "lint-yaml":
		return lint.Named("*.yml", "*.yaml")
	}
	return lint.Named("*.sh")
}

// Run measures, and returns a row for each peer and each set of files, and the
// rows of lint as a whole.
func Run(ctx context.Context, o Options) ([]bench.Row, error) {
	if o.Times <= 0 {
		o.Times = 3
	}
	tree := filepath.Join(o.Dir, "tree")
	if err := copyFiles(ctx, o.Tree, tree, 0); err != nil {
		return nil, err
	}
	rows, err := o.beside(ctx, "tree", tree, 0)
	if err != nil {
		return nil, err
	}
	if o.Corpus != "" {
		corpus := filepath.Join(o.Dir, "corpus")
		if err := errors.Join(copyFiles(ctx, o.Corpus, corpus, corpusFiles), copyRules(o.Tree, corpus)); err != nil {
			return nil, err
		}
		more, err := o.beside(ctx, "corpus", corpus, 1)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	whole, err := o.whole(ctx, tree)
	return append(rows, whole...), err
}

// beside measures each linter beside its peers.
func (o Options) beside(ctx context.Context, name, dir string, goal int) ([]bench.Row, error) {
	files, err := lint.Selection{}.Walk(ctx, dir)
	if err != nil {
		return nil, err
	}
	var rows []bench.Row
	for _, p := range peers() {
		some := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !chosen(p.goal)(f) })
		if p.goal == "lint-yaml" {
			some = slices.DeleteFunc(some, func(f string) bool { return isTemplate(filepath.Join(dir, f)) })
		}
		if len(some) == 0 {
			continue
		}
		row := fmt.Sprintf("%s, %d files of the %s, beside %s", p.goal, len(some), name, p.args[0])
		ours := o.ours(dir, p.goal, "LINT_CACHE=no")
		if _, err := exec.LookPath(p.args[0]); err != nil {
			cost, err := bench.Measure(ctx, ours)
			if err != nil {
				return nil, err
			}
			rows = append(rows, bench.Row{Name: row, Ours: cost.Wall, Goal: fmt.Sprintf("peer/ours >= %g", p.times[goal]), Missing: p.args[0]})
			continue
		}
		mine, theirs, err := bench.Pair(ctx, o.Times, ours, o.tolerant(run.Command{Args: append(slices.Clone(p.args), some...), Dir: dir}))
		if err != nil {
			return nil, err
		}
		rows = append(rows, bench.AtLeast(row, mine.Wall, theirs.Wall, p.times[goal]))
	}
	return rows, nil
}

// whole measures all linters but Go's, whose time is the compiler's.
func (o Options) whole(ctx context.Context, dir string) ([]bench.Row, error) {
	goals := []string{"lint-python", "lint-copyright-banner", "lint-scripts", "lint-dockerfiles", "lint-markdown", "lint-yaml", "lint-licenses", "lint-helm-global"}
	all := o.ours(dir, goals...)
	if err := all(ctx); err != nil { // compiles what the charts need
		return nil, err
	}
	first := o.ours(dir, append(goals, "LINT_CACHE=no")...)
	changed := func(ctx context.Context) error {
		if err := touch(filepath.Join(dir, "README.md")); err != nil {
			return err
		}
		return all(ctx)
	}
	var costs [3][]bench.Cost
	for range max(o.Times, 3) {
		for i, f := range []func(context.Context) error{first, all, changed} {
			cost, err := bench.Measure(ctx, f)
			if err != nil {
				return nil, err
			}
			costs[i] = append(costs[i], cost)
		}
	}
	cold := bench.Median(costs[0]).Wall
	return []bench.Row{
		bench.Within("all linters but go, nothing changed, beside the first run", bench.Median(costs[1]).Wall, cold, 500*time.Millisecond),
		bench.Within("all linters but go, one file changed, beside the first run", bench.Median(costs[2]).Wall, cold, time.Second),
	}, nil
}

// ours runs goals in the tree.
func (o Options) ours(dir string, goals ...string) func(context.Context) error {
	var vars, names []string
	for _, g := range goals {
		if strings.Contains(g, "=") {
			vars = append(vars, g)
		} else {
			names = append(names, g)
		}
	}
	env := append(append(slices.Clone(o.Env), "SLIPWAY_GOALS="+strings.Join(names, " "), "PWD="+dir), vars...)
	return o.tolerant(run.Command{Args: o.Self, Dir: dir, Env: env})
}

// tolerant runs a linter; that it finds something is no failure.
func (o Options) tolerant(c run.Command) func(context.Context) error {
	return func(ctx context.Context) error {
		err := o.Runner.Run(ctx, c)
		var failed *run.Error
		if errors.As(err, &failed) && (failed.Status == 1 || failed.Status == 2) {
			return nil
		}
		return err
	}
}

func touch(file string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("changing a file: %w", err)
	}
	_, err = f.WriteString("\nOne more line.\n")
	return errors.Join(err, f.Close())
}
