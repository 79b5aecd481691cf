// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// document is a file as the rules see it: its tokens, lines and comments, and
// the tree of its values.
type document struct {
	*scanner
	file     string
	size     int // of the text without what stands behind it
	seen     int // tokens that are judged; one more may be known
	broken   int // where the text stops to be YAML
	lines    []line
	comments []comment
	nodes    []node
	marks    []punctuation
}

// line is a piece between \n; a \r before that is no part of it. The margin is
// the number of spaces at its beginning.
type line struct{ number, start, end, margin int }

// comment is a comment and where it is.
type comment struct {
	line, column, index int
	after               int // the token before it
	inline              bool
}

// problem is a finding before it is known to be wanted.
type problem struct {
	line, column int
	message      string
	rule         *rule
	// home is the line with which it is told, or kept quiet; order is that
	// within the line.
	home, order int
}

func newDocument(file string, text []rune) (*document, *syntaxError) {
	size := len(text)
	s := newScanner(withEnd(text))
	s.blocks = true
	fault := s.check()
	s.all()
	d := &document{scanner: s, file: file, size: size, seen: s.taken, broken: size + 1}
	if fault != nil {
		d.broken = fault.index
	}
	if s.err != nil {
		// A token is judged with two behind it, and they are not there.
		d.seen = max(s.taken-2, 0)
	}
	d.readLines()
	d.readComments()
	d.plant()
	return d, fault
}

func withEnd(text []rune) []rune {
	for range sentinels {
		text = append(text, 0)
	}
	return text
}

// all scans to the end of the text, or up to a fault, and returns the tokens
// that are certain.
func (s *scanner) all() []token {
	for s.peek() != nil {
		s.taken++
	}
	return s.tokens[:s.taken]
}

func (d *document) readLines() {
	start := 0
	for start <= d.size {
		end := start
		for end < d.size && d.text[end] != '\n' {
			end++
		}
		l := line{len(d.lines) + 1, start, end, d.spacesAt(start)}
		start = end + 1
		if end < d.size && end > l.start && d.text[end-1] == '\r' {
			l.end--
		}
		d.lines = append(d.lines, l)
	}
}

// readComments looks for comments where they can be: between a token and the
// next, if that is on another line.
func (d *document) readComments() {
	for i := range d.seen {
		t, end := &d.tokens[i], d.size
		if i+1 < len(d.tokens) {
			next := &d.tokens[i+1]
			if next.start.line == t.end.line && t.kind != streamStart {
				continue
			}
			end = next.start.index
		}
		number, column := t.end.line+1, t.end.column
		for k := t.end.index; k < end; k++ {
			column++
			switch d.text[k] {
			case '\n':
				number, column = number+1, 0
			case '#':
				c := comment{line: number, column: column, index: k, after: i}
				c.inline = t.kind != streamStart && number == t.end.line+1 && d.text[t.end.index-1] != '\n'
				d.comments = append(d.comments, c)
				for k+1 < end && d.text[k+1] != '\n' {
					k++
				}
			}
		}
	}
}

// body is the text of a comment.
func (d *document) body(c *comment) []rune {
	end := c.index
	for d.text[end] != '\n' && d.text[end] != 0 {
		end++
	}
	return d.text[c.index:end]
}

// margin is that of the line of a place.
func (d *document) margin(index int) int {
	i, found := slices.BinarySearchFunc(d.lines, index, func(l line, index int) int { return cmp.Compare(l.start, index) })
	if !found {
		i--
	}
	return d.lines[i].margin
}

// spacesAt is the number of spaces from a place on.
func (d *document) spacesAt(index int) int {
	n := 0
	for d.text[index+n] == ' ' {
		n++
	}
	return n
}

// leads tells that a token is the first on its line.
func (d *document) leads(t *token) bool {
	i := t.start.index
	for i > 0 && d.text[i-1] == ' ' {
		i--
	}
	return i == 0 || isBreak(d.text[i-1]) || i == 1 && d.text[0] == 0xFEFF
}

// gap is the white space between two tokens that follow each other on a line.
type gap struct{ left, right, width int }

func (d *document) gaps() iter.Seq[gap] {
	return func(yield func(gap) bool) {
		for right := 1; right < len(d.tokens); right++ {
			l, r := &d.tokens[right-1], &d.tokens[right]
			if right > d.seen || l.end.line != r.start.line || l.end.index > 0 && d.text[l.end.index-1] == '\n' {
				continue
			}
			if !yield(gap{right - 1, right, r.start.index - l.end.index}) {
				return
			}
		}
	}
}

// report collects the problems of one rule.
type report struct {
	d     *document
	rule  *rule
	found []problem
}

// at reports a problem that is seen when the reader has come to a token.
func (r *report) at(token, line, column int, message string) {
	if token < r.d.seen {
		r.found = append(r.found, problem{line, column, message, r.rule, r.d.tokens[token].start.line + 1, 2 * token})
	}
}

// token reports a problem that is at a token.
func (r *report) token(i int, message string) {
	m := r.d.tokens[i].start
	r.at(i, m.line+1, m.column+1, message)
}

func (r *report) comment(c *comment, column int, message string) {
	r.found = append(r.found, problem{c.line, column, message, r.rule, c.line, 2*c.after + 1})
}

func (r *report) line(number, column int, message string) {
	r.found = append(r.found, problem{number, column, message, r.rule, number, math.MaxInt})
}

// inOrder sorts problems as a reader comes to them: by line, those of tokens
// and comments first. For the same token, rules keep their order.
func inOrder(found []problem) {
	slices.SortStableFunc(found, func(a, b problem) int { return cmp.Or(cmp.Compare(a.home, b.home), cmp.Compare(a.order, b.order)) })
}
