// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/istio-ecosystem/slipway/tools/dockerfile"
)

// Context is a build context that exists on paper only: paths in it stand for
// files and folders of this machine, wherever they lie. The path "." stands for
// the root: a plain folder as context.
type Context map[string]string

// Folder is the context of docker build: a folder with all that lies in it.
func Folder(dir string) Context { return Context{".": dir} }

// view is a context without what the ignore file leaves out.
type view struct {
	files  Context
	ignore *dockerfile.Ignore
}

// source is a file, folder or link in a context.
type source struct {
	name string // as asked for
	path string // in the context, with links followed
	host string // empty: a folder that only exists because entries lie in it
	info fs.FileInfo
}

// match returns what a source of COPY names: one entry, or all that match a
// pattern, which may be none. Links are followed for the named entry itself,
// not below it.
func (v view) match(pattern string) ([]source, error) {
	plain, rest := splitPattern(pattern)
	dir, ok, err := v.find(plain)
	if rest == "" {
		if err == nil && !ok {
			err = v.missing(pattern)
		}
		return []source{dir}, err
	}
	if err != nil || !ok {
		return nil, err
	}
	all, err := v.list(dir.path)
	if err != nil {
		return nil, err
	}
	var found []source
	for _, s := range all {
		ok, err := path.Match(rest, strings.TrimPrefix(strings.TrimPrefix(s.path, dir.path), "/"))
		if err != nil {
			return nil, fmt.Errorf("reading the pattern %q: %w", pattern, err)
		}
		if !ok {
			continue
		}
		followed, ok, err := v.find(s.path)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, followed)
		}
	}
	return found, nil
}

// isPattern tells patterns from plain paths, as Go's path.Match reads them.
func isPattern(p string) bool { return strings.ContainsAny(p, `*?[\`) }

// find looks one path up: an entry, something below one, or a folder that only
// exists because entries lie in it.
func (v view) find(p string) (source, bool, error) {
	if p == "" || p == "." {
		return source{}, true, nil
	}
	s, ok, err := v.files.find(p)
	if err != nil || !ok {
		return s, false, err
	}
	for _, p := range []string{p, s.path} {
		out, err := v.ignore.Excluded(p)
		if err != nil || out && !s.isDir() {
			return s, false, err
		}
		if out { // the ignore file may take back what lies in a folder
			below, err := v.list(s.path)
			return s, len(below) > 0, err
		}
	}
	return s, true, nil
}

func (c Context) find(p string) (source, bool, error) {
	for dir := p; ; dir = path.Dir(dir) {
		if host, ok := c[dir]; ok {
			if dir == "." {
				return lookIn(host, "", p)
			}
			return lookIn(host, dir, strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"))
		}
		if dir == "." {
			break
		}
	}
	for name := range c {
		if strings.HasPrefix(name, p+"/") {
			return source{name: p, path: p}, true, nil
		}
	}
	return source{}, false, nil
}

// lookIn finds a path below a folder of this machine, which is at in the
// context. Links in the path never lead out of that folder, as in BuildKit;
// the folder itself may be a link.
func lookIn(root, at, rel string) (source, bool, error) {
	name := path.Join(at, rel)
	var failure error
	done, err := resolve(func(p string) (node, bool) {
		full := filepath.Join(root, filepath.FromSlash(p))
		info, err := os.Lstat(full)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return node{}, false
		}
		link, err := os.Readlink(full)
		failure = errors.Join(failure, err)
		return node{Kind: tar.TypeSymlink, Link: filepath.ToSlash(link)}, err == nil
	}, rel)
	full := filepath.Join(root, filepath.FromSlash(done))
	if err = errors.Join(err, failure); err == nil {
		info, stat := os.Stat(full)
		if stat == nil {
			return source{name, path.Join(at, done), full, info}, true, nil
		}
		if errors.Is(stat, fs.ErrNotExist) || errors.Is(stat, syscall.ENOTDIR) {
			return source{}, false, nil
		}
		err = stat
	}
	return source{}, false, fmt.Errorf("reading %q of the build context: %w", name, err)
}

// list returns all that lies below a folder of the context, sorted, without
// following links and without what is ignored.
func (v view) list(dir string) ([]source, error) {
	all, err := v.files.list(dir)
	if err != nil || v.ignore == nil {
		return all, err
	}
	kept := map[string]bool{}
	for _, s := range all {
		out, err := v.ignore.Excluded(s.path)
		if err != nil {
			return nil, fmt.Errorf("reading the ignore file: %w", err)
		}
		for p := s.path; !out && p != "." && !kept[p]; p = path.Dir(p) {
			kept[p] = true
		}
	}
	return slices.DeleteFunc(all, func(s source) bool { return !kept[s.path] }), nil
}

func (c Context) list(dir string) ([]source, error) {
	var all []source
	seen := map[string]bool{}
	add := func(s source) {
		if !seen[s.path] {
			seen[s.path] = true
			all = append(all, s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if name == "." || dir == name || strings.HasPrefix(dir, name+"/") {
			if err := c.listIn(dir, add); err != nil {
				return nil, err
			}
			continue
		}
		if dir != "" && !strings.HasPrefix(name, dir+"/") {
			continue
		}
		for parent := path.Dir(name); parent != "." && parent != dir; parent = path.Dir(parent) {
			add(source{name: parent, path: parent})
		}
		info, err := os.Stat(c[name])
		if err != nil {
			return nil, fmt.Errorf("reading %q of the build context: %w", name, err)
		}
		s := source{name, name, c[name], info}
		add(s)
		if info.IsDir() {
			if err := walk(s, add); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(all, func(a, b source) int { return comparePaths(a.path, b.path) })
	return all, nil
}

// listIn lists what lies in a folder of this machine.
func (c Context) listIn(dir string, add func(source)) error {
	s, ok, err := c.find(dir)
	if dir == "" {
		s, ok, err = lookIn(c["."], "", "")
	}
	if err != nil || !ok || s.host == "" || !s.isDir() {
		return err
	}
	return walk(s, add)
}

// comparePaths orders paths as a walk visits them: a folder before what lies
// in it, and all of it before the next name.
func comparePaths(a, b string) int {
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// walk visits what lies below a folder.
func walk(root source, visit func(source)) error {
	host, err := filepath.EvalSymlinks(root.host)
	if err != nil {
		return fmt.Errorf("reading the build context: %w", err)
	}
	return filepath.WalkDir(host, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading the build context: %w", err)
		}
		if full == host {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("reading the build context: %w", err)
		}
		rel := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(full, host)), "/")
		at := path.Join(root.path, rel)
		visit(source{at, at, full, info})
		return nil
	})
}

// missing says what the context has in place of the pattern.
func (v view) missing(pattern string) error {
	if _, there, err := v.files.find(pattern); err == nil && there {
		return fmt.Errorf("%q is left out of the build context by the ignore file", pattern)
	}
	var names []string
	for name, host := range v.files {
		if name == "." {
			return fmt.Errorf("%q is not in the build context, which is the folder %s", pattern, host)
		}
		if path.Base(name) == path.Base(pattern) {
			return fmt.Errorf("%q is not in the build context; %q is", pattern, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 12 {
		names = append(names[:12], "…")
	}
	if len(names) == 0 {
		return fmt.Errorf("%q is not in the build context, which is empty", pattern)
	}
	return fmt.Errorf("%q is not in the build context, which has %s", pattern, strings.Join(names, ", "))
}

// Entry is one file, folder or link of a context, with the mode that it gets
// in an image.
type Entry struct {
	Path string // slash-separated
	Host string // of a file: where its content is
	Mode fs.FileMode
	Size int64
	Link string
	// Stamp changes whenever the file does: the time of its last change, in
	// nanoseconds.
	Stamp int64
}

// Entries lists a context as a builder of images sees it, folders before what
// lies in them, without what the ignore file, which may be nil, leaves out.
func (c Context) Entries(ignore *dockerfile.Ignore) ([]Entry, error) {
	all, err := view{c, ignore}.list("")
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(all))
	for _, s := range all {
		n, err := s.entry()
		if err != nil {
			return nil, err
		}
		state := s.state()
		e := Entry{Path: s.path, Host: n.Host, Mode: fs.FileMode(n.Mode), Size: n.Size, Link: n.Link, Stamp: max(state.Modified, state.Changed)}
		switch n.Kind {
		case tar.TypeDir:
			e.Mode |= fs.ModeDir
		case tar.TypeSymlink:
			e.Mode |= fs.ModeSymlink
		}
		entries = append(entries, e)
	}
	return entries, nil
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
