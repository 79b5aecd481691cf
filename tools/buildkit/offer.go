// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"context"
	"fmt"
	"os"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/istio-ecosystem/slipway/tools/image"
)

// offer is the layout as a content store that BuildKit reads images from which
// Dockerfiles name. It is read-only.
type offer struct {
	content.Store // nil: what is not below is never called for reading

	layout *image.Layout
}

// Info tells whether a blob is there.
func (s offer) Info(_ context.Context, d digest.Digest) (content.Info, error) {
	r, err := openBlob(s.layout, d)
	if err != nil {
		return content.Info{}, err
	}
	return content.Info{Digest: d, Size: r.size}, r.Close()
}

// ReaderAt opens a blob.
func (s offer) ReaderAt(_ context.Context, d ocispecs.Descriptor) (content.ReaderAt, error) {
	return openBlob(s.layout, d.Digest)
}

// Update would change labels, of which there are none.
func (s offer) Update(_ context.Context, info content.Info, _ ...string) (content.Info, error) {
	return info, nil
}

// Walk visits nothing.
func (s offer) Walk(context.Context, content.WalkFunc, ...string) error { return nil }

// Writer is refused.
func (s offer) Writer(context.Context, ...content.WriterOpt) (content.Writer, error) {
	return nil, fmt.Errorf("writing into the images that are offered: %w", errdefs.ErrPermissionDenied)
}

// Delete is refused.
func (s offer) Delete(_ context.Context, d digest.Digest) error {
	return fmt.Errorf("deleting blob %s: %w", d, errdefs.ErrPermissionDenied)
}

// blobReader is a blob of the layout.
type blobReader struct {
	*os.File

	size int64
}

// Size is in bytes.
func (b *blobReader) Size() int64 { return b.size }

func openBlob(l *image.Layout, d digest.Digest) (*blobReader, error) {
	f, err := l.Blob(hashOf(d))
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", d, errdefs.ErrNotFound)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &blobReader{f, info.Size()}, nil
}
