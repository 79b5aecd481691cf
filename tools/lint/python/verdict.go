// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"strings"
)

// verdict tells what autopep8 would change.
type verdict struct {
	fails    []bool   // for each fault
	lines    []string // the lines with other indentation; nil: it is right
	reindent int      // first line whose indentation it would change; 0: none
}

// judge tells which faults autopep8 would mend.
func (c *Checker) judge(src *source, faults []fault, tokens []token, syntax *syntaxError) verdict {
	v := verdict{fails: make([]bool, len(faults))}
	strs, plain := stringLines(tokens, len(src.lines))
	if syntax == nil && (c.enabled("E101") || c.enabled("E111")) {
		if r := c.reindented(src, tokens, plain, true); r != nil {
			v.reindent, v.lines = firstChange(src.lines, r), r
			for i, f := range faults {
				if v.moves(src, f) {
					v.fails[i] = true
				}
			}
		}
	}
	m := &mender{Checker: c, lines: src.lines, tokens: tokens}
	off := disabled(src.lines)
	for i := range faults {
		f := &faults[i]
		if f.row < 1 || f.row > len(src.lines) || f.by&byFixer == 0 || off != nil && off[f.row-1] {
			continue
		}
		if c.survives(f, strs, plain, syntax != nil) && m.mends(f) {
			v.fails[i] = true
			markTwin(faults, v.fails, i)
		}
	}
	return v
}

// markTwin lets what pycodestyle says of a place fail with what autopep8 says.
func markTwin(faults []fault, fails []bool, i int) {
	for j := i - 1; j >= 0 && faults[j].row == faults[i].row && faults[j].col == faults[i].col; j-- {
		fails[j] = fails[j] || faults[j].code == faults[i].code
	}
}

func isIndentation(code string) bool {
	return strings.HasPrefix(code, "E1") || code == "W191" || code == "W293"
}

// survives applies the filters of autopep8.
func (c *Checker) survives(f *fault, strs, plain []bool, syntax bool) bool {
	inString := func(lines []bool, row int) bool { return row < len(lines) && lines[row] }
	code := f.code
	level := c.o.Aggressive
	switch {
	case inString(plain, f.row) && (strings.HasPrefix(code, "E1") || code == "E501" || code == "W191"):
		return false
	case code == "E501" && inString(strs, f.row):
		return false
	case level <= 0 && inString(strs, f.row+1) && (strings.HasPrefix(code, "W29") || strings.HasPrefix(code, "W39")):
		return false
	case level <= 0 && (code == "E711" || strings.HasPrefix(code, "E72") || strings.HasPrefix(code, "W6")):
		return false
	case level <= 1 && (code == "E712" || code == "E713" || code == "E714"):
		return false
	case level <= 2 && code == "E704":
		return false
	case syntax && (strings.HasPrefix(code, "E1") || strings.HasPrefix(code, "E7")):
		return false
	}
	return true
}

// stringLines tells for each row whether it continues a string, and whether
// that string is no documentation.
func stringLines(tokens []token, rows int) (all, plain []bool) {
	all, plain = make([]bool, rows+2), make([]bool, rows+2)
	last := kindEnd
	for i := range tokens {
		t := &tokens[i]
		if t.kind == kindString {
			for row := t.start.row + 1; row <= t.end.row && row < len(all); row++ {
				all[row] = true
				plain[row] = plain[row] || last != kindIndent
			}
		}
		last = t.kind
	}
	return all, plain
}

// disabled tells which lines are between comments that switch autopep8 off
// and on again; nil: none.
func disabled(lines []string) []bool {
	var off []bool
	now := false
	for i, line := range lines {
		was := now
		for rest := line; ; {
			_, after, ok := strings.Cut(rest, "#")
			if !ok {
				break
			}
			rest = after
			switch directive(after) {
			case "off":
				now = true
			case "on":
				now = false
			}
		}
		if (was || now) && off == nil {
			off = make([]bool, len(lines))
		}
		if was || now {
			off[i] = true
		}
	}
	return off
}

func directive(comment string) string {
	comment = strings.TrimLeft(comment, " ")
	for _, tool := range []string{"fmt:", "autopep8:"} {
		if rest, ok := strings.CutPrefix(comment, tool); ok {
			rest = strings.TrimLeft(rest, " ")
			if strings.HasPrefix(rest, "off") {
				return "off"
			}
			if strings.HasPrefix(rest, "on") {
				return "on"
			}
		}
	}
	return ""
}

// mender knows what the fixers of autopep8 do to a line.
type mender struct {
	*Checker
	lines  []string
	tokens []token
	first  []int // for each row: the first row of its statement
	judged int   // the statement that was judged last
	block  bool  // and whether it holds a block
}

// mends tells whether the fixer for the fault changes anything.
func (m *mender) mends(f *fault) bool {
	line := m.lines[f.row-1]
	switch f.code {
	case "E101", "E111", "E114", "W191", "E901", "E741", "E742", "E743", "E721", "W606":
		return false // no fixer, or only that of the whole file
	case "E112", "E115", "E116":
		return strings.HasPrefix(trimLeft(line), "#")
	case "E113":
		return indentation(line) != ""
	case "E117":
		indent := indentation(line)
		return indent != "" && indent != "\t"
	case "E121", "E122", "E123", "E124", "E126", "E127", "E128", "E129":
		return strings.Repeat(" ", max(f.n, 0))+trimLeft(line) != line
	case "E125":
		return f.n > len(indentation(line))
	case "E131", "E133":
		return f.n != len(indentation(line)) || f.n == 0
	case "E201", "E202", "E203", "E211":
		return respaces(line, f.col, "")
	case "E221", "E222", "E223", "E241", "E271", "E272", "E273", "E274", "E275":
		return respaces(line, f.col, " ")
	case "E224", "E242":
		return strings.Contains(slice(line, f.col, len(line)), "\t")
	case "E231":
		rest := slice(line, f.col+1, len(line))
		return rest == "" || rest[0] != ' ' || len(rest) > 1 && isSpace(rest[1])
	case "E251":
		c := min(f.col, len(line)-1)
		return c >= 0 && isSpace(line[c])
	}
	return m.mendsRest(f, line)
}

// mendsRest is mends for what is not white space within a line.
func (m *mender) mendsRest(f *fault, line string) bool {
	switch f.code {
	case "E261", "E262":
		return mendComment(line, f.col+1) != line
	case "E265", "E266":
		return mendBlock(line, f.code) != line
	case "E302":
		return f.n < 2
	case "E303":
		return m.blankAbove(f.row - 2)
	case "E304":
		return f.row >= 2 && isBlank(m.lines[f.row-2])
	case "E305":
		return f.n < 2 || m.blankAbove(f.row-2)
	case "E401":
		return strings.HasPrefix(trimLeft(line), "import")
	case "E501":
		return m.splits(f)
	case "E702":
		return !m.inBlock(f)
	case "E711", "E712", "E713", "E714":
		return true
	case "E722":
		return true
	case "E704":
		return strings.Contains(line, "):")
	case "E731":
		return mendsLambda(line)
	}
	return true
}

func (m *mender) blankAbove(i int) bool {
	for ; i >= 0; i-- {
		if isBlank(m.lines[i]) {
			return true
		}
	}
	return false
}

// respaces tells whether autopep8 changes the white space around an offset to
// that one. It leaves the space in front of a comment alone.
func respaces(line string, at int, with string) bool {
	const space = "\n\r \t\\"
	at = min(max(at, 0), len(line))
	from, to := at, at
	for from > 0 && strings.IndexByte(space, line[from-1]) >= 0 {
		from--
	}
	for to < len(line) && strings.IndexByte(space, line[to]) >= 0 {
		to++
	}
	return line[from:to] != with && (to == len(line) || line[to] != '#')
}

// mendComment puts two spaces in front of a comment and one into it.
func mendComment(line string, at int) string {
	code := strings.TrimRight(slice(line, 0, at), " \t#")
	comment := strings.TrimLeft(slice(line, at, len(line)), " \t#")
	if isBlank(comment) {
		return code + "\n"
	}
	return code + "  # " + comment
}

// mendBlock mends the start of a comment of its own line.
func mendBlock(line, code string) string {
	indent := indentation(line)
	rest := strings.TrimLeft(line, " \t")
	if code == "E266" {
		if strings.HasSuffix(trim(line), "#") {
			return line
		}
		return indent + "# " + strings.TrimLeft(line, "# \t")
	}
	comment := strings.TrimLeft(rest, "#")
	hashes := rest[:len(rest)-len(comment)]
	comment = strings.TrimLeft(comment, " \t")
	switch {
	case strings.HasPrefix(comment, "!"):
		return line
	case isBlank(comment):
		return indent + hashes + "\n"
	}
	return indent + hashes + " " + comment
}

// inBlock tells whether the statement with the semicolon has one of its lines
// begin with a keyword that opens a block: autopep8 leaves that alone.
func (m *mender) inBlock(f *fault) bool {
	if m.first == nil {
		m.first = statementRows(m.tokens, len(m.lines))
	}
	first := m.first[f.row]
	if first == m.judged {
		return m.block
	}
	m.judged, m.block = first, false
	for row := first; row <= len(m.lines) && m.first[row] == first; row++ {
		if line := m.lines[row-1]; strings.Contains(line, ":") && startsBlock(line) {
			m.block = true
			break
		}
	}
	return m.block
}

// mendsLambda tells whether the line assigns a lambda in the form that
// autopep8 turns into a function.
func mendsLambda(line string) bool {
	for from := 0; ; {
		i := strings.Index(line[from:], "lambda")
		if i < 0 {
			return false
		}
		i += from
		from = i + len("lambda")
		b := i
		if b < 4 || !isSpace(line[b-1]) || line[b-2] != '=' || !isSpace(line[b-3]) || !isWord(line[b-4]) && line[b-4] != '.' {
			continue
		}
		j := skipSpace(line, from)
		for j < len(line) && (isWord(line[j]) || isSpace(line[j]) || strings.IndexByte(")(=,.", line[j]) >= 0) {
			j++
		}
		if j < len(line) && line[j] == ':' {
			return true
		}
	}
}

// moves tells whether the fault is one of indentation, on a line that the
// mending of indentation changes.
func (v *verdict) moves(src *source, f fault) bool {
	return isIndentation(f.code) && f.row >= 1 && f.row <= len(v.lines) && f.row <= len(src.lines) && v.lines[f.row-1] != src.lines[f.row-1]
}
