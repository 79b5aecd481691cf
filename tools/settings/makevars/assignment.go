// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import "strings"

type flavor int

const (
	flavorRecursive   flavor = iota // =
	flavorSimple                    // := and ::=
	flavorConditional               // ?=
	flavorAppend                    // +=
	flavorShell                     // !=
)

// definition is a variable definition as written.
type definition struct {
	name   string // unexpanded
	flavor flavor
	value  string // unexpanded; white space at its end is kept
}

// parseDefinition finds an assignment operator outside of references. White
// space may stand in front of the operator, but no second word.
func parseDefinition(s string) (definition, bool) {
	s = trimLeft(s)
	nameEnd := -1
	done := func(i, width int, f flavor) (definition, bool) {
		if nameEnd < 0 {
			nameEnd = i
		}
		return definition{s[:nameEnd], f, trimLeft(s[i+width:])}, true
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '#':
			return definition{}, false
		case c == '$':
			i = referenceEnd(s, i) - 1
			continue
		case isBlank(c):
			if nameEnd < 0 {
				nameEnd = i
			}
			for i < len(s) && isSpace(s[i]) {
				i++
			}
			if i >= len(s) {
				return definition{}, false
			}
			c = s[i]
		}
		rest := s[i+1:]
		switch {
		case c == '=':
			return done(i, 1, flavorRecursive)
		case strings.IndexByte(":+?!", c) >= 0 && strings.HasPrefix(rest, "="):
			return done(i, 2, map[byte]flavor{':': flavorSimple, '+': flavorAppend, '?': flavorConditional, '!': flavorShell}[c])
		case c == ':' && strings.HasPrefix(rest, ":="):
			return done(i, 3, flavorSimple)
		case c == ':', nameEnd >= 0:
			return definition{}, false
		}
	}
	return definition{}, false
}

// modifiers stand in front of an assignment.
type modifiers struct {
	export, override, private, define, undefine bool
}

// parseAssignment reads modifiers and what they modify; ok is false when the
// line is something else. text is what stands behind the modifiers.
func parseAssignment(line string) (m modifiers, text string, ok bool) {
	p := trimLeft(line)
	for p != "" {
		if _, isDefinition := parseDefinition(p); isDefinition {
			return m, p, true
		}
		word, rest := firstWord(p)
		switch word {
		case "export":
			m.export = true
		case "override":
			m.override = true
		case "private":
			m.private = true
		case "define":
			m.define = true
			return m, rest, true
		case "undefine":
			m.undefine = true
			return m, rest, true
		default:
			return modifiers{}, "", false
		}
		p = rest
	}
	return modifiers{}, "", false
}
