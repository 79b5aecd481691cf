// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// node is a file, folder or link in an image.
type node struct {
	Path  string // slash-separated, clean, without a slash in front
	Kind  byte   // tar.TypeReg, TypeDir, TypeSymlink, …
	Mode  int64  // permission bits with set-id and sticky, as in a tar header
	UID   int
	GID   int
	Link  string
	Size  int64
	Layer v1.Hash // the blob that holds it; zero for the entries of a layer being made
	// InLayer is the path in that blob, which differs from Path in a copy.
	InLayer string
	Host    string // file of this machine that holds the content
	Text    string // the content itself, for inline files
	// Xattrs are extended attributes, such as the capabilities of a program,
	// by the names of PAX records.
	Xattrs map[string]string `json:",omitempty"`
	Device [2]int64          // major and minor number
}

// tree is what a container sees: the layers on top of each other.
type tree map[string]node

const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// apply puts a layer on top.
func (t tree) apply(entries []node) {
	for _, n := range entries {
		dir, name := path.Split(n.Path)
		dir = strings.TrimSuffix(dir, "/")
		switch {
		case name == opaque:
			t.remove(dir, false)
		case strings.HasPrefix(name, whiteout):
			t.remove(path.Join(dir, strings.TrimPrefix(name, whiteout)), true)
		default:
			if old, ok := t[n.Path]; ok && old.Kind == tar.TypeDir && n.Kind != tar.TypeDir {
				t.remove(n.Path, true)
			}
			if n.Kind == tar.TypeLink { // another name of a file in the same layer, or below
				if target, ok := t[cleanName(n.Link)]; ok {
					name := n.Path
					n = target
					n.Path = name
				}
			}
			t[n.Path] = n
		}
	}
}

func (t tree) remove(p string, self bool) {
	maps.DeleteFunc(t, func(name string, _ node) bool {
		return self && name == p || strings.HasPrefix(name, p+"/") || p == "" && name != ""
	})
}

// maxLinks is what Linux allows in one path.
const maxLinks = 40

// lookup finds an entry by its clean path; the empty path is the root.
type lookup func(p string) (node, bool)

// look is the lookup of a tree.
func (t tree) look(p string) (node, bool) {
	if p == "" {
		return node{Kind: tar.TypeDir, Mode: 0o755}, true
	}
	n, ok := t[p]
	return n, ok
}

// resolve follows links in all parts of a path, staying inside the image.
func (t tree) resolve(p string) (string, error) { return resolve(t.look, p) }

func resolve(look lookup, p string) (string, error) {
	done, rest := "", strings.Split(strings.Trim(path.Clean("/"+p), "/"), "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = parentOf(done)
			continue
		}
		next := path.Join(done, part)
		n, ok := look(next)
		if !ok || n.Kind != tar.TypeSymlink {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%q leads through more than %d links", "/"+p, maxLinks)
		}
		if path.IsAbs(n.Link) {
			done = ""
		}
		rest = append(strings.Split(n.Link, "/"), rest...)
	}
	return done, nil
}

func (t tree) isDir(p string) bool { return p == "" || t[p].Kind == tar.TypeDir }

// below returns the entries under a folder, sorted.
func (t tree) below(dir string) []node {
	var list []node
	for name, n := range t {
		if dir == "" || strings.HasPrefix(name, dir+"/") {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b node) int { return comparePaths(a.Path, b.Path) })
	return list
}

// scan lists the entries of a layer.
func scan(r io.Reader, layer v1.Hash) ([]node, error) {
	plain, err := decompress(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = plain.Close() }()
	var entries []node
	for tr := tar.NewReader(plain); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, plain) // padding, so that a digest over all of it can be checked
			return entries, err
		}
		if err != nil {
			return nil, err
		}
		kind := h.Typeflag
		if kind == 0 {
			kind = tar.TypeReg
		}
		p := cleanName(h.Name)
		if p == "" {
			continue
		}
		n := node{Path: p, Kind: kind, Mode: h.Mode & 0o7777, UID: h.Uid, GID: h.Gid, Link: h.Linkname, Size: h.Size, Layer: layer, InLayer: p, Xattrs: xattrs(h)}
		n.Device = [2]int64{h.Devmajor, h.Devminor}
		entries = append(entries, n)
	}
}

// xattrs are the records of a tar header that hold extended attributes.
func xattrs(h *tar.Header) map[string]string {
	var found map[string]string
	for name, value := range h.PAXRecords {
		if strings.HasPrefix(name, "SCHILY.xattr.") {
			if found == nil {
				found = map[string]string{}
			}
			found[name] = value
		}
	}
	return found
}

// cleanName is a name in a tar as a path in the image.
func cleanName(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// entriesOf lists a layer of the layout; layers never change, so the list is
// kept.
func (l *Layout) entriesOf(layer v1.Hash) ([]node, error) {
	var entries []node
	if l.recall("trees", layer.Hex, &entries) {
		return entries, nil
	}
	f, err := l.Blob(layer)
	if err != nil {
		return nil, fmt.Errorf("reading layer %s: %w", layer, err)
	}
	defer func() { _ = f.Close() }()
	if entries, err = scan(f, layer); err != nil {
		return nil, fmt.Errorf("reading layer %s: %w", layer, err)
	}
	return entries, l.remember("trees", layer.Hex, entries)
}

// treeOf puts layers on top of each other, the lowest first.
func (l *Layout) treeOf(layers []v1.Hash) (tree, error) {
	t := tree{}
	for _, layer := range layers {
		entries, err := l.entriesOf(layer)
		if err != nil {
			return nil, err
		}
		t.apply(entries)
	}
	return t, nil
}
