// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// exitNoGoFiles is an exit code of golangci-lint: pkg/exitcodes of its module.
const exitNoGoFiles = 5

type report struct {
	Issues []issue
	Report *struct{ Error string }
}

type issue struct {
	FromLinter, Text string
	Pos              struct {
		Filename     string
		Line, Column int
	}
	SuggestedFixes []any
}

// readReport turns what golangci-lint printed into findings. Its exit code
// does not tell findings from failures alone: 5 and 7 come with findings too,
// and 3 may be a second run that was refused. So everything but 0 and 1 without
// findings is a failure, and findings are shown whatever the code is.
func (l *linter) readReport(m *module, stdout, stderr string, err error) ([]lint.Finding, []lint.Failure, error) {
	status := 0
	var failed *run.Error
	switch {
	case errors.As(err, &failed) && failed.Status >= 0:
		status = failed.Status
	case err != nil:
		return nil, nil, fail.With(fail.Unavailable, err)
	}
	r, parsed := parseReport(stdout)
	if !parsed {
		if status == exitNoGoFiles {
			return nil, nil, nil
		}
		rules := ""
		if l.o.Config != "" {
			rules = " with the rules of " + l.o.Config
		}
		return nil, nil, fail.With(fail.Unavailable, fmt.Errorf("%w%s (exit status %d): %s", errNoReport, rules, status, lastLines(stderr)))
	}
	var found []lint.Finding
	for _, i := range r.Issues {
		found = append(found, l.finding(m, i))
	}
	var failures []lint.Failure
	add := func(format string, args ...any) {
		failures = append(failures, lint.Failure{File: path.Join(m.Dir, "go.mod"), Err: fmt.Sprintf(format, args...)})
	}
	switch {
	case r.Report.Error != "":
		add("%s", r.Report.Error)
	case len(found) > 0 || status == 0 || status == exitNoGoFiles:
	default:
		add("golangci-lint ended with exit status %d and no findings: %s", status, lastLines(stderr))
	}
	return found, failures, nil
}

func (l *linter) finding(m *module, i issue) lint.Finding {
	f := lint.Finding{
		File: l.place(m, i.Pos.Filename), Line: i.Pos.Line, Column: i.Pos.Column,
		Rule: i.FromLinter, Message: oneLine(i.Text), Severity: lint.Error, Fixable: len(i.SuggestedFixes) > 0,
		Doc: "https://golangci-lint.run/docs/linters/configuration/#" + strings.ToLower(i.FromLinter),
	}
	place := f.File
	for _, n := range []int{f.Line, f.Column} {
		if n > 0 {
			place += fmt.Sprintf(":%d", n)
		}
	}
	f.Text = fmt.Sprintf("%s: %s (%s)", place, f.Message, f.Rule)
	return f
}

// place is the file of a finding as a path from the root of the tree. Versions
// that do not print absolute paths print those from the configuration's
// folder, or from the module's when there is none.
func (l *linter) place(m *module, name string) string {
	name = filepath.FromSlash(strings.ReplaceAll(name, `\`, "/"))
	if name == "" {
		return path.Join(m.Dir, "go.mod")
	}
	root, err := filepath.Abs(l.task.Root)
	if err != nil {
		return filepath.ToSlash(name)
	}
	if !filepath.IsAbs(name) {
		from := m.Dir
		if l.o.Config != "" {
			from = path.Dir(l.o.Config)
		}
		name = filepath.Join(root, filepath.FromSlash(from), name)
	}
	roots := []string{root}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		roots = append(roots, real)
	}
	for _, r := range roots {
		if rel, err := filepath.Rel(r, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(name) // out of the tree: made by cgo, for instance
}

const excludedAll = "typechecking error: build constraints exclude all Go files in "

// excluded are the packages for other systems of which golangci-lint complains.
// Its report has only the last complaint, standard error has all.
func (l *linter) excluded(m *module, stdout, stderr string) map[string]bool {
	r, ok := parseReport(stdout)
	if !ok || !strings.HasPrefix(r.Report.Error, excludedAll) {
		return nil
	}
	dirs := map[string]bool{}
	for line := range strings.Lines(r.Report.Error + "\n" + stderr) {
		if _, dir, ok := strings.Cut(line, excludedAll); ok {
			dirs[l.place(m, strings.TrimRight(dir, "\"\r\n"))] = true
		}
	}
	return dirs
}

// parseReport finds the one line of JSON on standard output that is a report.
func parseReport(stdout string) (report, bool) {
	for line := range strings.Lines(stdout) {
		var r report
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &r) == nil && r.Report != nil {
			return r, true
		}
	}
	return report{}, false
}

func oneLine(text string) string {
	return strings.TrimPrefix(strings.Join(strings.Fields(text), " "), ": ")
}

// lastLines are those in which a process says why it stopped.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}
