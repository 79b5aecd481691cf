// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// source is a text that is read from left to right, with the line number that
// it starts at. Nested blocks are sources of their own, whose text was cut out
// of that of their parent.
type source struct {
	s     string
	pos   int
	start int
	nl    []int32 // where the newlines are, found when first asked for
}

func newSource(s string, start int) *source {
	if start == 0 {
		start = 1
	}
	return &source{s: s, start: start}
}

func (s *source) eos() bool    { return s.pos >= len(s.s) }
func (s *source) rest() string { return s.s[s.pos:] }

// line is the number of the line at the position. A position on a newline
// already counts as the next line, as kramdown has it.
func (s *source) line() int {
	if s.nl == nil {
		s.nl = make([]int32, 0, strings.Count(s.s, "\n")+1)
		for i := 0; i < len(s.s); i++ {
			n := strings.IndexByte(s.s[i:], '\n')
			if n < 0 {
				break
			}
			i += n
			s.nl = append(s.nl, int32(min(i, 1<<31-1))) //nolint:gosec // it is bounded just here
		}
	}
	return s.start + sort.Search(len(s.nl), func(i int) bool { return int(s.nl[i]) > s.pos })
}

// lineEnd is the position behind the newline of the line that begins at i; -1
// when no newline is left.
func lineEnd(s string, i int) int {
	n := strings.IndexByte(s[i:], '\n')
	if n < 0 {
		return -1
	}
	return i + n + 1
}

// before is the character in front of i, 0 at the start.
func before(s string, i int) rune {
	r, size := utf8.DecodeLastRuneInString(s[:i])
	if size == 0 {
		return 0
	}
	return r
}

func at(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// isSpace is \s: white space of ASCII.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlnum(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

func isAlpha(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.M, r) }

func isUnicodeWord(r rune) bool {
	return isAlnum(r) || r == '_' || unicode.Is(unicode.Pc, r) || unicode.Is(unicode.Nl, r)
}

// Ruby's strip takes NUL for white space, too.
func strip(s string) string  { return strings.Trim(s, " \t\n\v\f\r\x00") }
func rstrip(s string) string { return strings.TrimRight(s, " \t\n\v\f\r\x00") }
func lstrip(s string) string { return strings.TrimLeft(s, " \t\n\v\f\r\x00") }

// count is how many of c stand at i, at most limit.
func count(s string, i int, c byte, limit int) int {
	n := 0
	for n < limit && i+n < len(s) && s[i+n] == c {
		n++
	}
	return n
}

// optSpace skips up to three spaces.
func optSpace(s string, i int) int { return i + count(s, i, ' ', 3) }

func skip(s string, i int, set string) int {
	for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}

func skipSpace(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// restBlank tells that nothing but white space is left on the line, and
// returns where the next line begins; -1 if something is.
func restBlank(s string, i int) int {
	for ; i < len(s) && isSpace(s[i]); i++ {
		if s[i] == '\n' {
			return i + 1
		}
	}
	return -1
}

// blankEnd is where the blank lines at i end; -1 if there is none.
func blankEnd(s string, i int) int {
	end := -1
	for ; i < len(s) && isSpace(s[i]); i++ {
		if s[i] == '\n' {
			end = i + 1
		}
	}
	return end
}

// eobEnd matches the mark that ends a block: a line with only ^.
func eobEnd(s string, i int) int {
	if at(s, i) != '^' {
		return -1
	}
	return restBlank(s, i+1)
}

// uname matches a name of XML and returns where it ends; -1 if there is none.
func uname(s string, i int) int {
	part := func(i int) int {
		r, size := utf8.DecodeRuneInString(s[i:])
		if size == 0 || r != '_' && !isAlpha(r) {
			return -1
		}
		for i += size; i < len(s); i += size {
			if r, size = utf8.DecodeRuneInString(s[i:]); r != '-' && r != '.' && r != '_' && !isAlnum(r) {
				break
			}
		}
		return i
	}
	end := part(i)
	if end > 0 && at(s, end) == ':' {
		if longer := part(end + 1); longer > 0 {
			return longer
		}
	}
	return end
}
