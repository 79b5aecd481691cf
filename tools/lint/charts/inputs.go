// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Inputs returns every file that the verdict on a chart can depend on: those
// of its folder, with links to folders followed as Helm does, each folder once.
// Folders are in it too, with a slash at their end: one that is empty is not
// the same to Helm as one that is not there. Paths are slash paths from root,
// as chart is; sorted.
func Inputs(root, chart string) ([]string, error) {
	w := inputs{root: root, walked: map[string]bool{}}
	if err := w.folder(below(root, chart)); err != nil {
		return nil, fmt.Errorf("listing the files of chart %s: %w", chart, err)
	}
	slices.Sort(w.names)
	return slices.Compact(w.names), nil
}

type inputs struct {
	root   string
	walked map[string]bool // real folders
	names  []string
}

func (w *inputs) folder(dir string) error {
	realDir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if w.walked[realDir] {
		return nil
	}
	w.walked[realDir] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	w.names = append(w.names, relative(w.root, dir)+"/")
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(name)
			isDir = err == nil && info.IsDir()
		}
		if !isDir {
			w.names = append(w.names, relative(w.root, name))
			continue
		}
		if err := w.folder(name); err != nil {
			return err
		}
	}
	return nil
}
