// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// longestLabel is how long a label may be (CommonMark 0.31, link label).
const longestLabel = 999

// references finds [text][label] and [text][] in what the parser left as text,
// since then nothing defines the label.
func (w *walker) references(parent ast.Node) {
	r := refScanner{}
	for c := parent.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			r.add(t.Segment.Value(w.source), t.Segment.Start)
			if t.SoftLineBreak() || t.HardLineBreak() {
				r.add([]byte(" "), t.Segment.Stop)
			}
		} else {
			r.add([]byte{0}, max(c.Pos(), 0)) // stands for code, a link, an image …
		}
	}
	w.page.missing = append(w.page.missing, r.scan()...)
}

type refScanner struct {
	text            []byte
	starts, sources []int // where each piece starts, in text and in the file
}

func (r *refScanner) add(piece []byte, source int) {
	r.starts, r.sources = append(r.starts, len(r.text)), append(r.sources, source)
	r.text = append(r.text, piece...)
}

func (r *refScanner) source(at int) int {
	low, high := 0, len(r.starts)-1
	for low < high {
		if mid := (low + high + 1) / 2; r.starts[mid] <= at {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return r.sources[low] + at - r.starts[low]
}

// scan pairs brackets from left to right.
func (r *refScanner) scan() []missingReference {
	var all []missingReference
	var open []int
	for i := 0; i < len(r.text); i++ {
		switch r.text[i] {
		case '\\':
			i++
		case '[':
			open = append(open, i)
		case ']':
			if len(open) == 0 {
				continue
			}
			start := open[len(open)-1]
			open = open[:len(open)-1]
			label, end := r.label(i + 1)
			if end < 0 {
				continue
			}
			words := string(r.text[start+1 : i])
			if label == "" {
				label = words
			}
			if r.likely(start, end, words, label) {
				all = append(all, missingReference{strings.TrimSpace(label), r.source(start)})
			}
			i = end - 1
		}
	}
	return all
}

// label reads a label in brackets that starts here; end is -1 when there is none.
func (r *refScanner) label(at int) (label string, end int) {
	if at >= len(r.text) || r.text[at] != '[' {
		return "", -1
	}
	for i := at + 1; i < len(r.text) && i-at <= longestLabel; i++ {
		switch r.text[i] {
		case '\\':
			i++
		case '[', 0:
			return "", -1
		case ']':
			return string(r.text[at+1 : i]), i + 1
		}
	}
	return "", -1
}

// likely tells a reference from what only looks like one: a[i][j], [x][ ], a
// regular expression, or a table of numbers.
func (r *refScanner) likely(start, end int, words, label string) bool {
	if strings.TrimSpace(words) == "" || strings.TrimSpace(label) == "" || strings.HasPrefix(words, "^") {
		return false
	}
	if !strings.ContainsFunc(label, unicode.IsLetter) && !strings.ContainsFunc(words, unicode.IsLetter) {
		return false
	}
	before, _ := utf8.DecodeLastRune(r.text[:start])
	if start > 0 && (unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("_])}", before)) {
		return false
	}
	after, _ := utf8.DecodeRune(r.text[end:])
	return end >= len(r.text) || !strings.ContainsRune("[{(", after)
}
