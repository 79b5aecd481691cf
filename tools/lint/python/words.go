// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

// isKeyword tells whether the word is reserved in Python 3.11.
func isKeyword(word string) bool {
	switch word {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
		"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
		"not", "or", "pass", "raise", "return", "try", "while", "with", "yield":
		return true
	}
	return false
}

func isSingleton(word string) bool { return word == "None" || word == "False" || word == "True" }

// isStyleKeyword tells whether the rules for white space take the word as a
// keyword: print was one.
func isStyleKeyword(word string) bool {
	return word == "print" || isKeyword(word) && !isSingleton(word)
}

// isSoftKeyword tells whether the word is a keyword in some places.
func isSoftKeyword(word string) bool { return word == "_" || word == "case" || word == "match" }

func isArithmetic(op string) bool {
	switch op {
	case "**", "*", "/", "//", "+", "-", "@":
		return true
	}
	return false
}

// mayTouch tells whether white space around the operator is optional.
func mayTouch(op string) bool {
	switch op {
	case "^", "&", "|", "<<", ">>", "%":
		return true
	}
	return isArithmetic(op)
}

func isUnary(op string) bool {
	switch op {
	case ">>", "**", "*", "+", "-":
		return true
	}
	return false
}

// needsSpace tells whether the operator wants white space on both sides.
func needsSpace(op string) bool {
	switch op {
	case "**=", "*=", "/=", "//=", "+=", "-=", "!=", "<>", "<", ">", "%=", "^=", "&=", "|=", "==", "<=", ">=", "<<=", ">>=",
		"=", "and", "in", "is", "or", "->", ":=":
		return true
	}
	return false
}

// isBreakable tells whether a line may break at the operator.
func isBreakable(k kind, op string) bool {
	if k != kindOp && op != "and" && op != "or" {
		return false
	}
	switch op {
	case "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "@", "=", "%", "~", "...":
		return false
	}
	return true
}

// startsDef tells whether a function definition begins here.
func startsDef(line string) bool {
	if word(line) == "async" {
		rest := trimLeft(line[len("async"):])
		return len(rest) < len(line)-len("async") && word(rest) == "def"
	}
	return word(line) == "def"
}

// startsTopLevel tells whether a function, a class or a decorator begins here.
func startsTopLevel(line string) bool {
	if line == "" {
		return false
	}
	if line[0] == '@' {
		return true
	}
	w := word(line)
	if w == "async" {
		rest := trimLeft(line[len(w):])
		if len(rest) == len(line)-len(w) {
			return false
		}
		line, w = rest, word(rest)
		if w != "def" {
			return false
		}
	}
	return (w == "def" || w == "class") && len(line) > len(w) && isSpace(line[len(w)])
}

// startsBlock tells whether the line begins with a keyword that opens a block.
func startsBlock(line string) bool {
	line = trimLeft(line)
	w := word(line)
	if w == "async" {
		rest := trimLeft(line[len(w):])
		w = word(rest)
		return len(rest) < len(line)-len("async") && (w == "def" || w == "for" || w == "with")
	}
	switch w {
	case "def", "for", "if", "elif", "else", "try", "except", "finally", "with", "class", "while":
		return true
	}
	return false
}

// word is the word at the start.
func word(s string) string {
	i := 0
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return s[:i]
}

// startsString tells whether the line begins like a documentation string.
func startsString(line string) bool {
	if line != "" && line[0] == 'u' {
		line = line[1:]
	}
	if line != "" && line[0] == 'r' {
		line = line[1:]
	}
	return line != "" && (line[0] == '"' || line[0] == '\'')
}
