// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/istio-ecosystem/slipway/tools/repo"
)

// recordFormat changes when inputs or checks are added, so that records of an
// older Slipway do not count.
const recordFormat = 1

// record is what is known about a binary that lies in the output folder.
type record struct {
	Format int       `json:"format"`
	Inputs inputs    `json:"inputs"`
	Roots  []string  `json:"roots,omitempty"` // folders that Inputs.Source covers
	Binary Binary    `json:"binary"`
	File   fileState `json:"file"`
}

// inputs are keys of all that decides what a binary is, apart by cause so that
// a rebuild can say why.
type inputs struct {
	Source      string `json:"source"`
	Toolchain   string `json:"toolchain"`
	Environment string `json:"environment"`
	Flags       string `json:"flags"`
	Package     string `json:"package"`
}

// differs names the first input that is not the same, "" when all are.
func (in inputs) differs(now inputs) string {
	switch {
	case in.Package != now.Package:
		return "another package"
	case in.Flags != now.Flags:
		return "flags, tags or stamps changed"
	case in.Environment != now.Environment:
		return "the environment of Go changed"
	case in.Toolchain != now.Toolchain:
		return "the Go toolchain changed"
	case in.Source != now.Source:
		return "the sources changed"
	}
	return ""
}

// fileState tells whether a file was written to, without reading it.
type fileState struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds
	Changed  int64  `json:"changed"`  // nanoseconds
	Inode    uint64 `json:"inode"`
}

func stateOf(path string) (fileState, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fileState{}, err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o100 == 0 {
		return fileState{}, fmt.Errorf("%q is no program", path)
	}
	inode, changed := repo.Identity(info)
	return fileState{info.Size(), info.ModTime().UnixNano(), changed.UnixNano(), inode}, nil
}

func recordPath(u unit) string {
	return filepath.Join(filepath.Dir(u.dest), recordDir, u.Output+".json")
}

// readRecord returns the record of a unit whose file is still the one that was
// recorded, else why there is none.
func readRecord(ctx context.Context, u unit) (record, string) {
	raw, err := os.ReadFile(recordPath(u))
	if err != nil {
		return record{}, "it was not built before"
	}
	var rec record
	if json.Unmarshal(raw, &rec) != nil || rec.Format != recordFormat {
		return record{}, "its record is of another version of this tool"
	}
	now, err := stateOf(u.dest)
	if err != nil || now.Size != rec.File.Size {
		return record{}, "its file is gone or was altered"
	}
	if now == rec.File {
		return rec, ""
	}
	// Copied, linked or touched: the content decides.
	sum, _, err := scan(ctx, u.dest, nil)
	if err != nil || sum != rec.Binary.SHA256 {
		return record{}, "its file was altered"
	}
	rec.File = now
	_ = writeRecord(u, rec) // if not, the content is read again next time
	return rec, ""
}

// writeRecord replaces the record as a whole.
func writeRecord(u unit, rec record) error {
	raw, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	path := recordPath(u)
	tmp, err := os.CreateTemp(filepath.Dir(path), ".record-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	if _, err := tmp.Write(append(raw, '\n')); err != nil {
		_ = tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
