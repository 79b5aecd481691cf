// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"math"
	"strings"
)

// maxSplits is how many places to break a line are compared: beyond that, one
// that exists is enough.
const maxSplits = 200

// maxRanked is the length of a line up to which they are looked for: a longer
// one breaks at a bracket.
const maxRanked = 20_000

// splits tells whether autopep8 breaks a long line: it does so only where both
// parts together are a statement of their own, and where that looks better.
func (m *mender) splits(f *fault) bool {
	line := m.lines[f.row-1]
	if strings.HasPrefix(trimLeft(line), "#") {
		return m.o.Aggressive > 0
	}
	indent := indentation(line)
	text := line[len(indent):]
	if len(text) > maxRanked {
		return strings.ContainsAny(text, "([{")
	}
	tokens, err := tokenize(text, []string{text})
	if err != nil {
		return false
	}
	before := ""
	if f.row >= 2 {
		before = m.lines[f.row-2]
	}
	candidates := m.candidates(tokens, text, indent, before)
	if len(candidates) > maxSplits {
		return true
	}
	best, rank := line, m.rank(line)
	for _, c := range candidates {
		if r := m.rank(c); r < rank || r == rank && c < best {
			best, rank = c, r
		}
	}
	return best != line && longest(best) <= longest(line) && !almostEqual(best, line)
}

// candidates are the ways to break a line.
func (m *mender) candidates(tokens []token, text, indent, before string) []string {
	var found []string
	statement := isStatement(tokens, m.o.Aggressive > 0)
	word := m.indentWord()
	depth := 0
	part := func(line string) bool {
		return strings.Contains(line, `"""`) || strings.Contains(line, "'''") || strings.HasSuffix(trimRight(line), "\\")
	}
	block := startsBlock(text)
	for i := range tokens {
		if len(found) > maxSplits {
			return found
		}
		t := &tokens[i]
		if t.kind == kindComment && !part(before) && !part(text) && !isPragma(t.text) {
			found = append(found, indent+trim(text[t.start.col:])+"\n"+indent+trim(text[:t.start.col])+"\n")
		}
		if t.kind != kindOp || t.text == "=" {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
		first, rest := text[:t.end.col], trimLeft(text[t.end.col:])
		if rest == "" || rest[0] == '#' || rest[0] == ',' || strings.HasSuffix(first, ".") {
			continue
		}
		joint := "\n"
		if t.text == "+" || t.text == "-" || t.text == "*" || t.text == "/" {
			joint = " \\\n"
		} else if depth == 0 && (t.text != ":" || !block) {
			continue
		}
		if !statement {
			continue
		}
		found = append(found, indent+first+joint+secondIndent(first, rest, indent, word)+rest)
	}
	return found
}

// secondIndent is the indentation of the second part of a broken line.
func secondIndent(first, rest, indent, word string) string {
	switch open := strings.IndexByte(first, '('); {
	case strings.HasSuffix(first, "(") && rest[0] == ')':
		return indent
	case strings.HasSuffix(first, "(") || open < 0:
		return indent + word
	default:
		return indent + strings.Repeat(" ", open+1)
	}
}

// indentWord is the first indentation in the file.
func (m *mender) indentWord() string {
	for i := range m.tokens {
		if m.tokens[i].kind == kindIndent {
			return m.tokens[i].text
		}
	}
	return "    "
}

func isPragma(comment string) bool {
	comment = strings.ToLower(trim(comment[1:]))
	return strings.HasPrefix(comment, "noqa") || strings.HasPrefix(comment, "pragma:") || strings.HasPrefix(comment, "pylint:")
}

func longest(text string) int {
	n := 0
	for _, line := range strings.Split(text, "\n") {
		n = max(n, len(line))
	}
	return n
}

// almostEqual tells whether two texts differ only in white space.
func almostEqual(a, b string) bool {
	squeeze := func(s string) string {
		var out strings.Builder
		for _, line := range strings.Split(s, "\n") {
			if isBlank(line) {
				continue
			}
			for i := range len(line) {
				if !isSpace(line[i]) {
					out.WriteByte(line[i])
				}
			}
			out.WriteByte('\n')
		}
		return out.String()
	}
	return squeeze(a) == squeeze(b)
}

// isStatement guesses whether the tokens of a line are a whole statement that
// may stand outside of a function. part allows the head of a block, too.
func isStatement(tokens []token, part bool) bool {
	var code []token
	for _, t := range tokens {
		switch t.kind {
		case kindComment, kindNL, kindNewline, kindIndent, kindDedent, kindEnd:
		case kindError:
			return false
		default:
			code = append(code, t)
		}
	}
	if len(code) == 0 || !balanced(code) {
		return false
	}
	last := code[len(code)-1]
	switch code[0].text {
	case "elif", "else", "except", "finally", "break", "continue", "nonlocal", "await", ".", "**", ")", "and", "or", "in", "is":
		return false
	case "return", "@":
		return part
	case "if", "while", "for", "with", "def", "class", "try", "async":
		return last.text != ":" || part
	}
	if last.text == ":" || last.kind == kindOp && isArithmetic(last.text) {
		return false
	}
	return operands(code) && targets(code)
}

// balanced tells whether every bracket has its partner.
func balanced(code []token) bool {
	var stack []byte
	for _, t := range code {
		if t.kind != kindOp {
			continue
		}
		switch c := t.text[0]; c {
		case '(', '[', '{':
			stack = append(stack, c)
		case ')', ']', '}':
			if len(stack) == 0 || strings.IndexByte("([{", stack[len(stack)-1]) != strings.IndexByte(")]}", c) {
				return false
			}
			stack = stack[:len(stack)-1]
		}
	}
	return len(stack) == 0
}

// operands tells whether operators are between operands.
func operands(code []token) bool {
	depth := 0
	for i := range code {
		t := &code[i]
		switch t.text {
		case "yield", "await":
			return false
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ":":
			if depth == 0 && i == 1 && code[0].kind == kindString {
				return false
			}
		case "for":
			if depth == 0 && i > 0 {
				return false
			}
		}
		if i == 0 {
			continue
		}
		before := &code[i-1]
		if isOperand(before) && isOperand(t) && (before.kind != kindString || t.kind != kindString) {
			return false
		}
	}
	return true
}

func isOperand(t *token) bool {
	return t.kind == kindNumber || t.kind == kindString || t.kind == kindName && (!isKeyword(t.text) || isSingleton(t.text))
}

// targets tells whether what is on the left of each = may be assigned to.
func targets(code []token) bool {
	depth, last := 0, -1
	for i, t := range code {
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case "=":
			if depth == 0 {
				last = i
			}
		}
	}
	depth = 0
	for i := 0; i < last; i++ {
		t := &code[i]
		switch t.text {
		case "(", "[", "{":
			if t.text == "(" && i > 0 && (isOperand(&code[i-1]) || code[i-1].text == ")" || code[i-1].text == "]") && depth == 0 {
				j := i + 1 // a call: only something of its result may be assigned to
				for level := 1; j < last && level > 0; j++ {
					switch code[j].text {
					case "(", "[", "{":
						level++
					case ")", "]", "}":
						level--
					}
				}
				if j >= len(code) || code[j].text != "." && code[j].text != "[" {
					return false
				}
			}
			depth++
		case ")", "]", "}":
			depth--
		default:
			if depth > 0 {
				continue
			}
			if t.kind == kindNumber || t.kind == kindString || isSingleton(t.text) || t.kind == kindName && isKeyword(t.text) ||
				t.kind == kindOp && (isArithmetic(t.text) && t.text != "*" || t.text == "==" || t.text == "%") {
				return false
			}
		}
	}
	return true
}

// rank says how ugly a text is, as autopep8 sees it.
func (m *mender) rank(text string) float64 {
	text = trimRight(text)
	if text == "" {
		return 0
	}
	lines := strings.Split(text, "\n")
	rank := float64(len(lines))
	offset := 0
	head := lines[0]
	if bare := trimRight(head); !strings.HasPrefix(trimLeft(head), "#") && bare != "" && strings.IndexByte("([{", bare[len(bare)-1]) < 0 {
		for _, pair := range []string{"()", "[]", "{}"} {
			open, end := strings.IndexByte(head, pair[0]), strings.IndexByte(head, pair[1])
			if open >= 0 && (end < 0 || end != open+1) {
				offset = max(offset, open+1)
			}
		}
	}
	longest := 0
	var sum, squares float64
	for _, l := range lines {
		longest = max(longest, offset+len(trim(l)))
		sum += float64(len(l))
	}
	mean := sum / float64(len(lines))
	for _, l := range lines {
		squares += (float64(len(l)) - mean) * (float64(len(l)) - mean)
	}
	rank += 4*float64(max(0, longest-m.o.MaxLineLength)) + 2*math.Sqrt(squares/float64(len(lines)))
	if len(lines) > 1 && head != "" {
		if i := strings.IndexByte("([{", head[len(head)-1]); i >= 0 && strings.HasPrefix(trimLeft(lines[1]), ")]}"[i:i+1]) {
			rank += 20
		}
	}
	word := len(m.indentWord())
	for i := range lines {
		if line := trim(lines[i]); !strings.HasPrefix(line, "#") {
			rank += m.rankLine(lines, i, line, word)
		}
	}
	return max(0, rank)
}

func endsIn(line, set string) bool {
	return line != "" && strings.IndexByte(set, line[len(line)-1]) >= 0
}

func (m *mender) rankLine(lines []string, i int, line string, word int) float64 {
	rank := 0
	if line != "" && strings.IndexByte(".%+-/", line[0]) >= 0 {
		rank += 100
		if len(line) == 1 {
			rank += 1000
		}
	}
	if endsIn(line, ".%+-/") && strings.Contains(line, "': ") {
		rank += 1000
	}
	if endsIn(line, "([{.") {
		rank += rankOpen(line, word)
	}
	bare := strings.TrimRight(line, "\\ ")
	if endsIn(bare, "-+~") {
		if b := trimRight(bare[:len(bare)-1]); endsIn(b, "([{") {
			rank += 1000
		}
	}
	if b, ok := strings.CutSuffix(bare, "*"); ok && strings.HasSuffix(trimRight(b), "lambda") {
		rank += 1000
	}
	if endsIn(line, "%([{") {
		rank -= 20
	}
	if strings.HasPrefix(line, "for ") {
		rank -= 50
	}
	if strings.HasSuffix(line, "\\") {
		rank += m.rankBackslash(lines[i+1:], len(line))
	}
	if strings.HasSuffix(line, ":") {
		rank += 100
		if strings.Contains(line, ",") {
			rank += 10
		}
	}
	for _, pair := range []string{"()", "[]", "{}"} {
		n := strings.Count(line, pair[:1]) - strings.Count(line, pair[1:])
		rank += 10 * max(n, -n)
	}
	return float64(rank)
}

func rankOpen(line string, word int) int {
	rank := 0
	if len(line) <= word {
		rank += 100
	}
	if b, ok := strings.CutSuffix(line, "("); ok && strings.HasSuffix(trimRight(b), ",") {
		rank += 100
	}
	if strings.HasSuffix(line, "[") && len(line) > 1 {
		if c := line[len(line)-2]; c == ']' || isWord(c) && c != '_' {
			rank += 300
		}
	}
	if strings.HasSuffix(line, ".") {
		rank += 100
	}
	if strings.ContainsAny(line, "*/+-@") {
		rank += 100
	}
	return rank
}

// rankBackslash ranks a backslash by how long the line is without it.
func (m *mender) rankBackslash(rest []string, total int) int {
	for _, l := range rest {
		total += len(l)
		if strings.HasPrefix(trimLeft(l), "#") {
			total = m.o.MaxLineLength
			break
		}
		if !strings.HasSuffix(l, "\\") {
			break
		}
	}
	if total < m.o.MaxLineLength {
		return 10
	}
	return 1
}
