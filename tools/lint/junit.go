// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
		Skipped *junitProblem `xml:"skipped,omitempty"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a suite for each linter: a case for each file with
// findings, and one for all the others.
func (r Report) writeJUnit(w io.Writer) error {
	all := junitSuites{Time: fmt.Sprintf("%.3f", r.Seconds)}
	for _, l := range r.Results {
		s := l.junit()
		all.Suites = append(all.Suites, s)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r Result) junit() junitSuite {
	class := "lint-" + r.Linter
	s := junitSuite{Name: class, Time: fmt.Sprintf("%.3f", r.Seconds)}
	add := func(c junitCase) {
		c.Class = class
		s.Cases = append(s.Cases, c)
		s.Tests++
	}
	for _, group := range byFile(r.Findings) {
		name := printable(group[0].File)
		c := junitCase{Name: name, File: name}
		var failing, told []string
		for _, f := range group {
			if f.Severity == Error {
				failing = append(failing, printable(f.String()))
			} else {
				told = append(told, printable(f.String()))
			}
		}
		c.Output = strings.Join(told, "\n")
		if failing != nil {
			c.Failure = &junitProblem{Message: count(len(failing), "finding", "findings"), Type: class, Text: strings.Join(failing, "\n")}
			s.Failures++
		}
		add(c)
	}
	for _, f := range r.Failures {
		name := printable(f.File)
		if name == "" {
			name = class // a tool, not a file
		}
		add(junitCase{Name: name, File: printable(f.File), Error: &junitProblem{Message: printable(f.Err), Type: "failure"}})
		s.Errors++
	}
	switch {
	case r.Skipped != "":
		add(junitCase{Name: class, Skipped: &junitProblem{Message: printable(r.Skipped)}})
		s.Skipped++
	case s.Failures+s.Errors == 0:
		add(junitCase{Name: fmt.Sprintf("%d files", r.Files)})
	}
	return s
}

// byFile groups findings that are sorted by file.
func byFile(findings []Finding) [][]Finding {
	var groups [][]Finding
	for _, f := range findings {
		if n := len(groups); n > 0 && groups[n-1][0].File == f.File {
			groups[n-1] = append(groups[n-1], f)
			continue
		}
		groups = append(groups, []Finding{f})
	}
	return groups
}
