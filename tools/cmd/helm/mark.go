// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// A mark is a number between two characters of a private range, which stands
// in the output for the place in the template that what follows comes from.
const (
	markStart = "\uE0F4"
	markEnd   = "\uE0F5"
)

var mark = regexp.MustCompile(markStart + `(\d+)` + markEnd)

// marked returns the template so that its output tells for every line where in
// the template it comes from. Templates that it defines stay as they are, as
// their output may go through functions. ok is false when that cannot be done.
func marked(name, text string) (with string, ok bool) {
	if strings.Contains(text, markStart) || strings.Contains(text, markEnd) {
		return "", false
	}
	trees, err := parseTemplate(name, text)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(trees)) {
		if n != name {
			fmt.Fprintf(&b, "{{define %q}}%s{{end}}", n, trees[n].Root)
		}
	}
	if main := trees[name]; main != nil {
		markList(main.Root)
		b.WriteString(main.Root.String())
	}
	return b.String(), true
}

// parseTemplate parses a template without knowing the functions.
func parseTemplate(name, text string) (map[string]*parse.Tree, error) {
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return nil, err
	}
	return trees, nil
}

func markList(list *parse.ListNode) {
	if list == nil {
		return
	}
	nodes := make([]parse.Node, 0, 2*len(list.Nodes))
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			n.Text = markText(n.Text, int(n.Pos))
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				nodes = append(nodes, markNode(int(n.Pos)))
			}
		case *parse.TemplateNode:
			nodes = append(nodes, markNode(int(n.Pos)))
		case *parse.IfNode:
			markList(n.List)
			markList(n.ElseList)
		case *parse.WithNode:
			markList(n.List)
			markList(n.ElseList)
		case *parse.RangeNode:
			markList(n.List)
			markList(n.ElseList)
		}
		nodes = append(nodes, n)
	}
	list.Nodes = nodes
}

func markNode(pos int) parse.Node {
	return &parse.TextNode{NodeType: parse.NodeText, Text: []byte(markAt(pos))}
}

func markAt(pos int) string { return markStart + strconv.Itoa(pos) + markEnd }

// markText marks the text, which stands at pos, at its start and the start of
// each line.
func markText(text []byte, pos int) []byte {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(string(text), "\n") {
		if line != "" {
			b.WriteString(markAt(pos))
			b.WriteString(line)
			pos += len(line)
		}
	}
	return []byte(b.String())
}

// origin says for each line of an output where it comes from.
type origin struct {
	text  string      // of the template
	lines [][]segment // for each line of the output
}

// segment is a piece of a line of output: from column at (in bytes), what
// stands at pos in the template.
type segment struct{ at, pos int }

// readMarks takes the marks out of an output.
func readMarks(text, output string) (plain string, o origin) {
	o.text = text
	var b strings.Builder
	var line []segment
	lineStart, last := 0, 0
	write := func(s string) {
		for {
			i := strings.IndexByte(s, '\n')
			if i < 0 {
				b.WriteString(s)
				return
			}
			b.WriteString(s[:i+1])
			o.lines = append(o.lines, line)
			lineStart, line = b.Len(), []segment{{at: 0, pos: last}}
			s = s[i+1:]
		}
	}
	for {
		m := mark.FindStringSubmatchIndex(output)
		if m == nil {
			write(output)
			break
		}
		write(output[:m[0]])
		last = number(output[m[2]:m[3]])
		line = append(line, segment{at: b.Len() - lineStart, pos: last})
		output = output[m[1]:]
	}
	o.lines = append(o.lines, line)
	return b.String(), o
}

// at returns the place in the template of a line and a column (from 1, in
// bytes; 0 is the first that is not blank) of the output.
func (o origin) at(outputLine, column int, line string) (templateLine, templateColumn int) {
	if outputLine < 1 || outputLine > len(o.lines) {
		return 0, 0
	}
	if column == 0 {
		column = len(line) - len(strings.TrimLeft(line, " \t")) + 1
	}
	pos := -1
	for _, s := range o.lines[outputLine-1] {
		if s.at <= column-1 || pos < 0 {
			pos = s.pos
			if within := column - 1 - s.at; within > 0 && o.literal(pos, within, line, s.at) {
				pos += within
			}
		}
	}
	if pos < 0 || pos > len(o.text) {
		return 0, 0
	}
	before := o.text[:pos]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, len([]rune(before[start:])) + 1
}

// literal says whether the template has at pos the same n bytes that the line
// has at from: it is text then, and no action.
func (o origin) literal(pos, n int, line string, from int) bool {
	return pos+n <= len(o.text) && from+n <= len(line) && o.text[pos:pos+n] == line[from:from+n]
}

// origins renders the chart once more to learn where the lines of the output
// of its templates come from. Templates whose output is not the same when it
// is marked have no origin.
func (j *job) origins(plain map[string]string) map[string]origin {
	texts := map[string]string{}
	files, _, err := j.render(func(c *chart.Chart) {
		for i, t := range c.Templates {
			if with, ok := marked(t.Name, string(t.Data)); ok && !strings.HasPrefix(path.Base(t.Name), "_") {
				name := c.Name() + "/" + t.Name
				texts[name] = string(t.Data)
				c.Templates[i] = &common.File{Name: t.Name, Data: []byte(with)}
			}
		}
	})
	if err != nil {
		return nil
	}
	all := map[string]origin{}
	for name, text := range texts {
		out, o := readMarks(text, files[name])
		// Lines are enough: a checksum of another template's output differs.
		if strings.Count(out, "\n") == strings.Count(plain[name], "\n") {
			all[name] = o
		}
	}
	return all
}
