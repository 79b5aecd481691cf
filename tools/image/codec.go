// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"compress/bzip2"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/klauspost/pgzip"
	"github.com/ulikunitz/xz"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Codec is how layers are compressed.
type Codec struct {
	name  string // "gzip", "zstd" or "none"
	level int
}

// ParseCodec reads "gzip-1" to "gzip-9", "gzip" (level 6), "zstd" or "none".
func ParseCodec(text string) (Codec, error) {
	name, level, hasLevel := strings.Cut(text, "-")
	n, err := strconv.Atoi(level)
	switch {
	case text == "zstd", text == "none":
		return Codec{name: text}, nil
	case name == "gzip" && !hasLevel:
		return Codec{name, 6}, nil
	case name == "gzip" && err == nil && n >= 1 && n <= 9:
		return Codec{name, n}, nil
	}
	return Codec{}, fail.With(fail.Usage, fmt.Errorf("the compression of layers is %q: use gzip-1 to gzip-9, zstd or none", text))
}

// String is the codec as ParseCodec reads it.
func (c Codec) String() string {
	if c.name == "gzip" {
		return fmt.Sprintf("gzip-%d", c.level)
	}
	return c.name
}

// key changes when the bytes that the codec makes may change: another release
// of the compressor, or another size of blocks, is another codec.
func (c Codec) key() string { return c.String() + "-klauspost-1.20-blocks-1" }

// gzipBlock is how much of a layer one processor compresses at a time. It is
// part of what decides on the bytes, so it does not depend on the machine; how
// many blocks are worked on at once does, and decides on nothing.
const gzipBlock = 1 << 20

func (c Codec) mediaType() types.MediaType {
	switch c.name {
	case "zstd":
		return types.OCILayerZStd
	case "none":
		return types.OCIUncompressedLayer
	}
	return types.OCILayer
}

func (c Codec) writer(w io.Writer) (io.WriteCloser, error) {
	switch c.name {
	case "gzip":
		z, err := pgzip.NewWriterLevel(w, c.level)
		if err != nil {
			return nil, err
		}
		return z, z.SetConcurrency(gzipBlock, runtime.GOMAXPROCS(0))
	case "zstd":
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	}
	return nopCloser{w}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// decompress recognises the compression by its first bytes, since media types
// of base images are not always right.
func decompress(r io.Reader) (io.ReadCloser, error) {
	head := make([]byte, 6)
	n, err := io.ReadFull(r, head)
	if err != nil && n == 0 {
		return nil, err
	}
	whole := io.MultiReader(strings.NewReader(string(head[:n])), r)
	switch {
	case n >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		return gzip.NewReader(whole)
	case n >= 3 && string(head[:3]) == "BZh":
		return io.NopCloser(bzip2.NewReader(whole)), nil
	case n == 6 && string(head) == "\xfd7zXZ\x00":
		d, err := xz.NewReader(whole)
		return io.NopCloser(d), err
	case n >= 4 && string(head[:4]) == "\x28\xb5\x2f\xfd":
		d, err := zstd.NewReader(whole)
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(whole), nil
}
