// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"path"
	"slices"
	"strings"
)

// Chosen tells the Chart.yaml files below folders (slash paths from the root of
// the tree); without folders, all of them.
func Chosen(folders ...string) func(string) bool {
	return func(file string) bool {
		return path.Base(file) == "Chart.yaml" && (len(folders) == 0 || slices.ContainsFunc(folders, func(f string) bool {
			return strings.HasPrefix(file, f+"/")
		}))
	}
}

// Find returns the folders of the charts whose Chart.yaml is among files,
// sorted, each once. As make's find does, it takes charts inside charts too.
func Find(files []string) []string {
	var dirs []string
	for _, f := range files {
		if path.Base(f) == "Chart.yaml" {
			dirs = append(dirs, path.Dir(f))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
