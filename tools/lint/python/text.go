// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A file is worked on as a string with one byte for each character, so that
// an offset is a column. ASCII stands for itself; any other character is one
// of these classes, and what it was is kept beside it, in order.
const (
	charLetter = 0x80 + iota // may start a name
	charDigit                // may continue a name
	charSpace                // white space beyond ASCII
	charNBSP                 // the no-break space
	charBreak                // ends a line for some of the rules
	charOther
)

// source is a file as it is worked on.
type source struct {
	text  string   // with \n as the only line ending
	lines []string // each with its ending
	wide  []string // the bytes of each character that is not ASCII
	bom   bool
	eol   string // the ending that most lines have
	mixed int    // first line with another ending; 0: none
}

// decode reads a file the way Python does: a declared encoding that does not
// fit means Latin-1.
func decode(raw []byte) *source {
	s := &source{eol: "\n"}
	if rest, ok := bytes.CutPrefix(raw, []byte("\xef\xbb\xbf")); ok {
		raw, s.bom = rest, true
	}
	narrow := !utf8.Valid(raw) || !isUTF8(cookie(raw)) && !s.bom
	var b strings.Builder
	b.Grow(len(raw))
	ends := newEndings()
	for i := 0; i < len(raw); {
		c := raw[i]
		size := 1
		switch {
		case c == '\r':
			if i+1 < len(raw) && raw[i+1] == '\n' {
				size = 2
			}
			ends.add(string(raw[i : i+size]))
			c = '\n'
		case c == '\n':
			ends.add("\n")
		case c >= utf8.RuneSelf:
			r := rune(c)
			if !narrow {
				r, size = utf8.DecodeRune(raw[i:])
			}
			s.wide = append(s.wide, string(raw[i:i+size]))
			c = class(r)
		}
		b.WriteByte(c)
		i += size
	}
	s.text = b.String()
	s.lines = splitLines(s.text)
	s.eol, s.mixed = ends.result()
	return s
}

// encode gives the bytes of a changed text. The order of the characters that
// are not ASCII is that of the source.
func (s *source) encode(text string) []byte {
	out := make([]byte, 0, len(text)+len(text)/16)
	if s.bom {
		out = append(out, "\xef\xbb\xbf"...)
	}
	next := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			out = append(out, s.eol...)
		case c >= utf8.RuneSelf && next < len(s.wide):
			out = append(out, s.wide[next]...)
			next++
		default:
			out = append(out, c)
		}
	}
	return out
}

// endings counts the line endings of a file.
type endings struct {
	seen  []string
	count map[string]int
	first map[string]int
	line  int
}

func newEndings() *endings {
	return &endings{count: map[string]int{}, first: map[string]int{}}
}

func (e *endings) add(end string) {
	e.line++
	if e.count[end] == 0 {
		e.seen = append(e.seen, end)
		e.first[end] = e.line
	}
	e.count[end]++
}

// result is the most frequent ending, the first seen of equals, and the first
// line that has another.
func (e *endings) result() (eol string, mixed int) {
	eol = "\n"
	for i, s := range e.seen {
		if i == 0 || e.count[s] > e.count[eol] {
			eol = s
		}
	}
	for _, s := range e.seen {
		if s != eol && (mixed == 0 || e.first[s] < mixed) {
			mixed = e.first[s]
		}
	}
	return eol, mixed
}

func class(r rune) byte {
	switch {
	case r == 0xa0:
		return charNBSP
	case r == 0x85 || r == 0x2028 || r == 0x2029:
		return charBreak
	case unicode.IsSpace(r):
		return charSpace
	case unicode.IsLetter(r) || unicode.Is(unicode.Nl, r):
		return charLetter
	case unicode.IsNumber(r):
		return charDigit
	}
	return charOther
}

// cookie is the encoding that one of the first two lines declares.
func cookie(raw []byte) string {
	for range 2 {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		trimmed := bytes.TrimLeft(line, " \t\f")
		if len(trimmed) > 0 && trimmed[0] == '#' {
			if name := declared(trimmed); name != "" {
				return name
			}
		} else if len(bytes.TrimSpace(trimmed)) > 0 {
			return "" // code: the second line does not count
		}
		raw = rest
	}
	return ""
}

func declared(comment []byte) string {
	for {
		i := bytes.Index(comment, []byte("coding"))
		if i < 0 {
			return ""
		}
		comment = comment[i+len("coding"):]
		if len(comment) == 0 || comment[0] != ':' && comment[0] != '=' {
			continue
		}
		name := bytes.TrimLeft(comment[1:], " \t")
		end := 0
		for end < len(name) && (isWord(name[end]) || name[end] == '-' || name[end] == '.') && name[end] < utf8.RuneSelf {
			end++
		}
		if end > 0 {
			return string(name[:end])
		}
	}
}

func isUTF8(name string) bool {
	switch strings.ReplaceAll(strings.ToLower(name), "_", "-") {
	case "", "utf-8", "utf8", "u8", "utf", "utf8-ucs2", "utf8-ucs4", "utf-8-sig", "utf-8-unix", "utf-8-dos", "utf-8-mac", "ascii", "us-ascii":
		return true
	}
	return strings.HasPrefix(strings.ToLower(name), "utf-8-")
}

func splitLines(text string) []string {
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	for text != "" {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return append(lines, text)
		}
		lines = append(lines, text[:i+1])
		text = text[i+1:]
	}
	return lines
}

func isSpace(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '\f', '\v', 0x1c, 0x1d, 0x1e, 0x1f, charSpace, charNBSP, charBreak:
		return true
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isStart tells whether a name may start with the character.
func isStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' && c < utf8.RuneSelf || c == '_' || c == charLetter
}

func isWord(c byte) bool { return isStart(c) || isDigit(c) || c == charDigit }

func isIdentifier(s string) bool {
	if s == "" || !isStart(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isWord(s[i]) {
			return false
		}
	}
	return true
}

func trimLeft(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

func trimRight(s string) string {
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func trim(s string) string { return trimLeft(trimRight(s)) }

// slice is s[from:to] with bounds that may lie outside, as in Python for
// bounds that are not negative.
func slice(s string, from, to int) string {
	from, to = min(max(from, 0), len(s)), min(max(to, 0), len(s))
	if from >= to {
		return ""
	}
	return s[from:to]
}

// indentOf is the width of the white space at the start, tabs to multiples of 8.
func indentOf(line string) int {
	line = strings.TrimRight(line, "\r\n")
	if strings.IndexByte(line, '\t') < 0 {
		return len(line) - len(trimLeft(line))
	}
	n := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\t':
			n = n/8*8 + 8
		case ' ':
			n++
		default:
			return n
		}
	}
	return n
}

// indentation is the white space at the start of a line that has more than that.
func indentation(line string) string {
	rest := trimLeft(line)
	if rest == "" {
		return ""
	}
	return line[:len(line)-len(rest)]
}

func isBlank(line string) bool { return trimLeft(line) == "" }
