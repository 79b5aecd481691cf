// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// recordDir, in the output folder, holds records and stages.
const recordDir = ".slipway"

// stage is where a batch is built before it takes the place of older files. It
// lies in the output folder, so that moving a file is one rename.
type stage struct{ dir string }

const stagePrefix = "build-"

func newStage(outDir string) (*stage, error) {
	parent := filepath.Join(outDir, recordDir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("making the output folder: %w", err)
	}
	sweep(parent)
	dir, err := os.MkdirTemp(parent, stagePrefix)
	if err != nil {
		return nil, fmt.Errorf("writing to the output folder: %w", err)
	}
	return &stage{dir: dir}, nil
}

// abandoned is the age at which a stage is taken to be left by a build that was
// killed; none takes that long.
const abandoned = 24 * time.Hour

func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), stagePrefix) && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
}

func (s *stage) file(base string) string { return filepath.Join(s.dir, base) }

// place moves a finished file over the one that is there. A crash of the
// machine may lose it, which the size in the record then shows; so it is not
// synced.
func (s *stage) place(base, dest string) error {
	if err := os.Rename(s.file(base), dest); err != nil {
		return fmt.Errorf("placing %q: %w", filepath.Base(dest), err)
	}
	return nil
}

func (s *stage) remove() { _ = os.RemoveAll(s.dir) }
