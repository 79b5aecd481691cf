// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Summary is what Write made.
type Summary struct {
	Digest string   `json:"digest"` // of all paths, modes and contents
	Files  int      `json:"files"`
	Bytes  int64    `json:"bytes"`
	Roots  int      `json:"roots"` // CA certificates
	Zones  int      `json:"zones"` // time zones
	Fresh  bool     `json:"fresh"` // the folder held just this already
	Notes  []string `json:"notes,omitempty"`
}

// marker is a file that each folder of ours has.
const marker = "root/etc/passwd"

// Write makes dir, an absolute path, hold the files and nothing else; goroot
// is the folder of the Go toolchain, for its time zones. dir is written beside
// and renamed, so it is never half there; when it holds the same bytes
// already, it is left alone. A folder that this package did not write is an
// error.
func Write(ctx context.Context, dir, goroot string) (Summary, error) {
	t, s, err := build(goroot)
	if err != nil {
		return Summary{}, fmt.Errorf("making the files of the static base: %w", err)
	}
	if s.Fresh, err = t.same(dir); err == nil && !s.Fresh {
		err = t.replace(ctx, dir)
	}
	if err != nil {
		return Summary{}, fmt.Errorf("writing the files of the static base to %q: %w", dir, err)
	}
	return s, nil
}

func build(goroot string) (tree, Summary, error) {
	var t tree
	var s Summary
	var err error
	t.addAccounts()
	if s.Roots, s.Notes, err = t.addCertificates(); err != nil {
		return nil, s, err
	}
	zones, note, err := t.addZones(goroot)
	if err != nil {
		return nil, s, err
	}
	s.Zones = zones
	if note != "" {
		s.Notes = append(s.Notes, note)
	}
	t.complete()
	s.Digest = t.digest()
	s.Files, s.Bytes = t.size()
	return t, s, nil
}

// same tells whether dir holds just the tree. A folder that is not ours is an
// error, since it would be removed.
func (t tree) same(dir string) (bool, error) {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) == filepath.VolumeName(dir)+string(filepath.Separator) {
		return false, errors.New("the folder must be an absolute path, and not the root")
	}
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	root := os.DirFS(dir)
	if _, err := fs.Stat(root, marker); len(found) > 0 && err != nil {
		if now, err := os.ReadDir(dir); err != nil || len(now) != len(found) {
			return false, nil // another call is swapping it just now
		}
		return false, errors.New("the folder holds something else; remove it, or give another one")
	}
	same, err := t.equals(root)
	if errors.Is(err, fs.ErrNotExist) { // another call swapped it while it was read
		return false, nil
	}
	return same, err
}

func (t tree) equals(root fs.FS) (bool, error) {
	n, same := 0, true
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if n == len(t) || t[n].path != path || info.Mode() != t[n].mode()|d.Type() || d.IsDir() != t[n].isDir() {
			same = false
			return fs.SkipAll
		}
		if !d.IsDir() {
			content, err := fs.ReadFile(root, path)
			if err != nil || !bytes.Equal(content, t[n].content) {
				same = false
				return err
			}
		}
		n++
		return nil
	})
	return same && n == len(t), err
}

// replace writes the tree beside dir and swaps the two.
func (t tree) replace(ctx context.Context, dir string) (err error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+"-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	fresh, old := filepath.Join(work, "new"), filepath.Join(work, "old")
	if err := t.write(ctx, fresh); err != nil {
		return err
	}
	// Another call may have put the same files there meanwhile, and somebody may
	// read them already: then they stay.
	if same, err := t.same(dir); err != nil || same {
		return err
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		if same, _ := t.same(dir); same { // another call was first, with the same files
			return nil
		}
		_ = os.Rename(old, dir) // better the old one than none; the error says the rest
		return err
	}
	return nil
}

func (t tree) write(ctx context.Context, dir string) error {
	if err := (entry{}).write(dir); err != nil {
		return err
	}
	for _, e := range t {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.write(filepath.Join(dir, filepath.FromSlash(e.path))); err != nil {
			return err
		}
	}
	return nil
}

// write makes one file or folder. Its time is fixed, so that an archive of the
// folder is the same each time; its mode is set again, for the umask.
func (e entry) write(path string) error {
	var err error
	if e.isDir() {
		err = os.Mkdir(path, e.mode())
	} else {
		err = os.WriteFile(path, e.content, e.mode())
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(path, e.mode()); err != nil {
		return err
	}
	if e.isDir() {
		return nil // what is written into it changes its time again
	}
	return os.Chtimes(path, time.Unix(0, 0), time.Unix(0, 0))
}
