// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// makeVar is one assignment of a make file.
type makeVar struct {
	value       string
	line        int
	conditional bool  // it stands between ifeq and endif
	simple      bool  // set with :=, so value is expanded already
	err         error // why value could not be expanded
}

// makeVars holds the plain assignments of one make file. It is no evaluator:
// what the lists of binaries need is read, and anything else in them is an
// error, never a guess.
type makeVars map[string]makeVar

var (
	assignment  = regexp.MustCompile(`^(?:export[ \t]+|override[ \t]+)*([A-Za-z_][A-Za-z0-9_]*)[ \t]*(::?:?=|\?=|\+=|=)[ \t]*(.*)$`)
	makeOpen    = regexp.MustCompile(`^[ \t]*(ifeq|ifneq|ifdef|ifndef)\b`)
	makeClose   = regexp.MustCompile(`^[ \t]*endif\b`)
	defineOpen  = regexp.MustCompile(`^[ \t]*define\b`)
	defineClose = regexp.MustCompile(`^[ \t]*endef\b`)
	makeRef     = regexp.MustCompile(`\$(?:\(([A-Za-z_][A-Za-z0-9_]*)\)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)
)

// readMakeVars reads the assignments outside of recipes and define blocks. As
// in make, a comment ends a line, and a backslash before the end joins it
// with the next.
func readMakeVars(content string) makeVars {
	vars := makeVars{}
	lines := strings.Split(content, "\n")
	depth, inDefine := 0, false
	for n := 0; n < len(lines); n++ {
		first, text := n+1, strings.TrimSuffix(lines[n], "\r")
		for strings.HasSuffix(text, `\`) && n+1 < len(lines) {
			n++
			text = strings.TrimSuffix(text, `\`) + " " + strings.TrimSpace(lines[n])
		}
		switch {
		case inDefine:
			inDefine = !defineClose.MatchString(text)
		case strings.HasPrefix(text, "\t"):
		case defineOpen.MatchString(text):
			inDefine = true
		case makeOpen.MatchString(text):
			depth++
		case makeClose.MatchString(text):
			depth--
		default:
			vars.assign(text, first, depth > 0)
		}
	}
	return vars
}

func (v makeVars) assign(text string, line int, conditional bool) {
	text, _, _ = strings.Cut(text, "#")
	m := assignment.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return
	}
	name, op := m[1], m[2]
	old, set := v[name]
	if op == "?=" && set {
		return
	}
	now := makeVar{value: strings.TrimSpace(m[3]), line: line, conditional: conditional || op == "+=" && old.conditional}
	now.simple = strings.HasPrefix(op, ":") || op == "+=" && old.simple
	if now.simple { // what it refers to is what that is now
		now.value, now.err = v.expandText(now.value, nil)
	}
	if op == "+=" && set {
		now.value = old.value + " " + now.value
		if now.err == nil {
			now.err = old.err
		}
	}
	v[name] = now
}

// words returns the words of a variable with the references in it expanded.
// Absent is no error: the second result is false.
func (v makeVars) words(name string) (words []string, set bool, err error) {
	if _, set = v[name]; !set {
		return nil, false, nil
	}
	text, err := v.expand(name, nil)
	return strings.Fields(text), true, err
}

func (v makeVars) expand(name string, above []string) (string, error) {
	found, set := v[name]
	switch {
	case !set:
		return "", fmt.Errorf("it refers to %s, which is not set in the file", name)
	case found.conditional:
		return "", fmt.Errorf("line %d sets %s under a condition, and conditions are not evaluated here", found.line, name)
	case slices.Contains(above, name):
		return "", fmt.Errorf("it refers to itself: %s", strings.Join(append(above, name), " -> "))
	case found.simple:
		return found.value, found.err
	}
	return v.expandText(found.value, append(above, name))
}

func (v makeVars) expandText(value string, above []string) (string, error) {
	var problem error
	text := makeRef.ReplaceAllStringFunc(value, func(ref string) string {
		m := makeRef.FindStringSubmatch(ref)
		inner, err := v.expand(m[1]+m[2], above)
		if err != nil {
			problem = err
		}
		return inner
	})
	if problem == nil && strings.Contains(text, "$") {
		problem = fmt.Errorf("%q has more than plain references in it", value)
	}
	return text, problem
}
