// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ownDir, beside the files that we place, holds their records and files that
// are not complete.
const ownDir = ".slipway"

const tempPrefix = "fetch-"

// abandoned is the age at which a temporary file is taken to be left by a
// process that was killed.
const abandoned = 24 * time.Hour

// writeAtomic makes a file appear under path complete, synced and with the
// mode, or not at all. fill gets the open temporary file, in ownDir of the
// folder, so that the rename stays on one file system.
func writeAtomic(path string, mode os.FileMode, fill func(*os.File) error) (err error) {
	dir := filepath.Join(filepath.Dir(path), ownDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("placing %q: %w", path, err)
	}
	sweep(dir)
	tmp, err := os.CreateTemp(dir, tempPrefix)
	if err != nil {
		return fmt.Errorf("placing %q: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = tmp.Close() // closed already unless fill failed
			_ = os.Remove(tmp.Name())
		}
	}()
	if err := fill(tmp); err != nil {
		return err
	}
	// After a crash of the machine the record must not vouch for a file whose
	// blocks were never written.
	if err := closeSynced(tmp, mode); err != nil {
		return fmt.Errorf("placing %q: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("placing %q: %w", path, err)
	}
	return nil
}

func closeSynced(f *os.File, mode os.FileMode) error {
	if err := f.Chmod(mode); err != nil { // not at creation: that is subject to the umask
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

func writeJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return writeAtomic(path, 0o644, func(f *os.File) error {
		if _, err := f.Write(append(raw, '\n')); err != nil {
			return fmt.Errorf("writing %q: %w", path, err)
		}
		return nil
	})
}

// readJSON leaves v as it is when there is no such file or it is damaged: what
// we keep in JSON can be found out again.
func readJSON(path string, v any) bool {
	raw, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(raw, v) == nil
}

func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && strings.HasPrefix(e.Name(), tempPrefix) && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// replaceFile writes a file of the repository. It leaves no folder of ours
// behind: that is for output folders.
func replaceFile(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone after the rename
	if _, err := tmp.Write(content); err != nil {
		_ = tmp.Close()
		return err
	}
	if err := closeSynced(tmp, 0o644); err != nil {
		_ = tmp.Close()
		return err
	}
	return os.Rename(tmp.Name(), path)
}
