// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	gmtext "github.com/yuin/goldmark/text"
)

// Dialect is the Markdown that a file is read as. The empty one is Kramdown.
type Dialect string

// The dialects that can be chosen.
const (
	Kramdown   Dialect = "kramdown"   // as mdl reads it
	CommonMark Dialect = "commonmark" // as GitHub shows it
)

// ParseDialect reads the name of a dialect.
func ParseDialect(s string) (Dialect, error) {
	switch d := Dialect(s); d {
	case "", Kramdown:
		return Kramdown, nil
	case CommonMark:
		return d, nil
	}
	return "", errors.New("use kramdown, or commonmark for files that GitHub shows")
}

// openCommonMark reads a file as CommonMark with the tables, the struck out
// text and the task lists of GitHub. GitHub's bare addresses are found by their
// rule (md034): the parser's extension has a narrower idea of them.
func openCommonMark(s string, front, strict bool) (*document, error) {
	d, s := cutFrontMatter(s, front, strict)
	s = strings.TrimPrefix(unixLines(s), "\ufeff") // it is no text
	d.commonmark = true
	if s != "" {
		d.lines = strings.Split(s, "\n")
	}
	if line := tooMuch(d.lines); line > 0 {
		return nil, fmt.Errorf("line %d is nested too deeply, or its paragraph holds too many brackets and marks, to be read as CommonMark in time; split it, or leave the file out with FINDFILES_IGNORE", d.trueLine(line))
	}
	c := &converter{source: []byte(s), lines: d.lines, fences: map[int]bool{}}
	for i := range len(s) {
		if i == 0 || s[i-1] == '\n' {
			c.starts = append(c.starts, i)
		}
	}
	tree, err := parseCommonMark(c.source)
	if err != nil {
		return nil, err
	}
	d.root = &node{kind: root, line: 1, end: len(d.lines)}
	c.markFences(tree)
	c.blocks(d.root, tree)
	annotate(d.root, nil, 0)
	d.quoted = c.quoted
	return d, nil
}

// parseCommonMark turns a panic of the parser into a failure of one file.
func parseCommonMark(source []byte) (tree ast.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("parsing as CommonMark: the parser failed: %v", r)
		}
	}()
	p := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
	return p.Parse(gmtext.NewReader(source)), nil
}

// converter makes our tree of the parser's.
type converter struct {
	source []byte
	starts []int // of lines
	lines  []string
	fences map[int]bool // lines that a fence opens on
	quoted []int        // lines with more than one space behind the mark of a quote
}

// place is the line that a position is on, and the position in it.
func (c *converter) place(pos int) (line, col int) {
	if len(c.starts) == 0 {
		return 1, 0
	}
	pos = max(pos, 0)
	line = max(1, sort.SearchInts(c.starts, pos+1))
	return line, min(pos-c.starts[line-1], len(c.lines[line-1]))
}

func (c *converter) node(k kind, pos int) *node {
	line, col := c.place(pos)
	return &node{kind: k, line: line, col: col, end: line}
}

// markFences notes where fences open, so that the line behind the text of a
// fence is not taken for its end when it opens the next one.
func (c *converter) markFences(n ast.Node) {
	for k := n.FirstChild(); k != nil; k = k.NextSibling() {
		if k.Kind() == ast.KindFencedCodeBlock {
			line, _ := c.place(k.Pos())
			c.fences[line] = true
		}
		if k.Type() == ast.TypeBlock {
			c.markFences(k)
		}
	}
}

// blocks converts the blocks inside of one.
func (c *converter) blocks(parent *node, n ast.Node) {
	for k := n.FirstChild(); k != nil; k = k.NextSibling() {
		if k.HasBlankPreviousLines() && len(parent.children) > 0 {
			parent.add(&node{kind: blank})
		}
		el := c.block(parent, k)
		if el == nil {
			continue
		}
		el.parent = parent
		parent.add(el)
		switch k.Kind() {
		case ast.KindBlockquote, ast.KindList, ast.KindListItem:
			c.blocks(el, k)
		case extast.KindTable:
			c.rows(el, k)
		case ast.KindParagraph, ast.KindTextBlock, ast.KindHeading:
			c.inlines(el, k)
		}
		parent.end = max(parent.end, el.end)
	}
}

// block converts one block without what is inside.
func (c *converter) block(parent *node, n ast.Node) *node {
	el := c.node(temporary, n.Pos())
	if k := n.Lines().Len(); k > 0 {
		el.end, _ = c.place(n.Lines().At(k - 1).Start)
	}
	c.settle(parent, el, n)
	switch n := n.(type) {
	case *ast.Heading:
		el.kind, el.level = header, n.Level
		c.heading(el, n)
	case *ast.Paragraph, *ast.TextBlock:
		el.kind, el.loose = paragraph, n.Kind() == ast.KindTextBlock
		lines := n.Lines()
		for i := range lines.Len() {
			c.quote(parent, lines.At(i).Start)
		}
		return el
	case *ast.Blockquote:
		el.kind = blockquote
	case *ast.List:
		if el.kind = ul; n.IsOrdered() {
			el.kind = ol
		}
		return el // its items are looked at
	case *ast.ListItem:
		el.kind = li
		_, el.content = markerOf(c.lines[el.line-1], el.col)
		c.quote(parent.parent, n.Pos())
		return el
	case *ast.FencedCodeBlock:
		el.kind, el.fenced = codeblock, true
		c.fence(el, n)
	case *ast.CodeBlock:
		el.kind, el.text = codeblock, n.Lines().Value(c.source)
		return el // its spaces are code
	case *ast.ThematicBreak:
		el.kind = hr
	case *ast.HTMLBlock:
		c.htmlBlock(el, n)
	case *ast.LinkReferenceDefinition:
		el.kind, el.mark = eob, markLinkDef
		if len(n.Label) > 0 && n.Label[0] == '^' { // a footnote, for GitHub
			el.kind = paragraph
			c.text(el, string(n.Destination), n.Pos())
		}
	case *extast.Table:
		el.kind = table
		if h := n.FirstChild(); h != nil {
			el.line, el.col = c.place(h.Pos())
		}
		el.end = el.line + 1
	default:
		return nil
	}
	c.quote(parent, c.starts[el.line-1]+el.col)
	return el
}

// settle corrects the place of a block behind a tab of which an item around it
// took a part: the parser counts the other part as spaces that are in the text.
func (c *converter) settle(parent, el *node, n ast.Node) {
	switch n.Kind() {
	case ast.KindParagraph, ast.KindTextBlock, ast.KindCodeBlock, ast.KindLinkReferenceDefinition:
		return
	}
	l := c.lines[el.line-1]
	low := 1
	if parent.line == el.line {
		if low = parent.col; is(parent, li, blockquote) {
			low++
		}
	}
	for q := max(low, 1, el.col-3); q < el.col; q++ {
		front := l[:q]
		spaces := front[len(strings.TrimRight(front, " \t")):]
		if isSpace(l[q]) || l[q] == '>' && n.Kind() != ast.KindBlockquote || !strings.Contains(spaces, "\t") {
			continue
		}
		el.col = q
		return
	}
}

// heading finds out how a header is written.
func (c *converter) heading(el *node, n *ast.Heading) {
	line := rstrip(c.lines[el.line-1][el.col:])
	title := strings.TrimLeft(line, "#")
	hashes := len(line) - len(title)
	if hashes == n.Level && (title == "" || isSpace(title[0])) {
		el.end, el.style, el.raw = el.line, "atx", strip(string(n.Lines().Value(c.source)))
		if bare := strings.TrimRight(title, "#"); bare != title && (strip(bare) == "" || isSpace(bare[len(bare)-1])) {
			el.style = "atx_closed"
		}
		return
	}
	el.style, el.raw = "setext", strip(string(n.Lines().Value(c.source)))
	el.end++ // the line below the title
}

// fence finds the text, the language and the end of fenced code.
func (c *converter) fence(el *node, n *ast.FencedCodeBlock) {
	el.text = n.Lines().Value(c.source)
	if n.Info != nil && n.Info.Segment.Len() > 0 {
		el.class = "language-" + string(n.Language(c.source))
	}
	mark := fenceMark(c.lines[el.line-1][el.col:])
	if el.end >= len(c.lines) || c.fences[el.end+1] || mark == "" {
		return
	}
	next := strings.Trim(c.lines[el.end], " \t>")
	if len(next) >= len(mark) && strings.Trim(next, mark[:1]) == "" {
		el.end++
	}
}

// quote notes a block that stands more than one space behind the mark of the
// quote it is in, unless the spaces are those that an item of a list needs.
func (c *converter) quote(container *node, pos int) {
	if container == nil || container.kind != blockquote && container.kind != li {
		return
	}
	line, col := c.place(pos)
	l := c.lines[line-1]
	start := len(strings.TrimRight(l[:col], " \t"))
	if start == 0 || l[start-1] != '>' || col-start < 2 {
		return
	}
	if container.kind == li && (line == container.line || columns(l, col) >= container.content) {
		return
	}
	if n := len(c.quoted); n == 0 || c.quoted[n-1] != line {
		c.quoted = append(c.quoted, line)
	}
}

// rows converts the rows of a table.
func (c *converter) rows(el *node, n ast.Node) {
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		row := c.node(tr, r.Pos())
		el.add(row)
		el.end = max(el.end, row.end)
		for k := r.FirstChild(); k != nil; k = k.NextSibling() {
			cell := &node{kind: td, line: row.line, end: row.line}
			row.add(cell)
			c.inlines(cell, k)
		}
	}
}

// htmlBlock finds the tags in a block of HTML.
func (c *converter) htmlBlock(el *node, n *ast.HTMLBlock) {
	s := string(n.Lines().Value(c.source))
	if n.HasClosure() {
		s += string(n.ClosureLine.Value(c.source))
		el.end, _ = c.place(n.ClosureLine.Start)
	}
	el.kind = htmlBlock
	if t := strip(s); strings.HasPrefix(t, "<!--") && strings.HasSuffix(t, "-->") {
		el.kind = comment
	}
	for _, t := range htmlTags(s, el.line) {
		el.add(t)
	}
}

// htmlTags returns the opening and the closing tags of a text.
func htmlTags(s string, line int) []*node {
	var out []*node
	seen := 0 // up to where lines are counted
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '<')
		if n < 0 {
			break
		}
		i += n
		line += strings.Count(s[seen:i], "\n")
		seen = i
		if strings.HasPrefix(s[i:], "<!--") {
			end := strings.Index(s[i+4:], "-->")
			if end < 0 {
				break
			}
			i += 4 + end + 3
			continue
		}
		k, start := htmlElement, i+1
		if at(s, start) == '/' {
			k, start = htmlClose, start+1
		}
		end := start
		for end < len(s) && (isLetter(s[end]) || end > start && (isDigit(s[end]) || s[end] == '-')) {
			end++
		}
		if i++; end == start || end < len(s) && !isSpace(s[end]) && s[end] != '>' && s[end] != '/' {
			continue
		}
		out = append(out, &node{kind: k, line: line, end: line, text: []byte(strings.ToLower(s[start:end]))})
		i = tagEnd(s, end)
	}
	return out
}

// tagEnd is where a tag ends whose name ends at i. A > in quotes does not end
// it; a tag that nothing ends is over with its name.
func tagEnd(s string, i int) int {
	name := i
	for i < len(s) {
		switch s[i] {
		case '>':
			return i + 1
		case '"', '\'':
			n := strings.IndexByte(s[i+1:], s[i])
			if n < 0 || at(s, i-1) != '=' {
				break
			}
			i += n + 1
		case '<':
			return name
		}
		i++
	}
	return name
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// inlines converts what is inside of a block of text.
func (c *converter) inlines(parent *node, n ast.Node) {
	for k := n.FirstChild(); k != nil; k = k.NextSibling() {
		switch k := k.(type) {
		case *ast.Text:
			s := string(k.Segment.Value(c.source))
			if k.SoftLineBreak() || k.HardLineBreak() {
				s += "\n"
			}
			c.text(parent, s, k.Segment.Start)
		case *ast.String:
			c.text(parent, string(k.Value), k.Pos())
		case *ast.CodeSpan:
			parent.add(c.codeSpan(k))
		case *ast.RawHTML:
			c.rawHTML(parent, k)
		case *ast.AutoLink:
			parent.add(c.node(link, k.Pos()))
		case *ast.Emphasis:
			el := c.node(em, k.Pos())
			if k.Level == 2 {
				el.kind = strong
			}
			c.inside(parent, el, k)
		case *ast.Link:
			c.inside(parent, c.node(link, k.Pos()), k)
		case *ast.Image:
			c.inside(parent, c.node(image, k.Pos()), k)
		case *extast.Strikethrough:
			c.inside(parent, c.node(deleted, k.Pos()), k)
		}
	}
}

func (c *converter) inside(parent, el *node, n ast.Node) {
	parent.add(el)
	c.inlines(el, n)
	for _, k := range el.children {
		el.end = max(el.end, k.end)
	}
}

// text adds a text, to the one before where it goes on.
func (c *converter) text(parent *node, s string, pos int) {
	if last := parent.last(); last != nil && last.kind == text {
		last.text = append(last.text, s...)
		last.end, _ = c.place(pos)
		return
	}
	el := c.node(text, pos)
	el.text = []byte(s)
	parent.add(el)
}

// codeSpan keeps the code without the space at both ends that is not shown.
func (c *converter) codeSpan(n *ast.CodeSpan) *node {
	el := c.node(codespan, n.Pos())
	for k := n.FirstChild(); k != nil; k = k.NextSibling() {
		t, ok := k.(*ast.Text)
		if !ok {
			continue
		}
		if len(el.text) == 0 && t.Segment.Start > 0 && k == n.FirstChild() {
			el.padded = c.source[t.Segment.Start-1] != '`'
			el.line, el.col = c.place(t.Segment.Start)
		}
		el.text = append(el.text, t.Segment.Value(c.source)...)
		el.end, _ = c.place(max(t.Segment.Start, t.Segment.Stop-1))
	}
	return el
}

func (c *converter) rawHTML(parent *node, n *ast.RawHTML) {
	s := string(n.Segments.Value(c.source))
	line, _ := c.place(n.Segments.At(0).Start)
	tags := htmlTags(s, line)
	if len(tags) == 0 {
		tags = []*node{{kind: comment, line: line, end: line + strings.Count(s, "\n")}}
	}
	parent.add(tags[0])
}
