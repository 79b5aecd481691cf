// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Context is a build context that exists on paper only: paths in it stand for
// files and folders of this machine, wherever they lie.
type Context map[string]string

// source is a file, folder or link in a context.
type source struct {
	path string // in the context
	host string
	info fs.FileInfo
}

// match returns what a source of COPY names: one entry, or all that match a
// pattern. Links are followed for the named entry itself, not below it.
func (c Context) match(pattern string) ([]source, error) {
	if pattern == "" || pattern == "." {
		return []source{{path: ""}}, nil
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		if s, ok := c.find(pattern); ok {
			return []source{s}, nil
		}
		return nil, c.missing(pattern)
	}
	all, err := c.list("")
	if err != nil {
		return nil, err
	}
	var found []source
	for _, s := range all {
		ok, err := path.Match(pattern, s.path)
		if err != nil {
			return nil, fmt.Errorf("reading the pattern %q: %w", pattern, err)
		}
		if ok {
			if followed, err := os.Stat(s.host); err == nil {
				s.info = followed
			}
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, c.missing(pattern)
	}
	return found, nil
}

// find looks one path up: an entry, something below one, or a folder that only
// exists because entries lie in it.
func (c Context) find(p string) (source, bool) {
	for dir := p; dir != "."; dir = path.Dir(dir) {
		host, ok := c[dir]
		if !ok {
			continue
		}
		full := filepath.Join(host, filepath.FromSlash(strings.TrimPrefix(p, dir)))
		info, err := os.Stat(full)
		return source{p, full, info}, err == nil
	}
	for name := range c {
		if strings.HasPrefix(name, p+"/") {
			return source{path: p}, true
		}
	}
	return source{}, false
}

// list returns all that lies below a folder of the context, sorted, without
// following links.
func (c Context) list(dir string) ([]source, error) {
	var all []source
	seen := map[string]bool{}
	add := func(s source) {
		if !seen[s.path] {
			seen[s.path] = true
			all = append(all, s)
		}
	}
	if s, ok := c.find(dir); ok && s.host != "" {
		if err := walk(s, add); err != nil {
			return nil, err
		}
	}
	for name, host := range c {
		if dir != "" && !strings.HasPrefix(name, dir+"/") {
			continue
		}
		for parent := path.Dir(name); parent != "." && parent != dir; parent = path.Dir(parent) {
			add(source{path: parent})
		}
		info, err := os.Stat(host)
		if err != nil {
			return nil, fmt.Errorf("reading %q of the build context: %w", name, err)
		}
		s := source{name, host, info}
		add(s)
		if info.IsDir() {
			if err := walk(s, add); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// walk visits what lies below a folder.
func walk(root source, visit func(source)) error {
	return filepath.WalkDir(root.host, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading the build context: %w", err)
		}
		if full == root.host {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("reading the build context: %w", err)
		}
		visit(source{path.Join(root.path, filepath.ToSlash(strings.TrimPrefix(full, root.host))), full, info})
		return nil
	})
}

// missing says what the context has in place of the pattern.
func (c Context) missing(pattern string) error {
	var names []string
	for name, host := range c {
		if path.Base(name) == path.Base(pattern) {
			return fmt.Errorf("%q is not in the build context; %q is", pattern, name)
		}
		names = append(names, name)
		_ = host
	}
	slices.Sort(names)
	if len(names) > 12 {
		names = append(names[:12], "…")
	}
	return fmt.Errorf("%q is not in the build context, which has %s", pattern, strings.Join(names, ", "))
}

func (s source) isDir() bool { return s.info == nil || s.info.IsDir() }

// entry is the source as an entry of a layer: owned by root, with a mode that
// says no more than whether it can be run, so that neither the umask nor the
// user who built it shows.
func (s source) entry() (node, error) {
	n := node{Kind: tar.TypeReg, Mode: 0o644, Host: s.host}
	switch {
	case s.isDir():
		n.Kind, n.Mode, n.Host = tar.TypeDir, 0o755, ""
	case s.info.Mode()&fs.ModeSymlink != 0:
		link, err := os.Readlink(s.host)
		if err != nil {
			return node{}, fmt.Errorf("reading a link of the build context: %w", err)
		}
		n.Kind, n.Mode, n.Link, n.Host = tar.TypeSymlink, 0o777, filepath.ToSlash(link), ""
	case s.info.Mode().IsRegular():
		n.Size = s.info.Size()
		if s.info.Mode()&0o111 != 0 {
			n.Mode = 0o755
		}
	default:
		return node{}, fmt.Errorf("%s is neither a file nor a folder nor a link", s.host)
	}
	return n, nil
}

// fileState is what changes when a file changes.
type fileState struct {
	Path          string
	Mode          fs.FileMode
	Size          int64
	Modified      int64 // nanoseconds
	Changed       int64 // of the inode, nanoseconds
	Inode, Device uint64
	Link          string
}

func (s source) state() fileState {
	if s.info == nil {
		return fileState{Path: s.path}
	}
	st := fileState{Path: s.path + "=" + s.host, Mode: s.info.Mode(), Size: s.info.Size(), Modified: s.info.ModTime().UnixNano()}
	if s.info.IsDir() {
		// The time of a folder changes with what lies in it, which is listed
		// itself.
		st.Size, st.Modified = 0, 0
		return st
	}
	if sys, ok := s.info.Sys().(*syscall.Stat_t); ok {
		st.Inode, st.Device, st.Changed = sys.Ino, uint64(sys.Dev), changeTime(sys) //nolint:unconvert // the type of Dev differs by system
	}
	if s.info.Mode()&fs.ModeSymlink != 0 {
		st.Link, _ = os.Readlink(s.host)
	}
	return st
}
