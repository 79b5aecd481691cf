// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Layer is a compressed layer in the layout.
type Layer struct {
	DiffID v1.Hash `json:"diffID"` // of the tar
	Digest v1.Hash `json:"digest"` // of the blob
	Size   int64   `json:"size"`   // of the blob
	Media  string  `json:"mediaType"`
}

// makeLayer turns entries into a blob. The tar is made once for its digest;
// only when the layout has no blob of that content is it made again, into the
// compressor. Content that changes in between is noticed.
func (l *Layout) makeLayer(ctx context.Context, entries []node, codec Codec, anew bool) (layer Layer, fresh bool, err error) {
	diffID, err := l.hashTar(ctx, entries)
	if err != nil {
		return Layer{}, false, err
	}
	key := codec.key() + "-" + diffID.Hex
	if !anew && l.recall("layers", key, &layer) && layer.DiffID == diffID && l.Has(layer.Digest, layer.Size) {
		return layer, false, nil
	}
	layer = Layer{DiffID: diffID, Media: string(codec.mediaType())}
	s, err := l.spool()
	if err != nil {
		return Layer{}, false, err
	}
	layer.Digest, layer.Size, err = s.commit(l.compress(ctx, s, entries, codec))
	if err != nil {
		return Layer{}, false, fmt.Errorf("writing a layer: %w", err)
	}
	return layer, true, l.remember("layers", key, layer)
}

func (l *Layout) hashTar(ctx context.Context, entries []node) (v1.Hash, error) {
	sum := sha256.New()
	if err := l.writeTar(ctx, sum, entries); err != nil {
		return v1.Hash{}, err
	}
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}, nil
}

// compress writes the tar through the compressor.
func (l *Layout) compress(ctx context.Context, out io.Writer, entries []node, codec Codec) error {
	buffered := bufio.NewWriterSize(out, 1<<20)
	w, err := codec.writer(buffered)
	if err != nil {
		return err
	}
	return errors.Join(l.writeTar(ctx, w, entries), w.Close(), buffered.Flush())
}

// writeTar writes entries, which are sorted, as a tar that depends on nothing
// but them.
func (l *Layout) writeTar(ctx context.Context, out io.Writer, entries []node) error {
	contents, err := l.unpack(ctx, entries)
	if err != nil {
		return err
	}
	defer contents.remove()
	tw := tar.NewWriter(out)
	for _, n := range entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := tw.WriteHeader(header(n)); err != nil {
			return fmt.Errorf("adding /%s: %w", n.Path, err)
		}
		if n.Kind == tar.TypeReg {
			if err := writeContent(tw, n, contents); err != nil {
				return fmt.Errorf("adding /%s: %w", n.Path, err)
			}
		}
	}
	return tw.Close()
}

func header(n node) *tar.Header {
	h := &tar.Header{Typeflag: n.Kind, Name: n.Path, Mode: n.Mode, Uid: n.UID, Gid: n.GID, ModTime: time.Unix(0, 0), PAXRecords: n.Xattrs}
	switch n.Kind {
	case tar.TypeDir:
		h.Name += "/"
	case tar.TypeReg:
		h.Size = n.Size
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		h.Devmajor, h.Devminor = n.Device[0], n.Device[1]
	default:
		h.Linkname = n.Link
	}
	return h
}

func writeContent(w io.Writer, n node, contents unpacked) error {
	path := n.Host
	switch {
	case n.Layer.Hex != "":
		path = contents.path(n)
	case n.Host == "":
		_, err := io.WriteString(w, n.Text)
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	copied, err := io.Copy(w, io.LimitReader(f, n.Size+1))
	if err == nil && copied < n.Size {
		err = fmt.Errorf("%s is shorter than a moment ago; is something still writing it?", path)
	}
	return err
}

// unpacked are the contents of entries that come from other layers, in files.
type unpacked struct {
	dir   string
	paths map[string]string
}

func (u unpacked) path(n node) string { return u.paths[n.Layer.Hex+"/"+n.InLayer] }

func (u unpacked) remove() {
	if u.dir != "" {
		_ = os.RemoveAll(u.dir)
	}
}

// unpack takes what entries need out of the layers that hold it.
func (l *Layout) unpack(ctx context.Context, entries []node) (u unpacked, err error) {
	wanted := map[v1.Hash][]node{}
	for _, n := range entries {
		if n.Kind == tar.TypeReg && n.Layer.Hex != "" {
			wanted[n.Layer] = append(wanted[n.Layer], n)
		}
	}
	if len(wanted) == 0 {
		return unpacked{}, nil
	}
	if u.dir, err = os.MkdirTemp(l.dir+"/tmp", "unpack-"); err != nil {
		return unpacked{}, err
	}
	u.paths = map[string]string{}
	for layer, nodes := range wanted {
		if ctx.Err() != nil {
			return u, context.Cause(ctx)
		}
		if err := l.unpackLayer(layer, nodes, u); err != nil {
			u.remove()
			return unpacked{}, err
		}
	}
	return u, nil
}

func (l *Layout) unpackLayer(layer v1.Hash, nodes []node, u unpacked) (err error) {
	into := map[string]io.Writer{}
	for _, n := range nodes {
		if into[n.InLayer] != nil {
			continue
		}
		f, err := os.CreateTemp(u.dir, "")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		u.paths[layer.Hex+"/"+n.InLayer] = f.Name()
		into[n.InLayer] = f
	}
	return l.extract(layer, into)
}

// extract copies files out of a layer.
func (l *Layout) extract(layer v1.Hash, into map[string]io.Writer) error {
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
	left := len(into)
	for tr := tar.NewReader(plain); left > 0; {
		h, err := tr.Next()
		if err != nil {
			return fmt.Errorf("looking for %d files in layer %s: %w", left, layer, err)
		}
		w, ok := into[cleanName(h.Name)]
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		if _, err := io.Copy(w, tr); err != nil {
			return fmt.Errorf("reading layer %s: %w", layer, err)
		}
		left--
	}
	return nil
}
