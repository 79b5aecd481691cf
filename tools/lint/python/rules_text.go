// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import "strings"

// textRules applies the rules that need only the text of the logical line.
func (s *scanner) textRules() {
	s.extraneous()
	s.aroundKeywords()
	s.missingAfter()
	s.aroundOperators()
	s.afterComma()
	s.imports()
	s.compound()
	s.negative()
	if !s.noqa {
		s.singletons()
		s.types()
		if rest, ok := strings.CutPrefix(s.logical, "except"); ok && strings.HasPrefix(trimLeft(rest), ":") {
			s.at(0, "E722")
		}
	}
}

// extraneous applies E201 to E203: white space inside of brackets and before
// punctuation.
func (s *scanner) extraneous() {
	line := s.logical
	for i := 0; i+1 < len(line); i++ {
		a, b := line[i], line[i+1]
		switch {
		case (a == '[' || a == '(' || a == '{') && (b == ' ' || b == '\t'):
			s.atChar(i+1, "E201", a)
			i++
		case (a == ' ' || a == '\t') && strings.IndexByte("]}),;:", b) >= 0 && (i+2 >= len(line) || line[i+2] != '='):
			before := line[len(line)-1]
			if i > 0 {
				before = line[i-1]
			}
			if before != ',' {
				code := "E203"
				if b == ']' || b == '}' || b == ')' {
					code = "E202"
				}
				s.atChar(i, code, b)
			}
			i++
		}
	}
}

// aroundKeywords applies E271 to E274.
func (s *scanner) aroundKeywords() {
	line := s.logical
	used := 0 // white space up to here belongs to the keyword before
	for i := 0; i < len(line); {
		if !isWord(line[i]) {
			i++
			continue
		}
		w := word(line[i:])
		end := i + len(w)
		if !isStyleKeyword(w) {
			i = end
			continue
		}
		from := i
		for from > used && isSpace(line[from-1]) {
			from--
		}
		to := end
		for to < len(line) && isSpace(line[to]) {
			to++
		}
		if before := line[from:i]; strings.Contains(before, "\t") {
			s.at(from, "E274")
		} else if len(before) > 1 {
			s.at(from, "E272")
		}
		if after := line[end:to]; strings.Contains(after, "\t") {
			s.at(end, "E273")
		} else if len(after) > 1 {
			s.at(end, "E271")
		}
		used, i = to, to
	}
}

// missingAfter applies E231: white space after a comma, semicolon or colon.
func (s *scanner) missingAfter() {
	line := s.logical
	square, lastSquare, lastCurly := 0, -1, -1
	for i := 0; i+1 < len(line); i++ {
		c, next := line[i], line[i+1]
		switch c {
		case '[':
			square++
			lastSquare = i
		case ']':
			square--
		case '{':
			lastCurly = i
		case ',', ';', ':':
			switch {
			case next == ' ' || next == '\t' || next == charNBSP:
			case c == ':' && square > 0 && lastCurly < lastSquare: // a slice
			case c == ',' && (next == ')' || next == ']'):
			case c == ':' && next == '=':
			default:
				s.atChar(i, "E231", c)
			}
		}
	}
}

// aroundOperators applies E221 to E224.
func (s *scanner) aroundOperators() {
	line := s.logical
	const symbols = "-+*/|!<=>%&^"
	for i := 0; i < len(line); {
		if line[i] == ',' || isSpace(line[i]) {
			i++
			continue
		}
		from := i + 1
		op := from
		for op < len(line) && isSpace(line[op]) {
			op++
		}
		end := op
		for end < len(line) && strings.IndexByte(symbols, line[end]) >= 0 {
			end++
		}
		if end == op && strings.HasPrefix(line[op:], ":=") {
			end += 2
		}
		if end == op {
			i = max(op, i+1)
			continue
		}
		to := end
		for to < len(line) && isSpace(line[to]) {
			to++
		}
		if before := line[from:op]; strings.Contains(before, "\t") {
			s.at(from, "E223")
		} else if len(before) > 1 {
			s.at(from, "E221")
		}
		if after := line[end:to]; strings.Contains(after, "\t") {
			s.at(end, "E224")
		} else if len(after) > 1 {
			s.at(end, "E222")
		}
		i = to
	}
}

// afterComma applies E241 and E242.
func (s *scanner) afterComma() {
	line := s.logical
	for i := 0; i < len(line); i++ {
		if line[i] != ',' && line[i] != ';' && line[i] != ':' {
			continue
		}
		end := i + 1
		for end < len(line) && isSpace(line[end]) {
			end++
		}
		space := line[i+1 : end]
		if strings.Contains(space, "\t") {
			s.atChar(i+1, "E242", line[i])
		} else if strings.Contains(space, "  ") {
			s.atChar(i+1, "E241", line[i])
		}
		i = end - 1
	}
}

// imports applies E401 and E402.
func (s *scanner) imports() {
	line := s.logical
	if strings.HasPrefix(line, "import ") {
		if i := strings.IndexByte(line, ','); i >= 0 && !strings.Contains(line[:i], ";") {
			s.at(i, "E401")
		}
	}
	if s.level > 0 || s.noqa {
		return
	}
	switch {
	case strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "from "):
		if s.otherThanImp {
			s.at(0, "E402")
		}
	case isDunder(line):
	case allowsImports(line):
	case isLiteral(line):
		if s.docstring {
			s.otherThanImp = true
		}
		s.docstring = true
	default:
		s.otherThanImp = true
	}
}

// allowsImports tells whether imports may follow the statement.
func allowsImports(line string) bool {
	for _, w := range []string{"try", "except", "else", "finally", "with", "if", "elif"} {
		if strings.HasPrefix(line, w) {
			return true
		}
	}
	return false
}

func isLiteral(line string) bool {
	if strings.IndexByte("uUbB", line[0]) >= 0 {
		line = line[1:]
	}
	if line != "" && (line[0] == 'r' || line[0] == 'R') {
		line = line[1:]
	}
	return line != "" && (line[0] == '"' || line[0] == '\'')
}

// isDunder tells whether a name such as __all__ is assigned.
func isDunder(line string) bool {
	if !strings.HasPrefix(line, "__") {
		return false
	}
	end := 2
	for end < len(line) && !isSpace(line[end]) {
		end++
	}
	name, rest := line[2:end], line[end:]
	if len(name) > 2 && strings.HasSuffix(name, "__") {
		return strings.HasPrefix(rest, " = ")
	}
	i := strings.LastIndex(name, "__:")
	if i < 1 {
		return false
	}
	kind := name[i+3:]
	if kind == "" {
		kind = trimLeft(rest)
		n := 0
		for n < len(kind) && !isSpace(kind[n]) {
			n++
		}
		kind, rest = kind[:n], kind[n:]
	}
	for i := range len(kind) {
		c := kind[i]
		if c|0x20 < 'a' || c|0x20 > 'z' || c >= 0x80 {
			if strings.IndexByte(".0123456789_[]\"", c) < 0 {
				return false
			}
		}
	}
	return kind != "" && strings.HasPrefix(rest, " = ")
}

// compound applies E701 to E704 and E731.
func (s *scanner) compound() {
	line := s.logical
	last := len(line) - 1
	lambda := findWord(line, "lambda")
	curly, square, round := 0, 0, 0
	from := 0
	definition, block := startsDef(line), startsBlock(line)
	for found := strings.IndexByte(line, ':'); found >= 0 && found < last; {
		for i := from; i < found; i++ {
			switch line[i] {
			case '{':
				curly++
			case '}':
				curly--
			case '[':
				square++
			case ']':
				square--
			case '(':
				round++
			case ')':
				round--
			}
		}
		if curly <= 0 && square <= 0 && round <= 0 && line[found+1] != '=' {
			if lambda >= 0 && lambda+len("lambda") <= found {
				before := trimRight(line[:lambda])
				if name, ok := strings.CutSuffix(before, "="); ok && isIdentifier(trim(name)) {
					s.at(0, "E731")
				}
				break
			}
			if definition {
				s.at(0, "E704")
			} else if block {
				s.at(found, "E701")
			}
		}
		from = found
		next := strings.IndexByte(line[found+1:], ':')
		if next < 0 {
			break
		}
		found += 1 + next
	}
	for i := 0; i < len(line); i++ {
		if line[i] == ';' {
			if i < last {
				s.at(i, "E702")
			} else {
				s.at(i, "E703")
			}
		}
	}
}

// findWord is the offset of a whole word, or -1.
func findWord(line, w string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], w)
		if i < 0 {
			return -1
		}
		i += from
		if isWhole(line, i, len(w)) {
			return i
		}
		from = i + len(w)
	}
}

// isWhole tells whether no word character is next to the n at i.
func isWhole(line string, i, n int) bool {
	return (i == 0 || !isWord(line[i-1])) && (i+n >= len(line) || !isWord(line[i+n]))
}

// singletons applies E711 and E712.
func (s *scanner) singletons() {
	line := s.logical
	used := 0
	for i := 0; i+1 < len(line); i++ {
		if line[i+1] != '=' || line[i] != '=' && line[i] != '!' || i < used {
			continue
		}
		left := i
		for left > used && isSpace(line[left-1]) {
			left--
		}
		name, end := "", i+2
		for end < len(line) && isSpace(line[end]) {
			end++
		}
		for _, w := range []string{"None", "False", "True"} {
			start := left - len(w)
			if start >= used && line[start:left] == w && (start == 0 || !isWord(line[start-1])) && edge(line, i+2, end) {
				name = w
			}
		}
		if name == "" {
			if w := word(line[end:]); isSingleton(w) {
				name = w
				end += len(w)
			}
		}
		if name == "" {
			continue
		}
		code := "E712"
		if name == "None" {
			code = "E711"
		}
		s.at(i, code)
		used = max(end, i+2)
	}
}

// edge tells whether a word begins or ends in the white space from a to b.
func edge(line string, a, b int) bool {
	return b < len(line) && isWord(line[b]) && (b > a || !isWord(line[a-1]))
}

// negative applies E713 and E714.
func (s *scanner) negative() {
	at, op := findNegative(s.logical)
	if at < 0 {
		return
	}
	if op == "in" {
		s.at(at, "E713")
	} else {
		s.at(at, "E714")
	}
}

// findNegative is the offset of the not in a text such as not a in b, and the
// operator; -1 if there is none.
func findNegative(line string) (int, string) {
	for from := 0; ; {
		i := findWord(line[from:], "not")
		if i < 0 {
			return -1, ""
		}
		i += from
		from = i + len("not")
		if i > 0 && isWord(line[i-1]) || i >= 3 && line[i-3:i-1] == "is" && isSpace(line[i-1]) {
			continue
		}
		j := skipSpace(line, from)
		k := j
		for k < len(line) && !isSpace(line[k]) && strings.IndexByte("[](){}", line[k]) < 0 {
			k++
		}
		m := skipSpace(line, k)
		if j == from || k == j || m == k {
			continue
		}
		w := word(line[m:])
		if (w == "in" || w == "is") && m+2 < len(line) && isSpace(line[m+2]) {
			return i, w
		}
	}
}

func skipSpace(line string, i int) int {
	for i < len(line) && isSpace(line[i]) {
		i++
	}
	return i
}

// types applies E721.
func (s *scanner) types() {
	line := s.logical
	if !strings.Contains(line, "type") {
		return
	}
	for i := 0; i+1 < len(line); i++ {
		end := 0
		switch pair := line[i : i+2]; pair {
		case "==", "!=":
			end = i + 2
		case "is":
			end = i + 2
			if j := skipSpace(line, end); j > end && strings.HasPrefix(line[j:], "not") {
				if k := skipSpace(line, j+3); k > j+3 {
					end = j + 3
				}
			}
		default:
			continue
		}
		j := skipSpace(line, end)
		if j == end || !strings.HasPrefix(line[j:], "type") {
			continue
		}
		found, inner := typeCall(line[j+len("type"):])
		if !found {
			continue
		}
		if isIdentifier(inner) && !isSingleton(inner) {
			return
		}
		s.at(i, "E721")
		return
	}
}

// typeCall tells whether what follows the word type names one: s.IntType or
// (inner).
func typeCall(rest string) (found bool, inner string) {
	if len(rest) > 2 && rest[0] == 's' {
		if w := word(rest[2:]); len(w) > 4 && strings.Contains(w[1:], "Type") {
			return true, ""
		}
	}
	rest, ok := strings.CutPrefix(trimLeft(rest), "(")
	if !ok {
		return false, ""
	}
	end := strings.IndexByte(rest, ')')
	if end < 0 {
		return false, ""
	}
	inner = trim(rest[:end])
	return inner != "", inner
}
