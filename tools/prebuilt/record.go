// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"os"
	"path/filepath"
)

// recordFormat changes when a record says something else than before, so that
// those of an older Slipway do not count.
const recordFormat = 1

// record is what is known of a file that we placed or keep in the cache.
type record struct {
	Format   int    `json:"format"`
	Source   string `json:"source"`           // identity of the URL, or the cargo build
	Member   string `json:"member,omitempty"` // what was taken from an archive
	Platform string `json:"platform,omitempty"`
	Payload  digest `json:"payload"`         // what was downloaded
	Origin   *state `json:"origin,omitzero"` // of the local file that it was taken from
	File     digest `json:"file"`            // the content of this file
	State    state  `json:"state"`           // how this file looked when File was known
}

func recordPath(path string) string {
	return filepath.Join(filepath.Dir(path), ownDir, filepath.Base(path)+".prebuilt.json")
}

// readRecord returns what is known of the file at path, false for nothing.
func readRecord(path string) (record, bool) {
	var rec record
	ok := readJSON(recordPath(path), &rec) && rec.Format == recordFormat && isSHA256(rec.File.SHA256)
	return rec, ok
}

// save writes down that the file at path, as it is now, has the content of the
// record.
func (rec record) save(path string) error {
	now, err := stateOf(path)
	if err != nil {
		return err
	}
	rec.Format, rec.State = recordFormat, now
	return writeJSON(recordPath(path), rec)
}

// intact tells whether the file at path still has the content of its record.
// It is only read when it looks different from before.
func (rec record) intact(ctx context.Context, path string) (ok, looksSame bool) {
	now, err := stateOf(path)
	if err != nil || now.Size != rec.File.Size {
		return false, false
	}
	if now == rec.State {
		return true, true
	}
	got, err := digestOf(ctx, path)
	return err == nil && got == rec.File, false
}

// refresh makes an intact program that looks different runnable again and
// remembers how it looks. It may fail: then the file is read again next time.
func (rec record) refresh(path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o111 != 0o111 {
		_ = os.Chmod(path, 0o755)
	}
	_ = rec.save(path)
}
