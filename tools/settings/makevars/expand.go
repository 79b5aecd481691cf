// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import (
	"context"
	"strings"
)

// expand replaces the references of a text.
func (e *Evaluator) expand(ctx context.Context, s string) (string, error) {
	if strings.IndexByte(s, '$') < 0 {
		return s, nil
	}
	e.depth++
	defer func() { e.depth-- }()
	if e.depth > maxDepth {
		return "", e.fatal("references are nested more than %d deep", maxDepth)
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		if s == "" { // a dollar at the end stands for itself
			return b.String() + "$", nil
		}
		text, rest, err := e.afterDollar(ctx, s)
		if err != nil {
			return "", err
		}
		e.size += len(text)
		if e.size > maxSize {
			return "", e.fatal("expansions have grown over %d MiB", maxSize>>20)
		}
		b.WriteString(text)
		s = rest
	}
}

// afterDollar expands what stands behind a dollar sign.
func (e *Evaluator) afterDollar(ctx context.Context, s string) (text, rest string, err error) {
	switch s[0] {
	case '$':
		return "$", s[1:], nil
	case '(', '{':
	default:
		text, err = e.reference(ctx, s[:1])
		return text, s[1:], err
	}
	if err := ctx.Err(); err != nil {
		return "", "", context.Cause(ctx)
	}
	open, closing := s[0], closer(s[0])
	if f, name := e.functionAt(s[1:]); f != nil {
		return e.callFunction(ctx, f, name, s[1+len(name):], open, closing)
	}
	end := strings.IndexByte(s, closing)
	if end < 0 {
		return "", "", e.fatal("unterminated variable reference")
	}
	name, rest := s[1:end], s[end+1:]
	if strings.IndexByte(name, '$') >= 0 {
		// The name is computed: it ends where the parentheses are balanced. If
		// they never are, make takes the name up to the first one, unexpanded,
		// and drops the rest of the text.
		balanced := matching(s[1:], open, closing)
		if balanced < 0 {
			rest = ""
		} else {
			if name, err = e.expand(ctx, s[1:1+balanced]); err != nil {
				return "", "", err
			}
			rest = s[balanced+2:]
		}
	}
	text, err = e.named(ctx, name)
	return text, rest, err
}

// named is a reference by an expanded name, with a substitution perhaps:
// $(NAME:FROM=TO).
func (e *Evaluator) named(ctx context.Context, name string) (string, error) {
	variable, pair, colon := strings.Cut(name, ":")
	from, to, equals := strings.Cut(pair, "=")
	if !colon || !equals {
		return e.reference(ctx, name)
	}
	value, err := e.reference(ctx, variable)
	if err != nil {
		return "", err
	}
	if _, _, percent := splitPercent(from); !percent {
		// Both sides get a % of their own; one that is in TO stays as it is.
		return substituteSuffix(value, unquotePercent(from), to), nil
	}
	return patsubst(from, to, value), nil
}

func unquotePercent(s string) string { plain, _, _ := splitPercent(s); return plain }

func substituteSuffix(text, from, to string) string {
	list := words(text)
	for i, w := range list {
		if stem, ok := strings.CutSuffix(w, from); ok {
			list[i] = stem + to
		}
	}
	return strings.Join(list, " ")
}

// reference is the expanded value of a variable.
func (e *Evaluator) reference(ctx context.Context, name string) (string, error) {
	if name == ".VARIABLES" {
		return strings.Join(e.Names(), " "), nil
	}
	v, ok := e.vars[name]
	if !ok {
		return "", nil
	}
	if !v.Recursive || v.Raw == "" { // an empty one cannot refer to itself, even while it is being expanded
		return v.Raw, nil
	}
	return e.recursive(ctx, v)
}

func (e *Evaluator) recursive(ctx context.Context, v *Variable) (string, error) {
	if v.File != "" {
		saved := e.expanding
		e.expanding = &place{v.File, v.Line}
		defer func() { e.expanding = saved }()
	}
	if v.expanding {
		if v.calls == 0 {
			return "", e.fatal("Recursive variable '%s' references itself (eventually)", v.Name)
		}
		v.calls--
		return e.expand(ctx, v.Raw)
	}
	v.expanding = true
	defer func() { v.expanding = false }()
	return e.expand(ctx, v.Raw)
}
