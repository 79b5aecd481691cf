// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	zoneDir   = "root/usr/share/zoneinfo/"
	zoneMagic = "TZif" // RFC 9636
	// maxZone bounds one file; the largest is under 4 KiB.
	maxZone = 1 << 20
)

// addZones takes the time zones out of the Go toolchain's archive and returns
// how many there are. A toolchain without it is no error, since programs then
// use UTC: the image lacks zones, and the note says so.
func (t *tree) addZones(goroot string) (count int, note string, err error) {
	if goroot == "" {
		return 0, "time zones are left out: no Go toolchain is named", nil
	}
	path := filepath.Join(goroot, "lib", "time", "zoneinfo.zip")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Sprintf("time zones are left out: there is no %s; images that use zones need a Go toolchain that has it", path), nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("reading time zones: %w", err)
	}
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return 0, "", fmt.Errorf("reading time zones from %q: %w", path, err)
	}
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		zone, err := readZone(f)
		if err != nil {
			return 0, "", fmt.Errorf("reading time zone %q from %q: %w", f.Name, path, err)
		}
		t.file(zoneDir+f.Name, zone)
		count++
	}
	return count, "", nil
}

func readZone(f *zip.File) ([]byte, error) {
	if !fs.ValidPath(f.Name) {
		return nil, errors.New("its name leads out of the folder")
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	zone, err := io.ReadAll(io.LimitReader(r, maxZone+1))
	switch {
	case err != nil:
		return nil, err
	case len(zone) > maxZone:
		return nil, fmt.Errorf("it has more than %d bytes", maxZone)
	case !bytes.HasPrefix(zone, []byte(zoneMagic)):
		return nil, errors.New("it is no time zone file")
	}
	return zone, nil
}
