// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"context"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"

	"github.com/istio-ecosystem/slipway/tools/image"
)

// paperFS is a context that exists on paper, as BuildKit's client wants it.
// Owners are fixed. A file's time is its stamp: BuildKit takes a file whose
// size and time are those of the last build for the same, and layers lose
// their times later.
type paperFS struct {
	entries []image.Entry
	byPath  map[string]image.Entry
	texts   map[string]string // files that exist nowhere else
}

func newPaperFS(entries []image.Entry, texts map[string]string) fsutil.FS {
	f := &paperFS{entries: slices.Clone(entries), byPath: make(map[string]image.Entry, len(entries)), texts: texts}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		f.entries = append(f.entries, image.Entry{Path: name, Mode: 0o644, Size: int64(len(texts[name])), Stamp: time.Now().UnixNano()})
	}
	for _, e := range f.entries {
		f.byPath[e.Path] = e
	}
	return f
}

// Walk visits what lies below target, in order.
func (f *paperFS) Walk(ctx context.Context, target string, fn fs.WalkDirFunc) error {
	target = strings.Trim(path.Clean("/"+target), "/")
	skip := ""
	for _, e := range f.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if target != "" && e.Path != target && !strings.HasPrefix(e.Path, target+"/") || skip != "" && strings.HasPrefix(e.Path, skip) {
			continue
		}
		err := fn(e.Path, paperEntry{e}, nil)
		switch {
		case err == fs.SkipDir && e.Mode.IsDir(): //nolint:errorlint // the walk's own signal, never wrapped
			skip = e.Path + "/"
		case err == fs.SkipDir: //nolint:errorlint // as above
			if dir := path.Dir(e.Path); dir != "." {
				skip = dir + "/"
				continue
			}
			return nil
		case err == fs.SkipAll: //nolint:errorlint // as above
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// Open opens a file.
func (f *paperFS) Open(name string) (io.ReadCloser, error) {
	name = strings.Trim(path.Clean("/"+name), "/")
	if text, ok := f.texts[name]; ok {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	e, ok := f.byPath[name]
	if !ok || e.Host == "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return os.Open(e.Host)
}

// paperEntry is an entry as fs.DirEntry and fs.FileInfo.
type paperEntry struct{ e image.Entry }

func (p paperEntry) Name() string               { return path.Base(p.e.Path) }
func (p paperEntry) IsDir() bool                { return p.e.Mode.IsDir() }
func (p paperEntry) Type() fs.FileMode          { return p.e.Mode.Type() }
func (p paperEntry) Info() (fs.FileInfo, error) { return p, nil }
func (p paperEntry) Size() int64                { return p.e.Size }
func (p paperEntry) Mode() fs.FileMode          { return p.e.Mode }
func (p paperEntry) ModTime() time.Time         { return time.Unix(0, p.e.Stamp) }

// Sys is where fsutil looks for what FileInfo does not say.
func (p paperEntry) Sys() any {
	return &types.Stat{Path: p.e.Path, Mode: uint32(p.e.Mode), Size: p.e.Size, ModTime: p.e.Stamp, Linkname: p.e.Link}
}
