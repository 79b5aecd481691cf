// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rule is one of the rules of mdl. check returns the numbers of the lines at
// fault, as often as there are faults.
type rule struct {
	id, name, title string
	tags            []string
	params          map[string]any
	check           func(*document, map[string]any) []int
	fixable         bool
}

// rules are those of mdl 0.12, with the names and defaults it documents.
func rules() []rule {
	type m = map[string]any
	return []rule{
		{"MD001", "header-increment", "Header levels should only increment by one level at a time", tags("headers"), nil, md001, false},
		{"MD002", "first-header-h1", "First header should be a top level header", tags("headers"), m{"level": 1}, md002, false},
		{"MD003", "header-style", "Header style", tags("headers"), m{"style": symbol("consistent")}, md003, false},
		{"MD004", "ul-style", "Unordered list style", tags("bullet ul"), m{"style": symbol("consistent")}, md004, false},
		{"MD005", "list-indent", "Inconsistent indentation for list items at the same level", tags("bullet ul indentation"), nil, md005, false},
		{"MD006", "ul-start-left", "Consider starting bulleted lists at the beginning of the line", tags("bullet ul indentation"), nil, md006, false},
		{"MD007", "ul-indent", "Unordered list indentation", tags("bullet ul indentation"), m{"indent": 3}, md007, false},
		{"MD009", "no-trailing-spaces", "Trailing spaces", tags("whitespace"), m{"br_spaces": 0}, md009, true},
		{"MD010", "no-hard-tabs", "Hard tabs", tags("whitespace hard_tab"), m{"ignore_code_blocks": false}, md010, false},
		{"MD011", "no-reversed-links", "Reversed link syntax", tags("links"), nil, md011, false},
		{"MD012", "no-multiple-blanks", "Multiple consecutive blank lines", tags("whitespace blank_lines"), nil, md012, true},
		{"MD013", "line-length", "Line length", tags("line_length"), m{"line_length": 80, "ignore_code_blocks": false, "code_blocks": true, "tables": true}, md013, false},
		{"MD014", "commands-show-output", "Dollar signs used before commands without showing output", tags("code"), nil, md014, false},
		{"MD018", "no-missing-space-atx", "No space after hash on atx style header", tags("headers atx spaces"), nil, md018, true},
		{"MD019", "no-multiple-space-atx", "Multiple spaces after hash on atx style header", tags("headers atx spaces"), nil, md019, true},
		{"MD020", "no-missing-space-closed-atx", "No space inside hashes on closed atx style header", tags("headers atx_closed spaces"), nil, md020, false},
		{"MD021", "no-multiple-space-closed-atx", "Multiple spaces inside hashes on closed atx style header", tags("headers atx_closed spaces"), nil, md021, false},
		{"MD022", "blanks-around-headers", "Headers should be surrounded by blank lines", tags("headers blank_lines"), nil, md022, false},
		{"MD023", "header-start-left", "Headers must start at the beginning of the line", tags("headers spaces"), nil, md023, false},
		{"MD024", "no-duplicate-header", "Multiple headers with the same content", tags("headers"), m{"allow_different_nesting": false}, md024, false},
		{"MD025", "single-h1", "Multiple top level headers in the same document", tags("headers"), m{"level": 1}, md025, false},
		{"MD026", "no-trailing-punctuation", "Trailing punctuation in header", tags("headers"), m{"punctuation": ".,;:!?"}, md026, false},
		{"MD027", "no-multiple-space-blockquote", "Multiple spaces after blockquote symbol", tags("blockquote whitespace indentation"), nil, md027, false},
		{"MD028", "no-blanks-blockquote", "Blank line inside blockquote", tags("blockquote whitespace"), nil, md028, false},
		{"MD029", "ol-prefix", "Ordered list item prefix", tags("ol"), m{"style": symbol("one")}, md029, false},
		{"MD030", "list-marker-space", "Spaces after list markers", tags("ol ul whitespace"), m{"ul_single": 1, "ol_single": 1, "ul_multi": 1, "ol_multi": 1}, md030, false},
		{"MD031", "blanks-around-fences", "Fenced code blocks should be surrounded by blank lines", tags("code blank_lines"), m{"list_items": true}, md031, false},
		{"MD032", "blanks-around-lists", "Lists should be surrounded by blank lines", tags("bullet ul ol blank_lines"), nil, md032, false},
		{"MD033", "no-inline-html", "Inline HTML", tags("html"), nil, md033, false},
		{"MD034", "no-bare-urls", "Bare URL used", tags("links url"), nil, md034, false},
		{"MD035", "hr-style", "Horizontal rule style", tags("hr"), m{"style": symbol("consistent")}, md035, false},
		{"MD036", "no-emphasis-as-header", "Emphasis used instead of a header", tags("headers emphasis"), m{"punctuation": ".,;:!?"}, md036, false},
		{"MD037", "no-space-in-emphasis", "Spaces inside emphasis markers", tags("whitespace emphasis"), nil, md037, false},
		{"MD038", "no-space-in-code", "Spaces inside code span elements", tags("whitespace code"), nil, md038, false},
		{"MD039", "no-space-in-links", "Spaces inside link text", tags("whitespace links"), nil, md039, false},
		{"MD040", "fenced-code-language", "Fenced code blocks should have a language specified", tags("code language"), nil, md040, false},
		{"MD041", "first-line-h1", "First line in file should be a top level header", tags("headers"), m{"level": 1}, md041, false},
		{"MD046", "code-block-style", "Code block style", tags("code"), m{"style": symbol("fenced")}, md046, false},
		{"MD047", "single-trailing-newline", "File should end with a single newline character", tags("blank_lines"), nil, md047, true},
	}
}

func tags(s string) []string { return strings.Fields(s) }

func numbers(nodes []*node) []int {
	var out []int
	for _, n := range nodes {
		out = append(out, n.line)
	}
	return out
}

func lineNumbers(d *document, match func(string) bool) []int {
	var out []int
	for i, l := range d.lines {
		if match(l) {
			out = append(out, i+1)
		}
	}
	return out
}

func without(a, b []int) []int {
	out := map[int]bool{}
	for _, n := range b {
		out[n] = true
	}
	return slices.DeleteFunc(a, func(n int) bool { return out[n] })
}

func isInt(v any, n int) bool { i, ok := v.(int); return ok && i == n }

func md001(d *document, _ map[string]any) []int {
	var out []int
	old := 0
	for _, h := range find(d.root, header) {
		if old > 0 && h.level > old+1 {
			out = append(out, h.line)
		}
		old = h.level
	}
	return out
}

func md002(d *document, p map[string]any) []int {
	if h := find(d.root, header); len(h) > 0 && !isInt(p["level"], h[0].level) {
		return []int{h[0].line}
	}
	return nil
}

func (d *document) headerStyle(h *node) symbol {
	if h.style != "" {
		return h.style
	}
	line := d.line(h)
	switch {
	case !strings.HasPrefix(line, "#"):
		return "setext"
	case strings.HasSuffix(strip(line), "#"):
		return "atx_closed"
	}
	return "atx"
}

func md003(d *document, p map[string]any) []int {
	headers := top(d.root, header)
	if len(headers) == 0 {
		return nil
	}
	style := p["style"]
	if style == symbol("consistent") {
		style = d.headerStyle(headers[0])
	}
	var out []int
	for _, h := range headers {
		got := d.headerStyle(h)
		ok := got == style
		if style == symbol("setext_with_atx") {
			ok = got == "setext" || got == "atx" && h.level > 2
		}
		if !ok {
			out = append(out, h.line)
		}
	}
	return out
}

func (d *document) listStyle(n *node) symbol {
	line := strip(d.at(n))
	if strings.HasPrefix(line, ">") && len(line) > 1 && isSpace(line[1]) {
		line = line[1+skipSpace(line[1:], 0):]
	}
	switch {
	case strings.HasPrefix(line, "*"):
		return "asterisk"
	case strings.HasPrefix(line, "+"):
		return "plus"
	case strings.HasPrefix(line, "-"):
		return "dash"
	case digitBefore(line, '.'):
		return "ordered"
	case digitBefore(line, ')'):
		return "ordered_paren"
	}
	return "unknown"
}

func digitBefore(s string, c byte) bool {
	for i := 1; i < len(s); i++ {
		if s[i] == c && isDigit(s[i-1]) {
			return true
		}
	}
	return false
}

func items(d *document, k kind) []*node {
	var out []*node
	for _, l := range find(d.root, k) {
		out = append(out, top(l, li)...)
	}
	return out
}

func md004(d *document, p map[string]any) []int {
	bullets := items(d, ul)
	if len(bullets) == 0 {
		return nil
	}
	style := p["style"]
	if style == symbol("consistent") {
		style = d.listStyle(bullets[0])
	}
	byLevel := map[int]symbol{}
	var out []int
	for _, b := range bullets {
		got := d.listStyle(b)
		want := style
		if style == symbol("sublist") {
			if byLevel[b.depth] == "" {
				byLevel[b.depth] = got
			}
			want = byLevel[b.depth]
		}
		if got != want {
			out = append(out, b.line)
		}
	}
	return out
}

func md005(d *document, _ map[string]any) []int {
	var out []int
	byLevel := map[int]int{}
	for _, b := range find(d.root, li) {
		indent := indentOf(d.line(b))
		if want, ok := byLevel[b.depth]; !ok {
			byLevel[b.depth] = indent
		} else if want != indent {
			out = append(out, b.line)
		}
	}
	return out
}

func md006(d *document, _ map[string]any) []int {
	return numbers(slices.DeleteFunc(top(d.root, ul), func(n *node) bool { return indentOf(d.line(n)) == 0 }))
}

func md007(d *document, p map[string]any) []int {
	var out []int
	current := -1
	for _, l := range find(d.root, ul) {
		indent := indentOf(d.line(l))
		if current >= 0 && indent > current && !isInt(p["indent"], indent-current) {
			out = append(out, l.line)
		}
		current = indent
	}
	return out
}

func endsBlank(l string) bool { return l != "" && isSpace(l[len(l)-1]) }

func md009(d *document, p map[string]any) []int {
	br, _ := p["br_spaces"].(int)
	return lineNumbers(d, func(l string) bool {
		if !endsBlank(l) {
			return false
		}
		if n := len(l) - len(strings.TrimRight(l, " \t")); br > 1 && n == br && n < len(l) {
			return false
		}
		return true
	})
}

// codeLines are the numbers of the lines that code blocks stand on, and of the
// line behind.
func codeLines(d *document) []int {
	var out []int
	for _, c := range find(d.root, codeblock) {
		if d.commonmark {
			out = append(out, span(c)...)
			continue
		}
		n := strings.Count(string(c.text), "\n")
		if len(c.text) > 0 && c.text[len(c.text)-1] != '\n' {
			n++
		}
		for i := 0; i <= n; i++ {
			out = append(out, c.line+i)
		}
	}
	return out
}

func md010(d *document, p map[string]any) []int {
	out := lineNumbers(d, func(l string) bool { return strings.IndexByte(l, '\t') >= 0 })
	if truthy(p["ignore_code_blocks"]) {
		out = without(out, codeLines(d))
	}
	return out
}

func truthy(v any) bool { return v != nil && v != false }

// reversed finds (x)[y].
func reversed(l string) bool {
	for i := 0; ; {
		n := strings.Index(l[i:], ")[")
		if n < 0 {
			return false
		}
		i += n
		end := strings.IndexByte(l[i+2:], ']')
		if open := strings.IndexByte(l[strings.LastIndexByte(l[:i], ')')+1:i+1], '('); end > 0 && open >= 0 && l[i-1] != '(' {
			return true
		}
		i += 2
	}
}

func md011(d *document, _ map[string]any) []int {
	var out []int
	d.texts(func(l string, n int) {
		if reversed(l) {
			out = append(out, n)
		}
	})
	return out
}

func md012(d *document, _ map[string]any) []int {
	var out []int
	was := false
	for i, l := range d.lines {
		blank := skipSpace(l, 0) == len(l)
		if blank && was {
			out = append(out, i+1)
		}
		was = blank
	}
	return without(out, codeLines(d))
}

func md013(d *document, p map[string]any) []int {
	limit, ok := p["line_length"].(int)
	if !ok {
		return nil
	}
	out := lineNumbers(d, func(l string) bool { return tooLong(l, limit) })
	if !truthy(p["code_blocks"]) || truthy(p["ignore_code_blocks"]) {
		out = without(out, codeLines(d))
	}
	if !truthy(p["tables"]) {
		out = without(out, tableLines(d))
	}
	return out
}

// tooLong: there is white space beyond the limit, where the line could break.
func tooLong(l string, limit int) bool {
	if len(l) <= limit {
		return false
	}
	n := 0
	for i := range l {
		if n == limit {
			return strings.ContainsAny(l[i:], " \t")
		}
		n++
	}
	return false
}

func tableLines(d *document) []int {
	if d.commonmark {
		var out []int
		for _, t := range find(d.root, table) {
			out = append(out, span(t)...)
		}
		return out
	}
	var placed []*node
	for _, c := range d.root.children {
		if c.line > 0 {
			placed = append(placed, c)
		}
	}
	var out []int
	for i, c := range placed {
		if c.kind != table {
			continue
		}
		end := len(d.lines)
		if i+1 < len(placed) {
			end = placed[i+1].line - 1
		}
		for n := c.line; n <= end; n++ {
			out = append(out, n)
		}
	}
	return out
}

func md014(d *document, _ map[string]any) []int {
	return numbers(slices.DeleteFunc(find(d.root, codeblock), func(c *node) bool {
		lines := splitRuns(string(c.text))
		return len(c.text) == 0 || slices.ContainsFunc(lines, func(l string) bool {
			return len(l) < 2 || l[0] != '$' || !isSpace(l[1])
		})
	}))
}

// splitRuns splits at runs of newlines, as Ruby does it: an empty text in
// front stays, those behind do not.
func splitRuns(s string) []string {
	var out []string
	if s = strings.TrimRight(s, "\n"); s == "" {
		return nil
	}
	for l := range strings.SplitSeq(s, "\n") {
		if l != "" || len(out) == 0 && s[0] == '\n' {
			out = append(out, l)
		}
	}
	return out
}

func headersWith(d *document, style symbol, match func(string) bool) []int {
	var out []int
	for _, h := range find(d.root, header) {
		if d.headerStyle(h) == style && match(d.at(h)) {
			out = append(out, h.line)
		}
	}
	return out
}

func noSpaceAfter(l string) bool {
	rest := strings.TrimLeft(l, "#")
	return rest != l && rest != "" && !isSpace(rest[0])
}

func twoSpacesAfter(l string) bool {
	rest := strings.TrimLeft(l, "#")
	return rest != l && len(rest) > 1 && isSpace(rest[0]) && isSpace(rest[1])
}

func md018(d *document, _ map[string]any) []int { return headersWith(d, "atx", noSpaceAfter) }

func md019(d *document, _ map[string]any) []int { return headersWith(d, "atx", twoSpacesAfter) }

func md020(d *document, _ map[string]any) []int {
	return headersWith(d, "atx_closed", func(l string) bool {
		rest := strings.TrimRight(l, "#")
		return noSpaceAfter(l) || rest != l && rest != "" && !isSpace(rest[len(rest)-1]) && rest[len(rest)-1] != '\\'
	})
}

func md021(d *document, _ map[string]any) []int {
	return headersWith(d, "atx_closed", func(l string) bool {
		rest := strings.TrimRight(l, "#")
		n := len(rest)
		return twoSpacesAfter(l) || rest != l && n > 1 && isSpace(rest[n-1]) && isSpace(rest[n-2])
	})
}

func md022(d *document, _ map[string]any) []int {
	var out []int
	for _, h := range top(d.root, header) {
		next := h.line
		if d.headerStyle(h) == "setext" {
			next++
		}
		if h.line > 1 && h.line-2 < len(d.lines) && d.lines[h.line-2] != "" || next < len(d.lines) && d.lines[next] != "" {
			out = append(out, h.line)
		}
	}
	for _, p := range top(d.root, paragraph) {
		var b strings.Builder
		for _, c := range top(p, text) {
			b.Write(c.text)
		}
		n := p.line
		before, prev := "", ""
		for _, l := range splitLines(b.String()) {
			if strings.HasPrefix(l, "#") && prev != "" {
				out = append(out, n)
			}
			if underline(l) && before != "" {
				out = append(out, n-1)
			}
			n++
			before, prev = prev, l
		}
	}
	slices.Sort(out)
	return out
}

// underline is a line of = or - alone.
func underline(l string) bool {
	if l == "" || l[0] != '-' && l[0] != '=' {
		return false
	}
	rest := strings.TrimLeft(l, l[:1])
	return skipSpace(rest, 0) == len(rest)
}

func md023(d *document, _ map[string]any) []int {
	var out []int
	for _, h := range top(d.root, header) {
		if l := d.line(h); l != "" && isSpace(l[0]) {
			out = append(out, h.line)
		}
	}
	for _, p := range top(d.root, paragraph) {
		n := p.line
		prev := ""
		for _, l := range d.extract(p, func(s string) string { return s }, true) {
			if i := skipSpace(l, 0); i > 0 && i < len(l) {
				if l[i] == '#' {
					out = append(out, n)
				}
				if underline(l[i:]) && prev != "" {
					out = append(out, n-1)
				}
			}
			n++
			prev = l
		}
	}
	slices.Sort(out)
	return out
}

func md024(d *document, p map[string]any) []int {
	headers := find(d.root, header)
	nesting := p["allow_different_nesting"]
	duplicate := make([]bool, len(headers))
	byText := map[string][]*node{}
	for i, h := range headers {
		for _, e := range byText[h.raw] {
			if e.line < h.line && (nesting == false || e.level != h.level) {
				duplicate[i] = true
				break
			}
		}
		if len(byText[h.raw]) < 8 || nesting != false {
			byText[h.raw] = append(byText[h.raw], h)
		}
	}
	var out []int
	for i, h := range headers {
		if duplicate[i] {
			out = append(out, h.line)
		}
	}
	if truthy(nesting) {
		out = append(out, sameNesting(headers, duplicate)...)
	}
	return out
}

func sameNesting(headers []*node, known []bool) []int {
	var stack [][]string
	var out []int
	level := 0
	for i, h := range headers {
		switch {
		case level > h.level:
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		case level < h.level:
			stack = append(stack, []string{h.raw})
		case len(stack) > 0 && slices.Contains(stack[len(stack)-1], h.raw) && !known[i]:
			out = append(out, h.line)
		}
		level = h.level
	}
	return out
}

func md025(d *document, p map[string]any) []int {
	all := slices.DeleteFunc(top(d.root, header), func(h *node) bool { return !isInt(p["level"], h.level) })
	if len(all) == 0 || all[0].line != 1 {
		return nil
	}
	return numbers(all[1:])
}

func md026(d *document, p map[string]any) []int {
	ends := ending(p["punctuation"])
	return numbers(slices.DeleteFunc(find(d.root, header), func(h *node) bool { return !slices.ContainsFunc(strings.Split(h.raw, "\n"), ends) }))
}

// ending matches texts that end with one of the characters.
func ending(v any) func(string) bool {
	chars, _ := v.(string)
	class := newClass(chars)
	return func(s string) bool {
		r, size := utf8.DecodeLastRuneInString(s)
		return size > 0 && class(r)
	}
}

// newClass is what the characters mean inside of the brackets of a regular
// expression: ranges and a ^ in front are understood.
func newClass(chars string) func(rune) bool {
	not := strings.HasPrefix(chars, "^")
	rs := []rune(strings.TrimPrefix(chars, "^"))
	return func(r rune) bool {
		for i := 0; i < len(rs); i++ {
			switch {
			case rs[i] == '\\' && i+1 < len(rs):
				i++
				if rs[i] == r {
					return !not
				}
			case i+2 < len(rs) && rs[i+1] == '-':
				if rs[i] <= r && r <= rs[i+2] {
					return !not
				}
				i += 2
			case rs[i] == r:
				return !not
			}
		}
		return not
	}
}

func md027(d *document, _ map[string]any) []int {
	var out []int
	for _, q := range find(d.root, blockquote) {
		n := q.line
		for _, l := range d.extract(q, cutQuote, true) {
			if strings.HasPrefix(l, " ") {
				out = append(out, n)
			}
			n++
		}
	}
	return out
}

func cutQuote(l string) string {
	if i := skipSpace(l, 0); strings.HasPrefix(l[i:], "> ") {
		return l[i+2:]
	}
	return l
}

func md028(d *document, _ map[string]any) []int {
	var out []int
	var walk func(*node)
	walk = func(n *node) {
		for i, c := range n.children {
			if i >= 2 && c.kind == blockquote && n.children[i-1].kind == blank && n.children[i-2].kind == blockquote {
				out = append(out, c.line-1)
			}
			walk(c)
		}
	}
	walk(d.root)
	return out
}

func md029(d *document, p map[string]any) []int {
	var out []int
	for _, l := range find(d.root, ol) {
		for i, it := range top(l, li) {
			want := ""
			switch p["style"] {
			case symbol("one"):
				want = "1. "
			case symbol("ordered"):
				want = strconv.Itoa(i+1) + ". "
			}
			if want != "" && !strings.HasPrefix(strip(d.line(it)), want) {
				out = append(out, it.line)
			}
		}
	}
	return out
}

func md030(d *document, p map[string]any) []int {
	var out []int
	for _, l := range find(d.root, ul, ol) {
		name := "ul"
		if l.kind == ol {
			name = "ol"
		}
		its := top(l, li)
		form := "_single"
		if slices.ContainsFunc(its, func(n *node) bool { return len(n.children) > 1 }) {
			form = "_multi"
		}
		for _, it := range its {
			line := strings.TrimPrefix(d.line(it), "> ")
			i := skipSpace(line, 0)
			for i < len(line) && !isSpace(line[i]) {
				i++
			}
			if n := skipSpace(line, i) - i; n > 0 && !isInt(p[name+form], n) {
				out = append(out, it.line)
			}
		}
	}
	return out
}

// fenceMark returns the fence that a line begins with.
func fenceMark(l string) string {
	l = strip(l)
	for _, c := range []byte{'`', '~'} {
		if n := count(l, 0, c, len(l)); n >= 3 {
			return l[:n]
		}
	}
	return ""
}

// closedFence tells that what looks like a fence of backticks is code inside
// of text, since it ends on its line. mdl takes it for a fence.
func closedFence(l, fence string) bool {
	return fence[0] == '`' && strings.Contains(strip(l)[len(fence):], "`")
}

func md031(d *document, p map[string]any) []int {
	var out []int
	fence := ""
	lineOf := func(i int) string {
		if i < 0 || i >= len(d.lines) {
			return ""
		}
		return d.lines[i]
	}
	for i, l := range d.lines {
		m := fenceMark(l)
		if m == "" || fence != "" && !strings.HasPrefix(m, fence) || fence == "" && !d.exact && closedFence(l, m) {
			continue
		}
		opens := fence == ""
		fence = ""
		if opens {
			fence = m
		}
		if opens && lineOf(i-1) != "" || !opens && lineOf(i+1) != "" {
			out = append(out, i+1)
		}
	}
	if p["list_items"] == false {
		out = slices.DeleteFunc(out, func(n int) bool { return indentOf(d.lines[n-1]) > 0 })
	}
	return out
}

func listMarker(l string) bool {
	l = strip(l)
	i := skip(l, 0, "0123456789")
	if i > 0 && at(l, i) == '.' || i == 0 && l != "" && strings.IndexByte("*+-", l[0]) >= 0 {
		return i+1 < len(l) && isSpace(l[i+1])
	}
	return false
}

func md032(d *document, _ map[string]any) []int {
	var out []int
	inList, fence, prev := false, "", ""
	edge := func(l string) bool { return l == "" || isSpace(l[0]) }
	add := func(n int) {
		if !slices.Contains(out[max(0, len(out)-2):], n) {
			out = append(out, n)
		}
	}
	for i, l := range d.lines {
		if strip(l) == "{:toc}" {
			continue
		}
		if fence == "" {
			m := listMarker(l)
			if m && !inList && !edge(prev) {
				add(i + 1)
			} else if !m && inList && !edge(l) {
				add(i)
			}
			inList = m
		}
		if m := fenceMark(l); m != "" && (fence == "" && (d.exact || !closedFence(l, m)) || fence != "" && strings.HasPrefix(m, fence)) {
			if fence == "" {
				fence = m
			} else {
				fence = ""
			}
			inList = false
		}
		prev = l
	}
	return out
}

func md033(d *document, _ map[string]any) []int { return numbers(find(d.root, htmlElement)) }

func hasURL(l string) bool { return strings.Contains(l, "http://") || strings.Contains(l, "https://") }

func md034(d *document, _ map[string]any) []int {
	var out []int
	d.texts(func(l string, n int) {
		if hasURL(l) {
			out = append(out, n)
		}
	})
	return out
}

func md035(d *document, p map[string]any) []int {
	all := find(d.root, hr)
	if len(all) == 0 {
		return nil
	}
	style := p["style"]
	if style == symbol("consistent") {
		style = d.line(all[0])
	}
	return numbers(slices.DeleteFunc(all, func(n *node) bool { return d.line(n) == style }))
}

func md036(d *document, p map[string]any) []int {
	ends := ending(p["punctuation"])
	var out []int
	for _, para := range top(d.root, paragraph) {
		if len(para.children) != 1 || !is(para.children[0], em, strong) {
			continue
		}
		if lines := d.extract(para.children[0], nil, false); len(lines) == 1 && !ends(lines[0]) {
			out = append(out, para.line)
		}
	}
	return out
}

// spaceInside tells that white space stands just inside of what would be
// delimiters.
func spaceInside(l string, opening bool) bool {
	for _, m := range []string{"**", "*", "__", "_"} {
		first := strings.Index(l, m)
		if first < 0 {
			continue
		}
		for i := first; i+len(m) < len(l); i++ {
			if !strings.HasPrefix(l[i:], m) || i == 0 || !isSpace(l[i-1]) || !isSpace(l[i+len(m)]) {
				continue
			}
			after := i + len(m) + 1
			if opening && after < len(l) && strings.Contains(l[after+1:], m) {
				return true
			}
			if !opening && first+len(m)+1 <= i-1 {
				return true
			}
		}
	}
	return false
}

func md037(d *document, _ map[string]any) []int {
	var out []int
	seen := map[int]bool{}
	d.texts(func(l string, n int) {
		if !seen[n] && (spaceInside(l, true) || spaceInside(l, false)) {
			seen[n] = true
			out = append(out, n)
		}
	})
	slices.Sort(out)
	return out
}

func md038(d *document, _ map[string]any) []int {
	return numbers(slices.DeleteFunc(find(d.root, codespan), func(n *node) bool {
		c := string(n.text)
		return c == "" || !isSpace(c[0]) && !isSpace(c[len(c)-1]) || strings.Contains(c, "\n")
	}))
}

func md039(d *document, _ map[string]any) []int {
	return numbers(slices.DeleteFunc(find(d.root, link), func(n *node) bool {
		if len(n.children) == 0 || n.children[0].kind != text || n.last().kind != text {
			return true
		}
		return !strings.HasPrefix(string(n.children[0].text), " ") && !strings.HasSuffix(string(n.last().text), " ")
	}))
}

func md040(d *document, _ map[string]any) []int {
	return numbers(slices.DeleteFunc(find(d.root, codeblock), func(n *node) bool {
		return strings.HasPrefix(n.class, "language-") || strings.HasPrefix(d.line(n), "    ")
	}))
}

func md041(d *document, p map[string]any) []int {
	h := find(d.root, header)
	if len(h) == 0 || h[0].line != 1 || !isInt(p["level"], h[0].level) {
		return []int{1}
	}
	return nil
}

func md046(d *document, p map[string]any) []int {
	style := p["style"]
	var out []int
	for _, c := range find(d.root, codeblock) {
		indentedLine := strings.HasPrefix(d.line(c), "    ")
		if style == symbol("consistent") {
			style = symbol("fenced")
			if indentedLine {
				style = symbol("indented")
			}
		}
		if style != symbol("fenced") {
			if !indentedLine {
				out = append(out, c.line)
			}
			continue
		}
		ignored := 0
		if c.parent != nil && is(c.parent, li, codeblock) {
			ignored = indentOf(d.line(c.parent)) + 4
		}
		if strings.HasPrefix(d.line(c), strings.Repeat(" ", ignored+4)) {
			out = append(out, c.line)
		}
	}
	return out
}

func md047(d *document, _ map[string]any) []int {
	if n := len(d.lines); n > 0 && d.lines[n-1] != "" {
		return []int{n}
	}
	return nil
}
