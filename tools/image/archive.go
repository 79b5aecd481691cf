// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/gzip"
)

// Archive writes one image as docker save does, under the given names, so
// that docker load takes it. The descriptor names an image manifest, not an
// index. The same image gives the same bytes.
func (l *Layout) Archive(ctx context.Context, w io.Writer, d v1.Descriptor, names []string) error {
	var manifest v1.Manifest
	if err := l.readJSON(d.Digest, &manifest); err != nil {
		return err
	}
	tw := tar.NewWriter(w)
	list := struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{Config: manifest.Config.Digest.Hex + ".json", RepoTags: names}
	written := map[v1.Hash]bool{}
	if err := l.archiveBlob(tw, manifest.Config.Digest, list.Config); err != nil {
		return err
	}
	for _, layer := range manifest.Layers {
		name := layer.Digest.Hex + ".tar.gz"
		list.Layers = append(list.Layers, name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if written[layer.Digest] {
			continue
		}
		written[layer.Digest] = true
		if err := l.archiveBlob(tw, layer.Digest, name); err != nil {
			return err
		}
	}
	content, err := json.Marshal([]any{list})
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(archiveHeader("manifest.json", int64(len(content)))); err != nil {
		return err
	}
	if _, err := tw.Write(content); err != nil {
		return err
	}
	return tw.Close()
}

func archiveHeader(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size, ModTime: time.Unix(0, 0)}
}

func (l *Layout) archiveBlob(tw *tar.Writer, h v1.Hash, name string) error {
	f, err := l.Blob(h)
	if err != nil {
		return fmt.Errorf("reading blob %s: %w", h, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(archiveHeader(name, info.Size())); err != nil {
		return err
	}
	_, err = io.Copy(tw, f)
	return err
}

// Save writes an archive as a gzipped file. An older file of that name stays
// until the new one is whole.
func (l *Layout) Save(ctx context.Context, path string, d v1.Descriptor, names []string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("saving %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".save-")
	if err != nil {
		return fmt.Errorf("saving %s: %w", path, err)
	}
	// The layers are compressed already; gzip only gives the file the form that
	// its name promises.
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err == nil {
		err = errors.Join(l.Archive(ctx, z, d, names), z.Close())
	}
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("saving %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
