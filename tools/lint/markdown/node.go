// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import "strings"

// kind is what a node of the tree stands for. The names are those of the
// kramdown tree, since the rules ask about it.
type kind uint8

const (
	root kind = iota
	temporary
	blank
	paragraph
	header
	blockquote
	codeblock
	ul
	ol
	li
	dl
	dt
	dd
	table
	tableBody
	tr
	td
	hr
	htmlElement
	comment
	math
	eob
	footnoteDef
	text
	rawText
	link
	image
	em
	strong
	codespan
	lineBreak
	entity
	typographic
	smartQuote
	abbreviation
	footnote
	rawMarkup
	// Only in the tree of CommonMark:
	htmlBlock
	htmlClose // a closing tag
	deleted
)

// Why an end-of-block mark stands in the tree.
type mark uint8

const (
	endOfBlock mark = iota
	markIAL
	markALD
	markLinkDef
	markAbbrevDef
	markFootnoteDef
	markExtension
)

// How the content of an HTML element is read.
type model uint8

const (
	noModel model = iota
	rawModel
	blockModel
	spanModel
)

// node is an element of the document.
type node struct {
	kind     kind
	text     []byte // of text, code; the name of an HTML element
	children []*node
	line     int // from 1 in the text that was parsed; 0: nobody knows
	level    int // of a header
	raw      string
	class    string // of an attribute list, or language-x of a fence
	ial      *attributes
	mark     mark
	model    model
	loose    bool // a paragraph that is not shown as one
	parent   *node
	depth    int // from 1

	// Only in the tree of CommonMark:
	end     int    // the line that it ends on
	col     int    // where on its line it begins, in bytes
	content int    // of an item: the column that its content begins at
	style   symbol // of a header
	fenced  bool
	padded  bool // of code: a space at both ends is left out
}

func (n *node) add(c *node) { n.children = append(n.children, c) }

func (n *node) last() *node {
	if len(n.children) == 0 {
		return nil
	}
	return n.children[len(n.children)-1]
}

// addText appends to the text that the node ends with, or begins one, which is
// said to be at the place of what stands before it.
func (n *node) addText(s string, k kind) {
	last := n.last()
	if last != nil && last.kind == k {
		last.text = append(last.text, s...)
		return
	}
	if s == "" {
		return
	}
	line := n.line
	if last != nil && last.line != 0 {
		line = last.line
	}
	n.add(&node{kind: k, text: []byte(s), line: line})
}

// attributes are those of an inline attribute list: {: .class #id ref}.
type attributes struct {
	class string
	refs  []string
}

// parse reads the inside of an attribute list into a.
func (a *attributes) parse(s string) {
	for _, word := range attributeWords(s) {
		switch {
		case word[0] == '.' || word[0] == '#':
			for _, part := range splitBefore(word, ".#") {
				if part[0] == '.' && len(part) > 1 {
					a.class = strings.TrimLeft(a.class+" "+part[1:], " ")
				}
			}
		case strings.ContainsRune(word, '='):
			key, value, _ := strings.Cut(word, "=")
			if key == "class" && len(value) > 1 {
				a.class = value[1 : len(value)-1]
			}
		default:
			a.refs = append(a.refs, word)
		}
	}
}

// attributeWords splits at white space outside of quotes.
func attributeWords(s string) []string {
	var words []string
	var quote byte
	start := -1
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || quote == 0 && isSpace(s[i]):
			if start >= 0 {
				words = append(words, s[start:i])
			}
			start = -1
		case quote != 0:
			if s[i] == quote && s[i-1] != '\\' {
				quote = 0
			}
		default:
			if start < 0 {
				start = i
			}
			if s[i] == '"' || s[i] == '\'' {
				quote = s[i]
			}
		}
	}
	return words
}

func splitBefore(s, marks string) []string {
	var parts []string
	start := 0
	for i := 1; i < len(s); i++ {
		if strings.IndexByte(marks, s[i]) >= 0 {
			parts = append(parts, s[start:i])
			start = i
		}
	}
	return append(parts, s[start:])
}
