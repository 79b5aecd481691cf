// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"fmt"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

func finding(file string, f fault, severity lint.Severity, fixable bool) lint.Finding {
	return lint.Finding{File: file, Line: f.row, Column: f.col + 1, Rule: f.code, Message: message(f), Severity: severity, Fixable: fixable}
}

// message says what is wrong.
func message(f fault) string {
	switch f.code {
	case "E303":
		return fmt.Sprintf("%d blank lines are too many here", f.n)
	case "E302":
		return fmt.Sprintf("a definition wants 2 blank lines above it, there are %d", f.n)
	case "E305":
		return fmt.Sprintf("2 blank lines are wanted after a definition, there are %d", f.n)
	case "E501":
		return fmt.Sprintf("line has %d characters", f.n)
	case "E201":
		return fmt.Sprintf("white space after %q", f.char)
	case "E202", "E203", "E211":
		return fmt.Sprintf("white space before %q", f.char)
	case "E231":
		return fmt.Sprintf("no white space after %q", f.char)
	case "E241":
		return fmt.Sprintf("more than one space after %q", f.char)
	case "W605":
		if f.char >= 0x80 {
			return "a backslash in front of a character that it does not escape"
		}
		return fmt.Sprintf(`the escape \%c does not exist`, f.char)
	}
	if m := layoutMessage(f.code); m != "" {
		return m
	}
	return codeMessage(f.code)
}

func layoutMessage(code string) string {
	return map[string]string{
		"E101": "indentation mixes tabs and spaces",
		"E111": "indentation is no multiple of four",
		"E112": "an indented block is missing",
		"E113": "indentation without a block",
		"E114": "indentation of the comment is no multiple of four",
		"E115": "the comment is not indented like its block",
		"E116": "the comment is indented without a block",
		"E117": "indented too far",
		"E121": "continuation line: hanging indent is too small",
		"E122": "continuation line: indentation is missing",
		"E123": "closing bracket is not aligned with the line that opens it",
		"E124": "closing bracket is not aligned with its opening bracket",
		"E125": "continuation line looks like the block that follows",
		"E126": "continuation line: hanging indent is too large",
		"E127": "continuation line is right of its opening bracket's content",
		"E128": "continuation line is left of its opening bracket's content",
		"E129": "aligned continuation line looks like the block that follows",
		"E131": "continuation line: hanging indents differ",
		"E133": "closing bracket is not indented",
		"E301": "a blank line is missing above the method",
		"E304": "blank line after a decorator",
		"E306": "a blank line is missing above the nested definition",
		"W191": "indentation has tabs",
		"W291": "white space at the end of the line",
		"W292": "the last line has no line ending",
		"W293": "blank line with white space",
		"W391": "blank line at the end of the file",
		"W503": "line breaks before an operator",
		"W504": "line breaks after an operator",
	}[code]
}

func codeMessage(code string) string {
	return map[string]string{
		"E221": "more than one space before the operator",
		"E222": "more than one space after the operator",
		"E223": "tab before the operator",
		"E224": "tab after the operator",
		"E225": "no white space around the operator",
		"E226": "no white space around the arithmetic operator",
		"E227": "no white space around the bitwise operator",
		"E228": "no white space around the modulo operator",
		"E242": "tab after punctuation",
		"E251": "white space around the = of a parameter",
		"E252": "no white space around the = of an annotated parameter",
		"E261": "fewer than two spaces before the comment",
		"E262": "comment after code does not start with '# '",
		"E265": "comment does not start with '# '",
		"E266": "comment starts with more than one #",
		"E271": "more than one space after the keyword",
		"E272": "more than one space before the keyword",
		"E273": "tab after the keyword",
		"E274": "tab before the keyword",
		"E275": "no white space after the keyword",
		"E401": "more than one import on a line",
		"E402": "import of the module is not at the top of the file",
		"E502": "backslash within brackets is not needed",
		"E701": "statement behind a colon",
		"E702": "more than one statement on a line",
		"E703": "semicolon at the end of a statement",
		"E704": "body of the function is on the line of its def",
		"E711": "comparison with None: use is or is not",
		"E712": "comparison with a boolean: use is, or the value itself",
		"E713": "use not in",
		"E714": "use is not",
		"E721": "comparison of types: use isinstance",
		"E722": "except without an exception",
		"E731": "a lambda gets a name: use def",
		"E741": "a name that looks like a digit",
		"E742": "a class name that looks like a digit",
		"E743": "a function name that looks like a digit",
		"E901": "the file cannot be split into tokens",
		"W606": "async and await are keywords",
	}[code]
}
