// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"slices"
	"strings"
)

// kind is the type of a token, as Python's tokenize module has them.
type kind uint8

const (
	kindName kind = iota
	kindNumber
	kindString
	kindOp
	kindComment
	kindNL      // the end of a line that ends no statement
	kindNewline // the end of a statement
	kindIndent
	kindDedent
	kindError // a character that starts no token
	kindEnd
)

// position is a place: rows from 1, columns from 0.
type position struct{ row, col int }

// token is a piece of a source. Its text and line are parts of the source.
type token struct {
	kind       kind
	text       string
	start, end position
	line       string // all lines of a string that spans lines
}

// syntaxError is what ends the reading of tokens.
type syntaxError struct {
	row, col int
	atEnd    bool // noticed at the end of the file
	message  string
}

// tokenizer splits a source as Python 3.11 does: a formatted string is one
// token.
type tokenizer struct {
	text    string
	lines   []string
	row     int // lines read
	start   int // of the current line in the text
	line    string
	tokens  []token
	depth   int // open brackets
	joined  bool
	indents []int
	err     *syntaxError
	open    openString
}

// openString is a string whose end is on a later line.
type openString struct {
	active bool
	single bool // goes on only after a backslash
	quote  string
	begin  int // offsets in the text
	line   int
	at     position
}

// tokenize returns the tokens up to the end or the first error.
func tokenize(text string, lines []string) ([]token, *syntaxError) {
	t := &tokenizer{text: text, lines: lines, indents: []int{0}, tokens: make([]token, 0, len(text)/4+8)}
	last := ""
	for {
		last = t.line
		t.start += len(t.line)
		t.line = ""
		if t.row < len(lines) {
			t.line = lines[t.row]
		}
		t.row++
		if !t.next() || t.err != nil {
			break
		}
	}
	if t.err == nil {
		t.finish(last)
	}
	return t.tokens, t.err
}

// finish adds the tokens that no character stands for.
func (t *tokenizer) finish(last string) {
	if last != "" && !strings.HasSuffix(last, "\n") && !strings.HasPrefix(trim(last), "#") {
		at := position{t.row - 1, len(last)}
		t.tokens = append(t.tokens, token{kindNewline, "", at, position{at.row, at.col + 1}, ""})
	}
	at := position{t.row, 0}
	for range t.indents[1:] {
		t.tokens = append(t.tokens, token{kindDedent, "", at, at, ""})
	}
	t.tokens = append(t.tokens, token{kindEnd, "", at, at, ""})
}

func (t *tokenizer) add(k kind, from, to int) {
	t.tokens = append(t.tokens, token{k, t.line[from:to], position{t.row, from}, position{t.row, to}, t.line})
}

// next reads the tokens of one line; false at the end.
func (t *tokenizer) next() bool {
	pos := 0
	switch {
	case t.open.active:
		if t.line == "" {
			t.err = &syntaxError{t.open.at.row, t.open.at.col, true, "a string has no end"}
			return false
		}
		end, more := t.continueString()
		if more {
			return true
		}
		pos = end
	case t.depth <= 0 && !t.joined && t.depth == 0:
		if t.line == "" {
			return false
		}
		at, done, end := t.indent()
		if end {
			return false
		}
		if done || t.err != nil {
			return true
		}
		pos = at
	default:
		if t.line == "" {
			t.err = &syntaxError{t.row, 0, true, "a statement has no end"}
			return false
		}
		t.joined = false
	}
	for pos >= 0 && pos < len(t.line) {
		pos = t.scan(pos)
	}
	return true
}

// continueString looks for the end of a string that began on an earlier line.
func (t *tokenizer) continueString() (pos int, more bool) {
	o := &t.open
	end := endOfString(t.line, 0, o.quote)
	if end >= 0 {
		t.tokens = append(t.tokens, token{
			kindString, t.text[o.begin : t.start+end], o.at, position{t.row, end},
			t.text[o.line : t.start+len(t.line)],
		})
		o.active = false
		return end, false
	}
	if o.single && !strings.HasSuffix(t.line, "\\\n") {
		t.tokens = append(t.tokens, token{
			kindError, t.text[o.begin : t.start+len(t.line)], o.at, position{t.row, len(t.line)},
			t.text[o.line:t.start],
		})
		o.active = false
	}
	return 0, true
}

// indent measures the start of a line that begins a statement.
func (t *tokenizer) indent() (pos int, done, end bool) {
	column := 0
measure:
	for pos < len(t.line) {
		switch t.line[pos] {
		case ' ':
			column++
		case '\t':
			column = column/8*8 + 8
		case '\f':
			column = 0
		default:
			break measure
		}
		pos++
	}
	if pos == len(t.line) {
		return pos, false, true
	}
	switch t.line[pos] {
	case '#':
		stop := len(strings.TrimRight(t.line, "\r\n"))
		t.add(kindComment, pos, stop)
		t.add(kindNL, stop, len(t.line))
		return pos, true, false
	case '\n', '\r':
		t.add(kindNL, pos, len(t.line))
		return pos, true, false
	}
	if column > t.indents[len(t.indents)-1] {
		t.indents = append(t.indents, column)
		t.add(kindIndent, 0, pos)
		t.tokens[len(t.tokens)-1].start.col = 0
	}
	for column < t.indents[len(t.indents)-1] {
		if _, found := slices.BinarySearch(t.indents, column); !found {
			t.err = &syntaxError{t.row, pos, false, "the indentation is that of no enclosing block"}
			return pos, true, false
		}
		t.indents = t.indents[:len(t.indents)-1]
		t.add(kindDedent, pos, pos)
	}
	return pos, false, false
}

// scan reads one token and returns where the next begins; -1: the rest of the
// line belongs to a string that is still open.
func (t *tokenizer) scan(pos int) int {
	line := t.line
	from := pos
	for from < len(line) && (line[from] == ' ' || line[from] == '\t' || line[from] == '\f') {
		from++
	}
	if from == len(line) {
		return from
	}
	c := line[from]
	switch {
	case c == '\\' && strings.HasPrefix(line[from:], "\\\n"):
		t.joined = true
		return from + 2
	case c == '#':
		end := len(strings.TrimRight(line, "\r\n"))
		t.add(kindComment, from, end)
		return end
	case c == '\n':
		k := kindNewline
		if t.depth > 0 {
			k = kindNL
		}
		t.add(k, from, from+1)
		return from + 1
	}
	if end, ok := t.str(from); ok {
		return end
	}
	if end := number(line, from); end > from {
		t.add(kindNumber, from, end)
		return end
	}
	if n := operator(line[from:]); n > 0 {
		switch c {
		case '(', '[', '{':
			t.depth++
		case ')', ']', '}':
			t.depth--
		}
		t.add(kindOp, from, from+n)
		return from + n
	}
	if isWord(c) {
		end := from
		for end < len(line) && isWord(line[end]) {
			end++
		}
		k := kindName
		if !isStart(c) {
			k = kindOp // a digit of another script is no name
		}
		t.add(k, from, end)
		return end
	}
	t.add(kindError, pos, pos+1) // white space before it, too, is an error of its own
	return pos + 1
}

// str reads a string; not ok when none starts here.
func (t *tokenizer) str(from int) (next int, ok bool) {
	line := t.line
	n := prefix(line[from:])
	if n < 0 {
		return 0, false
	}
	at := from + n
	quote := line[at : at+1]
	if strings.HasPrefix(line[at:], quote+quote+quote) {
		quote = line[at : at+3]
		if end := endOfString(line, at+3, quote); end >= 0 {
			t.add(kindString, from, end)
			return end, true
		}
		t.open = openString{active: true, quote: quote, begin: t.start + from, line: t.start, at: position{t.row, from}}
		return -1, true
	}
	for i := at + 1; i < len(line); i++ {
		switch line[i] {
		case '\n':
			return 0, false
		case quote[0]:
			t.add(kindString, from, i+1)
			return i + 1, true
		case '\\':
			i++
			if i < len(line) && line[i] == '\n' {
				t.open = openString{active: true, single: true, quote: quote, begin: t.start + from, line: t.start, at: position{t.row, from}}
				return -1, true
			}
		}
	}
	return 0, false
}

// prefix is the length of the letters before a quote; -1: no string.
func prefix(s string) int {
	n := 0
	for n < len(s) && n < 3 && s[n] != '\'' && s[n] != '"' {
		n++
	}
	if n > 2 || n == len(s) {
		return -1
	}
	switch strings.ToLower(s[:n]) {
	case "", "b", "r", "u", "f", "br", "rb", "fr", "rf":
		return n
	}
	return -1
}

// endOfString is the offset behind the closing quote on this line, or -1.
func endOfString(line string, from int, quote string) int {
	for i := from; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
			if i >= len(line) || line[i] == '\n' {
				return -1
			}
		case quote[0]:
			if strings.HasPrefix(line[i:], quote) {
				return i + len(quote)
			}
		}
	}
	return -1
}

// digits is the end of decimal digits with single underscores between.
func digits(s string, i int) int {
	if i >= len(s) || !isDigit(s[i]) {
		return i
	}
	for i++; i < len(s); i++ {
		if s[i] == '_' && i+1 < len(s) && isDigit(s[i+1]) {
			i++
		} else if !isDigit(s[i]) {
			break
		}
	}
	return i
}

func exponent(s string, i int) int {
	if i >= len(s) || s[i]|0x20 != 'e' {
		return i
	}
	j := i + 1
	if j < len(s) && (s[j] == '+' || s[j] == '-') {
		j++
	}
	if end := digits(s, j); end > j {
		return end
	}
	return i
}

// number is the end of a number that starts at i, or i.
func number(s string, i int) int {
	if !isDigit(s[i]) && (s[i] != '.' || i+1 >= len(s) || !isDigit(s[i+1])) {
		return i
	}
	whole := digits(s, i)
	end, float := whole, false
	if end < len(s) && s[end] == '.' {
		float = true
		end = digits(s, end+1)
	}
	if e := exponent(s, end); e > end {
		end, float = e, true
	}
	if end < len(s) && s[end]|0x20 == 'j' && s[end] < 0x80 {
		return end + 1
	}
	if float {
		return end
	}
	if s[i] != '0' {
		return whole
	}
	if i+1 < len(s) {
		if end := based(s, i+1); end > 0 {
			return end
		}
	}
	end = i + 1
	for end < len(s) && (s[end] == '0' || s[end] == '_' && end+1 < len(s) && s[end+1] == '0') {
		end++
	}
	return end
}

// based is the end of the digits after 0x, 0b or 0o, or 0.
func based(s string, i int) int {
	valid := ""
	switch s[i] {
	case 'x', 'X':
		valid = "0123456789abcdefABCDEF"
	case 'b', 'B':
		valid = "01"
	case 'o', 'O':
		valid = "01234567"
	default:
		return 0
	}
	end := 0
	for i++; i < len(s); i++ {
		if s[i] == '_' {
			i++
		}
		if i >= len(s) || strings.IndexByte(valid, s[i]) < 0 {
			break
		}
		end = i + 1
	}
	return end
}

// operator is the length of the operator at the start, or 0.
func operator(s string) int {
	at := func(i int) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	second, third := at(1), at(2)
	switch c := s[0]; c {
	case '(', ')', '[', ']', '{', '}', ',', ';', '~':
		return 1
	case '.':
		if second == '.' && third == '.' {
			return 3
		}
		return 1
	case '!':
		if second == '=' {
			return 2
		}
		return 0
	case '-':
		if second == '>' || second == '=' {
			return 2
		}
		return 1
	case '*', '/', '<', '>':
		if second == c {
			if third == '=' {
				return 3
			}
			return 2
		}
		fallthrough
	case '%', '&', '+', ':', '=', '@', '^', '|':
		if second == '=' {
			return 2
		}
		return 1
	}
	return 0
}

// oneOf tells whether the text of a token is one of those brackets or signs.
// A token without text (the end of a line or of a block) counts as one of
// them, as pycodestyle has it.
func oneOf(signs, text string) bool { return strings.Contains(signs, text) }
