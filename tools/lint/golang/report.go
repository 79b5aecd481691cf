// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Exit codes of golangci-lint: https://golangci-lint.run/docs/ and
// pkg/exitcodes of its module.
const (
	exitIssues    = 1
	exitNoGoFiles = 5
)

type report struct {
	Issues []struct {
		FromLinter, Text, Severity string
		Pos                        struct {
			Filename     string
			Line, Column int
		}
		SuggestedFixes []any
	}
	Report struct {
		Warnings []struct{ Tag, Text string }
		Error    string
	}
}

// readReport turns what golangci-lint printed into findings. Its exit code
// does not tell findings from failures alone: 5 and 7 come with findings too,
// and 3 may be a second run that was refused. So everything but 0 and 1 without
// findings is a failure, and findings are shown whatever the code is.
func readReport(m *module, stdout, stderr string, err error) ([]lint.Finding, []lint.Failure, error) {
	status := 0
	var failed *run.Error
	switch {
	case errors.As(err, &failed):
		status = failed.Status
	case err != nil:
		return nil, nil, fail.With(fail.Unavailable, err)
	}
	r, parsed := parseReport(stdout)
	if !parsed {
		if status == exitNoGoFiles {
			return nil, nil, nil
		}
		return nil, nil, fail.With(fail.Unavailable, fmt.Errorf("%w (exit status %d): %s", errNoReport, status, lastLines(stderr)))
	}
	var found []lint.Finding
	for _, i := range r.Issues {
		f := lint.Finding{
			File: path.Join(m.Dir, strings.ReplaceAll(i.Pos.Filename, `\`, "/")), Line: i.Pos.Line, Column: i.Pos.Column,
			Rule: i.FromLinter, Message: oneLine(i.Text), Severity: lint.Error, Fixable: len(i.SuggestedFixes) > 0,
			Doc: "https://golangci-lint.run/docs/linters/configuration/#" + strings.ToLower(i.FromLinter),
		}
		f.Text = fmt.Sprintf("%s:%d:%d: %s (%s)", f.File, f.Line, f.Column, f.Message, f.Rule)
		if i.Severity == "warning" || i.Severity == "info" {
			f.Severity = lint.Error // golangci-lint fails for these too
		}
		found = append(found, f)
	}
	var failures []lint.Failure
	switch {
	case r.Report.Error != "":
		failures = append(failures, lint.Failure{File: path.Join(m.Dir, "go.mod"), Err: r.Report.Error})
	case status != 0 && status != exitIssues && status != exitNoGoFiles && len(found) == 0, status == exitIssues && len(found) == 0:
		failures = append(failures, lint.Failure{File: path.Join(m.Dir, "go.mod"), Err: fmt.Sprintf("golangci-lint ended with exit status %d and no findings: %s", status, lastLines(stderr))})
	}
	return found, failures, nil
}

// parseReport finds the one line of JSON on standard output.
func parseReport(stdout string) (report, bool) {
	for line := range strings.Lines(stdout) {
		var r report
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &r) == nil {
			return r, true
		}
	}
	return report{}, false
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// lastLines are those in which a process says why it stopped.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}
