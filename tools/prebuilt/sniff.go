// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// headSize is enough to tell what a file is: the mark of a tar archive ends at
// byte 265.
const headSize = 512

type format int

const (
	unknownFormat format = iota
	programFormat
	gzipFormat
	zstdFormat
	tarFormat
)

func formatOf(head []byte) format {
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return programFormat
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzipFormat
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return zstdFormat
	case len(head) >= 262 && string(head[257:262]) == "ustar":
		return tarFormat
	}
	return unknownFormat
}

var errFormat = errors.New("not a Linux program or a tar archive")

// recognise refuses what cannot be a program or an archive, and says what it
// looks like: most often it is a page for people.
func recognise(head []byte) error {
	if formatOf(head) != unknownFormat {
		return nil
	}
	return fmt.Errorf("%s, and %w", describe(head), errFormat)
}

func describe(head []byte) string {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	lower := bytes.ToLower(text)
	switch {
	case len(head) == 0:
		return "an empty file"
	case bytes.HasPrefix(lower, []byte("<!doctype html")), bytes.HasPrefix(lower, []byte("<html")):
		return "an HTML page"
	case bytes.HasPrefix(text, []byte("<?xml")), bytes.HasPrefix(text, []byte("<")):
		return "XML: " + excerpt(text)
	case bytes.HasPrefix(text, []byte("{")):
		return "JSON: " + excerpt(text)
	case bytes.HasPrefix(head, []byte("#!")):
		return "a script"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "a zip archive"
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z'}):
		return "an xz archive"
	case machO(head):
		return "a program for macOS"
	case bytes.HasPrefix(head, []byte("MZ")):
		return "a program for Windows"
	case bytes.HasPrefix(text, []byte("version https://git-lfs")):
		return "a Git LFS pointer"
	}
	return "a file that begins with " + excerpt(head)
}

func machO(head []byte) bool {
	for _, magic := range []string{"\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

func excerpt(b []byte) string {
	if len(b) > 60 {
		b = b[:60]
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(string(b), "?"))
}

// readHead reads the first bytes of f and goes back to the start.
func readHead(f *os.File) ([]byte, error) {
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return head[:n], err
}
