// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Report is what a run found.
type Report struct {
	Results []Result `json:"linters"`
	Seconds float64  `json:"seconds"` // wall time
}

// Result is what one linter found.
type Result struct {
	Linter   string    `json:"name"`
	Version  string    `json:"version,omitempty"` // of the tool that was run
	Files    int       `json:"files"`             // judged
	Cached   int       `json:"cached"`            // of them, known from an earlier run
	Mended   int       `json:"mended,omitempty"`  // changed by fixes
	Skipped  string    `json:"skipped,omitempty"` // why it judged nothing
	Seconds  float64   `json:"seconds"`           // of work: those of files side by side add up
	Findings []Finding `json:"findings"`
	Failures []Failure `json:"failures,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
	// Diffs are what mending would change, where Options.Preview asks for it.
	Diffs []FileDiff `json:"diffs,omitempty"`

	chosen []string
}

// FileDiff is what mending would change in a file: a unified diff.
type FileDiff struct {
	File string `json:"file"`
	Diff string `json:"diff"`
}

// Count returns how many findings have a severity.
func (r Result) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Count sums up over all linters.
func (r Report) Count(s Severity) int {
	n := 0
	for _, l := range r.Results {
		n += l.Count(s)
	}
	return n
}

// Findings are those of all linters, in the linters' order.
func (r Report) Findings() []Finding {
	var all []Finding
	for _, l := range r.Results {
		all = append(all, l.Findings...)
	}
	return all
}

// Err is the verdict: nil, an error with the code fail.Failed for findings, or
// one with fail.Unavailable when a file or a tool gave no verdict, since then
// nobody knows. With require, a linter that was skipped gave no verdict either.
func (r Report) Err(require bool) error {
	var silent []string
	for _, l := range r.Results {
		if n := len(l.Failures); n > 0 {
			silent = append(silent, fmt.Sprintf("%s failed on %s", l.Linter, count(n, "file or tool", "files or tools")))
		}
		if require && l.Skipped != "" {
			silent = append(silent, fmt.Sprintf("%s was skipped: %s", l.Linter, l.Skipped))
		}
	}
	var found error
	if n := r.Count(Error); n > 0 {
		found = fail.With(fail.Failed, fmt.Errorf("%s in %s", count(n, "finding", "findings"), r.failing()))
	}
	if silent == nil {
		return found
	}
	err := fail.With(fail.Unavailable, fmt.Errorf("there is no verdict: %s", strings.Join(silent, "; ")))
	if found != nil {
		return fail.With(fail.Unavailable, errors.Join(err, found))
	}
	return err
}

func (r Report) failing() string {
	var names []string
	for _, l := range r.Results {
		if l.Count(Error) > 0 {
			names = append(names, l.Linter)
		}
	}
	return strings.Join(names, ", ")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Summary is a line for each linter, and one for the whole.
func (r Report) Summary() []string {
	var lines []string
	for _, l := range r.Results {
		line := fmt.Sprintf("%-18s %5d checked, %5d known, %s", l.Linter, l.Files-l.Cached, l.Cached, count(l.Count(Error), "finding", "findings"))
		for _, more := range []struct {
			n         int
			one, many string
		}{{l.Count(Warning), "warning", "warnings"}, {l.Count(Notice), "notice", "notices"}, {len(l.Failures), "failure", "failures"}, {l.Mended, "file mended", "files mended"}} {
			if more.n > 0 {
				line += ", " + count(more.n, more.one, more.many)
			}
		}
		line += fmt.Sprintf(", %.2f s", l.Seconds)
		if l.Version != "" {
			line += " (" + l.Version + ")"
		}
		if l.Skipped != "" {
			line = fmt.Sprintf("%-18s skipped: %s", l.Linter, l.Skipped)
		}
		lines = append(lines, line)
	}
	if len(r.Results) > 1 {
		lines = append(lines, fmt.Sprintf("%-18s %s, %s, in %.2f s", "all", count(r.Count(Error), "finding", "findings"), count(r.Count(Warning), "warning", "warnings"), r.Seconds))
	}
	return lines
}
