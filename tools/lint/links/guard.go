// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import "bytes"

// A Markdown parser that keeps to CommonMark looks at some texts again and
// again: brackets that never close, marks that never pair, deep quotes, very
// long runs of definitions. goldmark 1.8 needs minutes for a few megabytes of
// them. So the work that a text may cause is estimated first, in one pass.
const (
	deepest  = 100         // levels of quotes and lists
	budget   = 300_000_000 // about a third of a second of goldmark's time
	perBlock = 1000        // bookkeeping of a paragraph or heading, in the same unit
	perCell  = 300         // the same of a table's cell
)

// tooMuch returns where a text has caused more work than is affordable, or -1.
func tooMuch(source []byte) int {
	var e estimate
	for at := 0; at < len(source); {
		line := source[at : at+lineLength(source[at:])]
		e.line(line)
		if e.depth > deepest || e.total+e.block() > budget {
			return at
		}
		at += len(line)
	}
	return -1
}

// estimate sums up over blocks: runs of lines without a blank line between.
type estimate struct {
	total   int
	depth   int // of quotes and lists on the latest line
	lines   int // of the block
	marks   int // in the block: what inline parsing stops at
	columns int // of a table that the block may be
	fence   []byte
}

func (e *estimate) block() int {
	return e.marks*e.marks + 4*e.lines*e.lines + (perCell+e.lines)*e.columns
}

func (e *estimate) end() {
	if e.lines > 0 {
		e.total += perBlock
	}
	e.total += e.block()
	e.lines, e.marks, e.columns = 0, 0, 0
}

func (e *estimate) line(line []byte) {
	rest, depth, listed := containers(line, e.depth)
	if len(rest) == 0 {
		e.end()
		return
	}
	e.depth = depth
	if e.fence != nil {
		if closes(rest, e.fence) {
			e.fence = nil
		}
		return
	}
	if f := fenceOf(rest); f != nil {
		e.end()
		e.fence = f
		return
	}
	if listed || rest[0] == '#' {
		e.end()
	}
	marks := 0
	for _, c := range rest {
		switch c {
		case '[', ']', '<', '*', '_', '`', '~', ':':
			marks++
		}
	}
	pipes := bytes.Count(rest, []byte("|"))
	if e.lines < 2 {
		e.columns = max(e.columns, pipes)
	}
	if rest[0] == '|' { // a row of a table: each cell is read by itself
		e.total += marks*marks/max(pipes, 1) + perCell*max(pipes, e.columns)
		return
	}
	e.lines++
	e.marks += marks
}

// containers strips the marks of quotes and list items at the start of a line,
// and guesses how deep the line lies, given the depth of the line before.
func containers(line []byte, before int) (rest []byte, depth int, listed bool) {
	line = bytes.TrimRight(line, " \t\r\n")
	indent, marks := 0, 0
	for len(line) > 0 {
		switch c := line[0]; {
		case c == ' ':
			indent++
			line = line[1:]
			continue
		case c == '\t':
			indent += 4
			line = line[1:]
			continue
		case c == '>':
			marks++
			line = line[1:]
			continue
		}
		n := listMark(line)
		if n == 0 {
			break
		}
		marks++
		listed = true
		line = line[n:]
	}
	return line, min(before, indent/2) + marks, listed
}

// listMark is the length of a list item's mark, with the space after it.
func listMark(line []byte) int {
	i := 0
	for i < len(line) && i < 9 && '0' <= line[i] && line[i] <= '9' {
		i++
	}
	if i >= len(line) {
		return 0
	}
	bullet := i == 0 && (line[0] == '-' || line[0] == '*' || line[0] == '+')
	number := i > 0 && (line[i] == '.' || line[i] == ')')
	if !bullet && !number {
		return 0
	}
	if i+1 == len(line) {
		return i + 1
	}
	if line[i+1] == ' ' || line[i+1] == '\t' {
		return i + 2
	}
	return 0
}

// fenceOf returns the fence that a line opens, or nil.
func fenceOf(line []byte) []byte {
	for _, mark := range []string{"`", "~"} {
		rest := bytes.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && (mark == "~" || !bytes.Contains(rest, []byte(mark))) {
			return line[:n]
		}
	}
	return nil
}

func closes(line, fence []byte) bool {
	return len(line) >= len(fence) && len(bytes.Trim(line, string(fence[:1]))) == 0
}
