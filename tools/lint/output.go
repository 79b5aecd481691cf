// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/ui"
)

// Write prints the report in one of the forms of OUTPUT.
func (r Report) Write(w io.Writer, format ui.Format) error {
	switch format {
	case ui.JSON:
		return r.writeJSON(w)
	case ui.SARIF:
		return r.writeSARIF(w)
	case ui.JUnit:
		return r.writeJUnit(w)
	case ui.GitHub:
		return writeLines(w, r.annotations())
	default:
		return writeLines(w, r.lines())
	}
}

func writeLines(w io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// lines are the findings as text. What is no error says so.
func (r Report) lines() []string {
	var lines []string
	for _, l := range r.Results {
		for _, f := range l.Findings {
			line := f.String()
			if f.Severity != Error && f.Text == "" {
				line += " (" + string(f.Severity) + ")"
			}
			lines = append(lines, printable(line))
		}
		for _, d := range l.Diffs {
			lines = append(lines, printable(strings.TrimSuffix(d.Diff, "\n")))
		}
	}
	return lines
}

// printable keeps control characters, which may come from file names and from
// the text of files, away from terminals. Line ends within a finding stay.
func printable(line string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return '�'
		}
		return c
	}, line)
}

func (r Report) writeJSON(w io.Writer) error {
	for i := range r.Results {
		if r.Results[i].Findings == nil {
			r.Results[i].Findings = []Finding{}
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Report
		Errors   int `json:"errors"`
		Warnings int `json:"warnings"`
		Notices  int `json:"notices"`
	}{r, r.Count(Error), r.Count(Warning), r.Count(Notice)})
}

// annotations are workflow commands of GitHub Actions:
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
func (r Report) annotations() []string {
	var lines []string
	for _, l := range r.Results {
		for _, f := range l.Findings {
			title := l.Linter
			if f.Rule != "" {
				title += " " + f.Rule
			}
			lines = append(lines, annotation(string(f.Severity), f.Message, title, f.File, f.Line, f.Column, f.EndLine))
		}
		for _, failure := range l.Failures {
			lines = append(lines, annotation("error", failure.Err, l.Linter, failure.File, 0, 0, 0))
		}
		if l.Skipped != "" {
			lines = append(lines, annotation("warning", "skipped: "+l.Skipped, l.Linter, "", 0, 0, 0))
		}
	}
	return lines
}

func annotation(level, message, title, file string, line, column, endLine int) string {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	var properties []string
	add := func(name, value string) { properties = append(properties, name+"="+property.Replace(value)) }
	if file != "" {
		add("file", file)
	}
	for i, n := range []int{line, column, endLine} {
		if n > 0 {
			add([]string{"line", "col", "endLine"}[i], fmt.Sprint(n))
		}
	}
	add("title", title)
	return printable("::" + level + " " + strings.Join(properties, ",") + "::" + data.Replace(message))
}
