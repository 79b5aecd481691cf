// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import "strings"

// tokenRules applies the rules that look at the tokens of the logical line.
func (s *scanner) tokenRules() {
	s.continuations()
	s.comments()
	if s.logical == "" {
		return
	}
	s.afterKeyword()
	s.beforeParameters()
	s.missingAround()
	s.defaults()
	s.backslashes()
	s.lineBreaks()
	s.ambiguous()
	s.asyncNames()
	if !s.noqa {
		s.escapes()
	}
}

// afterKeyword applies E275.
func (s *scanner) afterKeyword() {
	for i := 0; i+1 < len(s.tokens); i++ {
		a, b := &s.tokens[i], &s.tokens[i+1]
		if a.end != b.start || a.kind != kindName || !isKeyword(a.text) || isSingleton(a.text) {
			continue
		}
		switch {
		case a.text == "async" || a.text == "await":
		case a.text == "except" && b.text == "*":
		case a.text == "yield" && b.text == ")":
		case b.text == "" || b.text == ":" || b.text == "\n":
		default:
			s.place(a.end, "E275")
		}
	}
}

// beforeParameters applies E211.
func (s *scanner) beforeParameters() {
	for i := 1; i < len(s.tokens); i++ {
		t, before := &s.tokens[i], &s.tokens[i-1]
		if t.kind != kindOp || t.text != "(" && t.text != "[" || t.start == before.end {
			continue
		}
		if before.kind != kindName && !oneOf("}])", before.text) {
			continue
		}
		if i >= 2 && s.tokens[i-2].text == "class" || isKeyword(before.text) || isSoftKeyword(before.text) {
			continue
		}
		s.put(fault{row: before.end.row, col: before.end.col, code: "E211", by: byBoth, char: t.text[0]})
	}
}

// around is the state of the rules for white space around operators.
type around struct {
	need      need
	at        position // in front of the operator
	spaced    bool     // white space is in front of it
	parens    int
	last      kind
	text      string
	end       position
	someToken bool
}

type need uint8

const (
	needNone  need = iota
	needBoth       // white space on both sides
	needEqual      // on both sides or on none
)

// missingAround applies E225 to E228.
func (s *scanner) missingAround() {
	a := around{last: kindOp}
	for i := range s.tokens {
		t := &s.tokens[i]
		switch t.kind {
		case kindNL, kindNewline, kindIndent, kindDedent, kindComment, kindError:
			continue
		}
		switch t.text {
		case "(", "lambda":
			a.parens++
		case ")":
			a.parens--
		}
		if a.need != needNone {
			s.afterOperator(&a, t)
		} else if (t.kind == kindOp || t.kind == kindName) && a.someToken {
			s.atOperator(&a, t)
		}
		a.last, a.text, a.end, a.someToken = t.kind, t.text, t.end, true
	}
}

// afterOperator judges the white space behind an operator.
func (s *scanner) afterOperator(a *around, t *token) {
	both := a.need == needBoth
	switch {
	case t.start != a.end:
		if !both && !a.spaced {
			s.place(a.at, "E225")
		}
		a.need = needNone
	case t.text == ">" && (a.text == "<" || a.text == "-"):
	case a.text == "/" && (t.text == "," || t.text == ")" || t.text == ":") || a.text == ")" && t.text == ":":
	default:
		switch {
		case both || a.spaced:
			s.place(a.end, "E225")
		case a.text == "**":
		case a.text == "%":
			s.place(a.at, "E228")
		case isArithmetic(a.text):
			s.place(a.at, "E226")
		default:
			s.place(a.at, "E227")
		}
		a.need = needNone
	}
}

// atOperator tells what white space an operator wants.
func (s *scanner) atOperator(a *around, t *token) {
	switch {
	case t.text == "=" && a.parens != 0:
		return
	case needsSpace(t.text):
		if t.start == a.end {
			s.place(a.end, "E225")
			return
		}
		a.need = needBoth
		return
	case isUnary(t.text):
		operand := a.last == kindOp && (a.text == "}" || a.text == "]" || a.text == ")") ||
			a.last != kindOp && !isStyleKeyword(a.text) && !isSoftKeyword(a.text)
		if !operand {
			return
		}
	case !mayTouch(t.text):
		return
	}
	a.need, a.at, a.spaced = needEqual, a.end, t.start != a.end
}

// defaults applies E251 and E252.
func (s *scanner) defaults() {
	parens := 0
	none, wanted, annotated := false, false, false
	definition := startsDef(s.logical)
	var end position
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.kind == kindNL {
			continue
		}
		if none && t.start != end {
			s.place(end, "E251")
		}
		if wanted && t.start == end {
			s.place(end, "E252")
		}
		none, wanted = false, false
		if t.kind == kindOp {
			switch {
			case t.text == "(" || t.text == "[":
				parens++
			case t.text == ")" || t.text == "]":
				parens--
			case definition && t.text == ":" && parens == 1:
				annotated = true
			case parens == 1 && t.text == ",":
				annotated = false
			case parens != 0 && t.text == "=" && annotated && parens == 1:
				wanted = true
				if t.start == end {
					s.place(end, "E252")
				}
			case parens != 0 && t.text == "=":
				none = true
				if t.start != end {
					s.place(end, "E251")
				}
			}
			annotated = annotated && parens != 0
		}
		end = t.end
	}
}

// comments applies E261 to E266.
func (s *scanner) comments() {
	var end position
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.kind != kindComment {
			if t.kind != kindNL {
				end = t.end
			}
			continue
		}
		inline := !isBlank(slice(t.line, 0, t.start.col))
		if inline && end.row == t.start.row && t.start.col < end.col+2 {
			s.place(end, "E261")
		}
		symbol, comment, _ := strings.Cut(t.text, " ")
		bad := byte(0)
		if symbol != "#" && symbol != "#:" {
			bad = '#'
			if rest := strings.TrimLeft(symbol, "#"); rest != "" {
				bad = rest[0]
			}
		}
		switch {
		case inline:
			if bad != 0 || comment != "" && (comment[0] == ' ' || comment[0] == '\t' || comment[0] == charNBSP) {
				s.place(t.start, "E262")
			}
		case bad == 0 || bad == '!' && t.start.row == 1:
		case bad != '#':
			s.place(t.start, "E265")
		case comment != "":
			s.place(t.start, "E266")
		}
	}
}

// backslashes applies E502.
func (s *scanner) backslashes() {
	lastStart, lastEnd, parens := 0, 0, 0
	comment := false
	var backslash position
	for i := range s.tokens {
		t := &s.tokens[i]
		comment = comment || t.kind == kindComment
		if t.start.row != lastStart && parens != 0 && backslash.row != 0 && !comment {
			s.place(backslash, "E502")
		}
		if t.end.row != lastEnd {
			backslash = position{}
			if line := strings.TrimRight(t.line, "\r\n"); strings.HasSuffix(line, "\\") {
				from := strings.LastIndexAny(line, "\n\r\v\f\x1c\x1d\x1e") + 1
				from = max(from, strings.LastIndexByte(line, charBreak)+1)
				backslash = position{t.end.row, len(line) - from - 1}
			}
			lastStart, lastEnd = t.end.row, t.end.row
		} else {
			lastStart = t.start.row
		}
		if t.kind == kindOp {
			switch t.text {
			case "(", "[", "{":
				parens++
			case ")", "]", "}":
				parens--
			}
		}
	}
}

// lineBreaks applies W503 and W504.
func (s *scanner) lineBreaks() {
	broken, unary := false, true
	var before *token
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.kind == kindComment {
			continue
		}
		if t.kind != kindString && strings.ContainsAny(t.text, "\r\n") {
			broken = true
			continue
		}
		if broken && !unary {
			here := isBreakable(t.kind, t.text)
			there := before != nil && isBreakable(before.kind, before.text)
			if here && !there {
				s.place(t.start, "W503")
			} else if there && !here {
				s.place(before.start, "W504")
			}
		}
		unary = oneOf("([{,;", t.text)
		broken = false
		before = t
	}
}

func isAmbiguous(name string) bool { return name == "l" || name == "O" || name == "I" }

// ambiguous applies E741 to E743.
func (s *scanner) ambiguous() {
	const none = -1 << 30
	function, depth := none, 0
	parameters := false
	for i := 1; i < len(s.tokens); i++ {
		t, before := &s.tokens[i], &s.tokens[i-1]
		if before.text == "def" || before.text == "lambda" {
			function, parameters = depth, true
		} else if function != none && t.text == ":" && depth == function {
			parameters = false
		}
		if oneOf("([{", t.text) {
			depth++
		} else if oneOf(")]}", t.text) {
			depth--
		}
		var at position
		if (t.text == ":=" || t.text == "=" && depth == 0) && isAmbiguous(before.text) {
			at = before.start
		}
		if isAmbiguous(t.text) {
			switch before.text {
			case "as", "for", "global", "nonlocal":
				at = t.start
			case "class":
				s.place(t.start, "E742")
			case "def":
				s.place(t.start, "E743")
			case "lambda", ",", "*", "**", "(":
				if function != none && parameters && i+1 < len(s.tokens) && oneOf(":,=)", s.tokens[i+1].text) {
					at = t.start
				}
			}
		}
		if at.row != 0 {
			s.place(at, "E741")
		}
	}
}

// escapes applies W605.
func (s *scanner) escapes() {
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.kind != kindString || strings.IndexByte(t.text, '\\') < 0 {
			continue
		}
		text := t.text
		quotes := 1
		if strings.HasSuffix(text, `"""`) || strings.HasSuffix(text, "'''") {
			quotes = 3
		}
		from := strings.IndexByte(text, text[len(text)-1])
		if strings.ContainsAny(text[:from], "rR") {
			continue
		}
		row, start := t.start.row, -t.start.col // offset of the row's first character
		for j := 0; j < len(text)-quotes; j++ {
			switch text[j] {
			case '\n':
				row, start = row+1, j+1
			case '\\':
				j++
				if j < len(text) && !isEscape(text[j]) {
					s.put(fault{row: row, col: j - 1 - start, code: "W605", by: byBoth, char: text[j]})
				}
				if j < len(text) && text[j] == '\n' {
					row, start = row+1, j+1
				}
			}
		}
	}
}

func isEscape(c byte) bool {
	return c < 0x80 && strings.IndexByte("\n\\'\"abfnrtv01234567xNuU", c) >= 0
}

// asyncNames applies W606.
func (s *scanner) asyncNames() {
	state := ""
	var at position
	for i := range s.tokens {
		t := &s.tokens[i]
		if t.kind == kindNL {
			continue
		}
		name := t.kind == kindName
		wrong := false
		switch state {
		case "":
			if name && (t.text == "async" || t.text == "await" || t.text == "def" || t.text == "for") {
				state, at = t.text, t.start
			}
			continue
		case "async":
			wrong = !name || t.text != "def" && t.text != "with" && t.text != "for"
		case "await":
			wrong = !name && (t.kind != kindOp || t.text != "(")
		default:
			wrong = name && (t.text == "async" || t.text == "await")
		}
		if wrong {
			s.place(at, "W606")
		}
		state = ""
	}
	if state != "" {
		s.place(at, "W606")
	}
}
