// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"errors"
	"fmt"

	"mvdan.cc/sh/v3/syntax"
)

// maxOpenings bounds how many constructs a script may open. The parser calls
// itself for each, and a stack that overflows ends the whole program; about
// 2 KiB of stack go to each level.
const maxOpenings = 100_000

// ErrNested says that a script opens more constructs than the parser can take.
var ErrNested = errors.New("the script opens too many constructs to be parsed safely")

// Parse reads a script in the given dialect. Comments are kept. An error in
// the script is a syntax.ParseError or a syntax.LangError.
func Parse(name string, text []byte, dialect syntax.LangVariant) (*syntax.File, error) {
	if openings(text) > maxOpenings {
		return nil, fmt.Errorf("%w: more than %d", ErrNested, maxOpenings)
	}
	p := syntax.NewParser(syntax.KeepComments(true), syntax.Variant(dialect))
	return p.Parse(bytes.NewReader(text), name)
}

// openings is an upper bound of how deep the parser may have to go. It knows
// nothing of quotes and comments: a script that has so many of these
// characters is larger than anything that people write.
func openings(text []byte) int {
	count, arithmetic, word := 0, false, 0
	for i, c := range text {
		letter := c >= 'a' && c <= 'z'
		if !letter {
			if opensBlock(text[i-word : i]) {
				count++
			}
			word = 0
		} else {
			word++
		}
		switch c {
		case '(', '[':
			count++
			arithmetic = arithmetic || i > 0 && (text[i-1] == c || text[i-1] == '$' && c == '[')
		case ')', ']':
			arithmetic = arithmetic && (i == 0 || text[i-1] != c)
		case '{', '|', '&', '!', '~', '?', '`':
			count++
		case '-', '+', '=', '*', '/', '%', '^', ',', '<', '>', ':':
			if arithmetic {
				count++
			}
		}
	}
	return count
}

// opensBlock tells the reserved words that begin something.
func opensBlock(word []byte) bool {
	switch string(word) {
	case "if", "elif", "while", "until", "for", "case", "select", "time", "coproc", "function", "let":
		return true
	}
	return false
}
