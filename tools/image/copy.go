// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/patternmatcher"
	mode "github.com/tonistiigi/dchapes-mode"

	"github.com/istio-ecosystem/slipway/tools/dockerfile"
)

// What COPY and ADD do is what BuildKit does, whose rules go beyond the
// Dockerfile reference in some places. Its sources are fsutil's copy package
// and dockerfile2llb; the tests in package equivalence compare the results.

// item is something to copy: below a source, under a name relative to it.
type item struct {
	rel  string // relative to the source; empty: the source itself
	node node
}

// picked is one source: a file or link alone, or a folder and all below it, in
// the order of a walk.
type picked struct {
	name  string // its last part, as the Dockerfile writes it
	items []item // the first is the source itself
}

// origin is where COPY takes files from: a build context or another image.
type origin interface {
	// pick returns the sources that a pattern names. A pattern may name none,
	// a plain path may not.
	pick(pattern string) ([]picked, error)
}

// copier works out the entries of one COPY or ADD.
type copier struct {
	tree    tree // what the image has so far
	copy    *dockerfile.Copy
	owner   *[2]int // of --chown; nil: the source's own
	mode    *int64  // of an octal --chmod
	modes   *mode.Set
	exclude *patternmatcher.PatternMatcher
	entries map[string]node
}

// copyEntries returns the entries that a COPY adds to the tree, sorted. Folders
// that the image has already are not listed, unless COPY changes them.
func (l *Layout) copyEntries(t tree, c *dockerfile.Copy, from origin) ([]node, error) {
	cp := &copier{tree: t, copy: c, entries: map[string]node{}}
	if c.Link && c.Chmod == "" { // onto nothing, and laid over the image then
		cp.tree = tree{}
	}
	if err := cp.flags(); err != nil {
		return nil, err
	}
	for _, pattern := range c.Sources {
		if err := cp.source(l, pattern, from); err != nil {
			return nil, err
		}
	}
	for _, h := range c.Heredocs {
		n := node{Kind: tar.TypeReg, Mode: 0o644, Text: h.Content, Size: int64(len(h.Content))}
		if err := cp.place(picked{path.Base(h.Name), []item{{"", n}}}, nil); err != nil {
			return nil, err
		}
	}
	out := make([]node, 0, len(cp.entries))
	for _, n := range cp.entries {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b node) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// flags reads --chown, --chmod and --exclude.
func (cp *copier) flags() error {
	if cp.copy.Chown != "" {
		uid, gid, err := owner(cp.copy.Chown)
		if err != nil {
			return err
		}
		cp.owner = &[2]int{uid, gid}
	}
	if cp.copy.Chmod != "" {
		if err := cp.chmod(cp.copy.Chmod); err != nil {
			return err
		}
	}
	if len(cp.copy.Excludes) > 0 {
		matcher, err := patternmatcher.New(cp.copy.Excludes)
		if err != nil {
			return fmt.Errorf("reading --exclude: %w", err)
		}
		cp.exclude = matcher
	}
	return nil
}

// chmod reads an octal number or letters as those of chmod(1).
func (cp *copier) chmod(text string) error {
	number, err := strconv.ParseUint(text, 8, 32)
	if err == nil && number <= 0o7777 {
		m := int64(number)
		cp.mode = &m
		return nil
	}
	set, parsed := mode.ParseWithUmask(text, 0)
	if err == nil || parsed != nil {
		return fmt.Errorf("--chmod=%s: use an octal number up to 7777, or letters as in u=rwX,go=rX", text)
	}
	cp.modes = &set
	return nil
}

// source copies what one word of the instruction names.
func (cp *copier) source(l *Layout, pattern string, from origin) error {
	var include *patternmatcher.PatternMatcher
	root := pattern
	if cp.copy.Parents {
		var err error
		if root, include, err = pivot(pattern); err != nil {
			return err
		}
		if !isPattern(pattern) { // a plain path has to be there
			if _, err := from.pick(strings.ReplaceAll(pattern, "/./", "/")); err != nil {
				return err
			}
		}
	}
	sources, err := from.pick(root)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if cp.copy.Unpack {
			done, err := cp.unpack(l, s)
			if err != nil {
				return fmt.Errorf("unpacking %q: %w", s.name, err)
			}
			if done {
				continue
			}
		}
		if err := cp.place(s, include); err != nil {
			return err
		}
	}
	return nil
}

// pivot splits a source of --parents: what is before /./ is the root, what
// stands behind it is kept as path.
func pivot(source string) (root string, include *patternmatcher.PatternMatcher, err error) {
	root, pattern, ok := strings.Cut(source, "/./")
	if !ok {
		root, pattern = "", source
	}
	include, err = patternmatcher.New([]string{strings.Trim(path.Clean("/"+pattern), "/")})
	if err != nil {
		return "", nil, fmt.Errorf("reading the pattern %q: %w", source, err)
	}
	return root, include, nil
}

// look finds an entry: one of this COPY, or one that the image has.
func (cp *copier) look(p string) (node, bool) {
	if p == "" {
		return node{Kind: tar.TypeDir, Mode: 0o755}, true
	}
	if n, ok := cp.entries[p]; ok {
		return n, true
	}
	n, ok := cp.tree[p]
	return n, ok
}

// place puts one source, with all below it that include lets through, where it
// belongs.
func (cp *copier) place(s picked, include *patternmatcher.PatternMatcher) error {
	above := cp.copy.Dest
	if dir, file := path.Split(above); file != "" {
		above = dir
	}
	if _, err := cp.makeDirs(above); err != nil {
		return err
	}
	dest, err := resolve(cp.look, cp.copy.Dest)
	if err != nil {
		return err
	}
	isDir := s.items[0].node.Kind == tar.TypeDir
	there, exists := cp.look(dest)
	if !isDir && exists && there.Kind == tar.TypeDir {
		dest = path.Join(dest, s.name)
	}
	target := parentOf(dest)
	if isDir && !exists {
		target = dest
	}
	if _, err := cp.makeDirs(target); err != nil {
		return err
	}
	return cp.copyAll(s, dest, include)
}

func parentOf(p string) string { return strings.TrimPrefix(path.Dir("/"+p), "/") }

// makeDirs makes a folder and those above it where they are missing. Links to
// folders are followed.
func (cp *copier) makeDirs(p string) (string, error) {
	dir, err := resolve(cp.look, p)
	if err != nil {
		return "", err
	}
	var missing []string
	for d := dir; d != ""; d = parentOf(d) {
		n, ok := cp.look(d)
		if ok && n.Kind == tar.TypeDir {
			break
		}
		if ok {
			return "", fmt.Errorf("%q is in the way: it is no folder", "/"+d)
		}
		missing = append(missing, d)
	}
	for _, d := range missing {
		n := node{Path: d, Kind: tar.TypeDir, Mode: 0o755}
		if cp.mode != nil {
			n.Mode = *cp.mode & 0o777
		}
		if cp.owner != nil {
			n.UID, n.GID = cp.owner[0], cp.owner[1]
		}
		cp.entries[d] = n
	}
	return dir, nil
}

// walked is what the copy of a folder's content needs to know of the folder.
type walked struct {
	include, exclude patternmatcher.MatchInfo
	skip             bool // nothing below is copied
	made             bool // it has its entry
}

// copyAll copies a source to dest. Patterns are matched against the path below
// the source, and a folder that only holds what matches is made when the first
// such thing comes.
func (cp *copier) copyAll(s picked, dest string, include *patternmatcher.PatternMatcher) error {
	seen := map[string]*walked{}
	byRel := map[string]node{}
	for _, it := range s.items {
		isDir := it.node.Kind == tar.TypeDir
		if isDir {
			byRel[it.rel] = it.node
		}
		if it.rel == "" {
			seen[""] = &walked{made: true}
			if err := cp.put(it.node, dest, false); err != nil {
				return err
			}
			continue
		}
		parent := seen[strings.TrimPrefix(path.Dir("/"+it.rel), "/")]
		if parent == nil || parent.skip {
			continue
		}
		w, wanted, err := cp.judge(it.rel, parent, include)
		if err != nil {
			return err
		}
		if isDir {
			seen[it.rel] = w
			w.made = wanted
		}
		if !wanted {
			continue
		}
		if err := cp.makeWalked(it.rel, dest, seen, byRel); err != nil {
			return err
		}
		if err := cp.put(it.node, path.Join(dest, it.rel), true); err != nil {
			return err
		}
	}
	return nil
}

// judge decides whether something below a source is copied.
func (cp *copier) judge(rel string, parent *walked, include *patternmatcher.PatternMatcher) (*walked, bool, error) {
	w, wanted := &walked{}, true
	var err error
	if include != nil {
		if wanted, w.include, err = include.MatchesUsingParentResults(rel, parent.include); err != nil {
			return nil, false, err
		}
	}
	if cp.exclude != nil {
		out, info, err := cp.exclude.MatchesUsingParentResults(rel, parent.exclude)
		if err != nil {
			return nil, false, err
		}
		w.exclude = info
		if out {
			wanted = false
			w.skip = !cp.exclude.Exclusions()
		}
	}
	return w, wanted, nil
}

// makeWalked makes the folders above something that matched.
func (cp *copier) makeWalked(rel, dest string, seen map[string]*walked, byRel map[string]node) error {
	var above []string
	for dir := parentOf(rel); dir != "" && !seen[dir].made; dir = parentOf(dir) {
		above = append(above, dir)
	}
	for _, dir := range slices.Backward(above) {
		if err := cp.put(byRel[dir], path.Join(dest, dir), true); err != nil {
			return err
		}
		seen[dir].made = true
	}
	return nil
}

// put adds one entry. overwrite lets a folder that is there take over mode and
// owner; the folder that is copied into keeps its own.
func (cp *copier) put(n node, dest string, overwrite bool) error {
	old, exists := cp.look(dest)
	n.Path = dest
	if cp.owner != nil {
		n.UID, n.GID = cp.owner[0], cp.owner[1]
	}
	n.Mode = cp.newMode(n)
	if n.Kind != tar.TypeDir {
		if exists && old.Kind == tar.TypeDir {
			return fmt.Errorf("%q is a folder in the image and would become a file", "/"+dest)
		}
		if dest == "" {
			return errors.New("the root of the image would become a file")
		}
		cp.entries[dest] = n
		return nil
	}
	switch {
	case exists && old.Kind != tar.TypeDir:
		return fmt.Errorf("%q is no folder in the image, and a folder would be copied onto it", "/"+dest)
	case exists && (!overwrite || dest == ""):
		return nil
	case exists && old.Mode == n.Mode && old.UID == n.UID && old.GID == n.GID:
		return nil
	}
	cp.entries[dest] = n
	return nil
}

func (cp *copier) newMode(n node) int64 {
	switch {
	case n.Kind == tar.TypeSymlink:
		return n.Mode
	case cp.mode != nil:
		return *cp.mode
	case cp.modes != nil:
		m := fs.FileMode(n.Mode & 0o777)
		if n.Kind == tar.TypeDir {
			m |= fs.ModeDir
		}
		return n.Mode&^0o777 | int64(cp.modes.Apply(m).Perm())
	}
	return n.Mode
}

// splitPattern splits a source before the first part that is a pattern.
func splitPattern(source string) (plain, pattern string) {
	parts := strings.Split(source, "/")
	at := slices.IndexFunc(parts, isPattern)
	if at < 0 {
		return source, ""
	}
	return strings.Join(parts[:at], "/"), strings.Join(parts[at:], "/")
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
		p := picked{path.Base(s.name), []item{{"", n}}}
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
				p.items = append(p.items, item{strings.TrimPrefix(strings.TrimPrefix(below.path, s.path), "/"), n})
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// imageOrigin takes files from another image.
type imageOrigin struct{ tree tree }

func (o imageOrigin) pick(source string) ([]picked, error) {
	plain, pattern := splitPattern(source)
	dir, err := o.tree.resolve(plain)
	if err != nil {
		return nil, err
	}
	if pattern == "" {
		n, ok := o.tree.look(dir)
		if !ok {
			return nil, fmt.Errorf("%q is not in the image or stage that is copied from", "/"+source)
		}
		return []picked{o.all(path.Base(source), dir, n)}, nil
	}
	var out []picked
	for _, n := range o.tree.below(dir) {
		rel := strings.TrimPrefix(strings.TrimPrefix(n.Path, dir), "/")
		ok, err := path.Match(pattern, rel)
		if err != nil {
			return nil, fmt.Errorf("reading the pattern %q: %w", source, err)
		}
		if !ok {
			continue
		}
		real, err := o.tree.resolve(n.Path)
		if err != nil {
			return nil, err
		}
		if target, ok := o.tree.look(real); ok {
			out = append(out, o.all(path.Base(n.Path), real, target))
		}
	}
	return out, nil
}

// all is an entry with everything below it.
func (o imageOrigin) all(name, at string, n node) picked {
	p := picked{name, []item{{"", n}}}
	if n.Kind != tar.TypeDir {
		return p
	}
	for _, below := range o.tree.below(at) {
		p.items = append(p.items, item{strings.TrimPrefix(strings.TrimPrefix(below.Path, at), "/"), below})
	}
	return p
}
