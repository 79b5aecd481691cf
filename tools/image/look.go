// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// LayersOf lists the layers of an image manifest, the lowest first.
func (l *Layout) LayersOf(manifest v1.Hash) ([]v1.Hash, error) {
	var m v1.Manifest
	if err := l.readJSON(manifest, &m); err != nil {
		return nil, err
	}
	var layers []v1.Hash
	for _, d := range m.Layers {
		layers = append(layers, d.Digest)
	}
	return layers, nil
}

// Visible tells for a path and a layer whether a container sees that layer's
// file under that path.
func (l *Layout) Visible(manifest v1.Hash) (func(path string, layer v1.Hash) bool, error) {
	layers, err := l.LayersOf(manifest)
	if err != nil {
		return nil, err
	}
	t, err := l.treeOf(layers)
	if err != nil {
		return nil, err
	}
	return func(path string, layer v1.Hash) bool { return t[path].Layer == layer }, nil
}

// EachFile visits the regular files of a layer in its own order.
func (l *Layout) EachFile(layer v1.Hash, visit func(path string, h *tar.Header, r io.Reader) error) error {
	f, err := l.Blob(layer)
	if err != nil {
		return fmt.Errorf("reading layer %s: %w", layer, err)
	}
	defer func() { _ = f.Close() }()
	plain, err := decompress(f)
	if err != nil {
		return fmt.Errorf("reading layer %s: %w", layer, err)
	}
	defer func() { _ = plain.Close() }()
	for tr := tar.NewReader(plain); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading layer %s: %w", layer, err)
		}
		if h.Typeflag == tar.TypeReg {
			if err := visit(cleanName(h.Name), h, tr); err != nil {
				return err
			}
		}
	}
}

// Remember and Recall keep a small record that others work out from blobs. A
// record that cannot be read is as good as none.
func (l *Layout) Remember(key string, record any) error { return l.remember("facts", key, record) }

// Recall reads a record into the value that into points to.
func (l *Layout) Recall(key string, into any) bool { return l.recall("facts", key, into) }
