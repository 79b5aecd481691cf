// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// tree answers questions about the files of the tree, each once.
type tree struct {
	root   string
	reader *reader

	pages map[string]*page
	stats map[string]fileKind
}

type fileKind int

const (
	absent fileKind = iota + 1
	regular
	folder
)

func newTree(root string) *tree {
	return &tree{root: root, reader: newReader(), pages: map[string]*page{}, stats: map[string]fileKind{}}
}

func (t *tree) path(file string) string { return filepath.Join(t.root, filepath.FromSlash(file)) }

func (t *tree) stat(file string) fileKind {
	if k := t.stats[file]; k != 0 {
		return k
	}
	k := absent
	if info, err := os.Stat(t.path(file)); err == nil {
		k = regular
		if info.IsDir() {
			k = folder
		}
	}
	t.stats[file] = k
	return k
}

// page is that of a Markdown file; nil when it cannot be read.
func (t *tree) page(file string) *page {
	if p, ok := t.pages[file]; ok {
		return p
	}
	var p *page
	if text, err := os.ReadFile(t.path(file)); err == nil {
		p = t.reader.read(text)
	}
	t.pages[file] = p
	return p
}

// alike names an entry of the folder whose name differs in letter case only.
func (t *tree) alike(file string) string {
	entries, err := os.ReadDir(t.path(path.Dir(file)))
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), path.Base(file)) {
			return e.Name()
		}
	}
	return ""
}

// local judges a link within the tree. target is the file or folder that it
// leads to, as far as that is known.
func (t *tree) local(d *document, link string) (v *verdict, target string) {
	rest, fragment, _ := strings.Cut(link, "#")
	rest, _, _ = strings.Cut(rest, "?")
	if rest == "" {
		return t.fragment(d.file, d.page, fragment), d.file
	}
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		decoded = rest // a file may have a % in its name
	}
	if strings.ContainsRune(decoded, 0) {
		return &verdict{ruleMissing, lint.Error, "the link holds a zero byte: correct it"}, ""
	}
	target = path.Join(path.Dir(d.file), decoded)
	if strings.HasPrefix(decoded, "/") {
		target = path.Join(".", decoded) // GitHub takes the root of the repository
	}
	if target == ".." || strings.HasPrefix(target, "../") {
		return &verdict{ruleOutside, lint.Notice, link + " leads out of the tree, so it was not looked for"}, target
	}
	switch t.stat(target) {
	case absent:
		hint := "correct the link, or add the file"
		if name := t.alike(target); name != "" {
			hint = "there is " + name + ": letter case counts"
		}
		return &verdict{ruleMissing, lint.Error, fmt.Sprintf("%s leads to %s, which does not exist: %s", link, target, hint)}, target
	case folder:
		readme := path.Join(target, "README.md")
		if fragment == "" || t.stat(readme) != regular {
			return nil, target
		}
		return t.fragment(readme, t.page(readme), fragment), readme
	}
	if fragment == "" || !isMarkdown(target) {
		return nil, target
	}
	return t.fragment(target, t.page(target), fragment), target
}

func isMarkdown(file string) bool {
	switch strings.ToLower(path.Ext(file)) {
	case ".md", ".markdown", ".mdown", ".mkd":
		return true
	}
	return false
}

// fragment judges a fragment of a page of the tree.
func (t *tree) fragment(file string, p *page, fragment string) *verdict {
	if p == nil || p.opaque >= 0 || special(fragment) {
		return nil
	}
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		decoded = fragment
	}
	decoded = strings.TrimPrefix(decoded, "user-content-")
	folded := false
	for _, f := range []string{decoded, fragment} {
		there, exactly := p.has(f)
		if exactly {
			return nil
		}
		folded = folded || there
	}
	if folded {
		return &verdict{ruleAnchor, lint.Warning, fmt.Sprintf("#%s has another letter case than the anchor in %s; not every browser finds it: write it alike", fragment, file)}
	}
	hint := "correct the link, or add the heading"
	if near := p.near(decoded); near != "" {
		hint = "did you mean #" + near + "?"
	}
	return &verdict{ruleAnchor, lint.Error, fmt.Sprintf("#%s leads to no heading or anchor in %s: %s", fragment, file, hint)}
}

// near names an anchor that differs in hyphens and letter case only.
func (p *page) near(fragment string) string {
	bare := func(s string) string { return strings.ReplaceAll(fold(s), "-", "") }
	if p.bare == nil {
		p.bare = make(map[string]string, len(p.anchors))
		for a := range p.anchors {
			if b := bare(a); p.bare[b] == "" || a < p.bare[b] {
				p.bare[b] = a
			}
		}
	}
	return p.bare[bare(fragment)]
}

// special tells that a fragment needs no anchor: the top of a page, lines of a
// file, a search for words.
func special(fragment string) bool {
	if fragment == "" || strings.EqualFold(fragment, "top") || strings.HasPrefix(fragment, ":~:") {
		return true
	}
	from, to, isRange := strings.Cut(fragment, "-")
	return isLine(from) && (!isRange || isLine(to))
}

// isLine tells that a fragment is one of GitHub's for a line: L12 or L12C3.
func isLine(s string) bool {
	digits, ok := strings.CutPrefix(s, "L")
	line, column, hasColumn := strings.Cut(digits, "C")
	return ok && isNumber(line) && (!hasColumn || isNumber(column))
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
