// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import "strings"

// hasPipe tells that the line has a bar that divides cells.
func hasPipe(line string) bool {
	if strings.HasPrefix(line, "|") {
		return true
	}
	for i := 1; i < len(line); i++ {
		if line[i] == '|' && line[i-1] != '\\' && line[i-1] != '\n' {
			return true
		}
	}
	return false
}

// onlyOf tells that the line consists of the characters of set and has one of
// need.
func onlyOf(line, set string, need byte) bool {
	line = strings.TrimSuffix(line, "\n")
	return strings.Trim(line, set) == "" && strings.IndexByte(line, need) >= 0
}

func separator(line string) bool { return onlyOf(line, "+|: \t-", '-') }

func footer(line string) bool { return onlyOf(line, "+|: \t=", '=') }

func (p *parser) lineAt(i int) string {
	end := lineEnd(p.src.s, i)
	if end < 0 {
		return ""
	}
	return p.src.s[i:end]
}

// table reads a table, which needs no more than a bar in each of its lines.
func (p *parser) table() bool {
	s, pos := p.src.s, p.src.pos
	first := p.lineAt(pos)
	j := optSpace(first, 0)
	if first == "" || isSpace(first[j]) || !hasPipe(first[j:]) || !p.afterBoundary() {
		return false
	}
	t := &node{kind: table, line: p.src.line()}
	rows := &tableRows{p: p, table: t, leading: strings.HasPrefix(strings.TrimLeft(first, " \t"), "|")}
	if separator(first) {
		p.src.pos += len(first)
	}
	for !p.src.eos() {
		line := p.lineAt(p.src.pos)
		if line == "" || !hasPipe(line) {
			break
		}
		rows.take(line)
	}
	if !p.beforeBoundary() || !p.spend(p.src.pos-pos) || !p.pipes(s[pos:p.src.pos-1]) || !rows.finish() {
		p.spend(p.src.pos - pos)
		p.src.pos = pos
		return false
	}
	p.tree.add(p.block(t))
	return true
}

// tableRows gathers rows into the parts of a table.
type tableRows struct {
	p                 *parser
	table             *node
	rows              []*node
	leading           bool
	head, foot, found bool
}

func (t *tableRows) take(line string) {
	switch {
	case separator(line):
		t.p.src.pos += len(line)
		if len(t.rows) == 0 {
			return
		}
		if !t.head && !t.foot {
			t.head = true
			t.close()
			return
		}
		t.body(false)
	case footer(line):
		t.p.src.pos += len(line)
		if len(t.rows) > 0 {
			t.body(true)
		}
		t.foot = true
	default:
		t.p.src.pos += len(line)
		t.rows = append(t.rows, t.row(strings.TrimRight(strings.TrimSuffix(line, "\n"), " \t")))
	}
}

func (t *tableRows) close() {
	t.table.add(&node{kind: tableBody, children: t.rows})
	t.rows = nil
}

func (t *tableRows) body(force bool) {
	if !t.foot || force {
		t.found = true
		t.close()
	}
}

func (t *tableRows) finish() bool {
	if len(t.rows) > 0 {
		if !t.foot {
			t.found = true
		}
		t.close()
	}
	return t.found
}

func (t *tableRows) row(line string) *node {
	row := &node{kind: tr}
	var cells []string
	add := func(s string) {
		if len(cells) == 0 {
			cells = append(cells, s)
		} else {
			cells[len(cells)-1] += s
		}
	}
	for i, part := range splitCode(line) {
		if i%2 == 1 {
			add(part)
			continue
		}
		for _, c := range t.p.inline(part, 1, onlyCode) {
			if c.kind != rawText {
				d := codeDelimiter(string(c.text))
				add(d + string(c.text) + reverseDelimiter(d))
				continue
			}
			pieces := splitBars(string(c.text))
			add(pieces[0])
			cells = append(cells, pieces[1:]...)
		}
	}
	if t.leading && len(cells) > 0 && strip(cells[0]) == "" {
		cells = cells[1:]
	}
	if n := len(cells); n > 0 && strip(cells[n-1]) == "" {
		cells = cells[:n-1]
	}
	for _, c := range cells {
		row.add(&node{kind: td, children: []*node{{kind: rawText, text: []byte(strip(c))}}})
	}
	return row
}

// codeDelimiter is a delimiter that the code does not contain.
func codeDelimiter(code string) string {
	longest, n := 0, 0
	for i := range len(code) {
		if code[i] != '`' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	if longest == 0 {
		return "`"
	}
	return strings.Repeat("`", longest+1) + " "
}

func reverseDelimiter(d string) string {
	if t := strings.TrimSuffix(d, " "); t != d {
		return " " + t
	}
	return d
}

// splitBars splits at bars without a backslash.
func splitBars(s string) []string {
	var parts []string
	start := 0
	for i := range len(s) {
		if s[i] == '|' && at(s, i-1) != '\\' {
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	parts = append(parts, s[start:])
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], `\|`, "|")
	}
	return parts
}

// splitCode splits at <code> elements: those are the odd parts.
func splitCode(s string) []string {
	var parts []string
	for {
		i := strings.Index(s, "<code")
		if i < 0 {
			break
		}
		j := strings.IndexByte(s[i:], '>')
		if j < 0 {
			break
		}
		k := strings.Index(s[i+j:], "</code>")
		if k < 0 {
			break
		}
		end := i + j + k + len("</code>")
		parts = append(parts, s[:i], s[i:end])
		s = s[end:]
	}
	if s != "" || len(parts) == 0 {
		parts = append(parts, s)
	}
	return parts
}

// pipes tells that the bars which make the text a table are not all inside of
// code or HTML.
func (p *parser) pipes(s string) bool {
	on := false
	for _, c := range p.inline(s, 1, onlyCode|spanHTML) {
		if c.kind == image || c.kind != rawText && c.kind != codespan && c.kind != htmlElement && c.kind != comment {
			continue
		}
		lines := splitLines(string(c.text))
		n := len(lines)
		if c.kind == codespan {
			if n > 2 || n == 2 && !on {
				break
			}
			if n == 2 {
				on = false
			}
			continue
		}
		if n > 1 && !on && !hasPipe(lines[0]) {
			break
		}
		if n > 1 {
			on = false
		}
		on = on || n > 0 && hasPipe(lines[n-1])
	}
	return on
}

// splitLines splits at newlines and drops empty lines at the end, as Ruby's
// split does.
func splitLines(s string) []string {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
