// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

type runner = func(ctx context.Context, e *Evaluator, args []string) (string, error)

// functionNamed returns one of make's functions, or nil.
func functionNamed(name string) *function { //nolint:funlen // a table: one line for each function
	text := func(arity int, f func(a []string) string) *function {
		return &function{min: arity, max: arity, run: func(_ context.Context, _ *Evaluator, a []string) (string, error) { return f(a), nil }}
	}
	each := func(f func(word string) (string, bool)) *function {
		fn := text(1, func(a []string) string { return mapWords(a[0], f) })
		fn.min = 0
		return fn
	}
	one := func(f runner) *function { return &function{max: 1, run: f} }
	switch name {
	case "subst":
		return text(3, func(a []string) string { return substitute(a[0], a[1], a[2]) })
	case "patsubst":
		return text(3, func(a []string) string { return patsubst(a[0], a[1], a[2]) })
	case "strip":
		return text(1, func(a []string) string { return strings.Join(words(a[0]), " ") })
	case "findstring":
		return text(2, findString)
	case "filter":
		return text(2, func(a []string) string { return filter(a[0], a[1], true) })
	case "filter-out":
		return text(2, func(a []string) string { return filter(a[0], a[1], false) })
	case "sort":
		return text(1, func(a []string) string { return sortWords(words(a[0])) })
	case "words":
		return text(1, func(a []string) string { return strconv.Itoa(len(words(a[0]))) })
	case "firstword":
		return text(1, func(a []string) string { return strings.Join(words(a[0])[:min(1, len(words(a[0])))], "") })
	case "lastword":
		return text(1, func(a []string) string { w := words(a[0]); return strings.Join(w[max(0, len(w)-1):], "") })
	case "join":
		return text(2, func(a []string) string { return join(words(a[0]), words(a[1])) })
	case "addprefix":
		return text(2, func(a []string) string {
			return mapWords(a[1], func(w string) (string, bool) { return a[0] + w, true })
		})
	case "addsuffix":
		return text(2, func(a []string) string {
			return mapWords(a[1], func(w string) (string, bool) { return w + a[0], true })
		})
	case "dir":
		return each(func(w string) (string, bool) { return dirOf(w), true })
	case "notdir":
		return each(func(w string) (string, bool) { return w[strings.LastIndexByte(w, '/')+1:], true })
	case "suffix":
		return each(func(w string) (string, bool) { _, s := cutSuffix(w); return s, s != "" })
	case "basename":
		return each(func(w string) (string, bool) { b, _ := cutSuffix(w); return b, true })
	case "word":
		return &function{min: 2, max: 2, run: word}
	case "wordlist":
		return &function{min: 3, max: 3, run: wordList}
	case "if":
		return &function{min: 2, max: 3, raw: true, run: ifThen}
	case "or":
		return &function{min: 1, raw: true, run: or}
	case "and":
		return &function{min: 1, raw: true, run: and}
	case "foreach":
		return &function{min: 3, max: 3, raw: true, run: foreach}
	case "call":
		return &function{min: 1, run: call}
	case "value":
		return one(func(_ context.Context, e *Evaluator, a []string) (string, error) {
			v, _ := e.Lookup(a[0])
			return v.Raw, nil
		})
	case "origin":
		return one(func(_ context.Context, e *Evaluator, a []string) (string, error) { return e.origin(a[0]), nil })
	case "flavor":
		return one(func(_ context.Context, e *Evaluator, a []string) (string, error) { return e.flavor(a[0]), nil })
	case "error":
		return one(func(_ context.Context, e *Evaluator, a []string) (string, error) {
			return "", e.fatalAt(e.place, "%s", a[0])
		})
	case "warning":
		return one(func(_ context.Context, e *Evaluator, a []string) (string, error) { e.warn(a[0]); return "", nil })
	case "info":
		return one(func(_ context.Context, e *Evaluator, a []string) (string, error) { e.say(a[0]); return "", nil })
	case "eval":
		return one(func(ctx context.Context, e *Evaluator, a []string) (string, error) { return "", e.evalText(ctx, a[0]) })
	case "shell":
		return one(func(ctx context.Context, e *Evaluator, a []string) (string, error) { return e.shell(ctx, a[0]) })
	case "wildcard":
		return one(wildcard)
	case "realpath":
		return one(func(_ context.Context, e *Evaluator, a []string) (string, error) { return e.realPath(a[0]), nil })
	case "abspath":
		return one(func(_ context.Context, e *Evaluator, a []string) (string, error) { return e.absPath(a[0]), nil })
	case "file", "guile":
		return &function{run: func(_ context.Context, e *Evaluator, _ []string) (string, error) {
			return "", e.unsupported("$(" + name + " …)")
		}}
	}
	return nil
}

func mapWords(s string, f func(string) (string, bool)) string {
	var out []string
	for _, w := range words(s) {
		if r, keep := f(w); keep {
			out = append(out, r)
		}
	}
	return strings.Join(out, " ")
}

// substitute is subst; an empty text to look for is found once, at the end.
func substitute(from, to, text string) string {
	if from == "" {
		return text + to
	}
	return strings.ReplaceAll(text, from, to)
}

func patsubst(pattern, replacement, text string) string {
	prefix, suffix, percent := splitPercent(pattern)
	before, after, repeat := splitPercent(replacement)
	if !percent { // whole words are replaced, and the space between words stays
		if repeat {
			before += "%" + after
		}
		return replaceWords(prefix, before, text)
	}
	return mapWords(text, func(w string) (string, bool) {
		switch {
		case len(w) < len(prefix)+len(suffix) || !strings.HasPrefix(w, prefix) || !strings.HasSuffix(w, suffix):
			return w, true
		case !repeat:
			return before, true
		}
		return before + w[len(prefix):len(w)-len(suffix)] + after, true
	})
}

// replaceWords replaces words that are equal to from and nothing else.
func replaceWords(from, to, text string) string {
	var b strings.Builder
	for text != "" {
		end := 0
		for end < len(text) && !isSpace(text[end]) {
			end++
		}
		if end > 0 && text[:end] == from {
			b.WriteString(to)
		} else {
			b.WriteString(text[:end])
		}
		for text = text[end:]; text != "" && isSpace(text[0]); text = text[1:] {
			b.WriteByte(text[0])
		}
	}
	return b.String()
}

func findString(a []string) string {
	if strings.Contains(a[1], a[0]) {
		return a[0]
	}
	return ""
}

func filter(patterns, text string, keep bool) string {
	list := words(patterns)
	return mapWords(text, func(w string) (string, bool) {
		matches := slices.ContainsFunc(list, func(p string) bool {
			prefix, suffix, percent := splitPercent(p)
			if !percent {
				return w == prefix
			}
			return len(w) >= len(prefix)+len(suffix) && strings.HasPrefix(w, prefix) && strings.HasSuffix(w, suffix)
		})
		return w, matches == keep
	})
}

// sortWords orders as make does: by the first byte as a signed character, so
// that letters beyond ASCII come first, and then byte by byte.
func sortWords(list []string) string {
	slices.SortFunc(list, func(a, b string) int {
		if a[0] != b[0] {
			return int(int8(a[0])) - int(int8(b[0]))
		}
		return strings.Compare(a, b)
	})
	return strings.Join(slices.Compact(list), " ")
}

func join(a, b []string) string {
	var out []string
	for i := range max(len(a), len(b)) {
		w := ""
		if i < len(a) {
			w = a[i]
		}
		if i < len(b) {
			w += b[i]
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

func dirOf(w string) string {
	if i := strings.LastIndexByte(w, '/'); i >= 0 {
		return w[:i+1]
	}
	return "./"
}

// cutSuffix cuts at the last dot behind the last slash.
func cutSuffix(w string) (base, suffix string) {
	dot := strings.LastIndexByte(w, '.')
	if dot < 0 || dot < strings.LastIndexByte(w, '/') {
		return w, ""
	}
	return w[:dot], w[dot:]
}

func (e *Evaluator) number(s, message string) (int, error) {
	trimmed := trimSpace(s)
	for i := range len(trimmed) {
		if trimmed[i] < '0' || trimmed[i] > '9' {
			return 0, e.fatal("%s: '%s'", message, s)
		}
	}
	n, err := strconv.Atoi(trimmed)
	if err != nil {
		return 0, e.fatal("%s: '%s'", message, s)
	}
	return n, nil
}

func word(_ context.Context, e *Evaluator, a []string) (string, error) {
	n, err := e.number(a[0], "non-numeric first argument to 'word' function")
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", e.fatal("first argument to 'word' function must be greater than 0")
	}
	if list := words(a[1]); n <= len(list) {
		return list[n-1], nil
	}
	return "", nil
}

func wordList(_ context.Context, e *Evaluator, a []string) (string, error) {
	first, err := e.number(a[0], "non-numeric first argument to 'wordlist' function")
	if err != nil {
		return "", err
	}
	last, err := e.number(a[1], "non-numeric second argument to 'wordlist' function")
	if err != nil {
		return "", err
	}
	if first < 1 {
		return "", e.fatal("invalid first argument to 'wordlist' function: '%d'", first)
	}
	list := words(a[2])
	last = min(last, len(list))
	if first > last {
		return "", nil
	}
	return strings.Join(list[first-1:last], " "), nil
}

func ifThen(ctx context.Context, e *Evaluator, a []string) (string, error) {
	condition, err := e.expand(ctx, trimSpace(a[0]))
	switch {
	case err != nil:
		return "", err
	case condition != "":
		return e.expand(ctx, a[1])
	case len(a) > 2:
		return e.expand(ctx, a[2])
	}
	return "", nil
}

func or(ctx context.Context, e *Evaluator, a []string) (string, error) {
	for _, arg := range a {
		if value, err := e.expand(ctx, trimSpace(arg)); err != nil || value != "" {
			return value, err
		}
	}
	return "", nil
}

func and(ctx context.Context, e *Evaluator, a []string) (value string, err error) {
	for _, arg := range a {
		if value, err = e.expand(ctx, trimSpace(arg)); err != nil || value == "" {
			return "", err
		}
	}
	return value, nil
}

func foreach(ctx context.Context, e *Evaluator, a []string) (string, error) {
	name, err := e.expand(ctx, a[0])
	if err != nil {
		return "", err
	}
	list, err := e.expand(ctx, a[1])
	if err != nil {
		return "", err
	}
	name = trimSpace(name)
	old := e.vars[name]
	defer func() {
		if old == nil {
			delete(e.vars, name)
		} else {
			e.vars[name] = old
		}
	}()
	var out []string
	for _, w := range words(list) {
		e.vars[name] = &Variable{Name: name, Raw: w, Origin: Automatic}
		text, err := e.expand(ctx, a[2])
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	return strings.Join(out, " "), nil
}

func (e *Evaluator) origin(name string) string {
	v, _ := e.Lookup(name)
	return v.Origin.String()
}

func (e *Evaluator) flavor(name string) string {
	switch v, ok := e.vars[name]; {
	case !ok:
		return "undefined"
	case v.Recursive:
		return "recursive"
	}
	return "simple"
}

func (e *Evaluator) warn(text string) {
	if e.opts.Warn != nil {
		e.opts.Warn((&Error{File: e.place.file, Line: e.place.line, Message: text}).Error())
	}
}

func (e *Evaluator) say(text string) {
	if e.opts.Info != nil {
		e.opts.Info(text)
	}
}

// wildcard lists the files that match, sorted for each pattern. Names without
// a pattern are listed when they exist.
func wildcard(_ context.Context, e *Evaluator, a []string) (string, error) {
	var out []string
	for _, pattern := range words(a[0]) {
		matches, err := filepath.Glob(e.path(pattern))
		if err != nil {
			continue
		}
		for _, m := range matches {
			if !filepath.IsAbs(pattern) {
				m = strings.TrimPrefix(m, filepath.Clean(e.opts.Dir)+"/")
				if strings.HasPrefix(pattern, "./") {
					m = "./" + m
				}
			}
			if strings.HasSuffix(pattern, "/") && !strings.HasSuffix(m, "/") {
				m += "/"
			}
			if hidden(pattern, m) {
				continue
			}
			out = append(out, m)
		}
	}
	return strings.Join(out, " "), nil
}

// hidden tells names with a leading dot, which a pattern must spell out.
func hidden(pattern, match string) bool {
	p, m := filepath.Base(pattern), filepath.Base(match)
	return strings.HasPrefix(m, ".") && !strings.HasPrefix(p, ".")
}

func (e *Evaluator) realPath(list string) string {
	return mapWords(list, func(w string) (string, bool) {
		p, err := filepath.EvalSymlinks(e.path(w))
		if err == nil {
			_, err = os.Stat(p)
		}
		return p, err == nil
	})
}

func (e *Evaluator) absPath(list string) string {
	return mapWords(list, func(w string) (string, bool) {
		return filepath.Clean(e.path(w)), !e.starting || filepath.IsAbs(w)
	})
}
