// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"
	"unicode/utf8"
)

// quotes reads quotation marks, with the character in front where it decides
// which one is meant.
func (r *reading) quotes() bool {
	p := r.p
	s, i := p.src.s, p.src.pos
	first, size := utf8.DecodeRuneInString(s[i:])
	isQuote := first == '"' || first == '\''
	next := at(s, i+size)
	nextQuote := next == '"' || next == '\''
	if !isQuote && (!nextQuote || first == '\\') {
		return false
	}
	line := p.src.line()
	lead, marks := r.quoteRule(s[i:], first, size, isQuote)
	r.n.addText(lead, r.text)
	for j := range len(marks) {
		r.n.add(&node{kind: smartQuote, text: []byte(marks[j : j+1]), line: line})
	}
	p.src.pos = i + len(lead) + len(marks)
	return true
}

// quoteRule tells what stands in front of the marks, and which they are.
func (r *reading) quoteRule(s string, first rune, size int, isQuote bool) (lead, marks string) {
	if isQuote && (opensEmphasis(s[1:]) || closesBefore(s[1:])) {
		return "", s[:1]
	}
	sp := 0
	if isSpace(s[0]) {
		sp = 1
	}
	if two := s[sp:]; len(two) >= 3 && (strings.HasPrefix(two, `"'`) || strings.HasPrefix(two, `'"`)) && isWord(two[2]) {
		return s[:sp], two[:2]
	}
	if two := s[sp:]; len(two) >= 4 && two[0] == '\'' && isDigit(two[1]) && isDigit(two[2]) && two[3] == 's' {
		return s[:sp], two[:1]
	}
	next := at(s, size)
	nextQuote := next == '"' || next == '\''
	if nextQuote && (sp == 1 && isWord(at(s, size+1)) || !strings.ContainsRune(" \\\t\r\n[{(-", first)) {
		return s[:size], s[size : size+1]
	}
	if isQuote && endsWord(s[1:]) {
		return "", s[:1]
	}
	if next == '\'' {
		return s[:size], "'"
	}
	if first == '\'' {
		return "", "'"
	}
	if next == '"' {
		return s[:size], `"`
	}
	return "", s[:1]
}

// opensEmphasis: one or two of * and _, then no white space.
func opensEmphasis(s string) bool {
	for n := 2; n > 0; n-- {
		if len(s) > n && strings.Trim(s[:n], "_*") == "" && !isSpace(s[n]) {
			return true
		}
	}
	return false
}

// closesBefore: punctuation that does not begin a word, nor an ellipsis.
func closesBefore(s string) bool {
	const punctuation = "!\"#$%'()*+,-./:;<=>?@[\\]^_`{|}~"
	if s == "" || strings.IndexByte(punctuation, s[0]) < 0 || strings.HasPrefix(s[1:], "..") {
		return false
	}
	next, size := utf8.DecodeRuneInString(s[1:])
	word := size > 0 && isUnicodeWord(next)
	return word == (s[0] == '_')
}

func endsWord(s string) bool {
	if s == "" || isSpace(s[0]) {
		return true
	}
	if s[0] != 's' {
		return false
	}
	next, size := utf8.DecodeRuneInString(s[1:])
	return size == 0 || !isUnicodeWord(next)
}
