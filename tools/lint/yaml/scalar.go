// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import "strconv"

// content is what a scalar says, or the text of another token.
func (s *scanner) content(t *token) []rune {
	switch {
	case t.detail != nil:
		return t.detail.text
	case t.kind != scalar:
		return nil
	case t.plain:
		return s.text[t.start.index:t.end.index]
	case t.style == '\'' || t.style == '"':
		return s.text[t.start.index+1 : t.end.index-1]
	}
	return nil
}

func (s *scanner) scanPlain() {
	t := token{kind: scalar, plain: true, start: s.at, end: s.at}
	var d detail
	least := s.indent + 1
	begin := s.at.index
	var gap []rune
	for {
		if s.ch() == '#' {
			break
		}
		length := s.plainLength()
		if length == 0 {
			break
		}
		s.simple = false
		if d.decoded {
			d.text = append(append(d.text, gap...), s.text[s.at.index:s.at.index+length]...)
		}
		s.skip(length)
		t.end = s.at
		breaks := false
		gap, breaks = s.plainGap()
		if breaks && !d.decoded {
			d.decoded = true
			d.text = append([]rune(nil), s.text[begin:t.end.index]...)
		}
		if len(gap) == 0 || s.ch() == '#' || s.flow == 0 && s.at.column < least {
			break
		}
	}
	t.detail = d.kept()
	s.tokens = append(s.tokens, t)
}

// plainLength is the number of characters up to what ends a plain scalar, or
// a piece of it.
func (s *scanner) plainLength() int {
	text := s.text[s.at.index:]
	for n, c := range text {
		switch {
		case c > '~' && c != 0x85 && c != 0x2028 && c != 0x2029:
		case isSpace(c):
			return n
		case c == ':':
			if next := text[n+1]; isSpace(next) || s.flow != 0 && oneOf(next, ",[]{}") {
				return n
			}
		case s.flow != 0 && oneOf(c, ",?[]{}"):
			return n
		}
	}
	return 0
}

// plainGap passes the white space behind a piece of a plain scalar, and returns
// what it stands for; nothing when the scalar ends here.
func (s *scanner) plainGap() (gap []rune, breaks bool) {
	begin := s.at.index
	s.spaces()
	if !isBreak(s.ch()) {
		return s.from(begin), false
	}
	first := s.lineBreak()
	s.simple = true
	if s.separator() {
		return nil, true
	}
	var more []rune
	for {
		if s.ch() == ' ' {
			s.skip(1)
			continue
		}
		b := s.lineBreak()
		if b == 0 {
			break
		}
		more = append(more, b)
		if s.separator() {
			return nil, true
		}
	}
	return fold(first, more), true
}

func fold(first rune, more []rune) []rune {
	if first != '\n' {
		return append([]rune{first}, more...)
	}
	if len(more) == 0 {
		return []rune{' '}
	}
	return more
}

func (s *scanner) separator() bool {
	return (s.is("---") || s.is("...")) && isSpace(s.ahead(3))
}

func (s *scanner) scanQuoted(quote rune) {
	t := token{kind: scalar, style: quote, start: s.at}
	var d detail
	s.skip(1)
	begin := s.at.index
	// decode keeps the content so far: from here on it differs from the text.
	decode := func() {
		if !d.decoded {
			d.decoded = true
			d.text = append([]rune(nil), s.from(begin)...)
		}
	}
	for {
		from := s.at.index
		for c := s.ch(); !isSpace(c) && c != '\'' && c != '"' && c != '\\'; c = s.ch() {
			s.step()
		}
		if d.decoded {
			d.text = append(d.text, s.from(from)...)
		}
		c := s.ch()
		switch {
		case quote == '\'' && c == '\'' && s.ahead(1) == '\'':
			decode()
			d.text = append(d.text, '\'')
			s.skip(2)
		case c == quote:
			s.skip(1)
			t.end = s.at
			t.detail = d.kept()
			s.tokens = append(s.tokens, t)
			return
		case c == '\\' && quote == '"':
			decode()
			if !s.scanEscape(&d) {
				return
			}
		case c == '\'' || c == '"' || c == '\\':
			if d.decoded {
				d.text = append(d.text, c)
			}
			s.skip(1)
		default:
			if !s.quotedGap(&d, decode) {
				return
			}
		}
	}
}

// quotedGap passes white space in a quoted scalar.
func (s *scanner) quotedGap(d *detail, decode func()) bool {
	before := s.at
	begin := s.at.index
	for s.ch() == ' ' || s.ch() == '\t' {
		s.skip(1)
	}
	if s.ch() == 0 {
		return s.fail("found unexpected end of stream")
	}
	if !isBreak(s.ch()) {
		if d.decoded {
			d.text = append(d.text, s.from(begin)...)
		}
		return true
	}
	after := s.at
	s.at = before
	decode()
	s.at = after
	first := s.lineBreak()
	more, ok := s.quotedBreaks()
	d.text = append(d.text, fold(first, more)...)
	return ok
}

func (s *scanner) quotedBreaks() (breaks []rune, ok bool) {
	for {
		if s.separator() {
			return nil, s.fail("found unexpected document separator")
		}
		for s.ch() == ' ' || s.ch() == '\t' {
			s.skip(1)
		}
		b := s.lineBreak()
		if b == 0 {
			return breaks, true
		}
		breaks = append(breaks, b)
	}
}

func escape(c rune) (rune, bool) {
	switch c {
	case '0':
		return 0, true
	case 'a':
		return 7, true
	case 'b':
		return 8, true
	case 't', '\t':
		return 9, true
	case 'n':
		return 10, true
	case 'v':
		return 11, true
	case 'f':
		return 12, true
	case 'r':
		return 13, true
	case 'e':
		return 27, true
	case ' ', '"', '\\', '/':
		return c, true
	case 'N':
		return 0x85, true
	case '_':
		return 0xA0, true
	case 'L':
		return 0x2028, true
	case 'P':
		return 0x2029, true
	}
	return 0, false
}

func (s *scanner) scanEscape(d *detail) bool {
	s.skip(1)
	c := s.ch()
	if r, ok := escape(c); ok {
		d.text = append(d.text, r)
		s.skip(1)
		return true
	}
	length := 0
	switch {
	case c == 'x':
		length = 2
	case c == 'u':
		length = 4
	case c == 'U':
		length = 8
	case isBreak(c):
		s.lineBreak()
		breaks, ok := s.quotedBreaks()
		d.text = append(d.text, breaks...)
		return ok
	default:
		return s.fail("found unknown escape character %s", quoted(c))
	}
	s.skip(1)
	for k := range length {
		if !isHex(s.ahead(k)) {
			return s.fail("expected escape sequence of %d hexadecimal numbers, but found %s", length, quoted(s.ahead(k)))
		}
	}
	code, _ := strconv.ParseUint(string(s.text[s.at.index:s.at.index+length]), 16, 32)
	if code > 0x10FFFF {
		return s.fail("escape sequence is beyond the last character of Unicode")
	}
	d.text = append(d.text, rune(code))
	s.skip(length)
	return true
}

func (s *scanner) scanBlock(style rune) {
	t := token{kind: scalar, style: style, start: s.at}
	var d detail
	s.skip(1)
	chomp, increment, ok := s.blockHeader()
	if !ok {
		return
	}
	keep := s.blocks && len(s.tokens) > 0 && s.tokens[len(s.tokens)-1].kind == key
	indent := max(s.indent+1, 1)
	var breaks []rune
	if increment == 0 {
		var deepest int
		breaks, deepest, t.end = s.blockIndentation()
		indent = max(indent, deepest)
	} else {
		indent += increment - 1
		breaks, t.end = s.blockBreaks(indent)
	}
	var last rune
	for s.at.column == indent && s.ch() != 0 {
		folds := style == '>' && s.ch() != ' ' && s.ch() != '\t'
		begin := s.at.index
		s.rest()
		if keep {
			d.text = append(append(d.text, breaks...), s.from(begin)...)
		}
		last = s.lineBreak()
		breaks, t.end = s.blockBreaks(indent)
		if s.at.column != indent || s.ch() == 0 {
			break
		}
		if !keep {
			continue
		}
		if folds && last == '\n' && s.ch() != ' ' && s.ch() != '\t' {
			if len(breaks) == 0 {
				d.text = append(d.text, ' ')
			}
		} else if last != 0 {
			d.text = append(d.text, last)
		}
	}
	if keep {
		d.decoded = true
		if chomp != '-' && last != 0 {
			d.text = append(d.text, last)
		}
		if chomp == '+' {
			d.text = append(d.text, breaks...)
		}
	}
	t.detail = d.kept()
	s.tokens = append(s.tokens, t)
}

// blockHeader scans the line of | or >: how line breaks at the end count, and
// by how much the text is indented; 0: as its first line.
func (s *scanner) blockHeader() (chomp rune, increment int, ok bool) {
	for range 2 {
		c := s.ch()
		switch {
		case chomp == 0 && (c == '+' || c == '-'):
			chomp = c
		case increment == 0 && '0' <= c && c <= '9':
			if c == '0' {
				return 0, 0, s.fail("expected indentation indicator in the range 1-9, but found 0")
			}
			increment = int(c - '0')
		default:
			continue
		}
		s.skip(1)
	}
	if c := s.ch(); !isBlank(c) {
		return 0, 0, s.fail("expected chomping or indentation indicators, but found %s", quoted(c))
	}
	s.spaces()
	if s.ch() == '#' {
		s.rest()
	}
	if c := s.ch(); !isBreakEnd(c) {
		return 0, 0, s.fail("expected a comment or a line break, but found %s", quoted(c))
	}
	s.lineBreak()
	return chomp, increment, true
}

func (s *scanner) blockIndentation() (breaks []rune, deepest int, end mark) {
	end = s.at
	for {
		if s.ch() == ' ' {
			s.skip(1)
			deepest = max(deepest, s.at.column)
			continue
		}
		b := s.lineBreak()
		if b == 0 {
			return breaks, deepest, end
		}
		breaks = append(breaks, b)
		end = s.at
	}
}

func (s *scanner) blockBreaks(indent int) (breaks []rune, end mark) {
	end = s.at
	for {
		for s.at.column < indent && s.ch() == ' ' {
			s.skip(1)
		}
		b := s.lineBreak()
		if b == 0 {
			return breaks, end
		}
		breaks = append(breaks, b)
		end = s.at
	}
}
