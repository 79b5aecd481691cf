// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"slices"
	"strings"
)

// blankLines applies the rules E301 to E306.
func (s *scanner) blankLines() {
	s.moreBlankLines()
	first := s.spots[0].at
	report := func(code string, n int) {
		s.put(fault{row: first.row, col: first.col, code: code, n: n, by: byBoth})
	}
	top := startsTopLevel(s.logical)
	switch {
	case s.lastLogical == "" && s.blankBefore < 2:
	case strings.HasPrefix(s.lastLogical, "@"):
		if s.blank > 0 {
			report("E304", s.blank)
		}
	case s.blank > 2 || s.level > 0 && s.blank == 2:
		report("E303", s.blank)
	case top && s.blankBefore == 0 && s.oneLiner():
	case top && s.level > 0:
		if s.blankBefore == 1 || s.lastLevel < s.level || startsString(s.lastLogical) {
			return
		}
		if s.nested() {
			report("E306", 0)
		} else {
			report("E301", 0)
		}
	case top:
		if s.blankBefore != 2 {
			report("E302", s.blankBefore)
		}
	case s.logical != "" && s.level == 0 && s.blankBefore != 2 &&
		(strings.HasPrefix(s.lastUnindented, "def ") || strings.HasPrefix(s.lastUnindented, "class ")):
		report("E305", s.blankBefore)
	}
}

// moreBlankLines applies what autopep8 adds to the rules for blank lines.
func (s *scanner) moreBlankLines() {
	at := s.spots[0].at
	switch {
	case strings.HasPrefix(s.lastLogical, "def "):
		if s.blank > 0 && startsString(s.logical) {
			s.put(fault{row: at.row, col: at.col, code: "E303", n: s.blank, by: byFixer})
		}
	case startsString(s.lastLogical):
		if s.level > 0 && s.blank == 0 && s.blankBefore == 0 &&
			strings.HasPrefix(s.logical, "def ") && strings.Contains(s.logical, "(self") {
			s.put(fault{row: at.row, col: at.col, code: "E301", by: byFixer})
		}
	}
}

// survey looks once at the indentation of all lines, so that no rule has to
// walk through the file again and again.
func (s *scanner) survey() {
	if s.outer != nil {
		return
	}
	n := len(s.lines)
	s.outer, s.topLevel, s.filled = make([]int, n), make([]int, n+1), make([]int, n+1)
	levels := make([]int, n)
	var stack []int
	for i, line := range s.lines {
		levels[i] = indentOf(line)
		s.outer[i] = -1
		if isBlank(line) {
			if len(stack) > 0 {
				s.outer[i] = stack[len(stack)-1]
			}
			levels[i] = 1 << 30
			continue
		}
		for len(stack) > 0 && levels[stack[len(stack)-1]] >= levels[i] {
			stack = stack[:len(stack)-1]
		}
		if len(stack) > 0 {
			s.outer[i] = stack[len(stack)-1]
		}
		stack = append(stack, i)
	}
	s.topLevel[n], s.filled[n] = n, n
	for i := n - 1; i >= 0; i-- {
		s.topLevel[i], s.filled[i] = s.topLevel[i+1], s.filled[i+1]
		line := trimLeft(s.lines[i])
		if line != "" {
			s.filled[i] = i
		}
		if line != "" && line[0] != '@' && startsTopLevel(trimRight(line)) {
			s.topLevel[i] = i
		}
	}
}

// oneLiner tells whether the definition has its body on the same line.
func (s *scanner) oneLiner() bool {
	s.survey()
	i := s.row - 1
	if i >= 1 && indentOf(s.lines[i-1]) > s.level {
		return false
	}
	if i = s.topLevel[max(i, 0)]; i == len(s.lines) {
		return false
	}
	if i = s.filled[i+1]; i == len(s.lines) {
		return true
	}
	return indentOf(s.lines[i]) <= s.level
}

// nested tells whether the definition is in a function.
func (s *scanner) nested() bool {
	s.survey()
	i := s.row - 2
	if i < 0 {
		i += len(s.lines)
	}
	level, nested := s.level, false
	for ; i >= 0 && i < len(s.lines); i = s.outer[i] {
		line := s.lines[i]
		if isBlank(line) || indentOf(line) >= level {
			continue
		}
		level = indentOf(line)
		nested = startsDef(trimLeft(line))
		if nested || level == 0 {
			break
		}
	}
	return nested
}

// indentation applies the rules E111 to E117.
func (s *scanner) indentation() {
	at := s.spots[0].at
	code := func(statement, comment string) string {
		if s.logical != "" {
			return statement
		}
		return comment
	}
	if s.level%s.indentSize != 0 {
		s.place(at, code("E111", "E114"))
	}
	opens := strings.HasSuffix(s.lastLogical, ":")
	switch {
	case opens && s.level <= s.lastLevel:
		s.place(at, code("E112", "E115"))
	case !opens && s.level > s.lastLevel:
		s.place(at, code("E113", "E116"))
	}
	amount := 4
	if s.indentChar == '\t' {
		amount = 8
	}
	if opens && s.level > s.lastLevel+amount {
		s.place(at, "E117")
	}
}

// chance is why a column may be one to indent to.
type chance struct {
	column int
	why    uint8 // one of the constants below
	text   string
}

const (
	chanceNone   = iota
	chanceAlways // behind an open bracket
	chanceString // under a string or a comment
	chanceToken  // under the same token
)

// chances are columns in their order.
type chances []chance

func (c chances) find(column int) (int, bool) {
	return slices.BinarySearchFunc(c, column, func(e chance, column int) int { return e.column - column })
}

func (c chances) get(column int) chance {
	if i, ok := c.find(column); ok {
		return c[i]
	}
	return chance{}
}

func (c *chances) set(column int, why uint8, text string) {
	i, ok := c.find(column)
	if ok {
		(*c)[i] = chance{column, why, text}
		return
	}
	*c = slices.Insert(*c, i, chance{column, why, text})
}

// opening is what is known of the lines that open brackets at one depth: how
// they are indented, the latest last.
type opening struct {
	first  int // indentation of the oldest
	levels []int
}

func (o *opening) add(level int) {
	if len(o.levels) == 0 {
		o.first = level
	}
	if i := slices.Index(o.levels, level); i >= 0 {
		o.levels = slices.Delete(o.levels, i, i+1)
	}
	o.levels = append(o.levels, level)
}

// maxDepth is how many brackets may be open for a statement to be judged: no
// Python accepts more than 200.
const maxDepth = 1000

// continuation judges the lines of one statement after its first.
type continuation struct {
	*scanner
	fixer     bool // as autopep8 does
	first     int  // row
	row       int
	depth     int
	opensNext bool  // a block follows
	parens    []int // brackets opened per line
	relative  []int // indentation per line, relative to the statement
	opened    []opening
	hangs     []int // per depth; 0: not known
	indents   []int // per depth: column to align with; 0: not known
	chances   chances
	visual    chance
	last      position // the start of the latest line
	spans     bool     // the token before spans lines
	spanned   bool     // the latest line begins with the end of such a token
	lastLine  string
}

// continuations applies the rules E121 to E133, as each of the two tools does.
func (s *scanner) continuations() {
	first, last := s.tokens[0].start.row, s.tokens[len(s.tokens)-1].start.row
	if s.noqa || first == last {
		return
	}
	for _, fixer := range []bool{false, true} {
		c := &continuation{
			scanner: s, fixer: fixer, first: first, opensNext: strings.HasSuffix(s.logical, ":"),
			parens: make([]int, last-first+1), relative: make([]int, last-first+2),
			opened: []opening{{levels: []int{0}}}, hangs: []int{0},
			last: s.tokens[0].start, indents: []int{s.tokens[0].start.col},
		}
		for i := range s.tokens {
			if c.depth > maxDepth {
				return
			}
			c.token(&s.tokens[i])
		}
		c.end(&s.tokens[len(s.tokens)-1])
	}
}

func (c *continuation) fault(p position, code string, n int) {
	by := uint8(byStyle)
	if c.fixer {
		by = byFixer
	}
	c.put(fault{row: p.row, col: p.col, code: code, n: n, by: by})
}

func (c *continuation) token(t *token) {
	newline := c.row < t.start.row-c.first
	if newline {
		c.row = t.start.row - c.first
		newline = !c.spans && t.kind != kindNL && t.kind != kindNewline
		c.spanned = c.spans
	}
	if newline {
		c.begin(t)
	}
	c.align(t)
	if t.kind == kindOp {
		c.brackets(t)
		if _, known := c.chances.find(t.start.col); !known && !(c.fixer && strings.HasSuffix(trimRight(c.lastLine), ",")) {
			c.chances.set(t.start.col, chanceToken, t.text)
		}
	}
	c.spans = t.start.row != t.end.row
	if i := t.end.row - c.first; c.spans && i < len(c.relative) {
		c.relative[i] = c.relative[c.row]
	}
	c.lastLine = t.line
}

// begin judges the indentation of a line.
func (c *continuation) begin(t *token) {
	c.last = t.start
	c.relative[c.row] = indentOf(t.line) - c.level
	closes := t.kind == kindOp && oneOf("]})", t.text)
	hang, hanging, base := c.hang()
	if c.hangs[c.depth] != 0 {
		hanging = hang == c.hangs[c.depth]
	}
	c.visual = chance{}
	if !closes && hang > 0 {
		c.visual = c.chances.get(t.start.col)
	}
	indent := c.indents[c.depth]
	size := c.size()
	switch {
	case closes && indent != 0:
		if t.start.col != indent {
			c.fault(t.start, "E124", indent)
		}
	case closes && hang == 0:
		if c.hangClosing {
			c.fault(t.start, "E133", indent)
		}
	case indent != 0 && t.start.col < indent:
		if c.visual.why != chanceAlways {
			c.fault(t.start, "E128", indent)
		}
	case hanging || c.opensNext && c.relative[c.row] == 2*size:
		if closes && !c.hangClosing {
			c.fault(t.start, "E123", c.level+base)
		}
		c.hangs[c.depth] = hang
	case c.visual.why == chanceAlways:
		c.indents[c.depth] = t.start.col
	case c.visual.why == chanceString || c.visual.why == chanceToken && c.visual.text == t.text:
	default:
		c.broken(t, hang, closes, c.level+base+size)
	}
}

func (c *continuation) size() int {
	if c.fixer {
		return 4
	}
	return c.indentSize
}

// hang is how far the line is indented from one that opened a bracket.
func (c *continuation) hang() (hang int, hanging bool, base int) {
	o := &c.opened[c.depth]
	size := c.size()
	for i := len(o.levels) - 1; i >= 0; i-- {
		hang = c.relative[c.row] - o.levels[i]
		if hang == size || hang == 2*size && c.indentChar == '\t' {
			return hang, true, o.levels[i]
		}
	}
	return c.relative[c.row] - o.first, false, o.first
}

func (c *continuation) broken(t *token, hang int, closes bool, indented int) {
	switch indent := c.indents[c.depth]; {
	case hang <= 0:
		c.fault(t.start, "E122", indented)
	case indent != 0:
		c.fault(t.start, "E127", indent)
	case !closes && c.hangs[c.depth] != 0:
		c.fault(t.start, "E131", indented)
	case hang > c.size():
		if !c.fixer {
			c.hangs[c.depth] = hang
		}
		c.fault(t.start, "E126", indented)
	default:
		c.hangs[c.depth] = hang
		c.fault(t.start, "E121", indented)
	}
}

// align notes the columns that later lines may align with.
func (c *continuation) align(t *token) {
	start := c.row == 0 && c.depth == 0
	switch {
	case c.parens[c.row] != 0 && t.kind != kindNL && t.kind != kindComment && c.indents[c.depth] == 0:
		c.indents[c.depth] = t.start.col
		c.chances.set(t.start.col, chanceAlways, "")
	case t.kind == kindString || t.kind == kindComment || t.text == "u" || t.text == "ur" || t.text == "b" || t.text == "br":
		c.chances.set(t.start.col, chanceString, "")
	case start && !c.fixer && (t.text == "assert" || t.text == "raise" || t.text == "with"):
		c.chances.set(t.end.col+1, chanceAlways, "")
	case start && len(c.chances) == 0 && t.text == "if":
		c.chances.set(t.end.col+1, chanceAlways, "")
	case t.text == ":":
		if rest := slice(t.line, t.end.col, len(t.line)); rest != "" && isBlank(rest) {
			c.opened[c.depth].add(c.relative[c.row])
		}
	}
}

// brackets keeps track of the depth.
func (c *continuation) brackets(t *token) {
	switch t.text {
	case "(", "[", "{":
		c.depth++
		c.indents = append(c.indents, 0)
		c.hangs = append(c.hangs, 0)
		if len(c.opened) == c.depth {
			c.opened = append(c.opened, opening{})
		}
		c.opened[c.depth].add(c.relative[c.row])
		c.parens[c.row]++
	case ")", "]", "}":
		if c.depth == 0 {
			return
		}
		column := c.indents[c.depth]
		if column == 0 {
			column = c.last.col
		}
		c.indents, c.hangs = c.indents[:c.depth], c.hangs[:c.depth]
		for d, indent := range c.indents {
			if indent > column {
				c.indents[d] = 0
			}
		}
		i, _ := c.chances.find(column)
		c.chances = c.chances[:i]
		c.opened = c.opened[:min(len(c.opened), c.depth+1)]
		c.depth--
		if c.depth > 0 {
			c.chances.set(c.indents[c.depth], chanceAlways, "")
		}
		for row := c.row; row >= 0; row-- {
			if c.parens[row] != 0 {
				c.parens[row]--
				break
			}
		}
	}
}

// end judges the last line: it must not look like the block that follows.
func (c *continuation) end(t *token) {
	size := c.size()
	if !c.opensNext || indentOf(t.line) != c.level+size || c.fixer && c.spanned {
		return
	}
	code := "E125"
	if c.visual.why != chanceNone {
		code = "E129"
	}
	c.fault(position{t.start.row, c.indents[0] + size}, code, c.level+2*size)
}
