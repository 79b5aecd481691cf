// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package markdown judges Markdown files as mdl 0.12 (markdownlint, the Ruby
// tool) does, without Ruby: the same rules, on a tree of the shape that
// kramdown makes, read from the same style files. On request the tree is that
// of CommonMark, as GitHub shows files.
package markdown

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// Options say how files are judged.
type Options struct {
	Style *Style // nil: that of mdl without a style file
	// FrontMatter leaves front matter out, as mdl --ignore-front-matter does;
	// Strict does so only at the start of the file.
	FrontMatter, Strict bool
	// Inline obeys comments such as <!-- markdownlint-disable MD009 -->, which
	// mdl does not know.
	Inline bool
	// Dialect is the Markdown that files are read as; the empty one is that
	// of mdl.
	Dialect Dialect
	// Exact keeps the faults of mdl that are known to be wrong: the address of
	// a link that it does not see as one is called bare, and code on one line
	// between three backticks is a fence.
	Exact bool
}

// Checker judges files.
type Checker struct {
	o     Options
	rules []rule
}

// New returns a checker.
func New(o Options) *Checker {
	if o.Style == nil {
		o.Style = NewStyle()
	}
	if o.Dialect == "" {
		o.Dialect = Kramdown
	}
	c := &Checker{o: o}
	all := rules()
	if o.Dialect == CommonMark {
		all = commonRules()
	}
	for _, r := range all {
		if _, on := o.Style.params[r.id]; on {
			c.rules = append(c.rules, r)
		}
	}
	return c
}

// Rules stands for what the verdict depends on beside the file.
func (c *Checker) Rules() string {
	return fmt.Sprintf("2 %s %v %v", c.o.Dialect, c.o.Style.params, c.options())
}

func (c *Checker) options() []bool {
	return []bool{c.o.FrontMatter, c.o.Strict, c.o.Inline, c.o.Exact}
}

// place is a fault: its rule, and the line in the text without front matter.
type place struct {
	rule rule
	line int
}

// open reads a text in the dialect that was chosen.
func (c *Checker) open(s string) (*document, error) {
	if c.o.Dialect == CommonMark {
		return openCommonMark(s, c.o.FrontMatter, c.o.Strict)
	}
	return open(s, c.o.FrontMatter, c.o.Strict), nil
}

// judge asks all rules.
func (c *Checker) judge(d *document) []place {
	d.exact = c.o.Exact
	var out []place
	for _, r := range c.rules {
		for _, line := range r.check(d, c.o.Style.params[r.id]) {
			if r.id == "MD034" && !d.commonmark && !c.o.Exact && d.linked(line) {
				continue
			}
			out = append(out, place{r, line})
		}
	}
	return out
}

// linked tells that every address on a line stands where a link, an image or
// an attribute of HTML has one, so that none is bare.
func (d *document) linked(line int) bool {
	if line < 1 || line > len(d.lines) {
		return false
	}
	l := d.lines[line-1]
	if !hasURL(l) {
		return true // a table: nobody knows the line
	}
	for i := 0; ; {
		n := nextURL(l[i:])
		if n < 0 {
			return true
		}
		i += n
		head := l[:i]
		if !strings.HasSuffix(head, "](") && !strings.HasSuffix(head, "](<") && !strings.HasSuffix(head, `="`) && !strings.HasSuffix(head, "='") && !strings.HasSuffix(head, "<") {
			return false
		}
		i += 4
	}
}

func nextURL(s string) int {
	a, b := strings.Index(s, "http://"), strings.Index(s, "https://")
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// Check implements lint.Checker.
func (c *Checker) Check(file string, text []byte) ([]lint.Finding, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the file is not UTF-8: convert it, or leave it out with FINDFILES_IGNORE")
	}
	d, err := c.open(string(text))
	if err != nil {
		return nil, err
	}
	var off suppressions
	if c.o.Inline {
		off = readSuppressions(d)
	}
	var out []lint.Finding
	if d.cutLines > 0 && d.cutAfter > 0 {
		out = append(out, lint.Finding{File: file, Line: d.cutAfter + 1, EndLine: d.cutAfter + d.cutLines, Rule: "front-matter", Severity: lint.Notice,
			Message: fmt.Sprintf("lines %d to %d are not linted: they look like front matter, which is only expected at the start of a file", d.cutAfter+1, d.cutAfter+d.cutLines)})
	}
	for _, p := range c.judge(d) {
		if off.has(p.rule, p.line) {
			continue
		}
		line := d.trueLine(p.line)
		out = append(out, lint.Finding{File: file, Line: line, Rule: p.rule.id, Name: p.rule.name, Message: p.rule.title, Severity: lint.Error,
			Doc: docs(p.rule), Fixable: p.rule.fixable, Text: fmt.Sprintf("%s:%d: %s %s", file, line, p.rule.id, p.rule.title)})
	}
	slices.SortStableFunc(out, func(a, b lint.Finding) int { return a.Line - b.Line })
	return out, nil
}

// docs is the address of the description of a rule.
func docs(r rule) string {
	var b strings.Builder
	dash := false
	for _, c := range strings.ToLower(r.title) {
		if c >= 'a' && c <= 'z' {
			b.WriteRune(c)
			dash = false
		} else if !dash {
			b.WriteByte('-')
			dash = true
		}
	}
	return "https://github.com/markdownlint/markdownlint/blob/master/docs/RULES.md#" + strings.ToLower(r.id) + "---" + b.String()
}

// suppressions are the lines on which rules are off; "" is every rule.
type suppressions map[int]map[string]bool

func (s suppressions) has(r rule, line int) bool {
	off := s[line]
	return off != nil && (off[""] || off[r.id] || off[r.name])
}

// readSuppressions reads the comments that turn rules off and on again.
func readSuppressions(d *document) suppressions {
	out := suppressions{}
	now := map[string]bool{}
	add := func(line int, ids []string) {
		if out[line] == nil {
			out[line] = map[string]bool{}
		}
		for _, id := range ids {
			out[line][id] = true
		}
	}
	for i, l := range d.lines {
		verb, ids := inlineComment(l)
		switch verb {
		case "disable", "disable-file":
			for _, id := range ids {
				now[id] = true
			}
		case "enable":
			for _, id := range ids {
				delete(now, id)
				if id == "" {
					now = map[string]bool{}
				}
			}
		case "disable-line":
			add(i+1, ids)
		case "disable-next-line":
			add(i+2, ids)
		}
		for id := range now {
			add(i+1, []string{id})
			if verb == "disable-file" {
				for n := range d.lines {
					add(n+1, []string{id})
				}
			}
		}
	}
	return out
}

// inlineComment reads <!-- markdownlint-VERB RULE… -->.
func inlineComment(l string) (verb string, ids []string) {
	_, rest, ok := strings.Cut(l, "<!-- markdownlint-")
	if !ok {
		return "", nil
	}
	inner, _, ok := strings.Cut(rest, "-->")
	f := strings.Fields(inner)
	if !ok || len(f) == 0 {
		return "", nil
	}
	if len(f) == 1 {
		return f[0], []string{""}
	}
	return f[0], f[1:]
}
