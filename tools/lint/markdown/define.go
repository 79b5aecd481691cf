// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"
)

// idName matches a name in an attribute list: \w[\w-]*.
func idName(s string, i int) int {
	if !isWord(at(s, i)) {
		return -1
	}
	for i < len(s) && (isWord(s[i]) || s[i] == '-') {
		i++
	}
	return i
}

// longest is how long an attribute list may be. Without a bound, a text of
// nothing but beginnings would be read as often as it has characters.
const longest = 1 << 12

// untilBrace returns the text up to the next } without a backslash, and where
// that ends; -1 when there is none or nothing in front of it.
func untilBrace(s string, i int) (string, int) {
	for j := i; j < min(len(s), i+longest); j++ {
		switch {
		case s[j] == '\\' && at(s, j+1) == '}':
			j++
		case s[j] == '}' && j > i:
			return s[i:j], j + 1
		case s[j] == '}':
			return "", -1
		}
	}
	return "", -1
}

// ialInner matches what follows {: in an attribute list, which is no
// definition, extension or closing mark.
func ialInner(s string, i int) (string, int) {
	if at(s, i) == ':' || at(s, i) == '/' {
		return "", -1
	}
	if j := idName(s, i); j > 0 && at(s, j) == ':' {
		return "", -1
	}
	return untilBrace(s, i)
}

// ialMatch is a block attribute list that was found.
type ialMatch struct {
	inner string
	end   int
}

// ialBlock matches an attribute list that has its line for itself.
func ialBlock(s string, i int) *ialMatch {
	if !strings.HasPrefix(s[min(i, len(s)):], "{:") || at(s, i+2) == ':' || at(s, i+2) == '/' {
		return nil
	}
	inner, end := untilBrace(s, i+2)
	if end < 0 {
		return nil
	}
	if end = restBlank(s, end); end < 0 {
		return nil
	}
	return &ialMatch{inner, end}
}

// extension reads {: … } on a line of its own.
func (p *parser) extension() bool {
	s, i := p.src.s, optSpace(p.src.s, p.src.pos)
	if !strings.HasPrefix(s[i:], "{:") {
		return false
	}
	if j := idName(s, i+2); j > 0 && at(s, j) == ':' {
		if inner, end := untilBrace(s, j+1); end > 0 {
			if end = restBlank(s, end); end > 0 {
				p.define(s[i+2:j], inner, end)
				return true
			}
		}
	}
	if done, matched := p.blockExtension(i); matched {
		return done
	}
	m := ialBlock(s, i)
	if m == nil {
		return false
	}
	p.src.pos = m.end
	last := p.tree.last()
	if last == nil || last.kind == blank || last.kind == eob && last.mark != markLinkDef && last.mark != markAbbrevDef && last.mark != markFootnoteDef {
		if p.blockIAL == nil {
			p.blockIAL = &attributes{}
		}
		p.blockIAL.parse(m.inner)
		return true
	}
	if last.ial == nil {
		last.ial = &attributes{}
	}
	last.ial.parse(m.inner)
	if ialBlock(s, optSpace(s, m.end)) == nil {
		p.tree.add(p.block(&node{kind: eob, mark: markIAL}))
	}
	return true
}

func (p *parser) define(name, inner string, end int) {
	a := p.alds[name]
	if a == nil {
		a = &attributes{}
		p.alds[name] = a
	}
	a.parse(inner)
	p.src.pos = end
	p.tree.add(p.block(&node{kind: eob, mark: markALD}))
}

// extensionTag is {::name attributes} or {:/name}.
type extensionTag struct {
	name         string
	closed, stop bool
	end          int
}

func extensionAt(s string, i int) *extensionTag {
	if strings.HasPrefix(s[i:], "{:/") {
		j := i + 3
		if k := idName(s, j); k > 0 {
			j = k
		}
		if at(s, j) == '}' {
			return &extensionTag{stop: true, end: j + 1}
		}
		return nil
	}
	if !strings.HasPrefix(s[i:], "{::") {
		return nil
	}
	j := i + 3
	for j < len(s) && isWord(s[j]) {
		j++
	}
	if j == i+3 {
		return nil
	}
	t := &extensionTag{name: s[i+3 : j]}
	if j < len(s) && isSpace(s[j]) {
		for j++; j < min(len(s), i+longest) && s[j] != '}'; j++ {
			if s[j] == '\\' && at(s, j+1) == '}' {
				j++
			}
		}
		t.closed = s[j-1] == '/'
	} else if at(s, j) == '/' {
		t.closed = true
		j++
	}
	if at(s, j) != '}' {
		return nil
	}
	t.end = j + 1
	return t
}

// stopTag finds {:/name} or {:/}.
func stopTag(s string, i int, name string) (start, end int) {
	for from := i; from < len(s); {
		n := strings.Index(s[from:], "{:/")
		if n < 0 {
			break
		}
		start = from + n
		rest := strings.TrimPrefix(s[start+3:], name)
		if strings.HasPrefix(rest, "}") {
			return start, len(s) - len(rest) + 1
		}
		if strings.HasPrefix(s[start+3:], "}") {
			return start, start + 4
		}
		from = start + 3
	}
	return -1, -1
}

func (p *parser) blockExtension(i int) (done, matched bool) {
	s := p.src.s
	t := extensionAt(s, i)
	if t == nil {
		return false, false
	}
	end := restBlank(s, t.end)
	if end < 0 {
		return false, false
	}
	if t.stop {
		return false, true
	}
	line := p.src.line()
	if !t.closed {
		if p.steps <= 0 {
			return false, true
		}
		if end = p.blockStop(end, t.name); end < 0 {
			return false, true
		}
	}
	switch t.name {
	case "comment", "nomarkdown":
		if !t.closed {
			k := comment
			if t.name == "nomarkdown" {
				k = rawMarkup
			}
			p.tree.add(&node{kind: k, line: line})
		}
	case "options":
		p.src.pos = end
		p.tree.add(p.block(&node{kind: eob, mark: markExtension}))
	default:
		return false, true
	}
	p.src.pos = end
	return true, true
}

// blockStop finds the line that ends an extension.
func (p *parser) blockStop(i int, name string) int {
	s := p.src.s
	from := i
	for {
		start, end := stopTag(s, from, name)
		if start < 0 {
			p.spend(len(s) - i)
			return -1
		}
		begin := strings.LastIndexByte(s[:start], '\n') + 1
		if begin < i {
			begin = i
		}
		if after := restBlank(s, end); after > 0 && start-begin <= 3 && strings.Trim(s[begin:start], " ") == "" {
			return after
		}
		from = end
	}
}

// linkDef reads [id]: address "title".
func (p *parser) linkDef() bool {
	s, i := p.src.s, optSpace(p.src.s, p.src.pos)
	end := strings.IndexByte(s[i:], ']')
	if end < 2 || strings.IndexByte(s[i:i+end], '\n') >= 0 || at(s, i+end+1) != ':' {
		return false
	}
	id := normalizeID(s[i+1 : i+end])
	j := skip(s, i+end+2, " \t")
	after, url := -1, ""
	if at(s, j) == '<' {
		after = bracketAddress(s, j)
	}
	if after < 0 {
		after, url = plainAddress(s, j)
	}
	if after < 0 || quotedAfterSpace(url) {
		return false
	}
	p.src.pos = after
	m := p.block(&node{kind: eob, mark: markLinkDef})
	p.tree.add(m)
	p.linkDefs[id] = m
	return true
}

func normalizeID(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if r < 128 && isSpace(byte(r)) {
			space = true
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	if space {
		b.WriteByte(' ')
	}
	return strings.ToLower(b.String())
}

// bracketAddress matches <address> and what may follow.
func bracketAddress(s string, i int) int {
	for j := i + 1; j < len(s) && s[j] != '\n'; j++ {
		if s[j] == '>' {
			if end := afterAddress(s, j+1); end > 0 {
				return end
			}
		}
	}
	return -1
}

// plainAddress matches an address, which is as short as what follows allows.
func plainAddress(s string, i int) (int, string) {
	end := lineEnd(s, i)
	if end < 0 {
		return -1, ""
	}
	line := strings.TrimRight(s[i:end-1], " \t")
	if strings.TrimSpace(line) == "" {
		return -1, ""
	}
	if c := line[len(line)-1]; c == '"' || c == '\'' { // a title on the same line
		for j := 1; j < len(line); j++ {
			if (line[j] == ' ' || line[j] == '\t') && strings.TrimSpace(line[:j]) != "" {
				k := skip(line, j, " \t")
				if at(line, k) == c && len(line)-k >= 3 {
					return end, line[:j]
				}
				j = k - 1
			}
		}
	}
	return afterAddress(s, i+len(line)), line
}

// afterAddress matches the optional title and the end of the line.
func afterAddress(s string, i int) int {
	j := skip(s, i, " \t")
	switch c := at(s, j); {
	case (c == '"' || c == '\'') && j > i:
		return titleEnd(s, j)
	case c == '\n':
		k := skip(s, j+1, " \t")
		if c := at(s, k); c == '"' || c == '\'' {
			if end := titleEnd(s, k); end > 0 {
				return end
			}
		}
		return j + 1
	}
	return -1
}

// titleEnd matches a quoted title that ends its line.
func titleEnd(s string, i int) int {
	end := lineEnd(s, i)
	if end < 0 {
		return -1
	}
	line := strings.TrimRight(s[i:end-1], " \t")
	if len(line) < 3 || line[len(line)-1] != line[0] {
		return -1
	}
	return end
}

func quotedAfterSpace(s string) bool {
	for i := 1; i < len(s); i++ {
		if (s[i] == '"' || s[i] == '\'') && (s[i-1] == ' ' || s[i-1] == '\t') {
			return true
		}
	}
	return false
}

// footnoteDef reads [^name]: text, with the indented lines that follow.
func (p *parser) footnoteDef() bool {
	s, i := p.src.s, optSpace(p.src.s, p.src.pos)
	if !strings.HasPrefix(s[i:], "[^") {
		return false
	}
	j := idName(s, i+2)
	if j < 0 || !strings.HasPrefix(s[j:], "]:") {
		return false
	}
	end := lineEnd(s, j)
	if end < 0 {
		return false
	}
	end = codeEnd(s, end)
	var inner strings.Builder
	for l := range strings.SplitAfterSeq(s[j+2:end], "\n") {
		inner.WriteString(unindent(l))
	}
	def := &node{kind: footnoteDef, line: p.src.line()}
	p.src.pos = end
	p.blocks(def, newSource(inner.String(), def.line))
	p.tree.add(p.block(&node{kind: eob, mark: markFootnoteDef}))
	p.footnotes[s[i+2:j]] = def
	return true
}

// abbrevDef reads *[short]: long.
func (p *parser) abbrevDef() bool {
	s, i := p.src.s, optSpace(p.src.s, p.src.pos)
	end := lineEnd(s, i)
	if end < 0 || !strings.HasPrefix(s[i:], "*[") {
		return false
	}
	n := strings.Index(s[min(i+3, end):end], "]:")
	if n < 0 {
		return false
	}
	p.src.pos = end
	p.tree.add(p.block(&node{kind: eob, mark: markAbbrevDef}))
	p.abbrevs = append(p.abbrevs, s[i+2:i+3+n])
	return true
}
