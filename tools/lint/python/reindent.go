// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"slices"
	"strings"
)

// firstChange is the first row that differs.
func firstChange(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i + 1
		}
	}
	return min(len(a), len(b)) + 1
}

// step is a line that begins a statement, and the depth of its block; -1 for
// a comment.
type step struct{ row, level int }

// reindented gives the lines with each block indented by the same number of
// spaces; nil when nothing changes. exact: as autopep8 does it, which doubles a
// form feed in front of a statement.
func (c *Checker) reindented(src *source, tokens []token, strs []bool, exact bool) []string {
	if c.regular(src.lines, tokens, strs) {
		return nil
	}
	// White space in front of lines decides what the tokens are.
	plain := c.cleaned(src.lines, strs, exact)
	tokens, err := tokenize(strings.Join(plain, ""), plain)
	if err != nil {
		return nil
	}
	after := c.shift(plain, steps(tokens), strs)
	if slices.Equal(after, src.lines) {
		return nil
	}
	return after
}

// regular tells quickly that nothing would change.
func (c *Checker) regular(lines []string, tokens []token, strs []bool) bool {
	for i, line := range lines {
		if strs[i+1] {
			continue
		}
		if line[0] == ' ' && isBlank(line) && i+1 < len(lines) {
			return false
		}
		for j := 0; j < len(line) && isSpace(line[j]); j++ {
			if line[j] != ' ' && line[j] != '\n' {
				return false
			}
		}
	}
	for _, s := range steps(tokens) {
		if s.level >= 0 && spaces(lines[s.row-1]) != s.level*c.o.IndentSize {
			return false
		}
		if s.level < 0 && spaces(lines[s.row-1])%c.o.IndentSize != 0 {
			return false
		}
	}
	return true
}

// cleaned gives the lines with tabs of their indentation expanded.
func (c *Checker) cleaned(lines []string, strs []bool, exact bool) []string {
	out := make([]string, len(lines))
	keepTabs := !c.enabled("W191")
	for i, line := range lines {
		if strs[i+1] {
			out[i] = line
			continue
		}
		indent := indentation(line)
		if !keepTabs {
			indent = expand(indent)
		}
		rest := strings.TrimLeft(line, " \t\v")
		if !exact && !isBlank(line) {
			rest = strings.TrimLeft(line, " \t")
			indent = line[:len(line)-len(rest)]
			if !keepTabs {
				indent = expand(indent)
			}
		}
		if i+1 < len(lines) {
			rest = strings.TrimRight(rest, "\r\n") + "\n"
		}
		out[i] = indent + rest
	}
	return out
}

func expand(indent string) string {
	if strings.IndexByte(indent, '\t') < 0 {
		return indent
	}
	var b strings.Builder
	for i := range len(indent) {
		if indent[i] == '\t' {
			b.WriteString(strings.Repeat(" ", 8-b.Len()%8))
		} else {
			b.WriteByte(indent[i])
		}
	}
	return b.String()
}

// steps finds where statements and comments begin.
func steps(tokens []token) []step {
	var found []step
	fresh, level := true, 0
	for i := range tokens {
		t := &tokens[i]
		switch t.kind {
		case kindNewline:
			fresh = true
		case kindIndent:
			fresh = true
			level++
		case kindDedent:
			fresh = true
			level--
		case kindComment:
			if fresh {
				found = append(found, step{t.start.row, -1})
			}
		case kindNL:
		default:
			if fresh && t.line != "" {
				found = append(found, step{t.start.row, level})
			}
			fresh = false
		}
	}
	return found
}

func spaces(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// shift moves each statement to where its block is.
func (c *Checker) shift(lines []string, found []step, strs []bool) []string {
	end := step{len(lines) + 1, 0}
	all := append(slices.Clone(found), end)
	after := make([]string, 0, len(lines))
	after = append(after, lines[:all[0].row-1]...)
	want := map[int]int{}
	for i, s := range all[:len(all)-1] {
		have := spaces(lines[s.row-1])
		target := s.level * c.o.IndentSize
		if s.level < 0 {
			target = c.comment(lines, after, all, i, want)
		}
		want[have] = target
		diff := target - have
		for row := s.row; row < all[i+1].row; row++ {
			line := lines[row-1]
			switch {
			case diff == 0 || have == 0 || strs[row]:
			case diff > 0 && line != "\n":
				line = strings.Repeat(" ", diff) + line
			case diff < 0:
				line = line[min(spaces(line), -diff):]
			}
			after = append(after, line)
		}
	}
	return after
}

// comment is the indentation of a comment line: that of the statement it was
// written under or in front of.
func (c *Checker) comment(lines, after []string, all []step, i int, want map[int]int) int {
	have := spaces(lines[all[i].row-1])
	if have == 0 {
		return 0
	}
	if w, ok := want[have]; ok {
		return w
	}
	for _, next := range all[i+1 : len(all)-1] {
		if next.level >= 0 {
			if have == spaces(lines[next.row-1]) {
				return next.level * c.o.IndentSize
			}
			break
		}
	}
	for j := i - 1; j >= 0; j-- {
		if all[j].level >= 0 {
			if w := have + spaces(after[all[j].row-1]) - spaces(lines[all[j].row-1]); w >= 0 {
				return w
			}
			break
		}
	}
	return have
}
