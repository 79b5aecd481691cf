// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
)

// Use says that this process works with the layout until release is called:
// nobody prunes it meanwhile. Many may use it at a time. A process that is
// killed uses it no more.
func (l *Layout) Use(ctx context.Context) (release func(), err error) {
	return l.lockFile(ctx, "use.lock", unix.LOCK_SH)
}

// Pruned is what Prune did.
type Pruned struct {
	Removed int   // blobs and cache records
	Freed   int64 // bytes
	Kept    int64 // bytes of blobs that are left
	Busy    bool  // another process uses the layout, so nothing was done
}

// Prune makes the layout no larger than limit bytes, as far as that goes
// without images that have a name: what was used least lately goes first. With
// a limit of 0 all that no named image needs goes, and the caches with it.
func (l *Layout) Prune(_ context.Context, limit int64) (Pruned, error) {
	f, err := os.OpenFile(filepath.Join(l.dir, "use.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return Pruned{}, fmt.Errorf("locking the image layout: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return Pruned{Busy: true}, nil //nolint:nilerr // somebody builds; the next run prunes
	}
	needed, err := l.needed()
	if err != nil {
		return Pruned{}, err
	}
	blobs, total, err := l.allBlobs()
	if err != nil {
		return Pruned{}, err
	}
	p := Pruned{Kept: total}
	for _, b := range blobs {
		if p.Kept <= limit && limit > 0 {
			break
		}
		if needed[b.digest] {
			continue
		}
		if err := os.Remove(l.blobPath(b.digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return p, fmt.Errorf("pruning the image layout: %w", err)
		}
		p.Removed++
		p.Freed += b.size
		p.Kept -= b.size
	}
	return p, errors.Join(l.pruneRecords(&p, limit == 0), l.pruneTemporary())
}

// Size is the size of all blobs in bytes.
func (l *Layout) Size() (int64, error) {
	_, total, err := l.allBlobs()
	return total, err
}

type storedBlob struct {
	digest v1.Hash
	size   int64
	used   time.Time
}

// allBlobs lists blobs, the one that was used least lately first.
func (l *Layout) allBlobs() (all []storedBlob, total int64, err error) {
	entries, err := os.ReadDir(filepath.Join(l.dir, "blobs", "sha256"))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the image layout: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("reading the image layout: %w", err)
		}
		all = append(all, storedBlob{v1.Hash{Algorithm: "sha256", Hex: e.Name()}, info.Size(), info.ModTime()})
		total += info.Size()
	}
	slices.SortFunc(all, func(a, b storedBlob) int { return a.used.Compare(b.used) })
	return all, total, nil
}

// needed are the blobs of all images that have a name.
func (l *Layout) needed() (map[v1.Hash]bool, error) {
	index, err := l.index()
	if err != nil {
		return nil, err
	}
	needed := map[v1.Hash]bool{}
	for _, m := range index.Manifests {
		if err := l.mark(m, needed); err != nil {
			return nil, err
		}
	}
	return needed, nil
}

// mark notes an image and all that it is made of.
func (l *Layout) mark(d v1.Descriptor, needed map[v1.Hash]bool) error {
	if needed[d.Digest] {
		return nil
	}
	needed[d.Digest] = true
	var image struct {
		Manifests []v1.Descriptor
		Config    v1.Descriptor
		Layers    []v1.Descriptor
	}
	if err := l.readJSON(d.Digest, &image); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // a name whose image is gone holds nothing
			return nil
		}
		return err
	}
	for _, m := range image.Manifests {
		if err := l.mark(m, needed); err != nil {
			return err
		}
	}
	for _, b := range append(image.Layers, image.Config) {
		needed[b.Digest] = true
	}
	return nil
}

// pruneRecords drops records of what is gone; all of them when the caches are
// emptied.
func (l *Layout) pruneRecords(p *Pruned, all bool) error {
	for _, kind := range []string{"steps", "layers", "trees", "facts"} {
		dir := filepath.Join(l.dir, "cache", kind)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("pruning the image layout: %w", err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !all && !l.dead(kind, path) {
				continue
			}
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("pruning the image layout: %w", err)
			}
			p.Removed++
		}
	}
	return nil
}

// dead tells records whose layer is not there any more.
func (l *Layout) dead(kind, path string) bool {
	if kind == "trees" || kind == "facts" { // named after the layer, facts with something in front
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		_, err := os.Stat(l.blobPath(v1.Hash{Algorithm: "sha256", Hex: name[strings.LastIndex(name, "-")+1:]}))
		return errors.Is(err, fs.ErrNotExist)
	}
	var record struct {
		Layer  Layer   // of a step, or of a layer that was taken over
		Digest v1.Hash `json:"digest"` // of a layer
		Size   int64   `json:"size"`
		Layers []Layer // of a base
		Empty  bool
	}
	content, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(content, &record) != nil {
		return true
	}
	layers := append(slices.Clone(record.Layers), record.Layer, Layer{Digest: record.Digest, Size: record.Size})
	return slices.ContainsFunc(layers, func(layer Layer) bool { return layer.Digest.Hex != "" && !l.Has(layer.Digest, layer.Size) })
}

// pruneTemporary removes what killed runs left: nobody else uses the layout.
func (l *Layout) pruneTemporary() error {
	dir := filepath.Join(l.dir, "tmp")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("pruning the image layout: %w", err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("pruning the image layout: %w", err)
		}
	}
	return nil
}
