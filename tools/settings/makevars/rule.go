// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import (
	"context"
	"strings"
)

// rule reads a line that describes targets. Nothing comes of it but what its
// expansion does, and that lines with a tab now belong to its recipe.
func (r *reading) rule(ctx context.Context, line string) error {
	r.endRule()
	e := r.e
	before, stop, _ := cutUnquoted(line, ";#")
	hasRecipe := stop == ';'
	before = collapse(before)
	text := trimLeft(before)
	if text == "" {
		if hasRecipe {
			return r.fatal("missing rule before recipe")
		}
		return nil
	}
	if text[0] == ':' || text[0] == '&' && strings.HasPrefix(text, "&:") {
		r.noTargets = true
		return nil
	}
	targets, rest, colon, err := r.targets(ctx, text)
	if err != nil {
		return err
	}
	if !colon {
		if trimSpace(targets) == "" {
			return nil
		}
		if strings.HasPrefix(line, "        ") {
			return r.fatal("missing separator (did you mean TAB instead of 8 spaces?)")
		}
		return r.fatal("missing separator")
	}
	if _, _, assignment := parseAssignment(strings.TrimPrefix(rest, ":")); assignment {
		return nil // the variable is only set for the target, and there is no recipe
	}
	r.inRule = true
	prerequisites, err := e.expand(ctx, strings.TrimPrefix(rest, ":"))
	if err != nil {
		return err
	}
	return r.staticPattern(prerequisites)
}

// staticPattern checks the middle part of a rule such as "a b: %: %.c".
func (r *reading) staticPattern(prerequisites string) error {
	text, _, _ := cutUnquoted(prerequisites, ";")
	pattern, colon, _ := cutUnquoted(text, ":")
	if colon == 0 {
		return nil
	}
	switch list := words(pattern); {
	case len(list) == 0:
		return r.fatal("missing target pattern")
	case len(list) > 1:
		return r.fatal("multiple target patterns")
	default:
		if _, _, percent := splitPercent(list[0]); !percent {
			return r.fatal("target pattern contains no '%'")
		}
	}
	return nil
}

// targets expands word for word up to a colon.
func (r *reading) targets(ctx context.Context, text string) (expanded, rest string, colon bool, err error) {
	var b strings.Builder
	for text != "" {
		word, more := nextRuleWord(text)
		value, err := r.e.expand(ctx, word)
		if err != nil {
			return "", "", false, err
		}
		text = more
		if cut, stop, _ := cutUnquoted(value, ";"); stop == ';' { // a recipe came out of a variable
			value, text = cut, ""
		}
		b.WriteString(value)
		if _, stop, behind := cutUnquoted(value, ":"); stop == ':' {
			return b.String(), behind + text, true, nil
		}
		b.WriteByte(' ')
	}
	return b.String(), "", false, nil
}

// nextRuleWord cuts a word off, with a colon behind it; references are not cut
// through.
func nextRuleWord(s string) (word, rest string) {
	for i := 0; i < len(s); {
		switch {
		case s[i] == '$':
			i = referenceEnd(s, i)
		case s[i] == '\\' && i+1 < len(s):
			i += 2
		case s[i] == ':':
			return s[:i+1], s[i+1:]
		case isSpace(s[i]):
			return s[:i], trimLeft(s[i:])
		default:
			i++
		}
	}
	return s, ""
}
