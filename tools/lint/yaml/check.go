// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package yaml lints YAML files as yamllint 1.29 does: the same configuration
// files, rules and messages, with PyYAML's verdict on syntax.
package yaml

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// Checker judges YAML files by a configuration.
type Checker struct {
	config *Config
	rules  []check
}

// check is a rule made ready: its options are read.
type check struct {
	*rule
	judge func(*report)
}

// New returns the linter of a configuration.
func New(c *Config) *Checker {
	k := &Checker{config: c}
	for _, r := range c.rules {
		if r.on {
			k.rules = append(k.rules, check{r, r.ready()})
		}
	}
	return k
}

// Template tells that a file is a template, not YAML: charts have their own
// linter, which renders them.
func Template(text []byte) bool { return bytes.Contains(text, []byte("{{")) }

// Check implements lint.Checker.
func (c *Checker) Check(file string, text []byte) ([]lint.Finding, error) {
	if c.config.ignore.match(file) {
		return nil, nil
	}
	if i := firstInvalid(text); i >= 0 {
		at := place([]rune(string(text[:i])))
		return []lint.Finding{c.finding(file, broken(at, fmt.Sprintf("byte 0x%02x is no UTF-8", text[i])))}, nil
	}
	runes := []rune(string(text))
	if isOff(runes) {
		return nil, nil
	}
	for i, x := range runes {
		if !printable(x) {
			at := place(runes[:i])
			return []lint.Finding{c.finding(file, broken(at, fmt.Sprintf("character U+%04X is not allowed", x)))}, nil
		}
	}
	problems := c.run(file, runes)
	findings := make([]lint.Finding, 0, len(problems))
	for _, p := range problems {
		findings = append(findings, c.finding(file, p))
	}
	return findings, nil
}

func (*Checker) finding(file string, p problem) lint.Finding {
	f := lint.Finding{File: file, Line: p.line, Column: p.column, Message: p.message, Rule: "syntax", Severity: lint.Error}
	if p.rule != nil {
		f.Rule, f.Severity, f.Doc, f.Fixable = p.rule.name, p.rule.severity, p.rule.doc, p.rule.fixable
	}
	f.Text = file + ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column) + ": [" + string(f.Severity) + "] " + f.Message + " (" + f.Rule + ")"
	return f
}

func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

// place is the end of a text.
func place(text []rune) mark {
	s := scanner{text: append(slices.Clone(text), 0)}
	for s.at.index < len(text) {
		s.step()
	}
	return s.at
}

func printable(c rune) bool {
	return c >= 0x20 && c <= 0x7E || c == '\n' || c == '\t' || c == '\r' || c == 0x85 || c >= 0xA0 && c <= 0xD7FF || c >= 0xE000 && c <= 0xFFFD || c >= 0x10000
}

// broken is the problem of a file that is no YAML.
func broken(at mark, why string) problem {
	return problem{line: at.line + 1, column: at.column + 1, message: "syntax error: " + why}
}

// run asks each rule about the file, and puts what they found in order.
func (c *Checker) run(file string, text []rune) []problem {
	d, fault := newDocument(file, text)
	var found []problem
	for _, k := range c.rules {
		if !k.ignore.match(file) {
			r := report{d: d, rule: k.rule}
			k.judge(&r)
			found = append(found, r.found...)
		}
	}
	inOrder(found)
	found = d.wanted(found)
	if fault == nil {
		return found
	}
	p := broken(fault.mark, fault.message)
	i := slices.IndexFunc(found, func(f problem) bool { return f.line >= p.line && f.column >= p.column })
	if i < 0 {
		return append(found, p)
	}
	// The finding that comes next may well be due to the fault, so the fault
	// takes its place.
	found[i] = p
	return found
}
