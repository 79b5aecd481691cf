// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var errNoMember = errors.New("no file in the archive matches")

// unpack writes the program in a download to w: the download itself if it is a
// program, else the one member of the archive that matches pattern.
func unpack(ctx context.Context, w io.Writer, payload, pattern string, limit int64) error {
	f, err := os.Open(payload)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	head, err := readHead(f)
	if err != nil {
		return fmt.Errorf("reading %q: %w", payload, err)
	}
	if err := recognise(head); err != nil {
		return fmt.Errorf("it is %w", err)
	}
	if formatOf(head) == programFormat {
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, reader{until(ctx), f}, make([]byte, 1<<20))
		return err
	}
	stream, closeStream, err := decompress(formatOf(head), reader{until(ctx), f})
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	defer closeStream()
	return untar(w, &limited{r: stream, left: limit, limit: limit}, pattern)
}

func decompress(f format, r io.Reader) (io.Reader, func(), error) {
	switch f {
	case gzipFormat:
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	case zstdFormat:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	default:
		return r, func() {}, nil
	}
}

// untar reads the whole archive, also after the member was found: its end
// holds the checksum of the compression, and a second match is a mistake.
func untar(w io.Writer, r *limited, pattern string) error {
	archive := tar.NewReader(r)
	found, seen := "", []string(nil)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("unpacking: %w", err)
		}
		name, match := member(h, pattern)
		if !match {
			if h.Typeflag == tar.TypeReg && len(seen) < 8 {
				seen = append(seen, h.Name)
			}
			continue
		}
		if err := acceptable(h, found, pattern); err != nil {
			return err
		}
		if h.Size > r.limit { // a sparse file is small in the archive
			return tooLarge(h.Size, r.limit)
		}
		found = name
		if _, err := io.Copy(w, archive); err != nil {
			return fmt.Errorf("unpacking %q: %w", h.Name, err)
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	if found == "" {
		return fmt.Errorf("%w %q: it has %q", errNoMember, pattern, seen)
	}
	return nil
}

// member is the path of an entry, as GNU tar would write it, and whether it is
// the wanted one.
func member(h *tar.Header, pattern string) (string, bool) {
	if h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader {
		return "", false
	}
	name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
	subject := name
	if !strings.Contains(pattern, "/") {
		subject = path.Base(name)
	}
	match, err := path.Match(pattern, subject)
	return name, err == nil && match
}

func acceptable(h *tar.Header, found, pattern string) error {
	switch {
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse:
		return fmt.Errorf("unpacking %q: it is a link or a device and not a file, which is refused", h.Name)
	case strings.Contains("/"+h.Name+"/", "/../"):
		return fmt.Errorf("unpacking %q: a path that leaves the archive is refused", h.Name)
	case found != "":
		return fmt.Errorf("unpacking: %q and %q both match %q, and only one program is wanted", found, h.Name, pattern)
	}
	return nil
}

// limited ends with an error where io.LimitReader would pretend an end.
type limited struct {
	r           io.Reader
	left, limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		// Only an archive that goes on is too large.
		if n, err := l.r.Read(make([]byte, 1)); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("it unpacks to more than the limit of %d bytes", l.limit)
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
