// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"
)

// document is a file as the rules see it.
type document struct {
	lines []string // of the file without its front matter
	root  *node
	taken int  // what extract copied
	exact bool // keep the faults of mdl
	// commonmark tells that the tree is that of CommonMark; quoted are then the
	// lines with more than one space behind the mark of a quote.
	commonmark bool
	quoted     []int
	// Where the front matter was cut out: lines after cutAfter are cutLines
	// further down in the file. shift is what mdl adds to every number.
	cutAfter, cutLines, shift int
}

// open reads a file. With front, what looks like front matter is left out:
// from the first line --- to the next text that ends with --- at the end of a
// line, wherever in the file that is. This is what mdl --ignore-front-matter
// does, and the verdict on some files depends on it. strict takes front
// matter only at the start of the file.
func open(s string, front, strict bool) *document {
	d, s := cutFrontMatter(s, front, strict)
	d.lines = splitAny(s)
	d.root = parse(unixLines(s))
	return d
}

// cutFrontMatter returns a document without lines and tree, and the text that
// they are to be made of.
func cutFrontMatter(s string, front, strict bool) (*document, string) {
	d := &document{}
	if front {
		if start, end := frontMatter(s); start >= 0 && (start == 0 || !strict) {
			cut := s[start:end]
			d.cutAfter, d.cutLines = strings.Count(s[:start], "\n"), strings.Count(cut, "\n")
			d.shift = len(splitLines(cut))
			s = s[:start] + s[end:]
		}
	}
	return d, s
}

func unixLines(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	return s
}

// frontMatter finds the first line --- and the --- that follows it.
func frontMatter(s string) (start, end int) {
	for start = 0; ; {
		if strings.HasPrefix(s[start:], "---\n") {
			break
		}
		n := strings.Index(s[start:], "\n---\n")
		if n < 0 {
			return -1, -1
		}
		start += n + 1
	}
	n := strings.Index(s[start+4:], "---\n")
	if n < 0 {
		return -1, -1
	}
	end = start + 4 + n + 4
	if at(s, end) == '\n' {
		end++
	}
	return start, end
}

// splitAny splits at every kind of line end that Unicode knows.
func splitAny(s string) []string {
	if s == "" {
		return nil
	}
	var lines []string
	start := 0
	for i := 0; i < len(s); i++ {
		size := 0
		switch c := s[i]; {
		case c == '\r' && at(s, i+1) == '\n':
			size = 2
		case c >= '\n' && c <= '\r':
			size = 1
		case c == 0xc2 && at(s, i+1) == 0x85:
			size = 2
		case c == 0xe2 && at(s, i+1) == 0x80 && (at(s, i+2) == 0xa8 || at(s, i+2) == 0xa9):
			size = 3
		}
		if size > 0 {
			lines = append(lines, s[start:i])
			i += size - 1
			start = i + 1
		}
	}
	return append(lines, s[start:])
}

// trueLine is the number of a line in the file.
func (d *document) trueLine(line int) int {
	if line > d.cutAfter {
		return line + d.cutLines
	}
	return line
}

// line is the text of the line that a node begins on.
func (d *document) line(n *node) string {
	if n.line < 1 || n.line > len(d.lines) {
		return ""
	}
	return d.lines[n.line-1]
}

// at is the text of the line that a node begins on, from where it does: for
// kramdown, the whole line.
func (d *document) at(n *node) string {
	l := d.line(n)
	if d.commonmark {
		return rstrip(l[min(n.col, len(l)):])
	}
	return l
}

// find returns the nodes of some kinds in the order of the document.
func find(n *node, kinds ...kind) []*node {
	var out []*node
	var walk func(*node)
	walk = func(n *node) {
		for _, c := range n.children {
			if is(c, kinds...) {
				out = append(out, c)
			}
			walk(c)
		}
	}
	walk(n)
	return out
}

// top is find without what is inside of other nodes.
func top(n *node, kinds ...kind) []*node {
	var out []*node
	for _, c := range n.children {
		if is(c, kinds...) {
			out = append(out, c)
		}
	}
	return out
}

func is(n *node, kinds ...kind) bool {
	for _, k := range kinds {
		if n.kind == k {
			return true
		}
	}
	return false
}

// texts calls f with every line of text that is not part of a link.
func (d *document) texts(f func(line string, number int)) {
	var walk func(*node)
	walk = func(n *node) {
		for _, c := range n.children {
			if c.kind == text && c.line > 0 {
				for i, l := range splitLines(string(c.text)) {
					f(l, c.line+i)
				}
			}
			if c.kind != link {
				walk(c)
			}
		}
	}
	walk(d.root)
}

// extract returns the lines of the text of a node. whole puts the line of the
// source in the place of the first one, without the prefix that cut removes.
func (d *document) extract(n *node, cut func(string) string, whole bool) []string {
	var b strings.Builder
	for _, c := range n.children {
		if d.taken += b.Len() / 16; d.taken > 1<<26 {
			break // a line of nothing but spans, which stands for each of them
		}
		switch c.kind {
		case text, smartQuote:
			b.Write(c.text)
		case strong, em, paragraph, codespan:
			b.WriteString(strings.Join(d.extract(c, cut, whole), "\n"))
		}
	}
	lines := splitLines(b.String())
	if whole {
		first := cut(d.line(n))
		if len(lines) == 0 {
			return []string{first}
		}
		lines[0] = first
	}
	return lines
}

func indentOf(line string) int {
	n := 0
	for i := 0; i < len(line) && isSpace(line[i]); i++ {
		if line[i] == '\t' {
			n += 8
		} else {
			n++
		}
	}
	return n
}
