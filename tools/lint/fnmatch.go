// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fnmatch matches a name against a pattern of POSIX, as find does: * and ?
// match a slash and a leading dot too. With fold, case does not count. A name
// matches as characters or, which is all that find knows in the locale C, as
// bytes: GNU find takes either in a locale with UTF-8.
func fnmatch(pattern, name string, fold bool) bool {
	if utf8.ValidString(pattern) && utf8.ValidString(name) {
		if m := (matcher{fold: fold}); m.match([]rune(pattern), []rune(name)) {
			return true
		}
	}
	m := matcher{fold: fold, bytes: true}
	return m.match(octets(pattern), octets(name))
}

func octets(text string) []rune {
	all := make([]rune, len(text))
	for i := range len(text) {
		all[i] = rune(text[i])
	}
	return all
}

type matcher struct {
	fold  bool // upper and lower case are the same
	bytes bool // characters are bytes, and those above ASCII are no letters
}

// match goes back to the last star only, so the time is bounded by the product
// of the lengths.
func (m matcher) match(p, s []rune) bool {
	var afterStar, rest []rune // where to go on when what follows a star does not match
	star := false
	for len(s) > 0 {
		if len(p) > 0 && p[0] == '*' {
			p = p[1:]
			afterStar, rest, star = p, s, true
			continue
		}
		if ok, next := m.one(p, s[0]); ok {
			p, s = next, s[1:]
			continue
		}
		if !star {
			return false
		}
		rest = rest[1:]
		p, s = afterStar, rest
	}
	for len(p) > 0 && p[0] == '*' {
		p = p[1:]
	}
	return len(p) == 0
}

// one matches a character, and returns the pattern behind what matched it.
func (m matcher) one(p []rune, c rune) (bool, []rune) {
	if len(p) == 0 {
		return false, nil
	}
	switch p[0] {
	case '?':
		return true, p[1:]
	case '\\':
		if len(p) == 1 {
			return false, nil
		}
		return m.same(p[1], c), p[2:]
	case '[':
		if in, next, closed := m.set(p[1:], c); closed {
			return in, next
		}
	}
	return m.same(p[0], c), p[1:]
}

func (m matcher) lower(c rune) rune {
	if !m.fold || m.bytes && c >= utf8.RuneSelf {
		return c
	}
	return unicode.ToLower(c)
}

func (m matcher) same(a, b rune) bool { return m.lower(a) == m.lower(b) }

// set matches what follows a [, up to its ]. Without that one the [ stands for
// itself.
func (m matcher) set(p []rune, c rune) (in bool, rest []rune, closed bool) {
	not := len(p) > 0 && (p[0] == '!' || p[0] == '^')
	if not {
		p = p[1:]
	}
	for first := true; ; first = false {
		switch {
		case len(p) == 0:
			return false, nil, false
		case p[0] == ']' && !first:
			return in != not, p[1:], true
		}
		if name, next, ok := class(p); ok {
			in = in || m.inClass(name, c)
			p = next
			continue
		}
		low, next, ok := member(p)
		if !ok {
			return false, nil, false
		}
		p = next
		high := low
		if len(p) > 1 && p[0] == '-' && p[1] != ']' {
			if high, next, ok = member(p[1:]); !ok {
				return false, nil, false
			}
			p = next
		}
		in = in || m.lower(low) <= m.lower(c) && m.lower(c) <= m.lower(high)
	}
}

// member reads one character of a set, which a backslash or [. .] may guard.
func member(p []rune) (c rune, rest []rune, ok bool) {
	switch {
	case len(p) == 0:
		return 0, nil, false
	case p[0] == '\\' && len(p) > 1:
		return p[1], p[2:], true
	case p[0] == '\\':
		return 0, nil, false
	case len(p) >= 5 && p[0] == '[' && (p[1] == '.' || p[1] == '=') && p[3] == p[1] && p[4] == ']':
		return p[2], p[5:], true
	}
	return p[0], p[1:], true
}

// class reads [:name:].
func class(p []rune) (name string, rest []rune, ok bool) {
	if len(p) < 2 || p[0] != '[' || p[1] != ':' {
		return "", nil, false
	}
	end := slices.Index(p[2:], ':') + 2
	if end < 2 || end+1 >= len(p) || p[end+1] != ']' {
		return "", nil, false
	}
	name = string(p[2:end])
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return "", nil, false
	}
	return name, p[end+2:], true
}

func (m matcher) inClass(name string, c rune) bool {
	if m.bytes && c >= utf8.RuneSelf {
		return false
	}
	ascii := c < utf8.RuneSelf
	switch name {
	case "alpha":
		return unicode.IsLetter(c)
	case "digit":
		return '0' <= c && c <= '9'
	case "alnum":
		return unicode.IsLetter(c) || '0' <= c && c <= '9'
	case "upper":
		return unicode.IsUpper(c)
	case "lower":
		return unicode.IsLower(c)
	case "space":
		return unicode.IsSpace(c)
	case "blank":
		return c == ' ' || c == '\t'
	case "punct":
		return ascii && unicode.IsPrint(c) && c != ' ' && !unicode.IsLetter(c) && !unicode.IsDigit(c) || !ascii && (unicode.IsPunct(c) || unicode.IsSymbol(c))
	case "cntrl":
		return unicode.IsControl(c)
	case "print":
		return unicode.IsPrint(c)
	case "graph":
		return unicode.IsGraphic(c) && !unicode.IsSpace(c)
	case "xdigit":
		return ascii && strings.ContainsRune("0123456789abcdefABCDEF", c)
	}
	return false
}
