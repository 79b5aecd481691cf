// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"strings"
	"unicode/utf8"
)

// Fix implements lint.Fixer. It mends what cannot change how the file is
// shown: spaces at the ends of lines where they are no line break, runs of
// blank lines, the spaces behind the hashes of headers, the end of the file.
func (c *Checker) Fix(_ string, text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return text, nil
	}
	s := string(text)
	for range 3 { // what was mended may show more
		mended := c.fixOnce(s)
		if mended == s {
			break
		}
		s = mended
	}
	return []byte(s), nil
}

func (c *Checker) fixOnce(s string) string {
	d, err := c.open(s)
	if err != nil {
		return s // Check tells it
	}
	var off suppressions
	if c.o.Inline {
		off = readSuppressions(d)
	}
	byLine := map[int]string{}
	for _, p := range c.judge(d) {
		if p.rule.fixable && !off.has(p.rule, p.line) {
			byLine[d.trueLine(p.line)] += p.rule.id + " "
		}
	}
	if len(byLine) == 0 {
		return s
	}
	if strings.ContainsAny(s, "\r\v\f\u0085\u2028\u2029") {
		return s // lines are not counted alike here: leave it to a person
	}
	code := map[int]bool{}
	for _, n := range codeLines(d) {
		code[d.trueLine(n)] = true
	}
	if d.commonmark { // HTML may be preformatted, and code may go on
		for _, h := range find(d.root, htmlBlock, comment, codespan) {
			for _, n := range span(h) {
				code[d.trueLine(n)] = code[d.trueLine(n)] || h.kind != codespan || n < h.end
			}
		}
	}
	lines := strings.Split(s, "\n")
	out := lines[:0:0]
	for i, l := range lines {
		ids := byLine[i+1]
		if strings.Contains(ids, "MD012") && !code[i+1] {
			continue
		}
		out = append(out, fixLine(l, ids, code[i+1]))
	}
	s = strings.Join(out, "\n")
	if strings.Contains(byLine[len(lines)], "MD047") {
		s += "\n"
	}
	return s
}

func fixLine(l, ids string, code bool) string {
	if strings.Contains(ids, "MD009") && !code {
		if trimmed := strings.TrimRight(l, " \t"); trimmed == "" || !strings.HasSuffix(l, "  ") {
			l = trimmed
		}
	}
	if strings.HasPrefix(l, "#") && (strings.Contains(ids, "MD018") || strings.Contains(ids, "MD019")) {
		title := strings.TrimLeft(l, "#")
		l = l[:len(l)-len(title)] + " " + strings.TrimLeft(title, " \t")
	}
	return l
}
