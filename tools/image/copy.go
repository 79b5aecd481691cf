// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/patternmatcher"

	"github.com/istio-ecosystem/slipway/tools/dockerfile"
)

// item is something to copy: below a source, under a name relative to it.
type item struct {
	rel  string // relative to the source; empty: the source itself
	node node
}

// origin is where COPY takes files from: a build context or another image.
type origin interface {
	// pick returns the sources that a pattern names, each with what lies
	// below it, sorted.
	pick(pattern string) ([]picked, error)
}

type picked struct {
	path  string
	items []item // the first is the source itself
}

// copier works out the entries of one COPY.
type copier struct {
	tree    tree // what the image has so far
	copy    *dockerfile.Copy
	uid     int
	gid     int
	mode    int64 // of --chmod
	chmod   bool
	exclude *patternmatcher.PatternMatcher
	entries map[string]node
}

// entriesOf returns the entries that a COPY adds to the tree, sorted. Folders
// that the image has already are not listed, unless COPY changes them.
func copyEntries(t tree, c *dockerfile.Copy, from origin) ([]node, error) {
	cp := &copier{tree: t, copy: c, entries: map[string]node{}}
	if err := cp.flags(); err != nil {
		return nil, err
	}
	for _, h := range c.Heredocs {
		n := node{Kind: tar.TypeReg, Mode: 0o644, Text: h.Content, Size: int64(len(h.Content))}
		if err := cp.place(picked{h.Name, []item{{"", n}}}); err != nil {
			return nil, err
		}
	}
	for _, pattern := range c.Sources {
		sources, err := from.pick(pattern)
		if err != nil {
			return nil, err
		}
		for _, s := range sources {
			if err := cp.place(s); err != nil {
				return nil, err
			}
		}
	}
	out := make([]node, 0, len(cp.entries))
	for _, n := range cp.entries {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b node) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func (cp *copier) flags() (err error) {
	if cp.copy.Chown != "" {
		if cp.uid, cp.gid, err = owner(cp.copy.Chown, cp.tree); err != nil {
			return err
		}
	}
	if cp.copy.Chmod != "" {
		mode, err := strconv.ParseInt(cp.copy.Chmod, 8, 16)
		if err != nil || mode < 0 || mode > 0o7777 {
			return fmt.Errorf("--chmod=%s: Slipway takes an octal number up to 7777", cp.copy.Chmod)
		}
		cp.mode, cp.chmod = mode, true
	}
	if len(cp.copy.Excludes) > 0 {
		if cp.exclude, err = patternmatcher.New(cp.copy.Excludes); err != nil {
			return fmt.Errorf("reading --exclude: %w", err)
		}
	}
	return nil
}

// place puts one source, with all below it, where it belongs.
func (cp *copier) place(s picked) error {
	dest, err := cp.destination(s)
	if err != nil {
		return err
	}
	root := s.items[0].node
	for i, it := range s.items {
		if cp.exclude != nil && it.rel != "" {
			if out, err := cp.exclude.MatchesOrParentMatches(path.Join(s.path, it.rel)); err != nil || out {
				continue
			}
		}
		n := it.node
		n.Path = strings.TrimPrefix(path.Join(dest, it.rel), "/")
		if i == 0 && root.Kind == tar.TypeDir && (n.Path == "" || cp.has(n.Path)) {
			continue // the folder that is copied into stays as it is
		}
		if err := cp.add(n); err != nil {
			return err
		}
	}
	return nil
}

// destination is where a source goes: a folder's content into Dest, a file to
// Dest or, when that is a folder, into it.
func (cp *copier) destination(s picked) (string, error) {
	dest := cp.copy.Dest
	into := strings.HasSuffix(dest, "/")
	resolved, err := cp.tree.resolve(dest)
	if err != nil {
		return "", err
	}
	if cp.copy.Parents {
		return path.Join(resolved, s.path), nil
	}
	isFolder := s.items[0].node.Kind == tar.TypeDir
	if !isFolder && (into || cp.isDir(resolved)) {
		resolved = path.Join(resolved, path.Base(s.path))
	}
	return resolved, nil
}

func (cp *copier) isDir(p string) bool {
	if n, ok := cp.entries[p]; ok {
		return n.Kind == tar.TypeDir
	}
	return cp.tree.isDir(p)
}

func (cp *copier) has(p string) bool {
	_, made := cp.entries[p]
	_, there := cp.tree[p]
	return made || there || p == ""
}

// add adds an entry and the folders above it that are not there yet.
func (cp *copier) add(n node) error {
	for dir := path.Dir(n.Path); dir != "."; dir = path.Dir(dir) {
		if cp.has(dir) {
			if !cp.isDir(dir) && cp.tree[dir].Kind != tar.TypeSymlink {
				return fmt.Errorf("%q would lie in %q, which is no folder", "/"+n.Path, "/"+dir)
			}
			break
		}
		cp.entries[dir] = node{Path: dir, Kind: tar.TypeDir, Mode: 0o755, UID: cp.uid, GID: cp.gid}
	}
	if old, ok := cp.tree[n.Path]; ok && old.Kind == tar.TypeDir && n.Kind != tar.TypeDir {
		return fmt.Errorf("%q is a folder in the image and would become a file", "/"+n.Path)
	}
	n.UID, n.GID = cp.uid, cp.gid
	if cp.chmod && n.Kind != tar.TypeSymlink {
		n.Mode = cp.mode
	}
	cp.entries[n.Path] = n
	return nil
}

// pick takes files from the context.
func (v view) pick(pattern string) ([]picked, error) {
	sources, err := v.match(pattern)
	if err != nil {
		return nil, err
	}
	var out []picked
	for _, s := range sources {
		n, err := s.entry()
		if err != nil {
			return nil, err
		}
		p := picked{s.path, []item{{"", n}}}
		if s.isDir() {
			list, err := v.list(s.path)
			if err != nil {
				return nil, err
			}
			for _, below := range list {
				n, err := below.entry()
				if err != nil {
					return nil, err
				}
				rel := strings.TrimPrefix(strings.TrimPrefix(below.path, s.path), "/")
				p.items = append(p.items, item{rel, n})
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// imageOrigin takes files from another image.
type imageOrigin struct{ tree tree }

func (o imageOrigin) pick(pattern string) ([]picked, error) {
	var names []string
	if strings.ContainsAny(pattern, `*?[\`) {
		for name := range o.tree {
			if ok, err := path.Match(pattern, name); err != nil {
				return nil, fmt.Errorf("reading the pattern %q: %w", pattern, err)
			} else if ok {
				names = append(names, name)
			}
		}
		slices.Sort(names)
	} else {
		resolved, err := o.tree.resolve(pattern)
		if err != nil {
			return nil, err
		}
		if _, ok := o.tree[resolved]; ok || resolved == "" {
			names = []string{resolved}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%q is not in the image or stage that is copied from", "/"+pattern)
	}
	var out []picked
	for _, name := range names {
		root, ok := o.tree[name]
		if !ok {
			root = node{Kind: tar.TypeDir, Mode: 0o755}
		}
		p := picked{name, []item{{"", root}}}
		if root.Kind == tar.TypeDir {
			for _, n := range o.tree.below(name) {
				p.items = append(p.items, item{strings.TrimPrefix(strings.TrimPrefix(n.Path, name), "/"), n})
			}
		}
		if !strings.ContainsAny(pattern, `*?[\`) {
			p.path = pattern // a link keeps its own name
		}
		out = append(out, p)
	}
	return out, nil
}
