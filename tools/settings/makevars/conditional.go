// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import (
	"context"
	"strings"
)

type branchState int

const (
	taken    branchState = iota // its lines count
	notYet                      // its lines do not count, an else may
	notAgain                    // an earlier branch counted
)

type branch struct {
	state    branchState
	seenElse bool
}

func isConditional(word string) bool {
	switch word {
	case "ifdef", "ifndef", "ifeq", "ifneq", "else", "endif":
		return true
	}
	return false
}

// conditional changes which lines count.
func (r *reading) conditional(ctx context.Context, word, rest string) error {
	top := len(r.branches) - 1
	switch word {
	case "endif":
		if top < 0 {
			return r.fatal("extraneous 'endif'")
		}
		r.branches = r.branches[:top]
		return nil
	case "else":
		if top < 0 {
			return r.fatal("extraneous 'else'")
		}
		return r.orElse(ctx, rest)
	}
	outer := r.ignoring()
	r.branches = append(r.branches, branch{state: notYet})
	if outer {
		return nil // conditions are not even expanded here
	}
	holds, err := r.holds(ctx, word, rest)
	if err != nil {
		return err
	}
	if holds {
		r.branches[len(r.branches)-1].state = taken
	}
	return nil
}

func (r *reading) orElse(ctx context.Context, rest string) error {
	top := len(r.branches) - 1
	b := &r.branches[top]
	if b.seenElse {
		return r.fatal("only one 'else' per conditional")
	}
	switch b.state {
	case taken:
		b.state = notAgain
	case notYet:
		b.state = taken
	}
	if rest == "" {
		b.seenElse = true
		return nil
	}
	// "else ifeq …" is a branch of this conditional and not one inside it.
	word, condition := firstWord(rest)
	if !isConditional(word) || word == "else" || word == "endif" {
		return nil // make only warns of extraneous text
	}
	if err := r.conditional(ctx, word, condition); err != nil {
		return err
	}
	inner := r.branches[top+1].state
	r.branches = r.branches[:top+1]
	if r.branches[top].state != notAgain {
		r.branches[top].state = inner
	}
	return nil
}

func (r *reading) fatal(message string) error { return r.e.fatalAt(r.e.place, "%s", message) }

const badConditional = "invalid syntax in conditional"

func (r *reading) holds(ctx context.Context, word, rest string) (bool, error) {
	if word == "ifdef" || word == "ifndef" {
		name, err := r.e.expand(ctx, rest)
		if err != nil {
			return false, err
		}
		name, more := firstWord(name)
		if more != "" {
			return false, r.fatal(badConditional)
		}
		v, ok := r.e.vars[name]
		return (ok && v.Raw != "") == (word == "ifdef"), nil
	}
	first, rest, ok := firstOperand(rest)
	if !ok {
		return false, r.fatal(badConditional)
	}
	// make expands the first operand before it looks for the second.
	first, err := r.e.expand(ctx, first)
	if err != nil {
		return false, err
	}
	second, ok := secondOperand(rest)
	if !ok {
		return false, r.fatal(badConditional)
	}
	second, err = r.e.expand(ctx, second)
	return (first == second) == (word == "ifeq"), err
}

// firstOperand reads up to the comma of (A,B), or a quoted 'A' or "A". What it
// leaves begins with the comma, or behind the quote.
func firstOperand(s string) (operand, rest string, ok bool) {
	if s == "" || s[0] != '(' {
		return quotedOperand(s)
	}
	s = s[1:]
	comma := nextComma(s, '(', ')')
	if comma < 0 {
		return "", "", false
	}
	return trimRightBlank(s[:comma]), s[comma:], true
}

// secondOperand reads B) or a quoted operand; text behind it is only a warning
// in make.
func secondOperand(rest string) (operand string, ok bool) {
	if rest != "" && rest[0] == ',' {
		return closed(rest[1:])
	}
	rest = trimLeft(rest)
	if rest != "" && rest[0] == ')' {
		return closed(rest)
	}
	operand, _, ok = quotedOperand(rest)
	return operand, ok
}

func quotedOperand(s string) (operand, rest string, ok bool) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return "", "", false
	}
	end := strings.IndexByte(s[1:], s[0])
	if end < 0 {
		return "", "", false
	}
	return s[1 : 1+end], s[2+end:], true
}

// closed is what stands in front of the parenthesis that closes.
func closed(s string) (operand string, ok bool) {
	s = trimLeft(s)
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth <= 0 {
				return s[:i], true
			}
			depth--
		}
	}
	return "", false
}
