// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"slices"
	"strings"
)

// instruction is a comment to the linter.
type instruction struct {
	verb  string   // enable, disable or disable-line
	rules []string // none: all
}

// cutMarker returns what follows "# yamllint " in a comment.
func cutMarker(text []rune) (string, bool) {
	const marker = "# yamllint "
	if len(text) < len(marker) || text[2] != 'y' {
		return "", false
	}
	return strings.CutPrefix(string(text), marker)
}

func parseInstruction(text []rune) (instruction, bool) {
	rest, ok := cutMarker(text)
	if !ok {
		return instruction{}, false
	}
	words := strings.Split(strings.TrimRight(rest, " \t\r\v\f"), " ")
	in := instruction{verb: words[0]}
	if in.verb != "enable" && in.verb != "disable" && in.verb != "disable-line" {
		return instruction{}, false
	}
	for _, w := range words[1:] {
		name, ok := strings.CutPrefix(w, "rule:")
		if !ok || name == "" || strings.ContainsAny(name, "\t\r\v\f") {
			return instruction{}, false
		}
		in.rules = append(in.rules, name)
	}
	return in, true
}

// isOff tells that the first line turns the linter off for the whole file.
func isOff(text []rune) bool {
	if len(text) == 0 || text[0] != '#' {
		return false
	}
	end := slices.Index(text, '\n')
	if end < 0 {
		end = len(text)
	}
	first := string(text[1:end])
	return strings.TrimSpace(first) == "yamllint disable-file"
}

// wanted leaves out the problems that comments of the file forbid to tell.
func (d *document) wanted(found []problem) []problem {
	var off muted
	oneLine := map[int]*muted{}
	type change struct {
		line int
		instruction
	}
	var changes []change
	for i := range d.comments {
		c := &d.comments[i]
		in, ok := parseInstruction(d.body(c))
		if !ok {
			continue
		}
		if in.verb != "disable-line" {
			changes = append(changes, change{c.line, in})
			continue
		}
		on := c.line
		if !c.inline {
			on++ // it is about the next line
		}
		if oneLine[on] == nil {
			oneLine[on] = &muted{}
		}
		oneLine[on].add(in.rules)
	}
	kept := found[:0]
	for _, p := range found {
		for len(changes) > 0 && changes[0].line <= p.home {
			if changes[0].verb == "disable" {
				off.add(changes[0].rules)
			} else {
				off.remove(changes[0].rules)
			}
			changes = changes[1:]
		}
		quiet := p.home > len(d.lines) || off.has(p.rule.name)
		if here := oneLine[p.home]; here != nil {
			quiet = quiet || here.has(p.rule.name)
		}
		if !quiet {
			kept = append(kept, p)
		}
	}
	return kept
}

// muted is a set of rules that are not to be heard.
type muted struct {
	all   bool
	rules map[string]bool
	heard map[string]bool // after all were muted
}

func (m *muted) has(rule string) bool {
	return m.all && !m.heard[rule] || m.rules[rule]
}

func (m *muted) add(rules []string) {
	if len(rules) == 0 {
		*m = muted{all: true}
		return
	}
	if m.rules == nil {
		m.rules = map[string]bool{}
	}
	for _, r := range rules {
		m.rules[r] = true
		delete(m.heard, r)
	}
}

func (m *muted) remove(rules []string) {
	if len(rules) == 0 {
		*m = muted{}
		return
	}
	if m.heard == nil {
		m.heard = map[string]bool{}
	}
	for _, r := range rules {
		delete(m.rules, r)
		m.heard[r] = true
	}
}
