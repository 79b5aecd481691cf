// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import "strings"

// deepest is how many blocks may be inside each other. What is deeper is plain
// text; the program that is followed here ends with an error instead.
const deepest = 400

// parser reads blocks, then what is inside of them.
type parser struct {
	src       *source
	tree      *node
	blockIAL  *attributes // of the block that comes next
	depth     int
	alds      map[string]*attributes
	linkDefs  map[string]*node // the mark that carries the attributes
	footnotes map[string]*node
	abbrevs   []string
	steps     int // bytes that may still be looked at in vain
	failed    map[opener]int
	unmatched map[bracketAt]bool
	open      int // no autolink before this place is closed
	stack     []*node
}

// parse returns the tree of a document whose lines end with \n.
func parse(s string) *node {
	p := &parser{alds: map[string]*attributes{}, linkDefs: map[string]*node{}, footnotes: map[string]*node{}, steps: 40*len(s) + 1<<20}
	doc := &node{kind: root, line: 1}
	s = strings.TrimSuffix(s, "\n") + "\n"
	p.blocks(doc, newSource(s, 1))
	p.update(doc)
	p.abbreviate(doc)
	annotate(doc, nil, 0)
	return doc
}

func annotate(n, parent *node, depth int) {
	n.parent, n.depth = parent, depth
	for _, c := range n.children {
		annotate(c, n, depth+1)
	}
}

// blocks reads the blocks of a source into a node, up to its end or to the
// closing tag of the HTML element that the node is.
func (p *parser) blocks(n *node, src *source) {
	tree, was, ial := p.tree, p.src, p.blockIAL
	p.tree, p.blockIAL, p.src = n, nil, src
	p.depth++
	defer func() {
		p.tree, p.src, p.blockIAL = tree, was, ial
		p.depth--
	}()
	if p.depth > deepest {
		para := p.block(&node{kind: paragraph, line: src.line()})
		para.addText(strip(src.rest()), rawText)
		n.add(para)
		src.pos = len(src.s)
		return
	}
	for closed := false; !closed && !src.eos(); {
		closed = p.oneBlock()
	}
}

// oneBlock reads the next block. It tells that a closing tag ends the blocks.
func (p *parser) oneBlock() (closed bool) {
	s, i := p.src.s, p.src.pos
	if end := blankEnd(s, i); end > 0 {
		p.blank(end)
		return false
	}
	if indented(s, i) {
		p.codeblock()
		return false
	}
	c := at(s, optSpace(s, i))
	switch {
	case (c == '`' || c == '~') && p.fenced(),
		c == '>' && p.blockquote(),
		s[i] == '#' && p.atx(),
		(c == '*' || c == '-' || c == '_') && p.rule(),
		(c == '*' || c == '-' || c == '+' || isDigit(c)) && p.list(),
		c == ':' && p.definitions():
		return false
	case c == '<':
		done, closed := p.html()
		if closed || done {
			return closed
		}
	}
	if p.setext() || c == '$' && p.blockMath() {
		return false
	}
	if c == '\\' && p.escapedMath() {
		s, i = p.src.s, p.src.pos
		c = at(s, optSpace(s, i))
	}
	switch {
	case p.table(),
		c == '[' && (p.footnoteDef() || p.linkDef()),
		c == '*' && p.abbrevDef(),
		c == '{' && p.extension(),
		p.eob():
		return false
	}
	p.paragraph()
	return false
}

// block is a node that takes the attributes which stand in front of it.
func (p *parser) block(n *node) *node {
	if p.blockIAL != nil {
		n.ial, p.blockIAL = p.blockIAL, nil
	}
	return n
}

func (p *parser) afterBoundary() bool {
	last := p.tree.last()
	return last == nil || last.kind == blank || last.kind == eob && last.mark == endOfBlock || p.blockIAL != nil
}

func (p *parser) beforeBoundary() bool {
	s, i := p.src.s, p.src.pos
	return i >= len(s) || s[i:] == "\n" || blankEnd(s, i) > 0 || eobEnd(s, i) > 0 || ialBlock(s, optSpace(s, i)) != nil
}

func (p *parser) blank(end int) {
	value := p.src.s[p.src.pos:end]
	p.src.pos = end
	if last := p.tree.last(); last != nil && last.kind == blank {
		last.text = append(last.text, value...)
		return
	}
	p.tree.add(p.block(&node{kind: blank, text: []byte(value)}))
}

// indented tells that the line at i begins with a tab or four spaces.
func indented(s string, i int) bool { return at(s, i) == '\t' || count(s, i, ' ', 4) == 4 }

func unindent(line string) string {
	if strings.HasPrefix(line, "\t") {
		return line[1:]
	}
	return strings.TrimPrefix(line, "    ")
}

func lineIsBlank(s string, i int) bool { return restBlank(s, i) > 0 }

// codeEnd is where the indented code at i ends; i itself if there is none.
func codeEnd(s string, i int) int {
	for {
		j := i
		if b := blankEnd(s, i); b > 0 && !(indented(s, i) && !lineIsBlank(s, i)) {
			j = b
		}
		if j >= len(s) || !indented(s, j) || lineIsBlank(s, j) {
			return i
		}
		for j < len(s) && !lineIsBlank(s, j) {
			end := lineEnd(s, j)
			if end < 0 || !indented(s, j) && (ialBlock(s, optSpace(s, j)) != nil || eobEnd(s, j) > 0 || lazyHTML(s, optSpace(s, j))) {
				break
			}
			j = end
		}
		if j == i {
			return i
		}
		i = j
	}
}

func (p *parser) codeblock() {
	line, s := p.src.line(), p.src.s
	end := codeEnd(s, p.src.pos)
	if end == p.src.pos { // cannot be, the line is indented and not blank; do not stand still
		end = max(lineEnd(s, end), end+1)
	}
	var out strings.Builder
	for l := range strings.SplitAfterSeq(s[p.src.pos:end], "\n") {
		if j := optSpace(l, 0); out.Len() > 0 && j < len(l) && !isSpace(l[j]) { // a lazy line joins the one before
			joined := strings.TrimSuffix(out.String(), "\n")
			out.Reset()
			out.WriteString(joined + " " + l)
			continue
		}
		out.WriteString(unindent(l))
	}
	p.src.pos = end
	p.tree.add(p.block(&node{kind: codeblock, text: []byte(out.String()), line: line}))
}

// fenced reads fenced code: the info is one word, and the fence must be closed.
func (p *parser) fenced() bool {
	s := p.src.s
	open := optSpace(s, p.src.pos)
	n := 0
	for open+n < len(s) && (s[open+n] == '`' || s[open+n] == '~') {
		n++
	}
	full := n
	for n = p.closable(s, open, n); n >= 3; n-- { // a shorter fence leaves its last characters to the info
		body, info := fenceInfo(s, open+full)
		switch {
		case n < full && info == "" && open+full < len(s) && s[open+full] != '\n' && !lineIsBlank(s, open+full), body < 0:
			return false
		case n < full:
			body, info = fenceInfo(s, open+n)
		}
		if body < 0 {
			continue
		}
		start, end := p.closing(s[open:open+n], body)
		if end < 0 {
			continue
		}
		el := p.block(&node{kind: codeblock, text: []byte(s[body:start]), line: p.src.line()})
		if info != "" {
			el.class = "language-" + info
		}
		p.src.pos = end
		p.tree.add(el)
		return true
	}
	return false
}

// closable is the longest part of a fence of n characters that a later line
// can close: 0 if none can.
func (p *parser) closable(s string, open, n int) int {
	c := s[open]
	if n < 3 || strings.Trim(s[open:open+n], string(c)) != "" { // of both kinds: rare, and tried one by one
		return min(n, 64)
	}
	best := 0
	start := lineEnd(s, open)
	if start < 0 || !p.spend((len(s)-start)/8) {
		return 0
	}
	for i := start; i >= 0 && i < len(s) && best < n; i = lineEnd(s, i) {
		j := optSpace(s, i)
		if m := count(s, j, c, n); m > best && restBlank(s, skip(s, j, string(c))) > 0 {
			best = m
		}
	}
	return best
}

// fenceInfo reads the rest of the line that opens a fence; -1 if it is no such
// line.
func fenceInfo(s string, i int) (body int, info string) {
	for i < len(s) && isSpace(s[i]) {
		if s[i] == '\n' {
			return i + 1, ""
		}
		i++
	}
	end := i
	for end < len(s) && !isSpace(s[end]) {
		end++
	}
	body = restBlank(s, end)
	info, _, _ = strings.Cut(s[i:end], "?")
	if info == "" {
		info = s[i:end]
	}
	return body, info
}

// closing finds the line that closes a fence.
func (p *parser) closing(fence string, i int) (start, end int) {
	s := p.src.s
	for from := i; i < len(s); {
		j := optSpace(s, i)
		for k := j; k >= i; k-- { // fewer spaces are taken if the fence begins with them: it does not
			if strings.HasPrefix(s[k:], fence) {
				after := k + len(fence)
				for after < len(s) && s[after] == fence[len(fence)-1] {
					after++
				}
				if end := restBlank(s, after); end > 0 {
					return i, end
				}
			}
		}
		if i = lineEnd(s, i); i < 0 || !p.spend(i-from) {
			return -1, -1
		}
		from = i
	}
	return -1, -1
}

// spend takes from the budget for what is looked at in vain. Without it, a
// text made for that purpose could be read as often as it has lines.
func (p *parser) spend(n int) bool {
	p.steps -= n
	return p.steps > 0
}

// lazyEnd tells that a paragraph cannot go on at i.
func lazyEnd(s string, i int) bool {
	if i >= len(s) || s[i:] == "\n" || blankEnd(s, i) > 0 || eobEnd(s, i) > 0 {
		return true
	}
	j := optSpace(s, i)
	return ialBlock(s, j) != nil || lazyHTML(s, j)
}

func (p *parser) blockquote() bool {
	s, line := p.src.s, p.src.line()
	end := lineEnd(s, p.src.pos)
	if end < 0 {
		end = len(s)
	}
	for !lazyEnd(s, end) {
		next := lineEnd(s, end)
		if next < 0 {
			break
		}
		end = next
	}
	var inner strings.Builder
	for l := range strings.SplitAfterSeq(s[p.src.pos:end], "\n") {
		if j := optSpace(l, 0); at(l, j) == '>' {
			l = strings.TrimPrefix(l[j+1:], " ")
		}
		inner.WriteString(l)
	}
	el := p.block(&node{kind: blockquote, line: line})
	p.tree.add(el)
	p.src.pos = end
	p.blocks(el, newSource(inner.String(), line))
	return true
}

func (p *parser) atx() bool {
	s, i := p.src.s, p.src.pos
	for level := count(s, i, '#', 6); level > 0; level-- {
		j := skip(s, i+level, "\t ")
		if j >= len(s) {
			return false
		}
		end := -1
		switch {
		case s[j] != '\n':
			end = lineEnd(s, j)
		case j+1 < len(s):
			end = lineEnd(s, j+1) // the title is taken from the line below
		}
		if end < 0 {
			continue
		}
		if !p.afterBoundary() {
			return false
		}
		title := headerText(s[j : end-1])
		if cut := strings.TrimRight(title, "#"); cut != title {
			if strings.HasSuffix(cut, "\\") {
				cut += "#"
			}
			if cut != title {
				title = rstrip(cut)
			}
		}
		if title == "" {
			return false
		}
		p.header(level, title, end)
		return true
	}
	return false
}

// headerText cuts off the {#id} at the end of a title.
func headerText(s string) string {
	s = rstrip(s)
	open := strings.LastIndex(s, "{#")
	if !strings.HasSuffix(s, "}") || open < 1 || s[open-1] != ' ' && s[open-1] != '\t' {
		return s
	}
	for i, r := range s[open+2 : len(s)-1] {
		if !isAlpha(r) && r != '_' && r != ':' && (i == 0 || r != '-' && r != '.' && !isAlnum(r)) {
			return s
		}
	}
	if open+3 == len(s) {
		return s
	}
	return rstrip(s[:open-1])
}

func (p *parser) header(level int, title string, end int) {
	el := p.block(&node{kind: header, level: level, raw: title, line: p.src.line()})
	p.src.pos = end
	el.addText(title, rawText)
	p.tree.add(el)
}

func (p *parser) setext() bool {
	s, i := p.src.s, optSpace(p.src.s, p.src.pos)
	end := lineEnd(s, i)
	if end < 0 || end >= len(s) || s[end] != '-' && s[end] != '=' || s[i] == '\t' || s[i] == ' ' {
		return false
	}
	after := restBlank(s, skip(s, end, "-="))
	if after < 0 || strings.ContainsAny(s[end:after-1], "\n") || !p.afterBoundary() {
		return false
	}
	title := headerText(s[i : end-1])
	if title == "" {
		return false
	}
	level := 1
	if s[end] == '-' {
		level = 2
	}
	p.header(level, title, after)
	return true
}

// ruleEnd matches a thematic break.
func ruleEnd(s string, i int) int {
	i = optSpace(s, i)
	c := at(s, i)
	if c != '*' && c != '-' && c != '_' {
		return -1
	}
	n := 0
	for ; i < len(s) && (s[i] == c || s[i] == ' ' || s[i] == '\t'); i++ {
		if s[i] == c {
			n++
		}
	}
	if n < 3 || at(s, i) != '\n' {
		return -1
	}
	return i + 1
}

func (p *parser) rule() bool {
	end := ruleEnd(p.src.s, p.src.pos)
	if end < 0 {
		return false
	}
	p.tree.add(p.block(&node{kind: hr, line: p.src.line()}))
	p.src.pos = end
	return true
}

func (p *parser) blockMath() bool {
	s, i := p.src.s, optSpace(p.src.s, p.src.pos)
	if !strings.HasPrefix(s[i:], "$$") || !p.afterBoundary() {
		return false
	}
	n := strings.Index(s[i+2:], "$$")
	if n < 0 {
		p.spend(len(s) - i)
		return false
	}
	line, pos := p.src.line(), p.src.pos
	p.src.pos = i + 2 + n + 2
	if end := restBlank(s, p.src.pos); end > 0 {
		p.src.pos = end
	}
	if !p.beforeBoundary() {
		p.src.pos = pos
		p.spend(n)
		return false
	}
	p.tree.add(p.block(&node{kind: math, line: line}))
	return true
}

// escapedMath leaves the backslash out that keeps $$ from being mathematics.
func (p *parser) escapedMath() bool {
	s, i := p.src.s, optSpace(p.src.s, p.src.pos)
	if !strings.HasPrefix(s[i:], `\$$`) || !p.afterBoundary() {
		return false
	}
	n := strings.Index(s[i+3:], "$$")
	if n < 0 || restBlank(s, i+3+n+2) < 0 {
		return false
	}
	p.src.pos = i + 1
	return true
}

func (p *parser) eob() bool {
	end := eobEnd(p.src.s, p.src.pos)
	if end < 0 {
		return false
	}
	p.src.pos = end
	p.tree.add(p.block(&node{kind: eob}))
	return true
}

func (p *parser) paragraph() {
	s, pos, line := p.src.s, p.src.pos, p.src.line()
	end := lineEnd(s, pos)
	if end < 0 {
		end = len(s)
	}
	for !lazyEnd(s, end) && definitionStart(s, end, 3) < 0 {
		next := lineEnd(s, end)
		if next < 0 {
			break
		}
		end = next
	}
	p.src.pos = end
	content := rstrip(s[pos:end])
	last := p.tree.last()
	if last == nil || last.kind != paragraph {
		para := p.block(&node{kind: paragraph, line: line})
		p.tree.add(para)
		para.addText(lstrip(content), rawText)
		return
	}
	if tail := last.last(); tail != nil && tail.kind == rawText {
		joiner := "\n"
		if pos >= 3 && s[pos-3:pos] == "  \n" {
			joiner = "  \n"
		}
		tail.text = append(append(tail.text, joiner...), content...)
		return
	}
	last.addText(content, rawText)
}
