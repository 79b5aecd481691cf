// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/shell"
)

// findExpr is a test of find(1): the path as find prints it (./a/b), and what
// is there.
type findExpr func(path string, e fs.DirEntry) bool

// parseFind reads the tests that people put into FINDFILES_IGNORE: -path,
// -wholename, -name, -ipath, -iname, -type d, f or l, -o, -a, !, and
// parentheses. The words are split as a shell splits them, since a shell did so
// until now. Empty text is nil. origin is where the text is from.
func parseFind(text, origin string) (findExpr, error) {
	if origin != "" {
		origin = " (" + origin + ")"
	}
	words, err := shell.Fields(text, func(string) string { return "" })
	if err != nil {
		return nil, fmt.Errorf("FINDFILES_IGNORE is %q%s: %w", text, origin, err)
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
		return nil, fmt.Errorf("FINDFILES_IGNORE is %q%s: %w; it takes tests of find, such as -path ./third_party -o -name testdata", text, origin, err)
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
			err = errors.New("a ( is not closed")
		}
		return e, err
	case len(p.words) == 0:
		return nil, errors.New("a test is missing at the end")
	}
	test := p.words[0]
	if !slices.Contains(findTests(), test) {
		return nil, fmt.Errorf("%q is not known here", test)
	}
	if len(p.words) < 2 {
		return nil, fmt.Errorf("nothing follows %s", test)
	}
	arg := p.words[1]
	p.words = p.words[2:]
	fold := strings.HasPrefix(test, "-i")
	switch test {
	case "-name", "-iname":
		return func(name string, _ fs.DirEntry) bool { return fnmatch(arg, path.Base(name), fold) }, nil
	case "-type":
		if arg != "d" && arg != "f" && arg != "l" {
			return nil, fmt.Errorf("-type %s is not known here", arg)
		}
		return func(_ string, e fs.DirEntry) bool {
			return arg == "d" && e.IsDir() || arg == "f" && e.Type().IsRegular() || arg == "l" && e.Type()&fs.ModeSymlink != 0
		}, nil
	}
	return func(path string, _ fs.DirEntry) bool { return fnmatch(arg, path, fold) }, nil
}

// findTests are the tests that are known, each with one word behind it.
func findTests() []string {
	return []string{"-path", "-wholename", "-name", "-ipath", "-iwholename", "-iname", "-type"}
}
