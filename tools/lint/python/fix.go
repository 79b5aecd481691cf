// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"slices"
	"sort"
	"strings"
)

// maxRounds ends the mending of a text whose mends do not come to an end: it
// is then left alone.
const maxRounds = 60

// edit replaces a part of a text.
type edit struct {
	from, to int
	with     string
}

// mends are the ways to mend one text. Those of the layout leave all tokens as
// they are; those of statements do not.
type mends struct {
	layout, statements []edit
	fixed              []bool // for each fault: it is mended
}

// Fix implements lint.Fixer. It mends line endings, indentation, white space
// and blank lines, and splits lines that hold several statements. A text that
// cannot be split into tokens gets only the mends of line ends.
func (c *Checker) Fix(file string, raw []byte) ([]byte, error) {
	if c.excluded(file) {
		return raw, nil
	}
	src := decode(raw)
	text, ok := c.mend(src)
	if !ok || text == src.text && src.mixed == 0 || wideChars(text) != len(src.wide) {
		return raw, nil
	}
	return src.encode(text), nil
}

func wideChars(text string) int {
	n := 0
	for i := range len(text) {
		if text[i] >= 0x80 {
			n++
		}
	}
	return n
}

// mend repeats the mends until nothing is left to do.
func (c *Checker) mend(src *source) (string, bool) {
	text := src.text
	for range maxRounds {
		if len(text) > 16*len(src.text)+1024 {
			break // no mend makes a text that much longer
		}
		lines := splitLines(text)
		faults, tokens, syntax := examine(text, lines, c.s)
		if syntax == nil && (c.enabled("E101") || c.enabled("E111")) {
			_, plain := stringLines(tokens, len(lines))
			if r := c.reindented(&source{text: text, lines: lines}, tokens, plain, false); r != nil {
				next := strings.Join(r, "")
				if wideChars(next) == len(src.wide) && sameCode(tokens, next, true) {
					text = next
					continue
				}
			}
		}
		m := c.plan(text, lines, faults, tokens, syntax)
		next := apply(text, m.layout)
		if next != text {
			if syntax == nil && !sameCode(tokens, next, false) {
				return text, true
			}
			text = next
			continue
		}
		next = apply(text, m.statements)
		if next == text {
			return text, true
		}
		if _, err := tokenize(next, splitLines(next)); err != nil {
			return text, true
		}
		text = next
	}
	return src.text, false
}

// apply makes the edits that do not overlap.
func apply(text string, edits []edit) string {
	if len(edits) == 0 {
		return text
	}
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].from < edits[j].from })
	var b strings.Builder
	b.Grow(len(text) + len(edits))
	at := 0
	last := edit{from: -1}
	for _, e := range edits {
		if e.from < at || e == last {
			continue
		}
		b.WriteString(text[at:e.from])
		b.WriteString(e.with)
		at, last = e.to, e
	}
	b.WriteString(text[at:])
	return b.String()
}

// sameCode tells whether another text has the same tokens. moved: strings may
// differ in white space.
func sameCode(tokens []token, text string, moved bool) bool {
	other, err := tokenize(text, splitLines(text))
	if err != nil {
		return false
	}
	i, j := 0, 0
	for {
		for i < len(tokens) && tokens[i].kind == kindNL {
			i++
		}
		for j < len(other) && other[j].kind == kindNL {
			j++
		}
		if i == len(tokens) || j == len(other) {
			return i == len(tokens) && j == len(other)
		}
		a, b := &tokens[i], &other[j]
		i++
		j++
		if a.kind != b.kind {
			return false
		}
		switch a.kind {
		case kindNewline, kindIndent, kindDedent, kindComment:
			continue
		}
		if a.text != b.text && !(moved && a.kind == kindString && almostEqual(a.text, b.text)) {
			return false
		}
	}
}

// planner finds the edits for the faults of a text.
type planner struct {
	*Checker
	text   string
	lines  []string
	starts []int // offset of each line
	first  []int // for each row: the first row of its statement
	strs   []bool
	tokens []token
	syntax *syntaxError
	off    []bool
	m      mends
	split  int // row of the latest statement that was split at a colon
}

func (c *Checker) plan(text string, lines []string, faults []fault, tokens []token, syntax *syntaxError) mends {
	p := &planner{Checker: c, text: text, lines: lines, tokens: tokens, syntax: syntax}
	p.m.fixed = make([]bool, len(faults))
	if len(faults) == 0 {
		return p.m
	}
	p.starts = make([]int, len(lines))
	for i := 1; i < len(lines); i++ {
		p.starts[i] = p.starts[i-1] + len(lines[i-1])
	}
	p.strs, _ = stringLines(tokens, len(lines))
	p.off = disabled(lines)
	p.first = statementRows(tokens, len(lines))
	for i := range faults {
		f := &faults[i]
		if f.row < 1 || f.row > len(lines) || f.col < 0 || f.by&byStyle == 0 || p.off != nil && p.off[f.row-1] {
			continue
		}
		if syntax != nil && !strings.HasPrefix(f.code, "W") {
			continue
		}
		before := len(p.m.layout) + len(p.m.statements)
		p.one(f)
		p.m.fixed[i] = len(p.m.layout)+len(p.m.statements) > before
	}
	return p.m
}

// statementRows tells for each row where its statement begins; 0: it is in none.
func statementRows(tokens []token, rows int) []int {
	first := make([]int, rows+2)
	from := 0
	for i := range tokens {
		t := &tokens[i]
		switch t.kind {
		case kindNL, kindComment, kindIndent, kindDedent, kindEnd:
			continue
		}
		if from == 0 {
			from = t.start.row
		}
		for row := t.start.row; row <= t.end.row && row < len(first); row++ {
			first[row] = from
		}
		if t.kind == kindNewline {
			from = 0
		}
	}
	return first
}

// space is the blanks around a column; not ok when nothing else is on one of
// the sides.
func (p *planner) space(f *fault) (from, to int, ok bool) {
	line := p.lines[f.row-1]
	from = min(f.col, len(line))
	to = from
	for from > 0 && (line[from-1] == ' ' || line[from-1] == '\t') {
		from--
	}
	for to < len(line) && (line[to] == ' ' || line[to] == '\t') {
		to++
	}
	if from == 0 || to >= len(line) || line[to] == '\n' || line[to] == '\\' || line[to] == '\r' || line[to] == '\f' {
		return 0, 0, false
	}
	return p.starts[f.row-1] + from, p.starts[f.row-1] + to, true
}

func (p *planner) layout(from, to int, with string) {
	if p.text[from:to] != with {
		p.m.layout = append(p.m.layout, edit{from, to, with})
	}
}

// respace replaces the white space around the fault.
func (p *planner) respace(f *fault, with string) {
	from, to, ok := p.space(f)
	if ok && (p.text[to] != '#' || with == "  ") {
		p.layout(from, to, with)
	}
}

// closes tells whether no white space belongs in front of the character.
func closes(c byte) bool { return c < 0x80 && strings.IndexByte(",;:)]}", c) >= 0 }

// one plans the edit for a fault, if there is one.
func (p *planner) one(f *fault) {
	line := p.lines[f.row-1]
	start := p.starts[f.row-1]
	at := start + min(f.col, len(line))
	switch f.code {
	case "E201", "E202", "E203", "E211", "E251":
		p.respace(f, "")
	case "E221", "E222", "E223", "E224", "E241", "E242", "E271", "E272", "E273", "E274":
		p.respace(f, " ")
	case "E225", "E226", "E227", "E228", "E252", "E275":
		if f.col > 0 && f.col < len(line) && !closes(line[f.col]) {
			p.layout(at, at, " ")
		}
	case "E231":
		if f.col+1 < len(line) && line[f.col] == f.char && !closes(line[f.col+1]) {
			p.layout(at+1, at+1, " ")
		}
	case "E261":
		p.respace(f, "  ")
	case "E262", "E265", "E266":
		p.comment(f, line, start)
	case "E301", "E306":
		p.addBlank(f, 1)
	case "E302", "E305":
		p.addBlank(f, 2-f.n)
	case "E303":
		keep := 2
		if indentOf(line) > 0 {
			keep = 1
		}
		p.dropBlank(f.row, keep)
	case "E304":
		p.dropBlank(f.row, 0)
	case "E401", "E701", "E702", "E703":
		p.divide(f, line, start)
	case "E502":
		if f.col < len(line) && line[f.col] == '\\' {
			p.layout(start+len(strings.TrimRight(line[:f.col], " \t")), at+1, "")
		}
	case "E711", "E713", "E714":
		p.compare(f, line, start)
	default:
		p.ends(f, line, start)
	}
}

// ends plans the mends of line ends.
func (p *planner) ends(f *fault, line string, start int) {
	inString := f.row+1 < len(p.strs) && p.strs[f.row+1]
	if p.syntax != nil && f.row >= p.syntax.row {
		return
	}
	switch f.code {
	case "W291", "W293":
		bare := strings.TrimRight(line, "\n")
		stripped := strings.TrimRight(bare, " \t\v\f")
		if !inString && !strings.HasSuffix(stripped, "\\") {
			p.layout(start+len(stripped), start+len(bare), "")
		}
	case "W292":
		if !isBlank(line) && !strings.HasSuffix(line, "\n") && !strings.HasSuffix(line, "\\") {
			p.layout(len(p.text), len(p.text), "\n")
		}
	case "W391":
		row := f.row
		for row > 1 && strings.Trim(p.lines[row-2], " \t\n\f\v") == "" {
			row--
		}
		if row > 1 && strings.HasSuffix(strings.TrimRight(p.lines[row-2], "\n"), "\\") {
			row++ // the blank line belongs to the backslash
		}
		if row <= f.row && strings.Trim(line, " \t\n\f\v") == "" {
			p.layout(p.starts[row-1], len(p.text), "")
		}
	}
}

// comment plans the mend of how a comment starts.
func (p *planner) comment(f *fault, line string, start int) {
	if f.col >= len(line) || line[f.col] != '#' {
		return
	}
	text := line[f.col:]
	rest := strings.TrimLeft(text, "#")
	hashes := text[:len(text)-len(rest)]
	rest = strings.TrimLeft(rest, " \t")
	if f.code != "E265" {
		hashes, rest = "#", strings.TrimLeft(rest, "# \t")
	}
	if isBlank(rest) || rest[0] == charNBSP || strings.HasPrefix(rest, "!") || f.code == "E266" && strings.HasSuffix(trim(text), "#") {
		return
	}
	p.layout(start+f.col, start+len(line)-len(rest), hashes+" ")
}

// addBlank adds blank lines above a row and the comments that belong to it.
func (p *planner) addBlank(f *fault, n int) {
	row := f.row
	if n <= 0 {
		return
	}
	indent := indentOf(p.lines[row-1])
	for row > 1 {
		above := p.lines[row-2]
		if !strings.HasPrefix(trimLeft(above), "#") || indentOf(above) != indent || p.first[row-1] != 0 {
			break
		}
		row--
	}
	if row < 2 || strings.HasSuffix(strings.TrimRight(p.lines[row-2], "\n"), "\\") || n == 1 && f.code != "E302" && f.code != "E305" && isBlank(p.lines[row-2]) {
		return
	}
	p.m.layout = append(p.m.layout, edit{p.starts[row-1], p.starts[row-1], strings.Repeat("\n", n)})
}

// dropBlank removes blank lines above a row, but for some.
func (p *planner) dropBlank(row, keep int) {
	from := row
	for from > 1 && strings.Trim(p.lines[from-2], " \t\n\v") == "" {
		from--
	}
	if from > 1 && strings.HasSuffix(strings.TrimRight(p.lines[from-2], "\n"), "\\") {
		from++
	}
	if row-from > keep {
		p.layout(p.starts[from-1], p.starts[row-1-keep], "")
	}
}

// divide plans the split of a line that holds several statements.
func (p *planner) divide(f *fault, line string, start int) {
	first := p.first[f.row]
	if first == 0 {
		return
	}
	head := p.lines[first-1]
	indent := head[:len(head)-len(strings.TrimLeft(head, " \t"))]
	put := func(from, to int, with string) {
		p.m.statements = append(p.m.statements, edit{from, to, with})
	}
	switch f.code {
	case "E401":
		rest, ok := strings.CutPrefix(line, indent+"import")
		if !ok || first != f.row || strings.ContainsAny(rest, "#;\\") {
			return
		}
		for i := range len(line) {
			if line[i] == ',' {
				to := i + 1
				for to < len(line) && (line[to] == ' ' || line[to] == '\t') {
					to++
				}
				put(start+len(strings.TrimRight(line[:i], " \t")), start+to, "\n"+indent+"import ")
			}
		}
	case "E701":
		if first != f.row || p.split == first || !startsBlock(head) || f.col >= len(line) || line[f.col] != ':' {
			return
		}
		p.split = first
		to := f.col + 1
		for to < len(line) && (line[to] == ' ' || line[to] == '\t') {
			to++
		}
		if to < len(line) && line[to] != '\\' && line[to] != '\n' && line[to] != '#' {
			put(start+f.col+1, start+to, "\n"+indent+strings.Repeat(" ", p.o.IndentSize))
		}
	default:
		p.semicolon(f, line, start, indent, put)
	}
}

func (p *planner) semicolon(f *fault, line string, start int, indent string, put func(from, to int, with string)) {
	head := p.lines[p.first[f.row]-1]
	if f.col >= len(line) || line[f.col] != ';' {
		return
	}
	from := len(strings.TrimRight(line[:f.col], " \t"))
	if from == 0 {
		return
	}
	if f.code == "E703" {
		put(start+from, start+f.col+1, "")
		return
	}
	to := f.col + 1
	for to < len(line) && (line[to] == ' ' || line[to] == '\t') {
		to++
	}
	if startsBlock(head) || to >= len(line) || strings.IndexByte("\\\n#;", line[to]) >= 0 {
		return
	}
	put(start+from, start+to, "\n"+indent)
}

// compare plans the mends that change what a comparison does: they are made
// only when asked for.
func (p *planner) compare(f *fault, line string, start int) {
	put := func(from, to int, with string) {
		p.m.statements = append(p.m.statements, edit{from, to, with})
	}
	if f.code == "E711" {
		op := slice(line, f.col, f.col+2)
		if p.o.Aggressive < 1 || op != "==" && op != "!=" {
			return
		}
		with := " is "
		if op == "!=" {
			with = " is not "
		}
		from, to := f.col, f.col+2
		for from > 0 && (line[from-1] == ' ' || line[from-1] == '\t') {
			from--
		}
		for to < len(line) && (line[to] == ' ' || line[to] == '\t') {
			to++
		}
		if from > 0 && to < len(line) && line[to] != '\n' && line[to] != '\\' {
			put(start+from, start+to, with)
		}
		return
	}
	if p.o.Aggressive < 2 {
		return
	}
	i, _ := slices.BinarySearchFunc(p.tokens, position{f.row, f.col}, func(t token, at position) int {
		if t.start.row != at.row {
			return t.start.row - at.row
		}
		return t.start.col - at.col
	})
	for i < len(p.tokens) && p.tokens[i].text == "" {
		i++
	}
	if i >= len(p.tokens) || p.tokens[i].text != "not" {
		return
	}
	p.negation(i, start, put)
}

// negation turns not a in b into a not in b, when a is a plain operand.
func (p *planner) negation(i, start int, put func(from, to int, with string)) {
	not := &p.tokens[i]
	j := i + 1
	for j < len(p.tokens) && p.tokens[j].start.row == not.start.row && (isOperand(&p.tokens[j]) || p.tokens[j].text == ".") {
		j++
	}
	if j == i+1 || j+1 >= len(p.tokens) || p.tokens[j].end.row != not.start.row {
		return
	}
	op := &p.tokens[j]
	if op.text != "in" && op.text != "is" || p.tokens[j+1].text == "not" || p.chained(j+1) {
		return
	}
	put(start+not.start.col, start+p.tokens[i+1].start.col, "")
	if op.text == "in" {
		put(start+op.start.col, start+op.start.col, "not ")
	} else {
		put(start+op.end.col, start+op.end.col, " not")
	}
}

// chained tells whether another comparison follows on the same level.
func (p *planner) chained(i int) bool {
	depth := 0
	for ; i < len(p.tokens); i++ {
		t := &p.tokens[i]
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				return false
			}
		case "in", "is", "==", "!=", "<", ">", "<=", ">=":
			if depth == 0 {
				return true
			}
		case "and", "or", "if", "else", ":", ",", "for":
			if depth == 0 {
				return false
			}
		}
		if t.kind == kindNewline {
			return false
		}
	}
	return false
}
