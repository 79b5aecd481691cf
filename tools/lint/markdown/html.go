// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"slices"
	"strings"
)

// Which elements of HTML are of which kind is kramdown's knowledge: it is
// older than HTML 5 in places, and is kept since the verdict depends on it.
func spanElement(name string) bool {
	return inWords(name, "a abbr acronym b big bdo br button cite code del dfn em i img input ins kbd label mark option q rb rbc rp rt rtc ruby samp select small span strong sub sup tt u var")
}

func blockElement(name string) bool {
	return inWords(name, "address article aside applet body blockquote caption col colgroup dd div dl dt fieldset figcaption footer form h1 h2 h3 h4 h5 h6 header hgroup hr html head iframe legend menu li main map nav ol optgroup p pre section summary table tbody td th thead tfoot tr ul")
}

func emptyElement(name string) bool {
	return inWords(name, "area base br col command embed hr img input keygen link meta param source track wbr")
}

func modelOf(name string) model {
	switch {
	case inWords(name, "address applet article aside blockquote body dd details div dl fieldset figure figcaption footer form header hgroup iframe li main map menu nav noscript object section summary td"):
		return blockModel
	case inWords(name, "a abbr acronym b bdo big button cite caption del dfn dt em h1 h2 h3 h4 h5 h6 i ins label legend optgroup p q rb rbc rp rt rtc ruby select small span strong sub sup th tt"):
		return spanModel
	}
	return rawModel
}

func knownElement(name string) bool {
	return spanElement(name) || blockElement(name) || emptyElement(name) || modelOf(name) != rawModel ||
		inWords(name, "script style math option textarea pre code kbd samp var")
}

func inWords(word, words string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == word {
			return true
		}
	}
	return false
}

// lazyHTML tells that a tag begins at i that no paragraph goes on with.
func lazyHTML(s string, i int) bool {
	if at(s, i) != '<' {
		return false
	}
	i++
	closing := at(s, i) == '/'
	if closing {
		i++
	}
	end := uname(s, i)
	if end < 0 {
		return false
	}
	word := i // the name up to where a word ends
	for word < end && isWord(s[word]) {
		word++
	}
	if name := s[i:word]; spanElement(name) || name == "script" {
		return false
	}
	return !closing || at(s, skipSpace(s, end)) == '>'
}

// tag is an HTML tag that was found.
type tag struct {
	name     string
	markdown string // value of that attribute
	closed   bool
	end      int
}

// tagAt matches an opening tag.
func (p *parser) tagAt(s string, i int) *tag {
	if at(s, i) != '<' {
		return nil
	}
	end := uname(s, i+1)
	if end < 0 {
		return nil
	}
	t := &tag{name: s[i+1 : end]}
	i = end
	for {
		j := skipSpace(s, i)
		k := -1
		if j > i {
			k = uname(s, j)
		}
		if k < 0 {
			i = j
			break
		}
		value, after := p.attribute(s, k)
		if strings.EqualFold(s[j:k], "markdown") {
			t.markdown = value
		}
		i = after
	}
	if at(s, i) == '/' {
		t.closed = true
		i++
	}
	if at(s, i) != '>' {
		return nil
	}
	t.end = i + 1
	return t
}

// attribute matches the optional value of an attribute.
func (p *parser) attribute(s string, i int) (value string, end int) {
	j := skipSpace(s, i)
	if at(s, j) != '=' {
		return "", i
	}
	j = skipSpace(s, j+1)
	if c := at(s, j); c == '"' || c == '\'' {
		n := strings.IndexByte(s[j+1:], c)
		if n < 0 {
			p.spend(len(s) - j)
			return "", i
		}
		return s[j+1 : j+1+n], j + n + 2
	}
	k := j
	for n, r := range s[j:] {
		if !isUnicodeWord(r) {
			k = j + n
			break
		}
		k = j + n + len(string(r))
	}
	if k == j {
		return "", i
	}
	return s[j:k], k
}

// closeTag matches a closing tag.
func closeTag(s string, i int) (name string, end int) {
	if !strings.HasPrefix(s[i:], "</") {
		return "", -1
	}
	j := uname(s, i+2)
	if j < 0 {
		return "", -1
	}
	k := skipSpace(s, j)
	if at(s, k) != '>' {
		return "", -1
	}
	return s[i+2 : j], k + 1
}

func (p *parser) commentEnd(s string, i int) int {
	if !strings.HasPrefix(s[i:], "<!--") || p.steps <= 0 {
		return -1
	}
	n := strings.Index(s[i+4:], "-->")
	if n < 0 {
		p.spend(len(s) - i)
		return -1
	}
	return i + 4 + n + 3
}

// html reads a block of HTML. closed tells that it was the closing tag of the
// element whose blocks are read.
func (p *parser) html() (done, closed bool) {
	s, i, line := p.src.s, p.src.pos, p.src.line()
	if end := p.commentEnd(s, i); end > 0 {
		p.tree.add(&node{kind: comment, line: line})
		p.src.pos = end
		p.trailing()
		return true, false
	}
	j := optSpace(s, i)
	if t := p.tagAt(s, j); t != nil {
		if spanElement(strings.ToLower(t.name)) {
			return false, false
		}
		p.src.pos = t.end
		p.startTag(t, line)
		return true, false
	}
	name, end := closeTag(s, j)
	if end < 0 || spanElement(strings.ToLower(name)) || p.tree.kind != htmlElement || string(p.tree.text) != strings.ToLower(name) {
		return false, false
	}
	p.src.pos = end
	return true, true
}

// trailing skips the white space that ends a line.
func (p *parser) trailing() {
	if i := skip(p.src.s, p.src.pos, " \t"); at(p.src.s, i) == '\n' {
		p.src.pos = i + 1
	}
}

func (p *parser) startTag(t *tag, line int) {
	name := t.name
	if lower := strings.ToLower(name); knownElement(lower) {
		name = lower
	}
	el := &node{kind: htmlElement, text: []byte(name), line: line}
	p.tree.add(el)
	body := true
	if name == "script" || name == "style" {
		p.rawElement(el, name)
		body = false
	}
	el = p.block(el)
	el.model = rawModel
	if m := chosenModel(t.markdown, name); m != noModel {
		el.model = m
	}
	if el.model == blockModel {
		p.trailing()
	}
	if !body || t.closed || emptyElement(name) {
		return
	}
	switch el.model {
	case blockModel:
		p.blocks(el, p.src)
	case spanModel:
		p.spanElementBody(el, name)
	default:
		p.rawHTML(el)
	}
	if p.tree.kind != htmlElement || p.tree.model != rawModel {
		p.trailing()
	}
}

// chosenModel reads the attribute markdown of an element.
func chosenModel(value, name string) model {
	switch value {
	case "0":
		return rawModel
	case "1":
		return modelOf(name)
	case "span":
		return spanModel
	case "block":
		return blockModel
	}
	return noModel
}

// findClose finds the closing tag of an element, in any case.
func (p *parser) findClose(s string, i int, name string, fold bool) int {
	for from := i; p.steps > 0; {
		n := strings.Index(s[from:], "</")
		if n < 0 {
			break
		}
		start := from + n
		if end := start + 2 + len(name); end <= len(s) {
			got := s[start+2 : end]
			if (got == name || fold && strings.EqualFold(got, name)) && at(s, skipSpace(s, end)) == '>' {
				return start
			}
		}
		from = start + 2
	}
	p.spend(len(s) - i)
	return -1
}

func (p *parser) rawElement(el *node, name string) {
	s, i := p.src.s, p.src.pos
	end := p.findClose(s, i, name, true)
	if end < 0 {
		el.addText(s[i:], rawMarkup)
		p.src.pos = len(s)
		return
	}
	el.addText(s[i:end], rawMarkup)
	_, p.src.pos = closeTag(s, end)
}

func (p *parser) spanElementBody(el *node, name string) {
	s, i := p.src.s, p.src.pos
	end := p.findClose(s, i, name, true)
	if end < 0 {
		el.addText(s[i:], rawText)
		p.src.pos = len(s)
		return
	}
	el.addText(s[i:end], rawText)
	if _, after := closeTag(s, end); after > 0 {
		end = after
	}
	p.src.pos = end
}

// rawHTML reads the content of an element whose text is not Markdown.
func (p *parser) rawHTML(el *node) {
	tree := p.tree
	p.tree = el
	p.depth++
	defer func() {
		p.tree = tree
		p.depth--
	}()
	s := p.src.s
	for !p.src.eos() {
		i := p.src.pos
		n := rawStart(s, i)
		if n < 0 || p.depth > 5*deepest {
			el.addText(s[i:], text)
			p.src.pos = len(s)
			return
		}
		el.addText(s[i:n], text)
		p.src.pos = n
		if p.rawTag(el, n) {
			return
		}
	}
}

// rawStart finds what may be a tag.
func rawStart(s string, i int) int {
	for i < len(s) {
		n := strings.IndexByte(s[i:], '<')
		if n < 0 {
			return -1
		}
		i += n
		if c := at(s, i+1); c == '/' || c == '?' || strings.HasPrefix(s[i:], "<!--") || uname(s, min(i+1, len(s))) > 0 {
			return i
		}
		i++
	}
	return -1
}

// rawTag reads what stands at a <; it tells that the element is closed.
func (p *parser) rawTag(el *node, i int) bool {
	s, line := p.src.s, p.src.line()
	if end := p.commentEnd(s, i); end > 0 {
		el.add(&node{kind: comment, line: line})
		p.src.pos = end
		return false
	}
	if strings.HasPrefix(s[i:], "<?") {
		if n := strings.Index(s[i:], "?>"); n >= 2 {
			el.add(&node{kind: comment, line: line})
			p.src.pos = i + n + 2
			return false
		}
		p.spend(len(s) - i)
	}
	if t := p.tagAt(s, i); t != nil {
		p.src.pos = t.end
		p.startTag(t, line)
		return false
	}
	if name, end := closeTag(s, i); end > 0 {
		p.src.pos = end
		if knownElement(string(el.text)) {
			name = strings.ToLower(name)
		}
		if name == string(el.text) {
			return true
		}
		el.addText(s[i:end], text)
		return false
	}
	el.addText("<", text)
	p.src.pos = i + 1
	return false
}

// abbreviate splits texts where abbreviations stand in them.
func (p *parser) abbreviate(n *node) {
	if len(p.abbrevs) == 0 {
		return
	}
	slices.SortStableFunc(p.abbrevs, func(a, b string) int { return len(b) - len(a) })
	p.abbreviateIn(n)
}

func (p *parser) abbreviateIn(n *node) {
	var out []*node
	for _, c := range n.children {
		if c.kind != text || n.model == rawModel {
			p.abbreviateIn(c)
			out = append(out, c)
			continue
		}
		out = append(out, p.split(c)...)
	}
	n.children = out
}

func (p *parser) split(n *node) []*node {
	s := string(n.text)
	if !slices.ContainsFunc(p.abbrevs, func(a string) bool { return strings.Contains(s, a) }) {
		return []*node{n}
	}
	src := newSource(s, n.line)
	var out []*node
	from, line := 0, src.line()
	for i := 0; i < len(s); i++ {
		if i > 0 && isWord(s[i-1]) && s[i-1] != '\n' {
			continue
		}
		for _, a := range p.abbrevs {
			if !strings.HasPrefix(s[i:], a) || isWord(at(s, i+len(a))) {
				continue
			}
			src.pos = i
			out = append(out, &node{kind: text, text: []byte(s[from:i]), line: line}, &node{kind: abbreviation, text: []byte(a), line: src.line()})
			from = i + len(a)
			src.pos = from
			line = src.line()
			i = from - 1
			break
		}
	}
	return append(out, &node{kind: text, text: []byte(s[from:]), line: line})
}
