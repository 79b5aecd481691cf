// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"slices"
	"sort"
	"strings"
)

// Which of the two tools sees a fault. autopep8 has its own version of some
// rules of pycodestyle.
const (
	byStyle = 1 << iota // pycodestyle
	byFixer             // autopep8
	byBoth  = byStyle | byFixer
)

// fault is a place where a rule is broken.
type fault struct {
	row, col int // from 1 and from 0
	code     string
	n        int // a number that belongs to the rule: lines found, columns wanted
	by       uint8
	char     byte // the character that the message names
}

// settings is what the rules depend on.
type settings struct {
	maxLine     int
	indentSize  int
	hangClosing bool
	wants       func(code string) bool
}

// scanner applies the rules to one file: to its lines while the tokens are
// read, and to the logical lines, those that hold a statement or a comment.
type scanner struct {
	settings
	lines  []string
	faults []fault
	err    *syntaxError

	read       int  // lines that the tokenizer has read
	row        int  // of the line that is judged
	indentChar byte // the first one that indents; 0: none yet
	multiline  bool // within a string
	noqa       bool // a comment asks to be spared
	noqaLine   string
	noqaKnown  bool

	tokens         []token // of the logical line
	logical        string
	spots          []spot
	level          int
	blank          int
	blankBefore    int
	lastLevel      int
	lastLogical    string
	lastUnindented string
	docstring      bool
	otherThanImp   bool
	outer          []int // for each line: the nearest above with less indentation
	topLevel       []int // for each line: the next def or class from there on
	filled         []int // for each line: the next that is not blank
	buffer         []byte
}

// spot ties an offset in the logical line to a place in the file.
type spot struct {
	offset int
	at     position
}

// examine returns all faults of a text, in the order of lines.
func examine(text string, lines []string, o settings) ([]fault, []token, *syntaxError) {
	tokens, err := tokenize(text, lines)
	s := &scanner{settings: o, lines: lines, err: err}
	s.run(tokens)
	sort.SliceStable(s.faults, func(i, j int) bool {
		a, b := s.faults[i], s.faults[j]
		if a.row != b.row {
			return a.row < b.row
		}
		return a.col < b.col
	})
	return s.faults, tokens, err
}

func (s *scanner) report(row, col int, code string) {
	s.put(fault{row: row, col: col, code: code, by: byBoth})
}

func (s *scanner) put(f fault) {
	if s.wants == nil || s.wants(f.code) {
		s.faults = append(s.faults, f)
	}
}

func (s *scanner) run(tokens []token) {
	previous := ""
	depth, from := 0, 0
	complete := true
	for i := range tokens {
		t := &tokens[i]
		if t.start.row > len(s.lines) {
			complete = false
			break
		}
		s.readTo(min(t.end.row, len(s.lines)))
		s.noqa = s.pardoned(t.line)
		s.physical(t, previous)
		previous = t.line
		s.tokens = tokens[from : i+1]
		switch {
		case t.kind == kindOp:
			switch t.text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			}
		case depth != 0:
		case t.kind == kindNewline:
			if s.statement() {
				from = i + 1
			}
			s.blankBefore = 0
		case t.kind == kindNL:
			if i == from {
				s.blank++
				from = i + 1
			} else if s.statement() {
				from = i + 1
			}
		}
		s.tokens = tokens[from : i+1]
	}
	if complete && s.err != nil {
		s.readTo(s.err.row)
		if s.err.atEnd {
			s.readTo(len(s.lines))
		}
		s.report(s.err.row, s.err.col, "E901")
	}
	if len(s.tokens) > 0 {
		s.line(s.lines[len(s.lines)-1])
		s.statement()
	}
}

// readTo notes that the tokenizer has read up to a line.
func (s *scanner) readTo(row int) {
	for ; s.read < min(row, len(s.lines)); s.read++ {
		line := s.lines[s.read]
		if s.indentChar == 0 && (line[0] == ' ' || line[0] == '\t' || line[0] == charNBSP) {
			s.indentChar = line[0]
		}
	}
	s.row = s.read
}

// pardoned tells whether the line has a noqa comment.
func (s *scanner) pardoned(line string) bool {
	if line == "" {
		return false
	}
	if s.noqaLine != line { // the same string is compared by its address first
		s.noqaLine, s.noqaKnown = line, noqa(line)
	}
	return s.noqaKnown
}

func noqa(line string) bool {
	for {
		i := strings.Index(line, "# ")
		if i < 0 {
			return false
		}
		line = line[i+2:]
		for _, w := range []string{"noqa", "nopep8"} {
			if len(line) >= len(w) && strings.EqualFold(line[:len(w)], w) && (len(line) == len(w) || !isWord(line[len(w)])) {
				return true
			}
		}
	}
}

// physical judges the lines that end with the token.
func (s *scanner) physical(t *token, previous string) {
	switch {
	case t.kind == kindNL || t.kind == kindNewline || continues(t):
		if t.line == "" {
			s.line(previous)
		} else {
			s.line(t.line)
		}
	case t.kind == kindString && t.start.row != t.end.row:
		if s.pardoned(t.line) {
			return
		}
		s.multiline = true
		s.row = t.start.row
		for ; s.row < t.end.row; s.row++ {
			s.line(s.lines[s.row-1])
		}
		s.multiline = false
	}
}

// continues tells whether only a backslash follows the token on its line.
func continues(t *token) bool {
	return trimLeft(slice(t.line, t.end.col, len(t.line))) == "\\\n"
}

// line applies the rules for a line as it is.
func (s *scanner) line(line string) {
	indent := 0
	for indent < len(line) && (line[indent] == ' ' || line[indent] == '\t') {
		indent++
	}
	for i := range indent {
		if line[i] != s.indentChar {
			s.report(s.row, i, "E101")
			s.indentChar = line[0]
			break
		}
	}
	if i := strings.IndexByte(line[:indent], '\t'); i >= 0 {
		s.report(s.row, i, "W191")
	}
	bare := strings.TrimRight(strings.TrimRight(strings.TrimRight(line, "\n"), "\r"), "\f")
	if stripped := strings.TrimRight(bare, " \t\v"); stripped != bare {
		if stripped != "" {
			s.report(s.row, len(stripped), "W291")
		} else {
			s.report(s.row, 0, "W293")
		}
	}
	if s.row == len(s.lines) {
		switch stripped := strings.TrimRight(line, "\r\n"); {
		case line != "" && stripped == "":
			s.report(s.row, 0, "W391")
		case stripped == line:
			s.report(s.row, len(s.lines[len(s.lines)-1]), "W292")
		}
	}
	s.length(line)
}

// length applies the rule for long lines.
func (s *scanner) length(line string) {
	if len(line) <= s.maxLine {
		return
	}
	line = trimRight(line)
	if len(line) <= s.maxLine || s.noqa || s.row == 1 && strings.HasPrefix(line, "#!") {
		return
	}
	words, last, first := 0, 0, ""
	for i := 0; i < len(line) && words < 3; {
		i = skipSpace(line, i)
		last = i
		for i < len(line) && !isSpace(line[i]) {
			i++
		}
		if words++; words == 1 {
			first = line[last:i]
		}
	}
	// An address that cannot be broken is left alone.
	if (words == 1 && s.multiline || words == 2 && first == "#") && last < s.maxLine-7 {
		return
	}
	s.put(fault{row: s.row, col: s.maxLine, code: "E501", n: len(line), by: byBoth})
}

// statement builds the logical line of the tokens and applies the rules to it;
// false when the tokens hold none.
func (s *scanner) statement() bool {
	if !s.build() {
		return false
	}
	at := s.spots[0].at
	first := ""
	if at.row <= len(s.lines) {
		first = s.lines[at.row-1]
	}
	s.level = indentOf(slice(first, 0, at.col))
	s.blankBefore = max(s.blankBefore, s.blank)
	s.blankLines()
	s.indentation()
	s.tokenRules()
	if s.logical != "" {
		s.textRules()
		s.lastLevel = s.level
		s.lastLogical = s.logical
		if s.level == 0 {
			s.lastUnindented = s.logical
		}
	}
	s.blank = 0
	s.tokens = nil
	return true
}

// build makes the logical line: strings muted, comments left out, lines joined.
func (s *scanner) build() bool {
	s.spots = s.spots[:0]
	out := s.buffer[:0]
	s.noqa = false
	var last position
	for i := range s.tokens {
		t := &s.tokens[i]
		switch t.kind {
		case kindNL, kindNewline, kindIndent, kindDedent:
			continue
		}
		if len(s.spots) == 0 {
			s.spots = append(s.spots, spot{0, t.start})
		}
		if t.kind == kindComment {
			s.noqa = s.noqa || noqa(t.text)
			continue
		}
		if last.row != 0 {
			if last.row != t.start.row {
				c := s.before(last)
				if c == ',' || c != '{' && c != '[' && c != '(' && !oneOf("}])", t.text) {
					out = append(out, ' ')
				}
			} else if last.col != t.start.col {
				out = append(out, slice(t.line, last.col, t.start.col)...)
			}
		}
		if t.kind == kindString {
			out = mute(out, t.text)
		} else {
			out = append(out, t.text...)
		}
		s.spots = append(s.spots, spot{len(out), t.end})
		last = t.end
	}
	s.buffer = out
	s.logical = string(out)
	return len(s.spots) > 0
}

// before is the character in front of a position.
func (s *scanner) before(p position) byte {
	if p.row > len(s.lines) || p.col > len(s.lines[p.row-1]) {
		return 0
	}
	line := s.lines[p.row-1]
	if p.col == 0 {
		return line[len(line)-1]
	}
	return line[p.col-1]
}

// mute adds a string with its content replaced, so that no rule sees it.
func mute(out []byte, text string) []byte {
	start := strings.IndexByte(text, text[len(text)-1]) + 1
	end := len(text) - 1
	if strings.HasSuffix(text, `"""`) || strings.HasSuffix(text, "'''") {
		start += 2
		end -= 2
	}
	out = append(out, text[:min(start, len(text))]...)
	if end > start {
		out = append(out, slices.Repeat([]byte{'x'}, end-start)...)
	}
	return append(out, text[max(end, 0):]...)
}

// at reports a fault at an offset of the logical line.
func (s *scanner) at(offset int, code string) { s.atChar(offset, code, 0) }

func (s *scanner) atChar(offset int, code string, char byte) {
	i := sort.Search(len(s.spots), func(i int) bool { return s.spots[i].offset >= offset })
	p := s.spots[min(i, len(s.spots)-1)]
	s.put(fault{row: p.at.row, col: p.at.col + offset - p.offset, code: code, by: byBoth, char: char})
}

func (s *scanner) place(p position, code string) { s.report(p.row, p.col, code) }
