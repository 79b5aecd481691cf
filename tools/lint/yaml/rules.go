// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// ready binds a rule to its options.
func (o *rule) ready() func(*report) {
	switch o.name {
	case "anchors":
		return anchorNames(o)
	case "braces":
		return brackets(o, flowMapping, flowMappingEnd, "braces", "flow mapping")
	case "brackets":
		return brackets(o, flowSequence, flowSequenceEnd, "brackets", "flow sequence")
	case "colons":
		return colons(o)
	case "commas":
		return commas(o)
	case "comments":
		return comments(o)
	case "comments-indentation":
		return commentIndents
	case "document-end":
		return documentEnds(o.is("present"))
	case "document-start":
		return documentStarts(o.is("present"))
	case "empty-values":
		return emptyValues(o)
	case "float-values":
		return floats(o)
	case "hyphens":
		return hyphens(o)
	case "indentation":
		return indentation(o)
	case "key-duplicates":
		return duplicateKeys
	case "key-ordering":
		return unorderedKeys
	case "octal-values":
		return octals(o)
	case "quoted-strings":
		return quoting(o)
	case "truthy":
		return truthy(o)
	}
	return o.readyForLines()
}

// readyForLines does so for the rules about lines.
func (o *rule) readyForLines() func(*report) {
	switch o.name {
	case "empty-lines":
		return emptyLines(o)
	case "line-length":
		return lineLength(o)
	case "new-line-at-end-of-file":
		return lastLineBreak
	case "new-lines":
		return newLines(o)
	}
	return trailing
}

// limits is how wide a gap may be; -1 is no limit.
type limits struct {
	least, most int
	where       string // the gap is
}

// width judges a gap for the token on one side of it.
func (r *report) width(g gap, token int, x limits) {
	m := r.d.tokens[g.right].start
	switch {
	case x.most != -1 && g.width > x.most:
		r.at(token, m.line+1, m.column, "too many spaces "+x.where) // at the last of them
	case x.least != -1 && g.width < x.least:
		r.at(token, m.line+1, m.column+1, "too few spaces "+x.where)
	}
}

func brackets(o *rule, open, closed kind, name, what string) func(*report) {
	forbid := o.options["forbid"]
	inside := limits{o.number("min-spaces-inside"), o.number("max-spaces-inside"), "inside " + name}
	empty := limits{o.number("min-spaces-inside-empty"), o.number("max-spaces-inside-empty"), "inside empty " + name}
	if empty.least == -1 {
		empty.least = inside.least
	}
	if empty.most == -1 {
		empty.most = inside.most
	}
	return func(r *report) {
		tokens := r.d.tokens
		forbidden := func(i int) bool {
			return forbid == "true" || forbid == "non-empty" && (i+1 == len(tokens) || tokens[i+1].kind != closed)
		}
		if forbid != "false" {
			for i := range tokens[:r.d.seen] {
				if tokens[i].kind == open && forbidden(i) {
					r.at(i, tokens[i].start.line+1, tokens[i].end.column+1, "forbidden "+what)
				}
			}
		}
		for g := range r.d.gaps() {
			left, right := tokens[g.left].kind, tokens[g.right].kind
			if left == open && !forbidden(g.left) {
				if right == closed {
					r.width(g, g.left, empty)
				} else {
					r.width(g, g.left, inside)
				}
			}
			if right == closed && left != open {
				r.width(g, g.right, inside)
			}
		}
	}
}

func colons(o *rule) func(*report) {
	before := limits{-1, o.number("max-spaces-before"), "before colon"}
	after := limits{-1, o.number("max-spaces-after"), "after colon"}
	question := limits{-1, after.most, "after question mark"}
	return func(r *report) {
		for g := range r.d.gaps() {
			if l := &r.d.tokens[g.left]; l.kind == value {
				r.width(g, g.left, after)
			} else if l.kind == key && l.end.index > l.start.index {
				r.width(g, g.left, question)
			}
			if r.d.tokens[g.right].kind == value {
				r.width(g, g.right, before)
			}
		}
	}
}

func commas(o *rule) func(*report) {
	before := limits{-1, o.number("max-spaces-before"), "before comma"}
	after := limits{o.number("min-spaces-after"), o.number("max-spaces-after"), "after comma"}
	return func(r *report) {
		for g := range r.d.gaps() {
			if r.d.tokens[g.right].kind == flowEntry {
				r.width(g, g.right, before)
			}
			if r.d.tokens[g.left].kind == flowEntry {
				r.width(g, g.left, after)
			}
		}
		for i := 1; i < r.d.seen && before.most != -1; i++ {
			// Before a comma that begins a line there is a line break, at least.
			if t := &r.d.tokens[i]; t.kind == flowEntry && r.d.tokens[i-1].end.line < t.start.line {
				r.at(i, t.start.line+1, max(1, t.start.column), "too many spaces before comma")
			}
		}
	}
}

func hyphens(o *rule) func(*report) {
	after := limits{-1, o.number("max-spaces-after"), "after hyphen"}
	return func(r *report) {
		for g := range r.d.gaps() {
			if r.d.tokens[g.left].kind == blockEntry {
				r.width(g, g.left, after)
			}
		}
	}
}

func comments(o *rule) func(*report) {
	space, shebangs, least := o.is("require-starting-space"), o.is("ignore-shebangs"), o.number("min-spaces-from-content")
	return func(r *report) {
		for i := range r.d.comments {
			c := &r.d.comments[i]
			if least != -1 && c.inline && c.index-r.d.tokens[c.after].end.index < least {
				r.comment(c, c.column, "too few spaces before comment")
			}
			text := r.d.body(c)
			signs := 0
			for signs < len(text) && text[signs] == '#' {
				signs++
			}
			if !space || signs == len(text) || oneOf(text[signs], " \r") || shebangs && text[signs] == '!' && c.line == 1 && c.column == 1 {
				continue
			}
			r.comment(c, c.column+signs, "missing starting space in comment")
		}
	}
}

// commentIndents wants a comment to stand where what follows does, or where
// what is above it does: other comments, or the line of the token before.
func commentIndents(r *report) {
	for rest := r.d.comments; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].after == rest[0].after {
			n++
		}
		r.commentBlock(rest[:n])
		rest = rest[n:]
	}
}

// commentBlock does so for the comments between two tokens.
func (r *report) commentBlock(block []comment) {
	i := block[0].after
	before := &r.d.tokens[i]
	below, above := 0, 0
	if i+1 < len(r.d.tokens) && r.d.tokens[i+1].kind != streamEnd {
		below = r.d.tokens[i+1].start.column
	}
	if before.kind != streamStart {
		above = r.d.margin(before.start.index)
	}
	above = max(above, below)
	for k := range block {
		c := &block[k]
		if c.inline {
			continue
		}
		// Right behind a block scalar, a comment looks like a part of it.
		own := before.kind == streamStart || c.line > before.end.line+1
		if at := c.column - 1; own && at != below && at != above {
			r.comment(c, c.column, "comment not indented like content")
		}
		above = c.column - 1
	}
}

func documentEnds(present bool) func(*report) {
	return func(r *report) {
		for i := 1; i < r.d.seen; i++ {
			t, before := &r.d.tokens[i], r.d.tokens[i-1].kind
			switch {
			case !present:
				if t.kind == documentEnd {
					r.token(i, `found forbidden document end "..."`)
				}
			case before == documentEnd || before == streamStart:
			case t.kind == streamEnd:
				r.at(i, t.start.line, 1, `missing document end "..."`)
			case t.kind == documentStart:
				r.at(i, t.start.line+1, 1, `missing document end "..."`)
			}
		}
	}
}

func documentStarts(present bool) func(*report) {
	return func(r *report) {
		due := false // a document may begin
		for i := range r.d.tokens[:r.d.seen] {
			switch t := &r.d.tokens[i]; t.kind {
			case streamStart, documentEnd, directive:
				if t.kind == documentEnd && due && present {
					r.at(i, t.start.line+1, 1, `missing document start "---"`)
				}
				due = true
				continue
			case documentStart:
				if !present {
					r.token(i, `found forbidden document start "---"`)
				}
			case streamEnd:
			default:
				if due && present {
					r.at(i, t.start.line+1, 1, `missing document start "---"`)
				}
			}
			due = false
		}
	}
}

// emptyLines judges each series of blank lines; the last one with the same kind
// of line break speaks for all.
func emptyLines(o *rule) func(*report) {
	most, mostStart, mostEnd := o.number("max"), o.number("max-start"), o.number("max-end")
	return func(r *report) {
		// What follows the last line break is no line here.
		lines := r.d.lines[:len(r.d.lines)-1]
		for n, i := 0, 0; i < len(lines); i++ {
			if lines[i].start != lines[i].end {
				n = 0
				continue
			}
			n++
			if i+1 < len(lines) && lines[i+1].start == lines[i+1].end && r.d.text[lines[i].end] == r.d.text[lines[i+1].end] {
				continue
			}
			limit := most
			switch {
			case i+1 == len(lines) && lines[i].end+1 >= r.d.size-1 && r.d.lines[i+1].start == r.d.lines[i+1].end:
				if i == 0 {
					return // a file of one line break
				}
				limit = mostEnd
			case n == i+1:
				limit = mostStart
			}
			if n > limit {
				r.line(lines[i].number, 1, fmt.Sprintf("too many blank lines (%d > %d)", n, limit))
			}
		}
	}
}

func emptyValues(o *rule) func(*report) {
	block, flow := o.is("forbid-in-block-mappings"), o.is("forbid-in-flow-mappings")
	return func(r *report) {
		for i := range r.d.seen {
			t := &r.d.tokens[i]
			if t.kind != value || i+1 == len(r.d.tokens) {
				continue
			}
			switch k := r.d.tokens[i+1].kind; {
			case block && (k == key || k == blockEnd):
				r.at(i, t.start.line+1, t.end.column+1, "empty value in block mapping")
			case flow && (k == flowEntry || k == flowMappingEnd):
				r.at(i, t.start.line+1, t.end.column+1, "empty value in flow mapping")
			}
		}
	}
}

// keys yields the keys of mappings that are plain text, and the numbers of
// their mappings.
func (d *document) keys() iter.Seq2[int, *node] {
	return func(yield func(int, *node) bool) {
		for i := range d.nodes {
			n := &d.nodes[i]
			isKey := n.role == simpleKey || n.role == explicitKey
			if isKey && n.parent >= 0 && d.nodes[n.parent].shape == mappingNode && d.tokens[n.first].kind == scalar && !yield(n.parent, n) {
				return
			}
		}
	}
}

// key reports a problem of a key, which is seen as soon as it is known for one.
func (r *report) key(n *node, message string) {
	m := r.d.tokens[n.begin].start
	r.at(n.indicator, m.line+1, m.column+1, message)
}

func duplicateKeys(r *report) {
	type name struct {
		holder int
		key    string
	}
	seen := map[name]bool{}
	for holder, n := range r.d.keys() {
		k := name{holder, string(r.d.content(&r.d.tokens[n.begin]))}
		if seen[k] && k.key != "<<" {
			r.key(n, fmt.Sprintf("duplication of key %q in mapping", raw(k.key)))
		}
		seen[k] = true
	}
}

func unorderedKeys(r *report) {
	last := make(map[int]string)
	for holder, n := range r.d.keys() {
		k := string(r.d.content(&r.d.tokens[n.begin]))
		if k < last[holder] {
			r.key(n, fmt.Sprintf("wrong ordering of key %q in mapping", raw(k)))
			continue
		}
		last[holder] = k
	}
}

// raw is text that %q only puts quotation marks around.
type raw string

// Format implements fmt.Formatter.
func (x raw) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(`"` + string(x) + `"`)) }

func lineLength(o *rule) func(*report) {
	most := o.number("max")
	pairs := o.is("allow-non-breakable-inline-mappings")
	words := o.is("allow-non-breakable-words") || pairs
	return func(r *report) {
		for _, l := range r.d.lines {
			n := l.end - l.start
			if n <= most {
				continue
			}
			text := r.d.text[l.start:l.end]
			if words && isOneWord(string(text)) || pairs && isPairOfWords(text) {
				continue
			}
			r.line(l.number, most+1, fmt.Sprintf("line too long (%d > %d characters)", n, most))
		}
	}
}

// isOneWord tells that a line is a word that can not be broken, as an item or
// a comment may be.
func isOneWord(text string) bool {
	text = strings.TrimLeft(text, " ")
	sign, word, two := strings.Cut(text, " ")
	if two && (sign == "-" || strings.Trim(sign, "#") == "") {
		return !strings.Contains(word, " ")
	}
	return text != "" && !two
}

// isPairOfWords tells that a line by itself is a mapping, and its first value
// a word that goes on to the end of the line.
func isPairOfWords(text []rune) bool {
	tokens := newScanner(withEnd(slices.Clone(text))).all()
	begun := slices.IndexFunc(tokens, func(t token) bool { return t.kind == blockMapping })
	for i := max(begun, 0); begun >= 0 && i+1 < len(tokens); i++ {
		if word := &tokens[i+1]; tokens[i].kind == value && word.kind == scalar {
			return !slices.Contains(text[min(word.start.column, len(text)):], ' ')
		}
	}
	return false
}

func lastLineBreak(r *report) {
	if l := r.d.lines[len(r.d.lines)-1]; l.end > l.start {
		r.line(l.number, l.end-l.start+1, "no new line character at the end of file")
	}
}

func newLines(o *rule) func(*report) {
	want := o.options["type"]
	dos := want == "dos" || want == "platform" && runtime.GOOS == "windows"
	return func(r *report) {
		l := r.d.lines[0]
		switch {
		case len(r.d.lines) == 1:
		case dos && r.d.text[l.end] != '\r':
			r.line(1, l.end+1, `wrong new line character: expected \r\n`)
		case !dos && r.d.text[l.end] == '\r':
			r.line(1, l.end+1, `wrong new line character: expected \n`)
		}
	}
}

func trailing(r *report) {
	for _, l := range r.d.lines {
		i := l.end
		for i > l.start && oneOf(r.d.text[i-1], " \t\r\v\f") {
			i--
		}
		if i != l.end && (r.d.text[i] == ' ' || r.d.text[i] == '\t') {
			r.line(l.number, i-l.start+1, "trailing spaces")
		}
	}
}

func truthy(o *rule) func(*report) {
	allowed := slices.Clone(o.lists["allowed-values"])
	slices.Sort(allowed)
	bad := map[string]bool{}
	for _, t := range truths() {
		bad[t] = !slices.Contains(allowed, t)
	}
	message := "truthy value should be one of [" + strings.Join(allowed, ", ") + "]"
	checkKeys := o.is("check-keys")
	given := slices.Contains(o.lists["check-keys"], "given")
	return func(r *report) {
		for i, text := range r.d.words() {
			t := &r.d.tokens[i]
			isKey := i > 0 && r.d.tokens[i-1].kind == key
			if len(text) > 5 || isKey && !checkKeys || !bad[string(text)] {
				continue
			}
			if isKey && !given && string(text) == "on" && t.start.column == 0 {
				continue // what starts a workflow of GitHub has this name
			}
			r.token(i, message)
		}
	}
}

// names are the anchors of one document, by the tokens that gave them.
type names struct {
	given map[string]int
	used  map[string]bool
}

func anchorNames(o *rule) func(*report) {
	undeclared, duplicated, unused := o.is("forbid-undeclared-aliases"), o.is("forbid-duplicated-anchors"), o.is("forbid-unused-anchors")
	return func(r *report) {
		a := names{map[string]int{}, map[string]bool{}}
		for i := range r.d.tokens[:r.d.seen] {
			t := &r.d.tokens[i]
			switch t.kind {
			case anchor, alias:
				name := string(r.d.content(t))
				_, known := a.given[name]
				switch {
				case t.kind == alias && known:
					a.used[name] = true
				case t.kind == alias && undeclared:
					r.token(i, fmt.Sprintf("found undeclared alias %q", raw(name)))
				case t.kind == anchor:
					if known && duplicated {
						r.token(i, fmt.Sprintf("found duplicated anchor %q", raw(name)))
					}
					a.given[name] = i
				}
			case documentStart, documentEnd, streamEnd:
				if unused {
					a.report(r, i)
				}
				clear(a.given)
				clear(a.used)
			}
		}
	}
}

// report tells of anchors no alias names, when the document ends.
func (a *names) report(r *report, end int) {
	for _, i := range slices.Sorted(maps.Values(a.given)) {
		t := &r.d.tokens[i]
		if name := string(r.d.content(t)); !a.used[name] {
			r.at(end, t.start.line+1, t.start.column+1, fmt.Sprintf("found unused anchor %q", raw(name)))
		}
	}
}
