// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// kind is the type of a token.
type kind uint8

const (
	streamStart kind = iota
	streamEnd
	directive
	documentStart
	documentEnd
	blockSequence
	blockMapping
	blockEnd
	flowSequence
	flowMapping
	flowSequenceEnd
	flowMappingEnd
	blockEntry
	flowEntry
	key
	value
	alias
	anchor
	tag
	scalar
)

// id is the token's name in messages.
func (k kind) id() string {
	return [...]string{
		"<stream start>", "<stream end>", "<directive>", "<document start>", "<document end>",
		"<block sequence start>", "<block mapping start>", "<block end>",
		"[", "{", "]", "}", "-", ",", "?", ":", "<alias>", "<anchor>", "<tag>", "<scalar>",
	}[k]
}

// mark is a place: index and column count characters from 0.
type mark struct {
	index, line, column int
}

// token is what the scanner makes of a piece of text.
type token struct {
	kind       kind
	plain      bool
	style      rune // ' " | > of a scalar; 0: plain
	start, end mark
	detail     *detail
}

// detail is what few tokens have: kept apart, tokens are small.
type detail struct {
	// text is the content of a scalar that is not simply a piece of the file;
	// the name of other tokens.
	text    []rune
	decoded bool   // text holds the content, else it is the file's own text
	handle  string // of a tag or a TAG directive; the major version of YAML
	hasNo   bool   // a tag without a handle
}

// kept is the detail if there is something in it.
func (d detail) kept() *detail {
	if !d.decoded {
		return nil
	}
	return &d
}

// syntaxError is the first thing that makes a file no YAML.
type syntaxError struct {
	mark
	message string
}

// candidate is a place where a key without a question mark may begin.
type candidate struct {
	level    int
	number   int // of the token
	required bool
	at       mark
}

// scanner turns text into tokens, as many as are asked for. It follows YAML
// 1.1 in the reading of PyYAML, whose verdicts are those of yamllint.
type scanner struct {
	text   []rune // with zeros behind the end
	at     mark
	tokens []token
	taken  int
	done   bool
	err    *syntaxError

	flow    int // unclosed brackets; negative when too many were closed
	indent  int
	indents []int
	simple  bool // a simple key may begin here
	// keys are the places where a simple key may have begun: at most one a
	// level, so both levels and tokens ascend.
	keys []candidate
	// blocks makes the content of block scalars known, which only keys need.
	blocks bool
}

const sentinels = 4 // zeros behind the text: no look-ahead goes further

func newScanner(text []rune) *scanner {
	s := &scanner{text: text, indent: -1, simple: true}
	s.tokens = make([]token, 0, len(text)/8+8)
	s.add(streamStart, s.at)
	return s
}

func (s *scanner) add(k kind, start mark) *token {
	s.tokens = append(s.tokens, token{kind: k, start: start, end: s.at})
	return &s.tokens[len(s.tokens)-1]
}

func (s *scanner) insert(at int, k kind, m mark) {
	s.tokens = append(s.tokens, token{})
	copy(s.tokens[at+1:], s.tokens[at:])
	s.tokens[at] = token{kind: k, start: m, end: m}
}

func (s *scanner) fail(format string, args ...any) bool {
	if s.err == nil {
		s.err = &syntaxError{s.at, fmt.Sprintf(format, args...)}
	}
	return false
}

// ready scans until the next token is certain; false after an error.
func (s *scanner) ready() bool {
	for s.err == nil && !s.done {
		if s.taken < len(s.tokens) {
			if !s.stale() {
				return false
			}
			if len(s.keys) == 0 || s.keys[0].number != s.taken {
				return true
			}
		}
		s.fetch()
	}
	return s.err == nil
}

// peek is the next token, nil after an error or behind the end.
func (s *scanner) peek() *token {
	if !s.ready() || s.taken >= len(s.tokens) {
		return nil
	}
	return &s.tokens[s.taken]
}

func (s *scanner) ch() rune          { return s.text[s.at.index] }
func (s *scanner) ahead(n int) rune  { return s.text[s.at.index+n] }
func (s *scanner) from(i int) []rune { return s.text[i:s.at.index] }
func (s *scanner) is(text string) bool {
	for i, c := range text {
		if s.text[s.at.index+i] != c {
			return false
		}
	}
	return true
}

// skip goes n characters on, none of them a line break.
func (s *scanner) skip(n int) {
	s.at.index += n
	s.at.column += n
}

// step goes one character on, whatever it is.
func (s *scanner) step() {
	c := s.ch()
	s.at.index++
	switch {
	case c == '\n' || c == 0x85 || c == 0x2028 || c == 0x2029 || c == '\r' && s.ch() != '\n':
		s.at.line++
		s.at.column = 0
	case c != 0xFEFF:
		s.at.column++
	}
}

func isBreak(c rune) bool {
	return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029
}
func isBreakEnd(c rune) bool { return c == 0 || isBreak(c) }
func isBlank(c rune) bool    { return c == ' ' || isBreakEnd(c) }
func isSpace(c rune) bool    { return c == '\t' || isBlank(c) }
func isWord(c rune) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '-' || c == '_'
}
func isHex(c rune) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' || 'a' <= c && c <= 'f'
}
func oneOf(c rune, set string) bool {
	for _, x := range set {
		if x == c {
			return true
		}
	}
	return false
}

// lineBreak passes a line break and returns what it counts as; 0 when there is
// none.
func (s *scanner) lineBreak() rune {
	switch c := s.ch(); c {
	case '\r':
		if s.ahead(1) == '\n' {
			s.at.index++
		}
		fallthrough
	case '\n', 0x85:
		s.at.index++
		s.at.line++
		s.at.column = 0
		return '\n'
	case 0x2028, 0x2029:
		s.at.index++
		s.at.line++
		s.at.column = 0
		return c
	}
	return 0
}

// rest passes everything up to the end of the line.
func (s *scanner) rest() {
	for !isBreakEnd(s.ch()) {
		s.step()
	}
}

func (s *scanner) spaces() {
	for s.ch() == ' ' {
		s.skip(1)
	}
}

// stale forgets places where no simple key can begin any more: it ends on its
// line, within 1,024 characters.
func (s *scanner) stale() bool {
	n := 0
	for n < len(s.keys) && (s.keys[n].at.line != s.at.line || s.at.index-s.keys[n].at.index > 1024) {
		if s.keys[n].required {
			return s.fail("could not find expected ':'")
		}
		n++
	}
	if n > 0 {
		s.keys = s.keys[:copy(s.keys, s.keys[n:])]
	}
	return true
}

func (s *scanner) saveKey() bool {
	required := s.flow == 0 && s.indent == s.at.column
	if s.simple {
		if !s.removeKey() {
			return false
		}
		s.keys = append(s.keys, candidate{s.flow, len(s.tokens), required, s.at})
	}
	return true
}

func (s *scanner) keyHere() (candidate, bool) {
	if n := len(s.keys); n > 0 && s.keys[n-1].level == s.flow {
		return s.keys[n-1], true
	}
	return candidate{}, false
}

func (s *scanner) removeKey() bool {
	if k, ok := s.keyHere(); ok {
		if k.required {
			return s.fail("could not find expected ':'")
		}
		s.keys = s.keys[:len(s.keys)-1]
	}
	return true
}

func (s *scanner) unwind(column int) {
	if s.flow != 0 {
		return
	}
	for s.indent > column {
		s.indent = s.indents[len(s.indents)-1]
		s.indents = s.indents[:len(s.indents)-1]
		s.add(blockEnd, s.at)
	}
}

func (s *scanner) deepen(column int) bool {
	if s.indent >= column {
		return false
	}
	s.indents = append(s.indents, s.indent)
	s.indent = column
	return true
}

// fetch scans one token, or the few that belong together.
func (s *scanner) fetch() {
	s.toToken()
	if !s.stale() {
		return
	}
	s.unwind(s.at.column)
	c := s.ch()
	if s.at.column == 0 && s.fetchAtMargin(c) {
		return
	}
	switch c {
	case 0:
		s.fetchEnd()
	case '[':
		s.fetchOpen(flowSequence)
	case '{':
		s.fetchOpen(flowMapping)
	case ']':
		s.fetchClose(flowSequenceEnd)
	case '}':
		s.fetchClose(flowMappingEnd)
	case ',':
		s.simple = true
		if s.removeKey() {
			s.single(flowEntry)
		}
	case '*', '&':
		s.fetchAnchor(c)
	case '!':
		if s.saveKey() {
			s.simple = false
			s.scanTag()
		}
	case '\'', '"':
		if s.saveKey() {
			s.simple = false
			s.scanQuoted(c)
		}
	default:
		s.fetchOther(c)
	}
}

// fetchAtMargin scans what can only stand in the first column.
func (s *scanner) fetchAtMargin(c rune) bool {
	var k kind
	switch {
	case c == '%':
		s.unwind(-1)
		if s.removeKey() {
			s.simple = false
			s.scanDirective()
		}
		return true
	case c == '-' && s.is("---") && isSpace(s.ahead(3)):
		k = documentStart
	case c == '.' && s.is("...") && isSpace(s.ahead(3)):
		k = documentEnd
	default:
		return false
	}
	s.unwind(-1)
	if s.removeKey() {
		s.simple = false
		start := s.at
		s.skip(3)
		s.add(k, start)
	}
	return true
}

func (s *scanner) fetchOther(c rune) {
	switch {
	case c == '-' && isSpace(s.ahead(1)):
		s.fetchIndicator(blockEntry, blockSequence, "sequence entries are not allowed here")
	case c == '?' && (s.flow != 0 || isSpace(s.ahead(1))):
		s.fetchIndicator(key, blockMapping, "mapping keys are not allowed here")
	case c == ':' && (s.flow != 0 || isSpace(s.ahead(1))):
		s.fetchValue()
	case (c == '|' || c == '>') && s.flow == 0:
		s.simple = true
		if s.removeKey() {
			s.scanBlock(c)
		}
	case s.plainStart(c):
		if s.saveKey() {
			s.simple = false
			s.scanPlain()
		}
	default:
		s.fail("found character %s that cannot start any token", quoted(c))
	}
}

func (s *scanner) plainStart(c rune) bool {
	if !isSpace(c) && !oneOf(c, "-?:,[]{}#&*!|>'\"%@`") {
		return true
	}
	return !isSpace(s.ahead1(c)) && (c == '-' || s.flow == 0 && (c == '?' || c == ':'))
}

// ahead1 is the character behind c, which stands here; c may be the last.
func (s *scanner) ahead1(c rune) rune {
	if c == 0 {
		return 0
	}
	return s.ahead(1)
}

func (s *scanner) single(k kind) {
	start := s.at
	s.skip(1)
	s.add(k, start)
}

func (s *scanner) fetchEnd() {
	s.unwind(-1)
	if !s.removeKey() {
		return
	}
	s.simple = false
	s.keys = nil
	s.add(streamEnd, s.at)
	s.done = true
}

func (s *scanner) fetchOpen(k kind) {
	if !s.saveKey() {
		return
	}
	s.flow++
	s.simple = true
	s.single(k)
}

func (s *scanner) fetchClose(k kind) {
	if !s.removeKey() {
		return
	}
	s.flow--
	s.simple = false
	s.single(k)
}

// fetchIndicator scans - and ?, which may begin a collection.
func (s *scanner) fetchIndicator(k, opens kind, refusal string) {
	if s.flow == 0 {
		if !s.simple {
			s.fail("%s", refusal)
			return
		}
		if s.deepen(s.at.column) {
			s.add(opens, s.at)
		}
	}
	s.simple = k == blockEntry || s.flow == 0
	if s.removeKey() {
		s.single(k)
	}
}

func (s *scanner) fetchValue() {
	if k, ok := s.keyHere(); ok {
		s.keys = s.keys[:len(s.keys)-1]
		s.insert(k.number, key, k.at)
		if s.flow == 0 && s.deepen(k.at.column) {
			s.insert(k.number, blockMapping, k.at)
		}
		s.simple = false
	} else {
		if s.flow == 0 {
			if !s.simple {
				s.fail("mapping values are not allowed here")
				return
			}
			if s.deepen(s.at.column) {
				s.add(blockMapping, s.at)
			}
		}
		s.simple = s.flow == 0
	}
	s.single(value)
}

func (s *scanner) fetchAnchor(c rune) {
	if !s.saveKey() {
		return
	}
	s.simple = false
	k := anchor
	if c == '*' {
		k = alias
	}
	start := s.at
	s.skip(1)
	begin := s.at.index
	for isWord(s.ch()) {
		s.skip(1)
	}
	if c := s.ch(); s.at.index == begin || !isSpace(c) && !oneOf(c, "?:,]}%@`") {
		s.fail("expected alphabetic or numeric character, but found %s", quoted(c))
		return
	}
	t := s.add(k, start)
	t.detail = detail{text: s.from(begin), decoded: true}.kept()
}

// toToken passes spaces, line breaks and comments.
func (s *scanner) toToken() {
	if s.at.index == 0 && s.ch() == 0xFEFF {
		s.step()
	}
	for {
		s.spaces()
		if s.ch() == '#' {
			s.rest()
		}
		if s.lineBreak() == 0 {
			return
		}
		if s.flow == 0 {
			s.simple = true
		}
	}
}

// quoted is a character as Python shows it.
func quoted(c rune) string {
	switch {
	case c == '\'':
		return `"'"`
	case c == '\\':
		return `'\\'`
	case c == '\t':
		return `'\t'`
	case c == '\n':
		return `'\n'`
	case c == '\r':
		return `'\r'`
	case unicode.IsPrint(c):
		return "'" + string(c) + "'"
	case c < 0x100:
		return fmt.Sprintf(`'\x%02x'`, c)
	case c < 0x10000:
		return fmt.Sprintf(`'\u%04x'`, c)
	}
	return fmt.Sprintf(`'\U%08x'`, c)
}

func (s *scanner) scanDirective() {
	start := s.at
	s.skip(1)
	begin := s.at.index
	for isWord(s.ch()) {
		s.skip(1)
	}
	if s.at.index == begin || !isBlank(s.ch()) {
		s.fail("expected alphabetic or numeric character, but found %s", quoted(s.ch()))
		return
	}
	t := token{kind: directive, start: start}
	d := detail{text: s.from(begin), decoded: true}
	ok := true
	switch string(d.text) {
	case "YAML":
		d.handle, ok = s.scanVersion()
		t.end = s.at
	case "TAG":
		d.handle, ok = s.scanTagDirective()
		t.end = s.at
	default:
		t.end = s.at
		s.rest()
	}
	if !ok {
		return
	}
	s.spaces()
	if s.ch() == '#' {
		s.rest()
	}
	if !isBreakEnd(s.ch()) {
		s.fail("expected a comment or a line break, but found %s", quoted(s.ch()))
		return
	}
	s.lineBreak()
	t.detail = d.kept()
	s.tokens = append(s.tokens, t)
}

// scanVersion returns the number before the point.
func (s *scanner) scanVersion() (string, bool) {
	s.spaces()
	major, ok := s.scanNumber()
	if !ok {
		return "", false
	}
	if s.ch() != '.' {
		return "", s.fail("expected a digit or '.', but found %s", quoted(s.ch()))
	}
	s.skip(1)
	if _, ok := s.scanNumber(); !ok {
		return "", false
	}
	if !isBlank(s.ch()) {
		return "", s.fail("expected a digit or ' ', but found %s", quoted(s.ch()))
	}
	return major, true
}

func (s *scanner) scanNumber() (string, bool) {
	begin := s.at.index
	for '0' <= s.ch() && s.ch() <= '9' {
		s.skip(1)
	}
	if s.at.index == begin {
		return "", s.fail("expected a digit, but found %s", quoted(s.ch()))
	}
	for begin < s.at.index-1 && s.text[begin] == '0' {
		begin++
	}
	return string(s.from(begin)), true
}

func (s *scanner) scanTagDirective() (string, bool) {
	s.spaces()
	handle, ok := s.scanHandle()
	if !ok {
		return "", false
	}
	if s.ch() != ' ' {
		return "", s.fail("expected ' ', but found %s", quoted(s.ch()))
	}
	s.spaces()
	if !s.scanURI() {
		return "", false
	}
	if !isBlank(s.ch()) {
		return "", s.fail("expected ' ', but found %s", quoted(s.ch()))
	}
	return handle, true
}

func (s *scanner) scanHandle() (string, bool) {
	if s.ch() != '!' {
		return "", s.fail("expected '!', but found %s", quoted(s.ch()))
	}
	begin := s.at.index
	s.skip(1)
	if s.ch() != ' ' {
		for isWord(s.ch()) {
			s.skip(1)
		}
		if s.ch() != '!' {
			return "", s.fail("expected '!', but found %s", quoted(s.ch()))
		}
		s.skip(1)
	}
	return string(s.from(begin)), true
}

func (s *scanner) scanURI() bool {
	begin := s.at.index
	for {
		c := s.ch()
		if c == '%' {
			if !s.scanEscapes() {
				return false
			}
			continue
		}
		if !isWord(c) && !oneOf(c, ";/?:@&=+$,.!~*'()[]") {
			break
		}
		s.skip(1)
	}
	if s.at.index == begin {
		return s.fail("expected URI, but found %s", quoted(s.ch()))
	}
	return true
}

func (s *scanner) scanEscapes() bool {
	start := s.at
	var octets []byte
	for s.ch() == '%' {
		s.skip(1)
		for k := range 2 {
			if !isHex(s.ahead(k)) {
				return s.fail("expected URI escape sequence of 2 hexadecimal numbers, but found %s", quoted(s.ahead(k)))
			}
		}
		n, _ := strconv.ParseUint(string(s.text[s.at.index:s.at.index+2]), 16, 8)
		octets = append(octets, byte(n))
		s.skip(2)
	}
	if !utf8.Valid(octets) {
		s.at = start
		return s.fail("%s", undecodable(octets))
	}
	return true
}

// undecodable says in Python's words why octets are no UTF-8.
func undecodable(octets []byte) string {
	for i := 0; i < len(octets); {
		r, size := utf8.DecodeRune(octets[i:])
		if r != utf8.RuneError || size > 1 {
			i += size
			continue
		}
		n, why := 1, "invalid start byte"
		if need := sequence(octets[i]); need > 0 {
			for n < need && i+n < len(octets) && continues(octets[i], octets[i+n], n) {
				n++
			}
			why = "invalid continuation byte"
			if i+n == len(octets) {
				why = "unexpected end of data"
			}
		}
		if n > 1 {
			return fmt.Sprintf("'utf-8' codec can't decode bytes in position %d-%d: %s", i, i+n-1, why)
		}
		return fmt.Sprintf("'utf-8' codec can't decode byte 0x%02x in position %d: %s", octets[i], i, why)
	}
	return ""
}

// sequence is how many octets begin with that one; 0: none may.
func sequence(b byte) int {
	switch {
	case b >= 0xC2 && b < 0xE0:
		return 2
	case b >= 0xE0 && b < 0xF0:
		return 3
	case b >= 0xF0 && b < 0xF5:
		return 4
	}
	return 0
}

func continues(first, b byte, n int) bool {
	low, high := byte(0x80), byte(0xBF)
	if n == 1 {
		switch first {
		case 0xE0:
			low = 0xA0
		case 0xED:
			high = 0x9F
		case 0xF0:
			low = 0x90
		case 0xF4:
			high = 0x8F
		}
	}
	return low <= b && b <= high
}

func (s *scanner) scanTag() {
	start := s.at
	t := token{kind: tag, start: start}
	var d detail
	begin := s.at.index
	switch c := s.ahead(1); {
	case c == '<':
		d.hasNo = true
		s.skip(2)
		if !s.scanURI() {
			return
		}
		if s.ch() != '>' {
			s.fail("expected '>', but found %s", quoted(s.ch()))
			return
		}
		s.skip(1)
	case isSpace(c):
		d.hasNo = true
		s.skip(1)
	default:
		d.handle = "!"
		if s.hasHandle() {
			handle, ok := s.scanHandle()
			if !ok {
				return
			}
			d.handle = handle
		} else {
			s.skip(1)
		}
		if !s.scanURI() {
			return
		}
	}
	if !isBlank(s.ch()) {
		s.fail("expected ' ', but found %s", quoted(s.ch()))
		return
	}
	t.end = s.at
	d.text, d.decoded = s.from(begin), true
	t.detail = d.kept()
	s.tokens = append(s.tokens, t)
}

// hasHandle tells that a second exclamation mark follows in the word.
func (s *scanner) hasHandle() bool {
	for n := 1; !isBlank(s.ahead(n)); n++ {
		if s.ahead(n) == '!' {
			return true
		}
	}
	return false
}
