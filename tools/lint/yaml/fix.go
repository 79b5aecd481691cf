// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"bytes"
	"fmt"
)

func fixable() []string {
	return []string{"trailing-spaces", "new-line-at-end-of-file", "new-lines", "empty-lines"}
}

// Fix implements lint.Fixer: it mends what is about white space only, and what
// no comment allows. A file that is no YAML stays as it is.
func (c *Checker) Fix(file string, text []byte) ([]byte, error) {
	// One pass can make room for the next: spaces gone, a line is blank.
	mended := text
	for range 4 {
		findings, err := c.Check(file, mended)
		if err != nil {
			return nil, fmt.Errorf("checking %s to mend it: %w", file, err)
		}
		bad := map[string]map[int]bool{}
		for _, f := range findings {
			if f.Rule == "syntax" {
				return text, nil
			}
			if bad[f.Rule] == nil {
				bad[f.Rule] = map[int]bool{}
			}
			bad[f.Rule][f.Line] = true
		}
		next := c.mend(mended, bad)
		if bytes.Equal(next, mended) {
			break
		}
		mended = next
	}
	return mended, nil
}

func (c *Checker) mend(text []byte, bad map[string]map[int]bool) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	dos := bytes.HasSuffix(lines[0], []byte("\r\n"))
	if len(bad["new-lines"]) > 0 {
		dos = !dos
	}
	end := "\n"
	if dos {
		end = "\r\n"
	}
	drop := c.blankLines(lines, bad["empty-lines"])
	var out []byte
	for i, l := range lines {
		if drop[i+1] || len(l) == 0 {
			continue
		}
		body := bytes.TrimSuffix(bytes.TrimSuffix(l, []byte("\n")), []byte("\r"))
		ending := l[len(body):]
		if len(bad["new-lines"]) > 0 && len(ending) > 0 {
			ending = []byte(end)
			body = bytes.TrimRight(body, "\r") // else what is left is DOS again
		}
		if bad["trailing-spaces"][i+1] {
			body = bytes.TrimRight(body, " \t\r\v\f")
		}
		if bad["new-line-at-end-of-file"][i+1] && len(ending) == 0 {
			ending = []byte(end)
		}
		out = append(append(out, body...), ending...)
	}
	return out
}

// blankLines are the lines to leave out: of a series that ends with a bad
// line, those beyond the limit.
func (c *Checker) blankLines(lines [][]byte, bad map[int]bool) map[int]bool {
	drop := map[int]bool{}
	if len(bad) == 0 {
		return drop
	}
	most, mostStart, mostEnd := 0, 0, 0
	for _, r := range c.rules {
		if r.name == "empty-lines" {
			most, mostStart, mostEnd = r.number("max"), r.number("max-start"), r.number("max-end")
		}
	}
	blank := func(n int) bool { return n > 0 && len(bytes.Trim(lines[n-1], "\r\n")) == 0 }
	for last := range bad {
		first := last
		for blank(first - 1) {
			first--
		}
		limit := most
		if first == 1 {
			limit = mostStart
		}
		if last == len(lines)-1 && len(lines[last]) == 0 {
			limit = mostEnd
		}
		for n := first + max(limit, 0); n <= last; n++ {
			drop[n] = true
		}
	}
	return drop
}
