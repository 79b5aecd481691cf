// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import "fmt"

// indents judges where the lines of a file begin.
type indents struct {
	*report
	strings bool // the lines of strings are judged, too

	// step is the width of one level. It is that of the first level of the
	// file when it is not known; it stays the same from then on.
	step  int
	known bool

	lists   listStyle
	columns []int // for each collection, where what it holds begins
}

// listStyle is how a sequence stands under the key it belongs to.
type listStyle uint8

const (
	listsDeeper listStyle = iota // one level deeper
	listsLevel                   // in the column of the key
	listsEither                  // as it likes
	listsAlike                   // as the first of the file, which is to come
)

// noIndentYet is a column in which no line begins.
const noIndentYet = -1

func indentation(o *rule) func(*report) {
	step, known := o.number("spaces"), o.options["spaces"] != "consistent"
	lists := map[string]listStyle{"true": listsDeeper, "false": listsLevel, "whatever": listsEither, "consistent": listsAlike}[o.options["indent-sequences"]]
	multi := o.is("check-multi-line-strings")
	return func(r *report) {
		x := indents{report: r, strings: multi, step: step, known: known, lists: lists, columns: make([]int, len(r.d.nodes))}
		for i := range r.d.nodes {
			x.node(i)
		}
		for _, p := range r.d.marks {
			x.line(p.token, x.columns[p.holder])
		}
	}
}

// line judges a token if it is the first on its line. Behind a fault, nobody
// knows what belongs where.
func (x *indents) line(token, want int) {
	if t := &x.d.tokens[token]; x.d.leads(t) && t.start.index < x.d.broken {
		if column := t.start.column; want < 0 && column != want {
			x.at(token, t.start.line+1, column+1, fmt.Sprintf("wrong indentation: expected at least %d", column+1))
		} else {
			x.judge(token, t.start.line+1, column, want)
		}
	}
}

func (x *indents) judge(token, line, column, want int) {
	if column != want {
		x.at(token, line, column+1, fmt.Sprintf("wrong indentation: expected %d but found %d", want, column))
	}
}

// deeper is the column one level below that of base. What is found there
// decides when nothing has decided before.
func (x *indents) deeper(base, found int) int {
	if !x.known {
		x.step, x.known = found-base, true
	}
	return base + x.step
}

func (x *indents) column(token int) int { return x.d.tokens[token].start.column }

// node judges the lines that one node begins, and says where those of what it
// holds are to begin.
func (x *indents) node(i int) {
	n := &x.d.nodes[i]
	if n.first < 0 {
		return
	}
	want := 0
	if n.parent >= 0 {
		want = x.want(n, x.columns[n.parent])
	}
	// The keys of a block begin where the first does, else they were no keys
	// of it; and that is where the block begins.
	if n.role != simpleKey || x.d.nodes[n.parent].flow {
		last := max(n.begin, n.first)
		for t := n.first; t <= last; t++ {
			x.line(t, want)
		}
	}
	switch {
	case n.shape == scalarNode:
		if x.strings {
			x.text(n, want)
		}
	case n.flow:
		x.bracket(i)
	case n.begin >= 0:
		x.columns[i] = x.column(n.begin)
	}
}

// want is the column where a node is to begin if it begins a line; its holder
// keeps what it holds at base.
func (x *indents) want(n *node, base int) int {
	switch n.role {
	case entry:
		if x.follows(n.indicator, n.first) {
			return x.column(n.first)
		}
		if x.column(n.first) == base {
			return base // only a block scalar can be there; yamllint lets it pass
		}
		return x.deeper(base, x.column(n.first))
	case explicitKey:
		start := n.first
		for start < n.begin && x.follows(n.indicator, start) {
			start++
		}
		if x.follows(n.indicator, start) {
			return x.column(n.first)
		}
		return x.deeper(base, x.column(start))
	case explicitValue:
		// Only behind a block does one property belong to the colon's line.
		start := n.first
		if n.indicator > 0 && x.d.tokens[n.indicator-1].kind == blockEnd && start < n.begin && !x.follows(n.indicator, start+1) {
			start++
		}
		return x.deeper(base, x.column(start))
	case simpleValue:
		return x.valueWant(n, base)
	}
	return base
}

// follows tells that a token begins on the line where another one ends.
func (x *indents) follows(before, token int) bool {
	return x.d.tokens[before].end.line == x.d.tokens[token].start.line
}

// valueWant is where the value of a key is to begin. One property behind the
// colon belongs to the line of the key, whatever it is a property of.
func (x *indents) valueWant(n *node, base int) int {
	start := n.first
	beside := x.follows(n.indicator, start)
	if beside && start < n.begin {
		start++
	}
	switch {
	case x.d.tokens[start].kind == blockEntry || x.d.tokens[start].kind == blockSequence:
		return x.listWant(base, x.column(start))
	case beside && x.follows(n.indicator, start):
		return x.column(n.first)
	}
	return x.deeper(base, x.column(start))
}

// listWant is where a sequence is to begin under a key at base.
func (x *indents) listWant(base, found int) int {
	if x.lists == listsAlike {
		if x.lists = listsDeeper; found == base {
			x.lists = listsLevel
		}
	}
	switch {
	case x.lists == listsLevel, x.lists == listsEither && found == base:
		return base
	case found == base && !x.known:
		return noIndentYet // it is not deep enough, but how deep is enough?
	}
	return x.deeper(base, found)
}

// bracket says where the lines inside of brackets begin: below what follows
// the bracket, or else one level deeper than the line of the bracket, where
// the closing one stands, too.
func (x *indents) bracket(i int) {
	n := &x.d.nodes[i]
	margin := x.d.margin(x.d.tokens[n.begin].start.index)
	if n.end >= 0 {
		x.line(n.end, margin)
	}
	inside := n.begin + 1
	switch {
	case inside >= len(x.d.tokens):
	case x.follows(n.begin, inside):
		x.columns[i] = x.column(inside)
	default:
		x.columns[i] = x.deeper(margin, x.column(inside))
	}
}

// text judges the lines of a string but the first.
func (x *indents) text(n *node, want int) {
	t := &x.d.tokens[n.begin]
	if t.start.line == t.end.line {
		return
	}
	column := t.start.column
	if !t.plain {
		column++
	}
	unset := t.style == '|' || t.style == '>'
	number := t.start.line + 1
	for i := t.start.index; i < t.end.index; i++ {
		if x.d.text[i] != '\n' {
			continue
		}
		number++
		found := x.d.spacesAt(i + 1)
		i += found
		if i+1 >= t.end.index || x.d.text[i+1] == '\n' {
			continue
		}
		if unset {
			column, unset = x.blockWant(n, want, found), false
		}
		x.judge(n.begin, number, found, column)
	}
}

// blockWant is where the lines of a block scalar begin: one level deeper than
// the scalar, or than its key, if it begins on the key's line.
func (x *indents) blockWant(n *node, want, found int) int {
	t := &x.d.tokens[n.begin]
	base := t.start.column
	switch n.role {
	case simpleValue, explicitValue:
		if x.d.leads(t) {
			base = want
		} else if n.role == simpleValue {
			base = x.columns[n.parent]
		}
	case root:
		base = 0
	}
	return x.deeper(base, found)
}
