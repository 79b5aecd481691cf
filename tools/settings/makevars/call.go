// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import (
	"context"
	"strconv"
)

// function is one of make's functions. Arguments come expanded, unless raw is
// set; then they are texts that the function expands itself.
type function struct {
	min, max int // arguments; max 0: any number
	raw      bool
	run      func(ctx context.Context, e *Evaluator, args []string) (string, error)
}

// functionAt finds the function whose name s begins with; behind the name must
// be white space or the end.
func (e *Evaluator) functionAt(s string) (*function, string) {
	i := 0
	for i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] == '-') {
		i++
	}
	if i == 0 || i < len(s) && !isSpace(s[i]) {
		return nil, ""
	}
	return functionNamed(s[:i]), s[:i]
}

// callFunction reads the arguments of a function that begin at s, and runs it.
func (e *Evaluator) callFunction(ctx context.Context, f *function, name, s string, open, closing byte) (text, rest string, err error) {
	s = trimLeft(s)
	end := matching(s, open, closing)
	if end < 0 {
		return "", "", e.fatal("unterminated call to function '%s': missing '%c'", name, closing)
	}
	var args []string
	for list := s[:end]; ; {
		comma := -1
		if len(args)+1 != f.max {
			comma = nextComma(list, open, closing)
		}
		if comma < 0 {
			args = append(args, list)
			break
		}
		args = append(args, list[:comma])
		list = list[comma+1:]
	}
	if !f.raw {
		for i := range args {
			if args[i], err = e.expand(ctx, args[i]); err != nil {
				return "", "", err
			}
		}
	}
	text, err = e.runFunction(ctx, f, name, args)
	return text, s[end+1:], err
}

func (e *Evaluator) runFunction(ctx context.Context, f *function, name string, args []string) (string, error) {
	if len(args) < f.min {
		return "", e.fatal("insufficient number of arguments (%d) to function '%s'", len(args), name)
	}
	return f.run(ctx, e, args)
}

// matching finds the closing parenthesis of a list that has been opened.
func matching(s string, open, closing byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case open:
			depth++
		case closing:
			depth--
			if depth < 0 {
				return i
			}
		}
	}
	return -1
}

func nextComma(s string, open, closing byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == open:
			depth++
		case s[i] == closing:
			depth--
		case s[i] == ',' && depth <= 0:
			return i
		}
	}
	return -1
}

// call is $(call NAME,ARG…): a variable as a function of $1, $2 and so on.
func call(ctx context.Context, e *Evaluator, args []string) (string, error) {
	name := trimSpace(args[0])
	if name == "" {
		return "", nil
	}
	if f := functionNamed(name); f != nil {
		return e.runFunction(ctx, f, name, args[1:]) // arguments beyond those that it takes are dropped
	}
	v, ok := e.vars[name]
	if !ok || v.Raw == "" {
		return "", nil
	}
	restore := map[string]*Variable{}
	bind := func(n int, value *Variable) {
		key := strconv.Itoa(n)
		restore[key] = e.vars[key]
		if value == nil {
			delete(e.vars, key)
			return
		}
		value.Name = key
		e.vars[key] = value
	}
	for i, a := range args {
		if i == 0 {
			a = name
		}
		bind(i, &Variable{Raw: a, Origin: Automatic})
	}
	// Arguments of an enclosing call are not seen.
	for i := len(args); e.vars[strconv.Itoa(i)] != nil; i++ {
		bind(i, nil)
	}
	defer func() {
		for key, old := range restore {
			if old == nil {
				delete(e.vars, key)
			} else {
				e.vars[key] = old
			}
		}
	}()
	saved := v.calls
	v.calls = maxDepth
	defer func() { v.calls = saved }()
	return e.reference(ctx, name)
}
