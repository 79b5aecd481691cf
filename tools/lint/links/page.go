// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// page is what one Markdown file holds, as GitHub shows it.
type page struct {
	links   []pageLink
	anchors map[string]bool   // ids of headings and of HTML elements
	folded  map[string]bool   // the same, by fold
	bare    map[string]string // anchors without hyphens, made when asked for
	fences  []openFence
	missing []missingReference
	opaque  int // where reading was given up, or -1
}

// pageLink is a link or an image, and where it starts.
type pageLink struct {
	target string // entities and backslashes resolved
	raw    string // as written
	offset int
	auto   bool // the address itself is the text
}

// openFence is a fence without its end.
type openFence struct {
	offset int
	toEnd  bool // all the rest of the file is code
}

// missingReference is a use of a label that nothing defines.
type missingReference struct {
	label  string
	offset int
}

// has tells that a fragment leads somewhere on the page; exactly is false when
// only the letter case or an invisible character of an emoji differs.
func (p *page) has(fragment string) (there, exactly bool) {
	if p.anchors[fragment] {
		return true, true
	}
	return p.folded[fold(fragment)], false
}

func (p *page) anchor(id string) {
	if id != "" {
		p.anchors[id] = true
		p.folded[fold(id)] = true
	}
}

// fold makes ids alike that browsers or GitHub's own script may take for alike.
func fold(id string) string {
	return strings.ToLower(strings.ReplaceAll(id, "\ufe0f", ""))
}

// reader reads pages. It is safe for concurrent use.
type reader struct {
	markdown goldmark.Markdown
}

func newReader() *reader {
	return &reader{goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))}
}

// read reads a page. A text that a Markdown parser would need more than linear
// time for is not parsed: opaque says where that shows.
func (r *reader) read(source []byte) *page {
	p := &page{anchors: map[string]bool{}, folded: map[string]bool{}, opaque: tooMuch(source)}
	if p.opaque >= 0 {
		return p
	}
	defer func() {
		if recover() != nil { // a fault of the parser costs this file's anchors, not the run
			p.opaque = 0
		}
	}()
	source = blankFrontMatter(source)
	doc := r.markdown.Parser().Parse(text.NewReader(source))
	w := &walker{page: p, source: source, slugs: newSlugger()}
	_ = ast.Walk(doc, w.visit) // visit returns no error
	return p
}

// blankFrontMatter puts spaces in place of YAML or TOML front matter and of a
// byte order mark, which are no Markdown; every offset stays.
func blankFrontMatter(source []byte) []byte {
	body := bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	mark := len(source) - len(body)
	end := 0
	first, _, _ := bytes.Cut(body, []byte("\n"))
	if open := string(bytes.TrimRight(first, " \t\r")); open == "---" || open == "+++" {
		for at := len(first) + 1; at < len(body); {
			line, _, _ := bytes.Cut(body[at:], []byte("\n"))
			at += len(line) + 1
			if s := string(bytes.TrimRight(line, " \t\r")); s == open || open == "---" && s == "..." {
				end = min(at, len(body))
				break
			}
		}
	}
	if mark+end == 0 {
		return source
	}
	blank := bytes.Clone(source)
	for i := range blank[:mark+end] {
		if blank[i] != '\n' {
			blank[i] = ' '
		}
	}
	return blank
}

// walker collects what a page holds from its tree.
type walker struct {
	page   *page
	source []byte
	slugs  *slugger
}

func (w *walker) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	switch n := n.(type) {
	case *ast.Heading:
		w.heading(n)
	case *ast.Link:
		if n.Reference == nil { // else its definition is looked at
			w.link(n.Destination, n.Pos())
		}
	case *ast.Image:
		if n.Reference == nil {
			w.link(n.Destination, n.Pos())
		}
	case *ast.LinkReferenceDefinition:
		w.link(n.Destination, n.Pos())
	case *ast.AutoLink:
		w.autoLink(n)
	case *ast.HTMLBlock:
		lines := n.Lines().Sliced(0, n.Lines().Len())
		if n.HasClosure() {
			lines = append(slices.Clone(lines), n.ClosureLine)
		}
		w.html(lines)
	case *ast.RawHTML:
		w.html(n.Segments.Sliced(0, n.Segments.Len()))
	case *ast.FencedCodeBlock:
		w.fence(n)
	}
	if c := n.FirstChild(); c != nil && c.Type() == ast.TypeInline && n.Kind() != ast.KindCodeSpan {
		w.references(n)
	}
	return ast.WalkContinue, nil
}

func (w *walker) link(destination []byte, at int) {
	w.page.links = append(w.page.links, pageLink{
		target: strings.TrimSpace(unescape(destination)), raw: string(destination), offset: max(at, 0)})
}

func (w *walker) autoLink(n *ast.AutoLink) {
	if n.AutoLinkType != ast.AutoLinkURL {
		return // GitHub checks no mail address either
	}
	label, at := n.Label(w.source), max(n.Pos(), 0)
	if i := bytes.Index(w.source[at:min(len(w.source), at+len(label)+8)], label); i > 0 {
		at += i
	}
	w.page.links = append(w.page.links, pageLink{target: string(n.URL(w.source)), raw: string(label), offset: at, auto: true})
}

// customID is how kramdown, Hugo and others let a heading name its id. GitHub
// does not know it; there the slug holds its letters.
var customID = regexp.MustCompile(`\{#([^\s{}]+)\}\s*$`)

func (w *walker) heading(n *ast.Heading) {
	var b strings.Builder
	w.plain(n, &b)
	title := b.String()
	if m := customID.FindStringSubmatch(title); m != nil {
		w.page.anchor(m[1])
		w.page.anchor(slug(title[:len(title)-len(m[0])]))
	}
	w.page.anchor(w.slugs.id(title))
}

// plain writes the text of a heading without its marks; images have none.
func (w *walker) plain(n ast.Node, b *strings.Builder) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			value := c.Segment.Value(w.source)
			if n.Kind() == ast.KindCodeSpan || c.IsRaw() {
				b.Write(value)
			} else {
				b.WriteString(unescape(value))
			}
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.AutoLink:
			b.Write(c.Label(w.source))
		case *ast.Image, *ast.RawHTML:
		default:
			w.plain(c, b)
		}
	}
}

// unescape resolves backslashes and character references.
func unescape(s []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(s))))
}

// fence looks whether a fence was closed. What ends with its list item or
// quote alone is closed for CommonMark, but hardly what was meant.
func (w *walker) fence(n *ast.FencedCodeBlock) {
	start := max(n.Pos(), 0)
	for start < len(w.source) && w.source[start] != '`' && w.source[start] != '~' && w.source[start] != '\n' {
		start++
	}
	if start >= len(w.source) || w.source[start] == '\n' {
		return
	}
	mark := w.source[start]
	open := w.source[start:]
	length := len(open) - len(bytes.TrimLeft(open, string(mark)))
	end := start + lineLength(open)
	if k := n.Lines().Len(); k > 0 {
		end = min(n.Lines().At(k-1).Stop, len(w.source))
	}
	rest := w.source[end:]
	line := bytes.TrimSpace(bytes.TrimLeft(rest[:lineLength(rest)], " \t>"))
	if len(line) >= length && len(bytes.Trim(line, string(mark))) == 0 {
		return
	}
	w.page.fences = append(w.page.fences, openFence{offset: start, toEnd: len(bytes.TrimSpace(rest)) == 0})
}

// lineLength is the length of the first line with its end.
func lineLength(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}
