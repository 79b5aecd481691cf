// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package python judges Python files as autopep8 does with --exit-code -d: it
// finds what pycodestyle 2.10 finds on Python 3.11, and tells which of that
// autopep8 would change. It mends what can be mended safely.
package python

import (
	"path"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// Options are those of autopep8 that change what is found.
type Options struct {
	MaxLineLength int // 0: 79
	IndentSize    int // 0: 4
	Aggressive    int
	HangClosing   bool
	Ignore        []string // codes or beginnings of codes
	Select        []string
	Exclude       []string // patterns of files that are not judged
}

// Checker judges and mends Python files. It is a lint.Fixer.
type Checker struct {
	o Options
	s settings
}

// New returns a checker.
func New(o Options) *Checker {
	if o.MaxLineLength <= 0 {
		o.MaxLineLength = 79
	}
	if o.IndentSize <= 0 {
		o.IndentSize = 4
	}
	o.Ignore, o.Select = lists(o)
	return &Checker{o: o, s: settings{
		maxLine: o.MaxLineLength, indentSize: 4, hangClosing: o.HangClosing, wants: wanted(o.Select, o.Ignore),
	}}
}

// lists are the codes that count, with the defaults of autopep8.
func lists(o Options) (ignore, selected []string) {
	switch {
	case len(o.Ignore) > 0:
		if !matchesAny("W503", o.Ignore) && !matchesAny("W504", o.Ignore) {
			return append([]string{"W503", "W504"}, o.Ignore...), o.Select // the two contradict each other
		}
		return o.Ignore, o.Select
	case len(o.Select) > 0:
		return nil, o.Select
	case o.Aggressive > 0:
		return nil, []string{"E", "W1", "W2", "W3", "W6"}
	}
	return []string{"E226", "E24", "W50", "W690"}, nil
}

func matchesAny(code string, starts []string) bool {
	for _, s := range starts {
		if strings.HasPrefix(code, s) {
			return true
		}
	}
	return false
}

// wanted tells which codes are reported.
func wanted(selected, ignore []string) func(string) bool {
	return func(code string) bool {
		if len(selected) > 0 {
			return matchesAny(code, selected)
		}
		return !matchesAny(code, ignore)
	}
}

// enabled tells whether autopep8 makes one of its fixes of the whole file.
func (c *Checker) enabled(code string) bool {
	touches := func(list []string) bool {
		for _, s := range list {
			if strings.HasPrefix(strings.ToLower(code), strings.ToLower(s)) || strings.HasPrefix(strings.ToLower(s), strings.ToLower(code)) {
				return true
			}
		}
		return false
	}
	return !touches(c.o.Ignore) && (len(c.o.Select) == 0 || touches(c.o.Select))
}

func (c *Checker) excluded(file string) bool {
	for _, pattern := range c.o.Exclude {
		if ok, err := path.Match(pattern, file); err == nil && ok || strings.HasPrefix(file, strings.TrimSuffix(pattern, "/")+"/") {
			return true
		}
	}
	return false
}

// Check implements lint.Checker. What autopep8 would change is an error,
// anything else a notice.
func (c *Checker) Check(file string, raw []byte) ([]lint.Finding, error) {
	if c.excluded(file) {
		return nil, nil
	}
	src := decode(raw)
	faults, tokens, syntax := examine(src.text, src.lines, c.s)
	v := c.judge(src, faults, tokens, syntax)
	m := c.plan(src.text, src.lines, faults, tokens, syntax)
	found := make([]lint.Finding, 0, len(faults)+1)
	failed := false
	for i, f := range faults {
		severity := lint.Notice
		if v.fails[i] {
			severity, failed = lint.Error, true
		}
		// What only autopep8 sees is worth a word only where it fails the file.
		if f.by&byStyle == 0 && (severity != lint.Error || duplicate(faults, i)) {
			continue
		}
		found = append(found, finding(file, f, severity, m.fixed[i] || v.moves(src, f)))
	}
	if v.reindent > 0 && !failed {
		found = insert(found, lint.Finding{File: file, Line: v.reindent, Column: 1, Rule: "reindent", Severity: lint.Error,
			Message: "indentation differs from that of four spaces a level"})
	}
	if src.mixed > 0 {
		found = insert(found, lint.Finding{File: file, Line: src.mixed, Column: 1, Rule: "eol", Severity: lint.Error, Fixable: true,
			Message: "line ending differs from that of most lines"})
	}
	return found, nil
}

// duplicate tells whether the other tool reports the same.
func duplicate(faults []fault, i int) bool {
	for _, step := range []int{-1, 1} {
		for j := i + step; j >= 0 && j < len(faults) && faults[j].row == faults[i].row; j += step {
			if faults[j].by&byStyle != 0 && faults[j].code == faults[i].code && faults[j].col == faults[i].col {
				return true
			}
		}
	}
	return false
}

// insert keeps the order of lines.
func insert(found []lint.Finding, f lint.Finding) []lint.Finding {
	i := 0
	for i < len(found) && found[i].Line < f.Line {
		i++
	}
	return append(found[:i:i], append([]lint.Finding{f}, found[i:]...)...)
}
