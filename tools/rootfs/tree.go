// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// entry is a file, or a folder when content is nil.
type entry struct {
	path    string // slash-separated, relative
	content []byte
}

func (e entry) isDir() bool { return e.content == nil }

// mode is what a file gets, whatever the umask. The sticky folders are made
// writable by the Dockerfile.
func (e entry) mode() fs.FileMode {
	if e.isDir() {
		return 0o755
	}
	return 0o644
}

// tree is all entries in order, folders before what they hold.
type tree []entry

func (t *tree) dir(paths ...string) {
	for _, p := range paths {
		*t = append(*t, entry{path: p})
	}
}

func (t *tree) file(path string, content []byte) {
	if content == nil {
		content = []byte{}
	}
	*t = append(*t, entry{path, content})
}

// complete adds the folders above each entry and puts all in order.
func (t *tree) complete() {
	for _, e := range slices.Clone(*t) {
		for at := strings.LastIndexByte(e.path, '/'); at > 0; at = strings.LastIndexByte(e.path[:at], '/') {
			t.dir(e.path[:at])
		}
	}
	slices.SortFunc(*t, func(a, b entry) int { // by part, as a walk of folders goes
		return slices.Compare(strings.Split(a.path, "/"), strings.Split(b.path, "/"))
	})
	*t = slices.CompactFunc(*t, func(a, b entry) bool { return a.path == b.path })
}

// digest stands for all paths, modes and contents.
func (t tree) digest() string {
	sum := sha256.New()
	for _, e := range t {
		fmt.Fprintf(sum, "%s %o %d %x\n", e.path, e.mode(), len(e.content), sha256.Sum256(e.content))
	}
	return fmt.Sprintf("sha256:%x", sum.Sum(nil))
}

func (t tree) size() (files int, bytes int64) {
	for _, e := range t {
		if !e.isDir() {
			files, bytes = files+1, bytes+int64(len(e.content))
		}
	}
	return files, bytes
}
