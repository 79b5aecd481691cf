// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import "strings"

// marker matches the beginning of a list item: at most so many spaces, the
// marker, then white space, which ends where the line does. It returns where
// the marker ends; -1 if there is none.
func marker(s string, i int, ordered bool, spaces int) int {
	i += count(s, i, ' ', spaces)
	if ordered {
		start := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == start || at(s, i) != '.' {
			return -1
		}
	} else if c := at(s, i); c != '*' && c != '+' && c != '-' {
		return -1
	}
	return tail(s, i+1)
}

// tail tells that what follows a marker at i fits: a tab, a space or, by an
// oversight that is kept, a bar.
func tail(s string, i int) int {
	if c := at(s, i); c != '\t' && c != ' ' && c != '|' || lineEnd(s, i) < 0 {
		return -1
	}
	return i
}

func anyMarker(s string, i int) bool { return marker(s, i, false, 3) > 0 || marker(s, i, true, 3) > 0 }

func definitionStart(s string, i, spaces int) int {
	i += count(s, i, ' ', spaces)
	if at(s, i) != ':' {
		return -1
	}
	return tail(s, i+1)
}

// spacesFor is how far the marker of a later item may be indented.
func spacesFor(indent int) int {
	if indent >= 1 && indent <= 3 {
		return indent - 1
	}
	return 3
}

// firstLine reads what follows the marker of an item: its text without the
// white space in front, and how far its content is indented.
func firstLine(indent int, s string) (string, int) {
	if j, _ := itemIAL(s); lineIsBlank(s, j) {
		return lstripASCII(s), 4
	}
	for {
		n := count(s, 0, ' ', len(s))
		tabs := count(s, n, '\t', len(s))
		if tabs == 0 {
			break
		}
		s = s[:n] + strings.Repeat(" ", 4-(n+indent)%4+(tabs-1)*4) + s[n+tabs:]
	}
	return lstripASCII(s), indent + count(s, 0, ' ', len(s))
}

func lstripASCII(s string) string { return s[skipSpace(s, 0):] }

// itemIAL matches the attribute list at the start of an item, with the white
// space around it.
func itemIAL(s string) (end int, inner string) {
	i := skipSpace(s, 0)
	if !strings.HasPrefix(s[i:], "{:") {
		return 0, ""
	}
	inner, end = ialInner(s, i+2)
	if end < 0 {
		return 0, ""
	}
	return skipSpace(s, end), inner
}

// content matches a line that belongs to an item by its indentation.
func content(s string, i, indent int) int {
	end := lineEnd(s, i)
	if end < 0 || lineIsBlank(s, i) {
		return -1
	}
	tabs, j := 0, i
	for tabs <= indent/4 && indented(s[:end], j) {
		if s[j] == '\t' {
			j++
		} else {
			j += 4
		}
		tabs++
	}
	if tabs <= indent/4 && (tabs < indent/4 || count(s[:end], j, ' ', indent%4) < indent%4) {
		return -1
	}
	return end
}

// lazy matches a line that belongs to an item although it is not indented.
func lazy(s string, i, indent int) int {
	end := lineEnd(s, i)
	if end < 0 || lineIsBlank(s, i) {
		return -1
	}
	for n := count(s, i, ' ', min(indent, 3)); n >= 0; n-- {
		if ialBlock(s, i+n) != nil || lazyHTML(s, i+n) {
			return -1
		}
	}
	return end
}

// expandTabs turns the tabs at the start of a line into spaces.
func expandTabs(line string) string {
	n := count(line, 0, '\t', len(line))
	return strings.Repeat("    ", n) + line[n:]
}

// item is a list item while its lines are gathered. The parts are read one by
// one: a nested list begins a new one.
type item struct {
	node  *node
	parts []*strings.Builder
}

func (it *item) begin() { it.parts = append(it.parts, &strings.Builder{}) }

func (it *item) write(s string) { it.parts[len(it.parts)-1].WriteString(s) }

// listing is the state of the list that is read.
type listing struct {
	ordered bool
	spaces  int // how far the next marker may be indented
	indent  int // of the content of the item
	nested  bool
	blank   bool
	eob     bool
	items   []*item
}

func (p *parser) list() bool {
	s := p.src.s
	l := &listing{spaces: 3}
	if marker(s, p.src.pos, false, 3) < 0 {
		if marker(s, p.src.pos, true, 3) < 0 {
			return false
		}
		l.ordered = true
	}
	list := p.block(&node{kind: ul, line: p.src.line()})
	if l.ordered {
		list.kind = ol
	}
	for !p.src.eos() && p.listLine(list, l) {
	}
	p.tree.add(list)
	var last *node
	for _, it := range l.items {
		p.finishItem(list, it, l, &last)
	}
	if last != nil && !l.eob {
		p.tree.add(last)
	}
	return true
}

// listLine takes the next line into the list; false if the list ends there.
func (p *parser) listLine(list *node, l *listing) bool {
	s, i := p.src.s, p.src.pos
	if l.blank && ruleEnd(s, i) > 0 {
		return false
	}
	if end := eobEnd(s, i); end > 0 {
		p.src.pos, l.eob = end, true
		return false
	}
	if m := marker(s, i, l.ordered, l.spaces); m > 0 {
		p.newItem(list, l, m)
		return true
	}
	it := l.items[len(l.items)-1]
	end := content(s, i, l.indent)
	if end < 0 && !l.blank {
		end = lazy(s, i, l.indent)
	}
	if end > 0 {
		line := expandTabs(s[i:end])
		found := count(line, 0, ' ', l.indent) == l.indent
		if found {
			line = line[l.indent:]
		}
		switch starts := anyMarker(line, 0); {
		case !l.nested && found && starts:
			it.begin()
			l.nested = true
		case l.nested && !found && starts:
			line = strings.Repeat(" ", l.indent+4) + line
		}
		it.write(line)
		p.src.pos, l.blank = end, false
		return true
	}
	if end = blankEnd(s, i); end > 0 {
		it.write(s[i:end])
		p.src.pos, l.blank, l.nested = end, true, true
		return true
	}
	return false
}

func (p *parser) newItem(list *node, l *listing, m int) {
	s, i := p.src.s, p.src.pos
	end := lineEnd(s, m)
	it := &item{node: &node{kind: li, line: p.src.line()}}
	value, indent := firstLine(m-i, s[m:end])
	if j, inner := itemIAL(value); j > 0 {
		it.node.ial = &attributes{}
		it.node.ial.parse(inner)
		value = value[j:]
	}
	list.add(it.node)
	l.items = append(l.items, it)
	l.indent, l.spaces = indent, spacesFor(indent)
	l.nested, l.blank = anyMarker(value, 0), false
	it.begin()
	it.write(value)
	p.src.pos = end
}

// finishItem reads the blocks of an item.
func (p *parser) finishItem(list *node, it *item, l *listing, last **node) {
	t := &node{kind: temporary, line: it.node.line}
	line := it.node.line
	for _, part := range it.parts {
		src := newSource(part.String(), line)
		p.blocks(t, src)
		line = src.line()
	}
	children := t.children
	it.node.children = children
	if len(children) == 0 {
		return
	}
	first := children[0]
	if first.kind == paragraph && len(children) >= 2 && children[1].kind == eob && first.ial != nil {
		children = append(children[:1], children[2:]...)
	}
	if first.kind == paragraph && p.tight(list, it.node, children, l.eob) {
		if len(children) > 1 && children[1].kind != blank {
			first.children[0].text = append(first.children[0].text, '\n')
		}
		first.loose = true
	}
	*last = nil
	if n := len(children); children[n-1].kind == blank {
		*last = children[n-1]
		children = children[:n-1]
	}
	it.node.children = children
}

// tight tells that the first paragraph of an item is not shown as one.
func (p *parser) tight(list, it *node, children []*node, eobFound bool) bool {
	isLast := list.last() == it
	if len(children) >= 2 && children[1].kind == blank && (!isLast || len(children) != 2 || eobFound) {
		return false
	}
	if !isLast || len(list.children) == 1 {
		return true
	}
	for _, c := range list.children[:len(list.children)-1] {
		if len(c.children) == 0 || c.children[0].kind != paragraph || c.children[0].loose {
			return true
		}
	}
	return false
}

// definitions reads a definition list: the paragraph in front holds the terms.
func (p *parser) definitions() bool {
	if definitionStart(p.src.s, p.src.pos, 3) < 0 {
		return false
	}
	ch := p.tree.children
	n := len(ch)
	if n == 0 || n == 1 && ch[0].kind != paragraph ||
		n >= 2 && ch[n-1].kind != paragraph && (ch[n-1].kind != blank || string(ch[n-1].text) != "\n" || ch[n-2].kind != paragraph) {
		return false
	}
	list := p.block(&node{kind: dl})
	asPara := false
	para := ch[n-1]
	n--
	if para.kind == blank {
		para, asPara = ch[n-1], true
		n--
	}
	p.tree.children = ch[:n]
	list.line, list.ial = para.line, para.ial
	if len(para.children) > 0 {
		for _, term := range splitLines(string(para.children[0].text)) {
			el := &node{kind: dt, line: p.src.line()}
			if j, _ := itemIAL(term); j > 0 {
				term = term[j:]
			}
			el.add(&node{kind: rawText, text: []byte(term)})
			list.add(el)
		}
	}
	items, first := p.gatherDefinitions(list, asPara)
	p.finishDefinitions(list, items, first)
	return true
}

func (p *parser) gatherDefinitions(list *node, asPara bool) (items []*item, first map[*item]bool) {
	l := &listing{spaces: 3}
	first = map[*item]bool{}
	for s := p.src.s; !p.src.eos(); {
		i := p.src.pos
		if m := definitionStart(s, i, l.spaces); m > 0 {
			p.newItem(list, l, m)
			it := l.items[len(l.items)-1]
			it.node.kind = dd
			first[it], asPara = asPara, false
			continue
		}
		if eobEnd(s, i) > 0 {
			break
		}
		it := l.items[len(l.items)-1]
		end := content(s, i, l.indent)
		if end < 0 && !l.blank {
			end = lazy(s, i, l.indent)
		}
		if end > 0 {
			line := expandTabs(s[i:end])
			if count(line, 0, ' ', l.indent) == l.indent {
				line = line[l.indent:]
			}
			it.write(line)
			asPara, l.blank = false, false
		} else if end = blankEnd(s, i); end > 0 {
			it.write(s[i:end])
			asPara, l.blank = true, true
		} else {
			break
		}
		p.src.pos = end
	}
	return l.items, first
}

func (p *parser) finishDefinitions(list *node, items []*item, first map[*item]bool) {
	var last *node
	for _, it := range items {
		n := it.node
		p.blocks(n, newSource(it.parts[0].String(), n.line))
		if len(n.children) == 0 {
			continue
		}
		last = nil
		if end := n.last(); end.kind == blank {
			last = end
			n.children = n.children[:len(n.children)-1]
		}
		if len(n.children) > 0 && n.children[0].kind == paragraph && !first[it] {
			if c := n.children[0]; len(n.children) > 1 && len(c.children) > 0 {
				c.children[0].text = append(c.children[0].text, '\n')
			}
			n.children[0].loose = true
		}
	}
	ch := p.tree.children
	switch n := len(ch); {
	case n >= 1 && ch[n-1].kind == dl:
		ch[n-1].children = append(ch[n-1].children, list.children...)
	case n >= 2 && ch[n-1].kind == blank && ch[n-2].kind == dl:
		p.tree.children = ch[:n-1]
		ch[n-2].children = append(ch[n-2].children, list.children...)
	default:
		p.tree.add(list)
	}
	if last != nil {
		p.tree.add(last)
	}
}
