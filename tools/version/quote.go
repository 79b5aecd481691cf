// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"strings"
)

// spaces separate words for Go's flag values.
const spaces = " \t\n\r"

// Join returns words as one value of a go build flag that holds a list
// (-ldflags, -gcflags, -asmflags). Go knows a word in single or in double
// quotes and no escapes (`go help build`), so a word that needs quotes and
// holds both kinds is an error.
func Join(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		switch {
		case w != "" && !strings.ContainsAny(w, spaces+`'"`):
			quoted[i] = w
		case !strings.Contains(w, `'`):
			quoted[i] = `'` + w + `'`
		case !strings.Contains(w, `"`):
			quoted[i] = `"` + w + `"`
		case !strings.ContainsAny(w, spaces) && w[0] != '\'' && w[0] != '"':
			quoted[i] = w // quotes inside of a word mean themselves
		default:
			return "", fmt.Errorf("passing %q to the Go tools: it holds both ' and \", for which Go has no notation; use one kind", w)
		}
	}
	return strings.Join(quoted, " "), nil
}

// Split is the inverse of Join. name is what the text came from, for the
// error about a quote without an end.
func Split(name, text string) ([]string, error) {
	var words []string
	for rest := strings.TrimLeft(text, spaces); rest != ""; rest = strings.TrimLeft(rest, spaces) {
		if q := rest[0]; q == '\'' || q == '"' {
			word, after, found := strings.Cut(rest[1:], string(q))
			if !found {
				return nil, fmt.Errorf("reading %s=%q: the quote at %.20q has no end", name, text, rest)
			}
			words, rest = append(words, word), after
			continue
		}
		end := strings.IndexAny(rest, spaces)
		if end < 0 {
			end = len(rest)
		}
		words, rest = append(words, rest[:end]), rest[end:]
	}
	return words, nil
}
