// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"html"
	"strings"
	"unicode/utf8"
)

// What is looked for inside of a block.
type parsers uint16

const (
	onlyCode parsers = 1 << iota
	spanHTML
	emphasis
	others
	everything = onlyCode | spanHTML | emphasis | others
)

// context says what the place that is read is inside of.
type context struct {
	em, strong, link int
	tree             kind
}

// opener is something that begins a span, and where: one that was never closed
// is not closed for those after it, either.
type opener struct {
	what string
	in   context
}

// update reads what is inside of the blocks below a node.
func (p *parser) update(n *node) {
	var out []*node
	for _, c := range n.children {
		switch c.kind {
		case rawText:
			out = append(out, p.spans(n, c)...)
		case eob:
		case blank:
			if len(out) > 0 && out[len(out)-1].kind == blank {
				out[len(out)-1].text = append(out[len(out)-1].text, c.text...)
				continue
			}
			out = append(out, c)
		default:
			p.update(c)
			p.attributes(c, c.ial, 0)
			out = append(out, c)
		}
	}
	n.children = out
}

// attributes gives a node those of its attribute list.
func (p *parser) attributes(n *node, a *attributes, depth int) {
	if a == nil || depth > 10 {
		return
	}
	for _, ref := range a.refs {
		p.attributes(n, p.alds[ref], depth+1)
	}
	if a.class != "" {
		n.class = strings.TrimLeft(n.class+" "+a.class, " ")
	}
}

func (p *parser) spans(parent, raw *node) []*node {
	holder := &node{kind: rawText, line: raw.line, model: parent.model}
	p.src, p.failed, p.unmatched, p.open, p.stack = newSource(string(raw.text), parent.line), map[opener]int{}, map[bracketAt]bool{}, 0, nil
	p.inside(holder, text, nil, everything, nil)
	return holder.children
}

// inline reads a text by some of the parsers.
func (p *parser) inline(s string, line int, by parsers) []*node {
	src, failed, unmatched, open, stack := p.src, p.failed, p.unmatched, p.open, p.stack
	defer func() { p.src, p.failed, p.unmatched, p.open, p.stack = src, failed, unmatched, open, stack }()
	p.src, p.failed, p.unmatched, p.open, p.stack = newSource(s, line), map[opener]int{}, map[bracketAt]bool{}, 0, nil
	holder := &node{kind: root}
	p.inside(holder, rawText, nil, by, nil)
	return holder.children
}

// reading is one run over spans: the text goes to a node, until stop is found.
type reading struct {
	p    *parser
	n    *node
	text kind
	by   parsers
}

// stop finds what ends a span at or behind i.
type stop func(s string, i int) int

// inside reads spans into a node up to the first place where stop matches and
// accept agrees. It tells whether that was found; the source is then at it.
func (p *parser) inside(n *node, as kind, until stop, by parsers, accept func() bool) bool {
	r := &reading{p: p, n: n, text: as, by: by}
	p.stack = append(p.stack, n)
	defer func() { p.stack = p.stack[:len(p.stack)-1] }()
	nextStop, stopFrom := -1, -1
	start := p.src.pos - 1 // where the next span may begin, as far as is known
	for !p.src.eos() {
		s, i := p.src.s, p.src.pos
		if start < i {
			if start = r.start(i); start < 0 {
				start = len(s)
			}
		}
		next := start
		if next == len(s) {
			next = -1
		}
		if until != nil {
			if nextStop < i || stopFrom > i {
				nextStop, stopFrom = until(s, i), i
				if nextStop < 0 {
					nextStop = len(s)
				}
			}
			if nextStop < len(s) && (next < 0 || nextStop <= next) {
				next = nextStop
			}
		}
		if next < 0 {
			if until == nil {
				n.addText(s[i:], as)
				p.src.pos = len(s)
			}
			return false
		}
		n.addText(s[i:next], as)
		p.src.pos = next
		if until != nil && next == nextStop && (accept == nil || accept()) {
			return true
		}
		if !r.one() {
			_, size := utf8.DecodeRuneInString(s[next:])
			n.addText(s[next:next+size], as)
			p.src.pos = next + size
		}
	}
	return false
}

// start finds where a span may begin; -1 if nowhere.
func (r *reading) start(i int) int {
	s := r.p.src.s
	if r.by&others == 0 {
		set := "`"
		switch r.by {
		case spanHTML:
			set = "<"
		case onlyCode | spanHTML:
			set = "`<"
		}
		n := strings.IndexAny(s[i:], set)
		if n < 0 {
			return -1
		}
		return i + n
	}
	for j := i; j < len(s); j++ {
		if k := startAt(s, i, j); k >= 0 {
			return k
		}
	}
	return -1
}

// startAt tells whether the character at j begins a span, and where: some of
// them include the character before, which must not be in front of i.
func startAt(s string, i, j int) int {
	switch s[j] {
	case '*', '_', '`', '<', '$', '&', '\\':
		return j
	case '[':
		if j > i && s[j-1] == '!' {
			return j - 1
		}
		return j
	case '"', '\'':
		r, size := utf8.DecodeLastRuneInString(s[i:j])
		if size > 0 && r != '\\' {
			return j - size
		}
		return j
	case '{':
		if at(s, j+1) == ':' {
			return j
		}
	case '-':
		if at(s, j+1) == '-' {
			return j
		}
	case '.':
		if strings.HasPrefix(s[j:], "...") {
			return j
		}
	case '>':
		if at(s, j+1) == '>' {
			if j > i && s[j-1] == ' ' {
				return j - 1
			}
			return j
		}
	case '\n':
		if j-2 >= i && s[j-1] == ' ' && s[j-2] == ' ' {
			return j - 2
		}
	}
	return -1
}

// one reads the span at the position; false if there is none.
func (r *reading) one() bool {
	p := r.p
	s, i := p.src.s, p.src.pos
	c := s[i]
	switch {
	case (c == '*' || c == '_') && r.by&emphasis != 0:
		r.emphasis()
		return true
	case c == '`' && r.by&onlyCode != 0:
		r.codespan()
		return true
	case c == '<':
		if r.by&others != 0 && r.autolink() {
			return true
		}
		if r.by&spanHTML != 0 && r.html() {
			return true
		}
	case c == '[' && r.by&others != 0 && r.footnote():
		return true
	}
	if r.by&others == 0 {
		return false
	}
	if (c == '[' || c == '!' && at(s, i+1) == '[') && r.link() {
		return true
	}
	return r.quotes() || r.symbol(c)
}

// symbol reads what is left: mathematics, attribute lists, entities …
func (r *reading) symbol(c byte) bool {
	switch c {
	case '$':
		return r.math()
	case '{':
		r.extension()
		return true
	case '&':
		return r.entity()
	case '\\':
		return r.typographic() || r.lineBreak() || r.escaped()
	case ' ':
		return r.typographic() || r.lineBreak()
	}
	return r.typographic()
}

func (r *reading) leave(s string) {
	r.n.addText(s, r.text)
	r.p.src.pos += len(s)
}

func (r *reading) emphasis() {
	p := r.p
	s, i := p.src.s, p.src.pos
	d := s[i : i+count(s, i, s[i], 2)]
	k := em
	if len(d) == 2 {
		k = strong
	}
	if d[0] == '_' && insideWord(s, i) || i+len(d) < len(s) && isSpace(s[i+len(d)]) || p.isInside(k) {
		r.leave(d)
		return
	}
	line := p.src.line()
	el := r.delimited(i, d, k, line)
	if el == nil && k == strong && r.n.kind != em {
		d2 := d[:1]
		p.src.pos = i
		el = r.delimited(i, d2, em, line)
		if el != nil {
			d = d2
		}
	}
	if el == nil {
		p.src.pos = i
		r.leave(d)
		return
	}
	r.n.add(el)
}

// insideWord tells that _ at i is part of a word.
func insideWord(s string, i int) bool {
	prev, size := utf8.DecodeLastRuneInString(s[:i])
	if size > 0 && isAlpha(prev) {
		return true
	}
	return prev == '-' && isAlpha(before(s, i-1))
}

// isInside tells that what is read stands inside of such a node.
func (p *parser) isInside(kinds ...kind) bool {
	for _, n := range p.stack {
		for _, k := range kinds {
			if n.kind == k {
				return true
			}
		}
	}
	return false
}

// delimited reads emphasis whose delimiter stands at i; nil if it is not closed.
func (r *reading) delimited(i int, d string, k kind, line int) *node {
	p := r.p
	key := opener{d, p.context()}
	if from, ok := p.failed[key]; ok && i >= from || p.steps <= 0 {
		return nil
	}
	el := &node{kind: k, line: line}
	s := p.src.s
	p.src.pos = i + len(d)
	until := func(s string, i int) int {
		n := strings.Index(s[i:], d)
		if n < 0 {
			return -1
		}
		return i + n
	}
	found := p.inside(el, r.text, until, everything, func() bool {
		j := p.src.pos
		if j > 0 && isSpace(s[j-1]) || len(el.children) == 0 {
			return false
		}
		if k == em && count(s, j, d[0], 3) == 2 {
			return false
		}
		next, _ := utf8.DecodeRuneInString(s[j+len(d):])
		return d[0] != '_' || j+len(d) >= len(s) || !isAlnum(next)
	})
	if !found {
		p.spend(len(s) - i)
		p.failed[key] = i
		return nil
	}
	p.src.pos += len(d)
	return el
}

func (p *parser) context() context {
	var c context
	for _, n := range p.stack {
		switch n.kind {
		case em:
			c.em++
		case strong:
			c.strong++
		case link, image:
			c.link++
		}
	}
	c.tree = p.stack[len(p.stack)-1].kind
	return c
}

func (r *reading) codespan() {
	p := r.p
	s, i := p.src.s, p.src.pos
	d := s[i : i+count(s, i, '`', len(s))]
	after := i + len(d)
	simple := len(d) == 1
	if simple && (i == 0 || isSpace(s[i-1])) && after < len(s) && isSpace(s[after]) {
		r.leave(d)
		return
	}
	key := opener{what: d}
	if from, ok := p.failed[key]; ok && i >= from {
		r.leave(d)
		return
	}
	n := strings.Index(s[after:], d)
	if n < 0 {
		p.failed[key] = i
		r.leave(d)
		return
	}
	code := s[after : after+n]
	if !simple {
		code = strings.TrimSuffix(strings.TrimPrefix(code, " "), " ")
	}
	r.n.add(&node{kind: codespan, text: []byte(code), line: p.src.line()})
	p.src.pos = after + n + len(d)
}

// autolink reads <https://…> and <name@host>.
func (r *reading) autolink() bool {
	s, i := r.p.src.s, r.p.src.pos
	inner := s[i+1:]
	end := -1
	if i < r.p.open {
		return false
	}
	for _, scheme := range []string{"mailto:", "https:", "http:", "ftps:", "ftp:"} {
		if !strings.HasPrefix(inner, scheme) || end >= 0 || len(inner) == len(scheme) || inner[len(scheme)] == '\n' {
			continue
		}
		n := strings.IndexAny(inner[len(scheme)+1:], ">\n")
		if n >= 0 && inner[len(scheme)+1+n] == '>' {
			end = len(scheme) + 1 + n
			continue
		}
		if r.p.open = len(s); n >= 0 { // no > on the rest of the line
			r.p.open = i + 1 + len(scheme) + 1 + n
		}
	}
	if end < 0 {
		end = mailEnd(inner)
	}
	if end < 0 {
		return false
	}
	el := &node{kind: link, line: r.p.src.line()}
	r.p.src.pos = i + 1 + end + 1
	el.addText(strings.TrimPrefix(inner[:end], "mailto:"), r.text)
	r.n.add(el)
	return true
}

func mailEnd(s string) int {
	ats := 0
	for i, c := range s {
		switch {
		case c == '>' && ats == 1 && i > 0 && s[i-1] != '@':
			return i
		case c == '@' && ats == 0 && i > 0:
			ats++
		case c != '-' && c != '_' && c != '.' && !isAlnum(c):
			return -1
		}
	}
	return -1
}

// html reads a comment or an element inside of text. False: the < is text.
func (r *reading) html() bool {
	p := r.p
	s, i := p.src.s, p.src.pos
	line := p.src.line()
	if end := p.commentEnd(s, i); end > 0 {
		r.n.add(&node{kind: comment, text: []byte(s[i:end]), line: line})
		p.src.pos = end
		return true
	}
	if _, end := closeTag(s, i); end > 0 {
		r.leave(s[i:end])
		return true
	}
	t := p.tagAt(s, i)
	if t == nil {
		return false
	}
	name := t.name
	known := knownElement(strings.ToLower(name))
	if known {
		name = strings.ToLower(name)
	}
	if blockElement(name) {
		r.leave(s[i:t.end])
		return true
	}
	r.element(t, name, line, known)
	return true
}

func (r *reading) element(t *tag, name string, line int, fold bool) {
	p := r.p
	by := everything
	if modelOf(name) == rawModel || r.n.model == rawModel {
		by = spanHTML
	}
	switch t.markdown {
	case "span":
		by = everything
	case "1":
		by = everything
		if modelOf(name) == rawModel {
			by = spanHTML
		}
	case "0":
		by = spanHTML
	}
	el := &node{kind: htmlElement, text: []byte(name), line: line, model: spanModel}
	if by == spanHTML {
		el.model = rawModel
	}
	r.n.add(el)
	p.src.pos = t.end
	if t.closed || emptyElement(name) {
		return
	}
	if len(p.stack) > 3*deepest {
		el.addText(p.src.rest(), r.text)
		p.src.pos = len(p.src.s)
		return
	}
	until := func(s string, i int) int { return p.findClose(s, i, name, fold) }
	if p.inside(el, r.text, until, by, nil) {
		_, p.src.pos = closeTag(p.src.s, p.src.pos)
		return
	}
	el.addText(p.src.rest(), r.text)
	p.src.pos = len(p.src.s)
}

func (r *reading) footnote() bool {
	p := r.p
	s, i := p.src.s, p.src.pos
	if !strings.HasPrefix(s[i:], "[^") {
		return false
	}
	j := idName(s, i+2)
	if j < 0 || at(s, j) != ']' {
		return false
	}
	if p.footnotes[s[i+2:j]] == nil {
		r.leave(s[i : j+1])
		return true
	}
	r.n.add(&node{kind: footnote, line: p.src.line()})
	p.src.pos = j + 1
	return true
}

// link reads a link or an image. False: there is not even the beginning.
func (r *reading) link() bool {
	p := r.p
	s, i := p.src.s, p.src.pos
	open, k := "[", link
	if s[i] == '!' {
		open, k = "![", image
	}
	start := i + len(open)
	if start >= len(s) || s[start] == '^' {
		return false
	}
	if k == link && p.isInside(link, image) {
		r.leave(open)
		return true
	}
	el := &node{kind: k, line: p.src.line()}
	if !r.linkText(el, i, start) || !r.target(el, s[start:p.src.pos]) {
		p.spend(8 * (p.src.pos - i)) // it is read again, span by span
		p.src.pos = i
		r.leave(open)
		return true
	}
	if k == image {
		el.children = nil
	}
	r.n.add(el)
	return true
}

// linkText reads what stands in brackets, and stops at the closing one.
func (r *reading) linkText(el *node, i, start int) bool {
	p := r.p
	in := p.context()
	if p.steps <= 0 || in.link > 16 || p.unmatched[bracketAt{i, in}] {
		return false // images in images in images are text
	}
	p.src.pos = start
	b := &brackets{n: el, open: []int{i}}
	found := p.inside(el, r.text, bracket, everything, func() bool { return b.count(p.src.s, p.src.pos) })
	if !found { // then those that are left open inside of it are not closed for themselves, either
		for _, at := range b.open {
			p.unmatched[bracketAt{at, in}] = true
		}
		p.spend(len(p.src.s) - i)
	}
	return found
}

// bracketAt is an opening bracket that nothing closes.
type bracketAt struct {
	pos int
	in  context
}

// brackets are those open inside of the text of a link.
type brackets struct {
	n    *node
	open []int
	seen int // children that were looked at
}

// count takes the bracket at i, and tells that it closes the first one.
func (b *brackets) count(s string, i int) bool {
	for ; b.seen < len(b.n.children); b.seen++ {
		if b.n.children[b.seen].kind == image { // its closing bracket is part of it
			b.pop()
		}
	}
	if s[i] == ']' {
		b.pop()
	} else {
		b.open = append(b.open, i)
	}
	return len(b.open) == 0
}

func (b *brackets) pop() {
	if n := len(b.open); n > 0 {
		b.open = b.open[:n-1]
	}
}

// bracket finds a bracket, with the ! in front of it.
func bracket(s string, i int) int {
	for j := i; j < len(s); j++ {
		switch s[j] {
		case ']':
			return j
		case '[':
			if j > i && s[j-1] == '!' {
				return j - 1
			}
			return j
		}
	}
	return -1
}

// target reads what follows the text of a link.
func (r *reading) target(el *node, label string) bool {
	p := r.p
	s := p.src.s
	p.src.pos++ // the bracket
	i := p.src.pos
	if id, end, ok := referenceID(s, i); ok || at(s, i) != '(' {
		if id == "" {
			id = unescape(label)
		}
		def, known := p.linkDefs[normalizeID(id)]
		if !known {
			return false
		}
		if def.ial != nil {
			p.attributes(el, def.ial, 0)
		}
		p.src.pos = max(end, i)
		return true
	}
	end := p.address(i)
	if end < 0 {
		return false
	}
	p.src.pos = end
	return true
}

// referenceID matches [id] behind a link.
func referenceID(s string, i int) (id string, end int, ok bool) {
	j := skipSpace(s, i)
	if at(s, j) != '[' {
		return "", -1, false
	}
	n := strings.IndexByte(s[j+1:], ']')
	if n < 0 {
		return "", -1, false
	}
	return s[j+1 : j+1+n], j + n + 2, true
}

func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && escapable(at(s, i+1)) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func escapable(c byte) bool { return c != 0 && strings.IndexByte("\\.*_+`<>()[]{}#!:|\"'$=-", c) >= 0 }

// address matches (address "title") at i and returns where it ends.
func (p *parser) address(i int) int {
	s := p.src.s
	if strings.HasPrefix(s[i:], "(<") {
		if n := strings.IndexAny(s[i+2:], ">\n"); n >= 0 && s[i+2+n] == '>' {
			j := i + 2 + n + 1
			if at(s, j) == ')' {
				return j + 1
			}
			return p.linkTitle(j)
		}
	}
	depth := 0
	for j := i; j < len(s); j++ {
		switch c := s[j]; {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return j + 1
			}
		case isSpace(c) && (at(s, j+1) == '"' || at(s, j+1) == '\''):
			return p.linkTitle(j + 1)
		}
	}
	p.spend(len(s) - i)
	return -1
}

func (p *parser) linkTitle(i int) int {
	s := p.src.s
	i = skipSpace(s, i)
	q := at(s, i)
	if q != '"' && q != '\'' {
		return -1
	}
	for j := i + 2; j < len(s); j++ {
		if s[j] == q {
			if k := skipSpace(s, j+1); at(s, k) == ')' {
				return k + 1
			}
		}
	}
	p.spend(len(s) - i)
	return -1
}

func (r *reading) math() bool {
	p := r.p
	s, i := p.src.s, p.src.pos
	if !strings.HasPrefix(s[i:], "$$") {
		return false
	}
	key := opener{what: "$$"}
	if from, ok := p.failed[key]; ok && i >= from {
		return false
	}
	n := strings.Index(s[i+2:], "$$")
	if n < 0 {
		p.failed[key] = i
		return false
	}
	r.n.add(&node{kind: math, line: p.src.line()})
	p.src.pos = i + 2 + n + 2
	return true
}

func (r *reading) extension() {
	p := r.p
	s, i := p.src.s, p.src.pos
	if t := extensionAt(s, i); t != nil {
		r.spanExtension(t, i)
		return
	}
	last := r.n.last()
	inner, end := untilBrace(s, i+2)
	if end > 0 && last != nil && last.kind != r.text {
		a := &attributes{}
		a.parse(inner)
		p.attributes(last, a, 0)
		p.src.pos = end
		return
	}
	r.leave("{")
}

func (r *reading) spanExtension(t *extensionTag, i int) {
	p := r.p
	if t.stop || t.name != "comment" && t.name != "nomarkdown" && t.name != "options" {
		r.leave("{")
		return
	}
	end := t.end
	if !t.closed {
		if p.steps <= 0 {
			r.leave("{")
			return
		}
		if _, end = stopTag(p.src.s, t.end, t.name); end < 0 {
			p.spend(len(p.src.s) - i)
			r.leave("{")
			return
		}
		if t.name != "options" {
			r.n.add(&node{kind: comment, line: p.src.line()})
		}
	}
	p.src.pos = end
}

func (r *reading) entity() bool {
	p := r.p
	s, i := p.src.s, p.src.pos
	end := strings.IndexByte(s[i:min(len(s), i+200)], ';')
	if end < 2 {
		return false
	}
	name := s[i+1 : i+end]
	if !entityName(name) {
		return false
	}
	line := p.src.line()
	whole := s[i : i+end+1]
	r.n.add(&node{kind: entity, line: line})
	if name[0] == '#' || html.UnescapeString(whole) != whole {
		p.src.pos = i + end + 1
		return true
	}
	p.src.pos = i + 1
	r.leave(whole[1:])
	return true
}

func entityName(s string) bool {
	if s[0] == '#' {
		digits := strings.TrimLeft(s[1:], "0123456789")
		if strings.HasPrefix(s, "#x") {
			digits = strings.TrimLeft(s[2:], "0123456789abcdefABCDEF")
			return digits == "" && len(s) > 2
		}
		return digits == "" && len(s) > 1
	}
	for i := range len(s) {
		if c := s[i]; !isWord(c) && c != ':' && (i == 0 || c != '-' && c != '.') {
			return false
		}
	}
	return true
}

func (r *reading) typographic() bool {
	p := r.p
	rest := p.src.rest()
	for _, sym := range []string{"---", "--", "...", `\<<`, `\>>`, "<< ", " >>", "<<", ">>"} {
		if !strings.HasPrefix(rest, sym) {
			continue
		}
		line := p.src.line()
		p.src.pos += len(sym)
		if sym[0] == '\\' {
			r.n.add(&node{kind: entity, line: line})
			r.n.add(&node{kind: entity, line: line})
		} else {
			r.n.add(&node{kind: typographic, line: line})
		}
		return true
	}
	return false
}

func (r *reading) lineBreak() bool {
	p := r.p
	rest := p.src.rest()
	if !strings.HasPrefix(rest, "  \n") && !strings.HasPrefix(rest, "\\\\\n") {
		return false
	}
	r.n.add(&node{kind: lineBreak, line: p.src.line()})
	p.src.pos += 2
	return true
}

func (r *reading) escaped() bool {
	p := r.p
	c := at(p.src.s, p.src.pos+1)
	if !escapable(c) {
		return false
	}
	r.n.addText(string(c), r.text)
	p.src.pos += 2
	return true
}
