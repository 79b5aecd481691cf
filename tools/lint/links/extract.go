// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// found is an address in a text, and where it starts.
type found struct {
	url    string
	offset int
}

// extract returns the addresses that awesome_bot 1.20.0 would ask for, in the
// order of the text and with repetitions. It knows nothing of Markdown: an
// address is what Ruby's RFC 2396 parser finds in the raw text after "http:" or
// "https:", cut by the rules of clean.
func extract(text []byte) []found {
	valid, offsets := dropInvalid(text)
	var all []found
	for at := 0; ; {
		start := nextScheme(valid, at)
		if start < 0 {
			return all
		}
		end := addressEnd(valid, start)
		if u := clean(string(valid[start:end])); u != "" {
			all = append(all, found{u, offsets.source(start)})
		}
		at = end
	}
}

// nextScheme finds the next "http:" or "https:" at or after a place, or -1.
// What stands before it does not matter, and only small letters count.
func nextScheme(text []byte, at int) int {
	for {
		i := bytes.Index(text[at:], []byte("http"))
		if i < 0 {
			return -1
		}
		at += i
		rest := text[at+len("http"):]
		if bytes.HasPrefix(rest, []byte(":")) || bytes.HasPrefix(rest, []byte("s:")) {
			return at
		}
		at += len("http")
	}
}

// clean cuts an extracted address to what is asked for, or returns "" when it
// is too short to be one. The steps and their order are observed behaviour of
// awesome_bot 1.20.0.
func clean(u string) string {
	if len(u) < len("http://hh") {
		return ""
	}
	u = strings.ReplaceAll(u, ",", "%2c")
	u, _, _ = strings.Cut(u, "'")
	opened, closed := strings.Count(u, "("), strings.Count(u, ")")
	before, _, adoc := strings.Cut(u, ")]")
	switch {
	case adoc:
		return before
	case closed == 1 && opened == 1:
		return u
	case closed == 2 && opened == 1:
		if head, _, twice := strings.Cut(u, "))"); twice {
			return head + ")"
		}
		return u
	case closed > 0:
		if opened > 0 && strings.Contains(u, "wikipedia") {
			return u
		}
		u, _, _ = strings.Cut(u, ")")
		return u
	case strings.Contains(u, "["):
		u, _, _ = strings.Cut(u, "[")
		return u
	case strings.HasSuffix(u, "."), strings.HasSuffix(u, ":"):
		return u[:len(u)-1]
	}
	return strings.TrimSuffix(u, "%2c")
}

// gaps maps places in a text without its invalid bytes to the text itself.
type gaps struct {
	at    []int // places in the shortened text from where more is missing
	total []int // how many bytes are missing from there on
}

func (g gaps) source(offset int) int {
	low, high := 0, len(g.at) // the number of gaps at or before offset
	for low < high {
		if mid := (low + high) / 2; g.at[mid] <= offset {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return offset
	}
	return offset + g.total[low-1]
}

// dropInvalid removes what is no UTF-8, as awesome_bot does before it looks.
func dropInvalid(text []byte) ([]byte, gaps) {
	if utf8.Valid(text) {
		return text, gaps{}
	}
	var g gaps
	valid := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			n := len(g.at)
			if n == 0 || g.at[n-1] != len(valid) {
				g.at, g.total = append(g.at, len(valid)), append(g.total, i-len(valid))
				n++
			}
			g.total[n-1]++
		} else {
			valid = append(valid, text[i:i+size]...)
		}
		i += size
	}
	return valid, g
}
