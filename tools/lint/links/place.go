// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// document is the text of a file with the starts of its lines.
type document struct {
	file  string // slash path from the root
	text  []byte
	lines []int
	page  *page // nil with Compat
}

func newDocument(file string, text []byte) *document {
	d := &document{file: file, text: text, lines: []int{0}}
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return d
		}
		at += i + 1
		d.lines = append(d.lines, at)
	}
}

// longestColumn bounds the counting of characters on one line: thousands of
// links on a line of megabytes would make it quadratic.
const longestColumn = 10_000

// place is the line and the column, in characters, of an offset. A column too
// far to the right is 0: not known.
func (d *document) place(offset int) (line, column int) {
	offset = min(max(offset, 0), len(d.text))
	i, exact := slices.BinarySearch(d.lines, offset)
	if !exact {
		i--
	}
	start := d.lines[i]
	if i == 0 && bytes.HasPrefix(d.text, []byte("\xef\xbb\xbf")) && offset >= 3 {
		start = 3
	}
	if offset-start > longestColumn {
		return i + 1, 0
	}
	return i + 1, utf8.RuneCount(d.text[start:offset]) + 1
}
