// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// perCall is how many files a linter of somebody else is given at once: a
// command line has a limit.
const perCall = 1000

func (l *linting) sass(context.Context) ([]lint.Linter, error) {
	return []lint.Linter{l.external("sass", lint.Named("*.scss"), "sass-lint", "-c", "common/config/sass-lint.yml", "--verbose")}, nil
}

func (l *linting) typescript(context.Context) ([]lint.Linter, error) {
	return []lint.Linter{l.external("typescript", lint.Named("*.ts"), "tslint", "-c", "common/config/tslint.json")}, nil
}

// external is a linter that is a program of somebody else, which has to be
// installed: a tree without such files does not need it.
func (l *linting) external(name string, files func(string) bool, args ...string) lint.Linter {
	e := &external{l: l, args: args}
	return lint.Linter{Name: name, Files: files, Rules: strings.Join(args, " "), Whole: e.run}
}

type external struct {
	l    *linting
	args []string
}

func (e *external) run(ctx context.Context, t lint.Task) (lint.Outcome, error) {
	files := e.given(t)
	out := lint.Outcome{Files: len(files)}
	if len(files) == 0 {
		return out, nil
	}
	if _, err := exec.LookPath(e.args[0]); err != nil {
		out.Files, out.Skipped = 0, e.args[0]+" is not installed: put it on PATH, or leave these files out with FINDFILES_IGNORE"
		return out, nil
	}
	return t.Memory.Remember(strings.Join(files, "\x00"), files, func() (lint.Outcome, error) {
		for some := range slices.Chunk(files, perCall) {
			found, err := e.ask(ctx, t.Root, some)
			if err != nil {
				return out, err
			}
			out.Findings = append(out.Findings, found...)
		}
		return out, nil
	})
}

// given are the files that the program is asked about.
func (e *external) given(t lint.Task) []string {
	if t.Since == nil {
		return t.Files
	}
	return slices.DeleteFunc(slices.Clone(t.Files), func(f string) bool { return !t.Since.Files[f] })
}

// ask runs the program. What it prints when it fails is what it found: a line
// that begins with the name of a file belongs to that file.
func (e *external) ask(ctx context.Context, root string, files []string) ([]lint.Finding, error) {
	printed, err := run.Output(ctx, e.l.p.runner, run.Command{Args: append(slices.Clone(e.args), files...), Dir: root, Env: run.Environ(e.l.p.ws.settings.Full())})
	var failed *run.Error
	switch {
	case err == nil && printed == "":
		return nil, nil
	case err != nil && (!errors.As(err, &failed) || failed.Status <= 0 || printed == ""):
		return nil, fmt.Errorf("running %s: %w", e.args[0], err)
	}
	severity := lint.Warning
	if err != nil {
		severity = lint.Error
	}
	return belong(printed, files, e.args[0], severity), nil
}

// belong makes a finding of each file of what a program printed.
func belong(printed string, files []string, program string, severity lint.Severity) []lint.Finding {
	known := map[string]bool{}
	for _, f := range files {
		known[f] = true
	}
	var out []lint.Finding
	for line := range strings.Lines(printed) {
		line = strings.TrimRight(line, "\n")
		if file := fileOf(line); known[file] {
			out = append(out, lint.Finding{File: file, Message: program + " has findings", Text: line, Severity: severity})
		} else if n := len(out); n > 0 {
			out[n-1].Text += "\n" + line
		}
	}
	if out == nil {
		out = []lint.Finding{{File: files[0], Message: program + " has findings", Text: printed, Severity: severity}}
	}
	return out
}

// fileOf is the file that a line of a report begins with.
func fileOf(line string) string {
	file, _, _ := strings.Cut(line, ":")
	return strings.TrimPrefix(file, "./")
}
