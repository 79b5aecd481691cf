// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"mvdan.cc/sh/v3/shell"
)

// findExpr is a test of find(1): the path as find prints it (./a/b), and what
// is there.
type findExpr func(path string, e fs.DirEntry) bool

// parseFind reads the tests that people put into FINDFILES_IGNORE: -path,
// -wholename, -name, -ipath, -iname, -type d or f, -o, -a, !, and parentheses.
// The words are split as a shell splits them, since a shell did so until now.
// Empty text is nil.
func parseFind(text string) (findExpr, error) {
	words, err := shell.Fields(text, func(string) string { return "" })
	if err != nil {
		return nil, fmt.Errorf("FINDFILES_IGNORE is %q: %w", text, err)
	}
	if len(words) == 0 {
		return nil, nil
	}
	p := &findParser{words: words}
	e, err := p.or()
	if err == nil && len(p.words) > 0 {
		err = fmt.Errorf("%q is out of place", p.words[0])
	}
	if err != nil {
		return nil, fmt.Errorf("FINDFILES_IGNORE is %q: %w; it takes tests of find, such as -path ./third_party -o -name testdata", text, err)
	}
	return e, nil
}

type findParser struct{ words []string }

// next takes the first word if it is one of those wanted.
func (p *findParser) next(wanted ...string) bool {
	for _, w := range wanted {
		if len(p.words) > 0 && p.words[0] == w {
			p.words = p.words[1:]
			return true
		}
	}
	return false
}

func (p *findParser) or() (findExpr, error) {
	left, err := p.and()
	for err == nil && p.next("-o", "-or") {
		var right findExpr
		before := left
		right, err = p.and()
		left = func(path string, e fs.DirEntry) bool { return before(path, e) || right(path, e) }
	}
	return left, err
}

func (p *findParser) and() (findExpr, error) {
	left, err := p.not()
	for err == nil && len(p.words) > 0 && p.words[0] != "-o" && p.words[0] != "-or" && p.words[0] != ")" {
		p.next("-a", "-and")
		var right findExpr
		before := left
		right, err = p.not()
		left = func(path string, e fs.DirEntry) bool { return before(path, e) && right(path, e) }
	}
	return left, err
}

func (p *findParser) not() (findExpr, error) {
	switch {
	case p.next("!", "-not"):
		e, err := p.not()
		return func(path string, d fs.DirEntry) bool { return !e(path, d) }, err
	case p.next("("):
		e, err := p.or()
		if err == nil && !p.next(")") {
			err = fmt.Errorf("a ( is not closed")
		}
		return e, err
	case len(p.words) < 2:
		return nil, fmt.Errorf("a test is missing at the end")
	}
	test, arg := p.words[0], p.words[1]
	p.words = p.words[2:]
	switch test {
	case "-path", "-wholename":
		return func(path string, _ fs.DirEntry) bool { return fnmatch(arg, path) }, nil
	case "-ipath", "-iwholename":
		return func(path string, _ fs.DirEntry) bool { return fnmatch(strings.ToLower(arg), strings.ToLower(path)) }, nil
	case "-name":
		return func(name string, _ fs.DirEntry) bool { return fnmatch(arg, path.Base(name)) }, nil
	case "-iname":
		return func(name string, _ fs.DirEntry) bool {
			return fnmatch(strings.ToLower(arg), strings.ToLower(path.Base(name)))
		}, nil
	case "-type":
		if arg != "d" && arg != "f" && arg != "l" {
			return nil, fmt.Errorf("-type %s is not known here", arg)
		}
		return func(_ string, e fs.DirEntry) bool {
			return arg == "d" && e.IsDir() || arg == "f" && e.Type().IsRegular() || arg == "l" && e.Type()&fs.ModeSymlink != 0
		}, nil
	}
	return nil, fmt.Errorf("%s is not known here", test)
}

// fnmatch matches as find does: * and ? match a slash too.
func fnmatch(pattern, name string) bool {
	// path.Match never lets a star match a slash, so both get another byte for
	// it, one that no path has.
	other := strings.NewReplacer("/", "\x01", "[!", "[^")
	ok, err := path.Match(other.Replace(pattern), strings.ReplaceAll(name, "/", "\x01"))
	return ok && err == nil
}
