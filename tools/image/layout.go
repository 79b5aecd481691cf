// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sys/unix"
)

// RefName is the annotation under which a layout's index names an image.
const RefName = "org.opencontainers.image.ref.name"

// Layout is an OCI image layout folder: blobs by digest, and an index of names.
// Many processes may use one at the same time.
type Layout struct{ dir string }

// OpenLayout makes the folder a layout if it is none yet.
func OpenLayout(dir string) (*Layout, error) {
	l := &Layout{dir}
	for _, sub := range []string{"blobs/sha256", "tmp", "cache/steps", "cache/layers", "cache/trees", "cache/facts"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("making the image layout: %w", err)
		}
	}
	marker := filepath.Join(dir, "oci-layout")
	if _, err := os.Stat(marker); errors.Is(err, fs.ErrNotExist) {
		if err := l.write(marker, []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
			return nil, fmt.Errorf("making the image layout: %w", err)
		}
	}
	return l, nil
}

// Dir is the folder.
func (l *Layout) Dir() string { return l.dir }

func (l *Layout) blobPath(h v1.Hash) string { return filepath.Join(l.dir, "blobs", h.Algorithm, h.Hex) }

// Has tells whether a blob is there with that size. A blob gets its name only
// when it is whole.
func (l *Layout) Has(h v1.Hash, size int64) bool {
	info, err := os.Stat(l.blobPath(h))
	return err == nil && info.Size() == size
}

// touch notes that a blob was used today, for Prune.
func (l *Layout) touch(h v1.Hash) {
	info, err := os.Stat(l.blobPath(h))
	if now := time.Now(); err == nil && now.Sub(info.ModTime()) > 24*time.Hour {
		_ = os.Chtimes(l.blobPath(h), now, now) // at worst it is pruned early
	}
}

// Blob opens a blob.
func (l *Layout) Blob(h v1.Hash) (*os.File, error) { return os.Open(l.blobPath(h)) }

// Put stores a small blob.
func (l *Layout) Put(content []byte) (v1.Hash, error) {
	sum := sha256.Sum256(content)
	h := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
	if l.Has(h, int64(len(content))) {
		return h, nil
	}
	return h, l.write(l.blobPath(h), content)
}

// write replaces a file as a whole.
func (l *Layout) write(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Join(l.dir, "tmp"), "write-")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return l.place(f, path, err)
}

// place gives a temporary file its final name, or removes it when err or
// anything else is wrong.
func (l *Layout) place(f *os.File, path string, err error) error {
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// spool is a blob on its way into the layout.
type spool struct {
	layout *Layout
	file   *os.File
	sum    hash.Hash
	size   int64
}

func (l *Layout) spool() (*spool, error) {
	f, err := os.CreateTemp(filepath.Join(l.dir, "tmp"), "blob-")
	if err != nil {
		return nil, fmt.Errorf("writing a blob: %w", err)
	}
	return &spool{layout: l, file: f, sum: sha256.New()}, nil
}

func (s *spool) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.sum.Write(p[:n])
	s.size += int64(n)
	return n, err
}

// commit names the blob after its content; with an error it is thrown away.
func (s *spool) commit(err error) (v1.Hash, int64, error) {
	h := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(s.sum.Sum(nil))}
	return h, s.size, s.layout.place(s.file, s.layout.blobPath(h), err)
}

// lock keeps other processes out until the function that it returns is called.
func (l *Layout) lock(ctx context.Context) (unlock func(), err error) {
	return l.lockFile(ctx, "lock", unix.LOCK_EX)
}

// lockFile waits for a lock; the kernel frees it when the process ends.
func (l *Layout) lockFile(ctx context.Context, name string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the image layout: %w", err)
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing unlocks
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("locking the image layout: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (l *Layout) index() (v1.IndexManifest, error) {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	content, err := os.ReadFile(filepath.Join(l.dir, "index.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return index, nil
	}
	if err != nil {
		return index, fmt.Errorf("reading the image layout: %w", err)
	}
	if err := json.Unmarshal(content, &index); err != nil {
		return index, fmt.Errorf("reading %s: %w; remove the folder to start anew", filepath.Join(l.dir, "index.json"), err)
	}
	return index, nil
}

// Name lets a name stand for an image in the layout's index.
func (l *Layout) Name(ctx context.Context, name string, d v1.Descriptor) error {
	unlock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	index, err := l.index()
	if err != nil {
		return err
	}
	d.Annotations = map[string]string{RefName: name}
	at := slices.IndexFunc(index.Manifests, func(m v1.Descriptor) bool { return m.Annotations[RefName] == name })
	switch {
	case at < 0:
		index.Manifests = append(index.Manifests, d)
	case index.Manifests[at].Digest == d.Digest:
		return nil
	default:
		index.Manifests[at] = d
	}
	content, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	return l.write(filepath.Join(l.dir, "index.json"), content)
}

// Named returns the image of a name.
func (l *Layout) Named(name string) (v1.Descriptor, bool, error) {
	index, err := l.index()
	if err != nil {
		return v1.Descriptor{}, false, err
	}
	for _, m := range index.Manifests {
		if m.Annotations[RefName] == name {
			return m, true, nil
		}
	}
	return v1.Descriptor{}, false, nil
}

// readJSON reads a blob that holds JSON.
func (l *Layout) readJSON(h v1.Hash, into any) error {
	f, err := l.Blob(h)
	if err != nil {
		return fmt.Errorf("reading blob %s: %w", h, err)
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, 64<<20))
	if err != nil {
		return fmt.Errorf("reading blob %s: %w", h, err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("reading blob %s: %w", h, err)
	}
	return nil
}

// remember and recall keep small records of the caches. A record that cannot
// be read is as good as none.
func (l *Layout) remember(kind, key string, record any) error {
	content, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return l.write(filepath.Join(l.dir, "cache", kind, key+".json"), content)
}

func (l *Layout) recall(kind, key string, into any) bool {
	content, err := os.ReadFile(filepath.Join(l.dir, "cache", kind, key+".json"))
	return err == nil && json.Unmarshal(content, into) == nil
}
