// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"strings"
)

// ParseDebug is the one meaning of DEBUG: on for everything but an unset or
// empty value, 0, false, no and off.
func ParseDebug(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// ParseStatic is the one meaning of STATIC: on for an unset or empty value, 1,
// true, yes and on. Anything else clears it, as it does in Istio's scripts.
func ParseStatic(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "1", "true", "yes", "on":
		return true
	}
	return false
}

// SplitWords splits GOBUILDFLAGS into words as a shell would: at white space,
// with '…', "…" and backslash for words that hold some. Nothing is expanded.
// name is the setting, for the error about a quote without an end.
func SplitWords(name, text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote byte
	inWord, escaped := false, false
	for _, c := range []byte(text) { // bytes: a value need not be UTF-8
		switch {
		case escaped:
			escaped = false
			// Inside double quotes a backslash only protects these two.
			if quote == '"' && c != '"' && c != '\\' {
				word.WriteByte('\\')
			}
			word.WriteByte(c)
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			inWord = true
			word.WriteByte(c)
		}
	}
	if quote != 0 || escaped {
		return nil, usage("reading %s=%q: a quote or backslash at its end has nothing to match", name, text)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
