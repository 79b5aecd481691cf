// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// commonRules are the rules for the tree of CommonMark. Those of mdl that ask
// about the tree alone stay; those that look at lines as kramdown reads them,
// or only at what is not inside of a quote or an item, have another form.
func commonRules() []rule {
	all := rules()
	other := map[string]func(*document, map[string]any) []int{
		"MD003": cm003, "MD005": cm005, "MD007": cm007, "MD011": cm011, "MD012": cm012, "MD013": cm013, "MD014": cm014, "MD018": cm018, "MD020": cm020,
		"MD022": cm022, "MD023": cm023, "MD024": cm024, "MD025": cm025, "MD026": cm026, "MD027": cm027, "MD029": cm029,
		"MD030": cm030, "MD031": cm031, "MD032": cm032, "MD034": cm034, "MD035": cm035, "MD036": cm036, "MD037": cm037,
		"MD038": cm038, "MD039": cm039, "MD040": cm040, "MD041": cm041, "MD046": cm046,
	}
	for i := range all {
		if check := other[all[i].id]; check != nil {
			all[i].check = check
		}
		if all[i].id == "MD018" {
			all[i].fixable = false // a space would make a header of text
		}
	}
	return all
}

// span are the numbers of the lines that a node stands on.
func span(n *node) []int {
	var out []int
	for i := n.line; i <= n.end; i++ {
		out = append(out, i)
	}
	return out
}

// sorted orders numbers and drops those that are there twice.
func sorted(out []int) []int {
	slices.Sort(out)
	return slices.Compact(out)
}

// columns is the column that a position of a line is shown at.
func columns(l string, pos int) int {
	n := 0
	for i := range min(pos, len(l)) {
		if l[i] == '\t' {
			n += 4 - n%4
		} else {
			n++
		}
	}
	return n
}

// markerOf returns the length of the mark of an item, 0 if there is none, and
// the column that what follows is shown at.
func markerOf(l string, col int) (size, content int) {
	i := skip(l, col, "0123456789")
	switch {
	case i == len(l), i-col > 9:
		return 0, 0
	case i == col && strings.IndexByte("-+*", l[i]) < 0, i > col && l[i] != '.' && l[i] != ')':
		return 0, 0
	case i+1 < len(l) && l[i+1] != ' ' && l[i+1] != '\t':
		return 0, 0
	}
	i++
	after := columns(l, i)
	next := skip(l, i, " \t")
	content = columns(l, next)
	if next == len(l) || content-after > 4 {
		content = after + 1
	}
	return i - col, content
}

// isBlank tells that a line counts as blank: comments and the marks of quotes
// are nothing. There is nothing outside of the file.
func (d *document) isBlank(number int) bool {
	if number < 1 || number > len(d.lines) {
		return true
	}
	l := d.lines[number-1]
	for {
		start, end := strings.Index(l, "<!--"), strings.Index(l, "-->")
		if start < 0 && end < 0 {
			break
		}
		switch {
		case end < 0:
			l = l[:start]
		case start < 0 || end < start:
			l = l[end+3:]
		default:
			l = l[:start] + l[end+3:]
		}
	}
	return strings.Trim(l, "> \t\v\f") == ""
}

// inside tells that a node is in one of some kind.
func inside(n *node, kinds ...kind) bool {
	for p := n.parent; p != nil; p = p.parent {
		if is(p, kinds...) {
			return true
		}
	}
	return false
}

// rawLines are the lines of code and of HTML.
func rawLines(d *document) map[int]bool {
	out := map[int]bool{}
	for _, n := range find(d.root, codeblock, htmlBlock, comment) {
		if n.kind != comment || !inside(n, paragraph) {
			for _, l := range span(n) {
				out[l] = true
			}
		}
	}
	return out
}

func cm003(d *document, p map[string]any) []int {
	var out []int
	style := p["style"]
	for _, h := range find(d.root, header) {
		if style == symbol("consistent") {
			style = h.style
		}
		want := style
		if style == symbol("setext_with_atx") || style == symbol("setext_with_atx_closed") {
			name, _ := style.(symbol)
			if want = symbol("setext"); h.level > 2 {
				want = symbol(strings.TrimPrefix(string(name), "setext_with_"))
			}
		}
		if h.style != want {
			out = append(out, h.line)
		}
	}
	return out
}

// cm005: the items of one list begin at one column, or their numbers end there.
func cm005(d *document, _ map[string]any) []int {
	var out []int
	for _, l := range find(d.root, ul, ol) {
		its := top(l, li)
		begin, end, atEnd := 0, 0, false
		for i, it := range its {
			line := d.line(it)
			from := columns(line, it.col)
			size, _ := markerOf(line, it.col)
			if i == 0 {
				begin, end = from, from+size
				continue
			}
			if from == begin && !atEnd {
				continue
			}
			if l.kind == ol && from+size == end {
				atEnd = true
				continue
			}
			if from != begin || atEnd {
				out = append(out, it.line)
			}
		}
	}
	return out
}

// indentation is the column of an item inside of the quote that it is in.
func (d *document) indentation(n *node) int {
	l := d.line(n)
	col := columns(l, n.col)
	if !inside(n, blockquote) {
		return col
	}
	i := strings.LastIndexByte(l[:min(n.col, len(l))], '>')
	if i < 0 {
		return col
	}
	if i++; at(l, i) == ' ' {
		i++
	}
	return col - columns(l, i)
}

// cm007: an item is as many steps from the left as it is deep. What is inside
// of a numbered item is indented as its number needs it.
func cm007(d *document, p map[string]any) []int {
	step, ok := p["indent"].(int)
	if !ok {
		return nil
	}
	var out []int
	for _, l := range find(d.root, ul) {
		depth := 0
	up:
		for n := l.parent; n != nil; n = n.parent {
			switch n.kind {
			case ul:
				depth++
			case ol:
				depth = -1
				break up
			case blockquote:
				break up
			}
		}
		for _, it := range top(l, li) {
			if depth >= 0 && d.indentation(it) != depth*step {
				out = append(out, it.line)
			}
		}
	}
	return out
}

func cm011(d *document, _ map[string]any) []int {
	var out []int
	d.texts(func(l string, n int) {
		if reversedCommon(l) {
			out = append(out, n)
		}
	})
	return sorted(out)
}

// reversedCommon finds (x)[y] that is no footnote, no address follows, and
// that no backslash keeps from being one.
func reversedCommon(l string) bool {
	for i := 0; ; i += 2 {
		n := strings.Index(l[i:], ")[")
		if n < 0 {
			return false
		}
		i += n
		open := strings.LastIndexAny(l[:i], "()")
		size := strings.IndexByte(l[i+2:], ']')
		if open < 0 || l[open] != '(' || open+1 == i || size < 1 {
			continue
		}
		label := l[i+2 : i+2+size]
		if at(l, open-1) == '\\' || l[i-1] == '\\' || label[0] == '^' || strings.HasSuffix(label, "\\") || at(l, i+3+size) == '(' {
			continue
		}
		return true
	}
}

func cm012(d *document, _ map[string]any) []int {
	code := map[int]bool{}
	markLines(code, find(d.root, codeblock))
	var out []int
	was := false
	for i, l := range d.lines {
		blank := skipSpace(l, 0) == len(l) && !code[i+1]
		if blank && was {
			out = append(out, i+1)
		}
		was = blank
	}
	return out
}

// cm013: the last word of a line may go beyond the limit. So may lines of
// nothing but links, and definitions of links.
func cm013(d *document, p map[string]any) []int {
	limit, ok := p["line_length"].(int)
	if !ok {
		return nil
	}
	free := map[int]bool{}
	if !truthy(p["code_blocks"]) || truthy(p["ignore_code_blocks"]) {
		markLines(free, find(d.root, codeblock))
	}
	if !truthy(p["tables"]) {
		markLines(free, find(d.root, table))
	}
	markLines(free, find(d.root, eob))
	words := map[int]bool{}
	for _, para := range find(d.root, paragraph) {
		for _, t := range top(para, text) {
			for i, l := range strings.Split(string(t.text), "\n") {
				words[t.line+i] = words[t.line+i] || l != ""
			}
		}
	}
	links := map[int]bool{}
	markLines(links, find(d.root, link, image))
	for n := range links {
		free[n] = free[n] || !words[n]
	}
	var out []int
	for i, l := range d.lines {
		if len(l) <= limit || free[i+1] {
			continue
		}
		if last := strings.LastIndexFunc(l, unicode.IsSpace); last >= 0 && utf8.RuneCountInString(l[:last])+2 > limit {
			out = append(out, i+1)
		}
	}
	return out
}

func markLines(lines map[int]bool, nodes []*node) {
	for _, n := range nodes {
		for i := n.line; i <= n.end; i++ {
			lines[i] = true
		}
	}
}

func cm014(d *document, _ map[string]any) []int {
	var out []int
	for _, c := range find(d.root, codeblock) {
		first := c.line
		if c.fenced {
			first++
		}
		var here []int
		for i, l := range splitLines(string(c.text)) {
			if l = strip(l); l == "" {
				continue
			}
			if len(l) < 2 || l[0] != '$' || !isSpace(l[1]) {
				here = nil
				break
			}
			here = append(here, first+i)
		}
		out = append(out, here...)
	}
	return out
}

func cm018(d *document, _ map[string]any) []int {
	raw := rawLines(d)
	var out []int
	for i, l := range d.lines {
		if noSpaceAfter(l) && !raw[i+1] && !strings.HasSuffix(rstrip(l), "#") && !strings.HasPrefix(l, "#\ufe0f\u20e3") {
			out = append(out, i+1)
		}
	}
	return out
}

func cm020(d *document, _ map[string]any) []int {
	raw := rawLines(d)
	var out []int
	for i, l := range d.lines {
		if strings.HasPrefix(l, "#") && !raw[i+1] && unspaced(rstrip(l)) {
			out = append(out, i+1)
		}
	}
	return out
}

// unspaced tells that #text# lacks a space.
func unspaced(l string) bool {
	title := strings.TrimLeft(l, "#")
	bare := strings.TrimRight(title, "#")
	if bare == title {
		return false
	}
	if strings.HasSuffix(bare, "\\") {
		if len(title)-len(bare) < 2 {
			return false // the only # is text
		}
		bare = bare[:len(bare)-1]
		return !strings.ContainsAny(bare, "#") && strings.Trim(bare, " \t") != "" // a \# and more of them
	}
	words := strings.Trim(bare, " \t")
	if words == "" || words == "\\" || strings.Contains(words, "#") {
		return false
	}
	return !isSpace(bare[0]) || !isSpace(bare[len(bare)-1])
}

func cm022(d *document, _ map[string]any) []int {
	return numbers(slices.DeleteFunc(find(d.root, header), func(h *node) bool { return d.isBlank(h.line-1) && d.isBlank(h.end+1) }))
}

// cm023: spaces stand in front of a header that the quote or the item that it
// is in does not need.
func cm023(d *document, _ map[string]any) []int {
	return numbers(slices.DeleteFunc(find(d.root, header), func(h *node) bool {
		switch {
		case h.parent.kind == blockquote:
			return d.indentation(h) <= 0
		case h.parent.kind == li:
			return h.line == h.parent.line || columns(d.line(h), h.col) <= h.parent.content
		}
		return h.col == 0
	}))
}

func cm024(d *document, p map[string]any) []int {
	siblings := truthy(p["allow_different_nesting"])
	var known [7]map[string]bool
	level := 1
	var out []int
	for _, h := range find(d.root, header) {
		if siblings {
			for ; level < h.level; level++ {
				known[level+1] = nil
			}
			for ; level > h.level; level-- {
				known[level] = nil
			}
		}
		if known[level] == nil {
			known[level] = map[string]bool{}
		}
		if known[level][h.raw] {
			out = append(out, h.line)
		}
		known[level][h.raw] = true
	}
	return out
}

// firstContent is the first block that is neither blank nor a comment.
func firstContent(d *document) *node {
	for _, n := range d.root.children {
		if n.kind != blank && n.kind != comment {
			return n
		}
	}
	return nil
}

func cm025(d *document, p map[string]any) []int {
	all := slices.DeleteFunc(find(d.root, header), func(h *node) bool { return !isInt(p["level"], h.level) })
	if len(all) == 0 || all[0] != firstContent(d) {
		return nil
	}
	return numbers(all[1:])
}

func cm026(d *document, p map[string]any) []int {
	ends := ending(p["punctuation"])
	var out []int
	for _, h := range find(d.root, header) {
		if !ends(h.raw) || named(h.raw) {
			continue
		}
		n := h.line
		if h.style == "setext" {
			n = h.end - 1
		}
		out = append(out, n)
	}
	return out
}

// named tells that a text ends with a character that is given by name: &lt; or
// :smile:.
func named(s string) bool {
	if s == "" {
		return false
	}
	body := s[:len(s)-1]
	i := len(body)
	for i > 0 && (isWord(body[i-1]) || strings.IndexByte("+-#", body[i-1]) >= 0) {
		i--
	}
	if i == 0 || i == len(body) {
		return false
	}
	return s[len(s)-1] == ';' && body[i-1] == '&' || s[len(s)-1] == ':' && body[i-1] == ':'
}

func cm027(d *document, _ map[string]any) []int { return sorted(slices.Clone(d.quoted)) }

func cm029(d *document, p map[string]any) []int {
	var out []int
	for _, l := range find(d.root, ol) {
		its := top(l, li)
		next, step := 1, 0
		switch p["style"] {
		case symbol("one"):
		case symbol("zero"):
			next = 0
		case symbol("ordered"):
			step = 1
			if len(its) > 1 && d.number(its[0]) == 0 {
				next = 0
			}
		default:
			continue
		}
		for _, it := range its {
			if d.number(it) != next {
				out = append(out, it.line)
			}
			next += step
		}
	}
	return out
}

// number is that of an item.
func (d *document) number(it *node) int {
	l := d.at(it)
	n, err := strconv.Atoi(l[:skip(l, 0, "0123456789")])
	if err != nil {
		return -1
	}
	return n
}

// cm030: a list is a simple one when each item is one line.
func cm030(d *document, p map[string]any) []int {
	var out []int
	for _, l := range find(d.root, ul, ol) {
		its := top(l, li)
		name := "ul_"
		if l.kind == ol {
			name = "ol_"
		}
		form := "multi"
		if l.end-l.line+1 == len(its) {
			form = "single"
		}
		for _, it := range its {
			line := d.line(it)
			size, content := markerOf(line, it.col)
			if skip(line, it.col+size, " \t") == len(line) {
				continue
			}
			if n := content - columns(line, it.col+size); !isInt(p[name+form], n) {
				out = append(out, it.line)
			}
		}
	}
	return out
}

func cm031(d *document, p map[string]any) []int {
	var out []int
	for _, c := range find(d.root, codeblock) {
		if !c.fenced || p["list_items"] == false && inside(c, li) {
			continue
		}
		if !d.isBlank(c.line - 1) {
			out = append(out, c.line)
		}
		if !d.isBlank(c.end+1) && !d.isBlank(c.end) {
			out = append(out, c.end)
		}
	}
	return sorted(out)
}

func cm032(d *document, _ map[string]any) []int {
	var out []int
	for _, l := range find(d.root, ul, ol) {
		if inside(l, li) {
			continue
		}
		if !d.isBlank(l.line - 1) {
			out = append(out, l.line)
		}
		if !d.isBlank(l.end) && !d.isBlank(l.end+1) {
			out = append(out, l.end)
		}
	}
	return sorted(out)
}

// cm034 finds what GitHub makes a link of without being told: outside of links,
// of brackets that are open, and of the elements of HTML in a paragraph.
func cm034(d *document, _ map[string]any) []int {
	var out []int
	for _, para := range find(d.root, paragraph, header, td) {
		open := 0
		var walk func(*node)
		walk = func(n *node) {
			until := closers(n.children)
			for i := 0; i < len(n.children); i++ {
				c := n.children[i]
				switch c.kind {
				case text:
					line := c.line
					for l := range strings.SplitSeq(string(c.text), "\n") {
						var found bool
						if found, open = bare(l, open); found {
							out = append(out, line)
						}
						line++
					}
				case htmlElement:
					i = max(i, until[i])
				case em, strong, deleted:
					walk(c)
				}
			}
		}
		walk(para)
	}
	return sorted(out)
}

// closers is where the elements end that begin among some nodes.
func closers(list []*node) map[int]int {
	out := map[int]int{}
	open := map[string][]int{}
	for i, n := range list {
		name := string(n.text)
		switch n.kind {
		case htmlElement:
			open[name] = append(open[name], i)
		case htmlClose:
			if k := len(open[name]); k > 0 {
				out[open[name][k-1]] = i
				open[name] = open[name][:k-1]
			}
		}
	}
	return out
}

// bare tells that an address stands in a line of text. open is how many
// brackets are open before it, and after it.
func bare(l string, open int) (bool, int) {
	found := false
	for i := 0; i < len(l); i++ {
		switch c := l[i]; {
		case c == '\\':
			i++
		case c == '[':
			open++
		case c == ']':
			open = max(0, open-1)
		case open > 0 || found:
		case c == 'h' || c == 'H':
			found = address(l, i) && (i == 0 || !isLetter(l[i-1]))
		case c == 'w' || c == 'W':
			found = len(l) > i+4 && strings.EqualFold(l[i:i+4], "www.") && domain(l[i+4:]) && (i == 0 || strings.IndexByte("([]*_~ \t", l[i-1]) >= 0)
		case c == '@':
			found = mail(l, i)
		}
	}
	return found, open
}

// address matches http:// or https:// and the start of a host.
func address(l string, i int) bool {
	for _, scheme := range []string{"http://", "https://"} {
		if end := i + len(scheme); len(l) > end && strings.EqualFold(l[i:end], scheme) {
			return domain(l[end:])
		}
	}
	return false
}

// domain tells that a text begins with a host: no underscore is in its last
// two parts.
func domain(l string) bool {
	end := 0
	for i, r := range l {
		if r != '.' && r != '-' && r != '_' && (unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r) && r < 128 || unicode.IsControl(r)) {
			break
		}
		end = i + len(string(r))
	}
	host := l[:end]
	if host == "" || host[0] == '.' || host[0] == '-' || host[0] == '_' {
		return false
	}
	parts := strings.Split(strings.TrimRight(host, ".-_"), ".")
	return !strings.Contains(strings.Join(parts[max(0, len(parts)-2):], ""), "_")
}

// mail matches an address around the @ at i.
func mail(l string, i int) bool {
	start := i
	for start > 0 && (isWord(l[start-1]) || strings.IndexByte("+-.", l[start-1]) >= 0) {
		start--
	}
	if start == i || start > 0 && l[start-1] == '/' {
		return false
	}
	end := i + 1
	for end < len(l) && (isWord(l[end]) || l[end] == '-' || l[end] == '.' && end+1 < len(l) && (isWord(l[end+1]) || l[end+1] == '-')) {
		end++
	}
	host := l[i+1 : end]
	return strings.Contains(host, ".") && host[0] != '.' && isLetter(host[len(host)-1])
}

func cm035(d *document, p map[string]any) []int {
	style := p["style"]
	var out []int
	for _, n := range find(d.root, hr) {
		if style == symbol("consistent") {
			style = d.at(n)
		}
		if d.at(n) != style {
			out = append(out, n.line)
		}
	}
	return out
}

func cm036(d *document, p map[string]any) []int {
	ends := ending(p["punctuation"])
	var out []int
	for _, para := range top(d.root, paragraph) {
		rest := slices.DeleteFunc(slices.Clone(para.children), func(n *node) bool {
			return is(n, htmlElement, htmlClose, comment) || n.kind == text && strings.Trim(string(n.text), " \t") == ""
		})
		if len(rest) != 1 || !is(rest[0], em, strong) || len(rest[0].children) != 1 || rest[0].children[0].kind != text {
			continue
		}
		if s := string(rest[0].children[0].text); !strings.Contains(s, "\n") && !ends(s) {
			out = append(out, rest[0].line)
		}
	}
	return out
}

// loner is a run of * or _ that begins and ends nothing.
type loner struct {
	line          int
	after, before bool // white space stands there, and more on its other side
}

// cm037 takes the runs that were left over in pairs, by their mark.
func cm037(d *document, _ map[string]any) []int {
	var out []int
	for _, n := range find(d.root, paragraph, header, td, em, strong, link, deleted) {
		runs := map[string][]loner{}
		for _, c := range n.children {
			if c.kind == text {
				lonely(string(c.text), c.line, runs)
			}
		}
		for _, list := range runs {
			for i := 0; i+1 < len(list); i += 2 {
				if list[i].after {
					out = append(out, list[i].line)
				}
				if list[i+1].before {
					out = append(out, list[i+1].line)
				}
			}
		}
	}
	return sorted(out)
}

func lonely(s string, line int, runs map[string][]loner) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			line++
		case '\\':
			if at(s, i+1) != '\n' {
				i++
			}
		case '*', '_':
			n := count(s, i, s[i], len(s))
			if n <= 3 {
				run := s[i : i+n]
				end := skip(s, i+n, " \t")
				start := len(strings.TrimRight(s[:i], " \t"))
				runs[run] = append(runs[run], loner{line: line,
					after:  end > i+n && end < len(s) && s[end] != '\n',
					before: start < i && start > 0 && s[start-1] != '\n'})
			}
			i += n - 1
		}
	}
}

// cm038: a space at both ends is not part of the code; one before or behind a
// backtick is needed.
func cm038(d *document, _ map[string]any) []int {
	var out []int
	for _, c := range find(d.root, codespan) {
		lines := strings.Split(string(c.text), "\n")
		first, last := lines[0], lines[len(lines)-1]
		if n := skip(first, 0, " \t"); n < len(first) && n > needed(first[n], c.padded) {
			out = append(out, c.line)
		}
		bare := strings.TrimRight(last, " \t")
		if n := len(last) - len(bare); bare != "" && n > needed(bare[len(bare)-1], c.padded) {
			out = append(out, c.end)
		}
	}
	return sorted(out)
}

func needed(next byte, padded bool) int {
	if next == '`' && !padded {
		return 1
	}
	return 0
}

func cm039(d *document, _ map[string]any) []int {
	var out []int
	for _, n := range find(d.root, link) {
		if len(n.children) == 0 {
			continue
		}
		if f := n.children[0]; f.kind == text && strings.TrimLeft(string(f.text), " \t\n") != string(f.text) {
			out = append(out, n.line)
		}
		if l := n.last(); l.kind == text && strings.TrimRight(string(l.text), " \t\n") != string(l.text) {
			out = append(out, l.end)
		}
	}
	return sorted(out)
}

func cm040(d *document, _ map[string]any) []int {
	return numbers(slices.DeleteFunc(find(d.root, codeblock), func(c *node) bool { return !c.fenced || c.class != "" }))
}

// cm041: the first thing is a header; one in HTML counts.
func cm041(d *document, p map[string]any) []int {
	n := firstContent(d)
	if n == nil {
		return nil
	}
	level := 0
	switch {
	case n.kind == header:
		level = n.level
	case n.kind == htmlBlock && len(n.children) > 0:
		if name := string(n.children[0].text); len(name) == 2 && name[0] == 'h' && isDigit(name[1]) {
			level = int(name[1] - '0')
		}
	}
	if isInt(p["level"], level) {
		return nil
	}
	return []int{n.line}
}

func cm046(d *document, p map[string]any) []int {
	style := p["style"]
	var out []int
	for _, c := range find(d.root, codeblock) {
		got := symbol("indented")
		if c.fenced {
			got = "fenced"
		}
		if style == symbol("consistent") {
			style = got
		}
		if got != style {
			out = append(out, c.line)
		}
	}
	return out
}
