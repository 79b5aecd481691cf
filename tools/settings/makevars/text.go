// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import "strings"

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func trimLeft(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	return s
}

func trimSpace(s string) string {
	s = trimLeft(s)
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func trimRightBlank(s string) string { return strings.TrimRight(s, " \t") }

// words splits at white space of the C locale.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r < 128 && isSpace(byte(r)) })
}

// firstWord cuts the first word off.
func firstWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && !isSpace(s[i]) {
		i++
	}
	return s[:i], trimLeft(s[i:])
}

// collapse joins continuation lines: a newline behind an odd number of
// backslashes becomes, with the blanks around it, one space.
func collapse(s string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	var out []byte
	for {
		nl := strings.IndexByte(s, '\n')
		if nl < 0 {
			return string(out) + s
		}
		slashes := 0
		for slashes < nl && s[nl-1-slashes] == '\\' {
			slashes++
		}
		out = append(out, s[:nl-slashes+slashes/2]...)
		s = s[nl+1:]
		if slashes%2 == 0 {
			out = append(out, '\n')
			continue
		}
		for s != "" && isBlank(s[0]) {
			s = s[1:]
		}
		for len(out) > 0 && isBlank(out[len(out)-1]) {
			out = out[:len(out)-1]
		}
		out = append(out, ' ')
	}
}

// cutUnquoted cuts s at the first of the stop characters that no backslash
// quotes and that is not inside a variable reference. Backslashes in front of
// stop characters are halved on the way, also when nothing is found.
func cutUnquoted(s, stops string) (before string, stop byte, after string) {
	var out []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '$':
			end := referenceEnd(s, i)
			out = append(out, s[i:end]...)
			i = end - 1
		case strings.IndexByte(stops, c) >= 0:
			n := 0
			for n < len(out) && out[len(out)-1-n] == '\\' {
				n++
			}
			out = out[:len(out)-n+n/2]
			if n%2 == 0 {
				return string(out), c, s[i+1:]
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return string(out), 0, ""
}

// referenceEnd returns where the reference that begins with the $ at i ends.
func referenceEnd(s string, i int) int {
	if i+1 >= len(s) {
		return i + 1
	}
	open := s[i+1]
	if open != '(' && open != '{' {
		return i + 2
	}
	closing := closer(open)
	depth := 1
	for j := i + 2; j < len(s); j++ {
		switch s[j] {
		case open:
			depth++
		case closing:
			depth--
			if depth == 0 {
				return j + 1
			}
		}
	}
	return len(s)
}

func closer(open byte) byte {
	if open == '(' {
		return ')'
	}
	return '}'
}

// stripComment drops an unquoted comment.
func stripComment(s string) string {
	before, _, _ := cutUnquoted(s, "#")
	return before
}

// splitPercent cuts a pattern at its first unquoted %; backslashes quote it.
func splitPercent(s string) (prefix, suffix string, found bool) {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		n := 0
		for n < len(out) && out[len(out)-1-n] == '\\' {
			n++
		}
		out = out[:len(out)-n+n/2]
		if n%2 == 0 {
			return string(out), s[i+1:], true
		}
		out = append(out, '%')
	}
	return string(out), "", false
}
