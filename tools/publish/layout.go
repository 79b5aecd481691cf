// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

// maxManifest bounds a manifest, in bytes: twice what registries must take.
const maxManifest = 8 << 20

// layoutDir is a folder in the form of
// https://github.com/opencontainers/image-spec/blob/main/image-layout.md.
type layoutDir struct{ dir string }

// image is all of one manifest or index: what must be in a repository before
// a tag may name it.
type image struct {
	manifests []registry.Manifest // children first, the root last
	blobs     []registry.Blob
}

// openLayout checks that dir is a layout. Nothing of its content is read yet:
// a push that has nothing to do reads nothing.
func openLayout(dir string) (*layoutDir, error) {
	if dir == "" {
		return nil, errors.New("publishing: no OCI layout is given")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding OCI layout %q: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(abs, "oci-layout")); err != nil {
		return nil, fmt.Errorf("opening OCI layout %q: %w", dir, err)
	}
	return &layoutDir{abs}, nil
}

func (l *layoutDir) path(d v1.Hash) string {
	return filepath.Join(l.dir, "blobs", d.Algorithm, d.Hex)
}

// load reads the manifests below root and checks that every blob is there in
// its full size.
func (l *layoutDir) load(root v1.Hash) (*image, error) {
	img, seen := &image{}, map[v1.Hash]bool{}
	kind := l.typeInIndex(root)
	if err := l.collect(img, v1.Descriptor{Digest: root, MediaType: kind}, seen); err != nil {
		return nil, err
	}
	return img, nil
}

// manifestDoc has the fields of manifests and indexes that a push needs.
type manifestDoc struct {
	MediaType types.MediaType `json:"mediaType"`
	Config    *v1.Descriptor  `json:"config"`
	Layers    []v1.Descriptor `json:"layers"`
	Manifests []v1.Descriptor `json:"manifests"`
}

func (l *layoutDir) collect(img *image, d v1.Descriptor, seen map[v1.Hash]bool) error {
	if seen[d.Digest] {
		return nil
	}
	seen[d.Digest] = true
	body, doc, err := l.manifest(d.Digest)
	if err != nil {
		return err
	}
	for _, child := range doc.Manifests {
		if err := l.collect(img, child, seen); err != nil {
			return fmt.Errorf("index %s: %w", d.Digest, err)
		}
	}
	if doc.Config != nil {
		doc.Layers = append(doc.Layers, *doc.Config)
	}
	for _, layer := range doc.Layers {
		if err := l.addBlob(img, layer, seen); err != nil {
			return fmt.Errorf("manifest %s: %w", d.Digest, err)
		}
	}
	img.manifests = append(img.manifests, registry.Manifest{Digest: d.Digest, MediaType: doc.kind(d.MediaType), Body: body})
	return nil
}

// kind is the media type to push as: the document's own, else the one that
// its parent gives, else the OCI type of its form.
func (m *manifestDoc) kind(parent types.MediaType) types.MediaType {
	switch {
	case m.MediaType != "":
		return m.MediaType
	case parent != "":
		return parent
	case m.Config == nil && m.Layers == nil:
		return types.OCIImageIndex
	default:
		return types.OCIManifestSchema1
	}
}

func (l *layoutDir) manifest(d v1.Hash) ([]byte, *manifestDoc, error) {
	f, err := os.Open(l.path(d))
	if err != nil {
		return nil, nil, fmt.Errorf("reading manifest %s: %w", d, err)
	}
	defer func() { _ = f.Close() }()
	body, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading manifest %s: %w", d, err)
	}
	if len(body) > maxManifest {
		return nil, nil, fmt.Errorf("reading manifest %s: it is larger than %d bytes", d, maxManifest)
	}
	got, _, err := v1.SHA256(bytes.NewReader(body))
	if err != nil || got != d {
		return nil, nil, fmt.Errorf("reading manifest %s: the file %s holds %s; build the image again", d, l.path(d), got)
	}
	doc := &manifestDoc{}
	if err := json.Unmarshal(body, doc); err != nil {
		return nil, nil, fmt.Errorf("parsing manifest %s: %w", d, err)
	}
	if doc.Config == nil && doc.Manifests == nil {
		return nil, nil, fmt.Errorf("parsing manifest %s: it is neither an image manifest nor an index", d)
	}
	return body, doc, nil
}

func (l *layoutDir) addBlob(img *image, d v1.Descriptor, seen map[v1.Hash]bool) error {
	// Layers that must not be redistributed stay where their URLs say.
	if seen[d.Digest] || !d.MediaType.IsDistributable() {
		return nil
	}
	seen[d.Digest] = true
	if d.Digest.Algorithm != "sha256" {
		return fmt.Errorf("blob %s: only sha256 digests can be pushed", d.Digest)
	}
	path := l.path(d.Digest)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("finding blob %s: %w", d.Digest, err)
	}
	if info.Size() != d.Size {
		return fmt.Errorf("blob %s has %d bytes, not %d as the manifest says; build the image again", d.Digest, info.Size(), d.Size)
	}
	img.blobs = append(img.blobs, registry.Blob{Digest: d.Digest, Size: d.Size, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
	return nil
}

// typeInIndex is the media type that the layout's index gives for d; empty
// when it does not list it. An unreadable index is no error: the blobs are
// named by digest.
func (l *layoutDir) typeInIndex(d v1.Hash) types.MediaType {
	body, err := os.ReadFile(filepath.Join(l.dir, "index.json"))
	if err != nil {
		return ""
	}
	var doc manifestDoc
	if json.Unmarshal(body, &doc) != nil {
		return ""
	}
	for _, m := range doc.Manifests {
		if m.Digest == d {
			return m.MediaType
		}
	}
	return ""
}
