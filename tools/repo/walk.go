// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Snapshot is the state of folders as their file system tells it, without
// reading one file.
type Snapshot struct {
	// Key changes when any file below the folders is added, removed, written,
	// renamed, or changes its mode or owner. It holds for this machine only.
	Key   string
	Files int
	// Newest is the latest change of any file. A file that changes again
	// within the clock tick of the file system keeps its times, so a snapshot
	// taken in the same tick as Newest proves nothing: see Settled.
	Newest time.Time
	// Loose lists symbolic links to folders outside of all roots, whose
	// content the key does not cover.
	Loose []string
}

// Tick is more than the step of the clock that Linux and macOS put on files
// (a kernel tick, 1 to 10 ms).
const Tick = 20 * time.Millisecond

// Settled is true when the snapshot, begun at the given time, would show every
// later change.
func (s Snapshot) Settled(begun time.Time) bool {
	return len(s.Loose) == 0 && s.Newest.Add(Tick).Before(begun)
}

// Walk takes a snapshot of the roots, which are absolute. Folders named .git
// and the folders in skip (absolute) are left out; files that git ignores are
// not, since a compiler reads them all the same.
//
// The key rests on size, mode, inode, modification and change time. The change
// time cannot be set by a program, so restoring an old modification time after
// an edit (`touch -r`, `cp -p`, archive tools) is seen.
func Walk(ctx context.Context, roots, skip []string) (Snapshot, error) {
	var w walker
	for _, dir := range skip {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		w.skip = append(w.skip, dir)
	}
	for _, root := range roots {
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			return Snapshot{}, fmt.Errorf("walking %q: %w", root, err)
		}
		w.roots = append(w.roots, real)
	}
	parts := make([]part, len(w.roots))
	for i, root := range w.roots {
		var err error
		if parts[i], err = w.root(ctx, root); err != nil {
			return Snapshot{}, fmt.Errorf("walking %q: %w", root, err)
		}
	}
	return join(roots, parts), nil
}

func join(roots []string, parts []part) Snapshot {
	var s Snapshot
	sum := sha256.New()
	for i, p := range parts {
		fmt.Fprintf(sum, "%q %x\n", roots[i], p.sum)
		s.Files += p.files
		s.Loose = append(s.Loose, p.loose...)
		if p.newest.After(s.Newest) {
			s.Newest = p.newest
		}
	}
	s.Key = hex.EncodeToString(sum.Sum(nil))
	return s
}

type walker struct {
	roots []string
	skip  []string
}

// part is the state of one folder and all below it.
type part struct {
	sum    []byte
	files  int
	newest time.Time
	loose  []string
}

// root walks the folders directly below root side by side.
func (w walker) root(ctx context.Context, root string) (part, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return part{}, err
	}
	below := make([]part, len(entries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, entry := range entries {
		path := filepath.Join(root, entry.Name())
		if !entry.IsDir() || w.left(path, entry.Name()) {
			continue
		}
		group.Go(func() error {
			var err error
			below[i], err = w.folder(ctx, path)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return part{}, err
	}
	return w.collect(root, entries, func(i int, _ string) (part, error) { return below[i], nil })
}

func (w walker) folder(ctx context.Context, dir string) (part, error) {
	if err := ctx.Err(); err != nil {
		return part{}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return part{}, err
	}
	return w.collect(dir, entries, func(_ int, path string) (part, error) { return w.folder(ctx, path) })
}

// collect hashes the entries of one folder in name order.
func (w walker) collect(dir string, entries []fs.DirEntry, sub func(int, string) (part, error)) (part, error) {
	sum := sha256.New()
	var p part
	for i, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if w.left(path, entry.Name()) {
			continue
		}
		if !entry.IsDir() {
			if err := w.file(sum, &p, path, entry); err != nil {
				return p, err
			}
			continue
		}
		below, err := sub(i, path)
		if err != nil {
			return p, err
		}
		fmt.Fprintf(sum, "d %q %x\n", entry.Name(), below.sum)
		p.files += below.files
		p.loose = append(p.loose, below.loose...)
		if below.newest.After(p.newest) {
			p.newest = below.newest
		}
	}
	p.sum = sum.Sum(nil)
	return p, nil
}

func (w walker) file(sum hash.Hash, p *part, path string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since the folder was listed, as files of editors are
	}
	if err != nil {
		return err
	}
	p.files++
	p.note(sum, entry.Name(), info)
	if info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	return w.link(sum, p, path)
}

// note adds one file's state.
func (p *part) note(sum hash.Hash, name string, info fs.FileInfo) {
	inode, changed := Identity(info)
	fmt.Fprintf(sum, "f %q %o %d %d %d %d\n",
		name, info.Mode(), info.Size(), info.ModTime().UnixNano(), changed.UnixNano(), inode)
	for _, t := range []time.Time{info.ModTime(), changed} {
		// A time in the future says nothing about when it was set.
		if t.After(p.newest) && t.Before(time.Now().Add(time.Minute)) {
			p.newest = t
		}
	}
}

// link adds where a symbolic link leads and, for a file, that file's state.
func (w walker) link(sum hash.Hash, p *part, path string) error {
	text, err := os.Readlink(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "l %q\n", text)
	target, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // dangling: the text is all there is
	}
	if err != nil {
		return err
	}
	if !target.IsDir() {
		p.note(sum, "->", target)
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(w.roots, func(root string) bool { return within(real, root) }) {
		p.loose = append(p.loose, path)
	}
	return nil
}

func (w walker) left(path, name string) bool {
	return name == ".git" || slices.Contains(w.skip, path)
}

// within is true when path is root or below it.
func within(path, root string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(root, string(filepath.Separator)))
	return ok && (rest == "" || rest[0] == filepath.Separator)
}
