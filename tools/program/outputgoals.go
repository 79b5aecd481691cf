// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"path/filepath"
	"strings"
)

// outputGoals turns goals that are paths of outputs, relative or absolute,
// into the goals that make them: out/linux_amd64/istioctl,
// out/linux_amd64/release/istioctl-osx. The platform in the path must be the
// one that the settings say, which make also insists on; other names are left
// for the registry to judge.
func (p *program) outputGoals(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.inv.Dir, path)
		}
		rel, err := filepath.Rel(filepath.Join(p.inv.Dir, "out"), path)
		if err != nil || !strings.Contains(name, "/") || strings.HasPrefix(rel, "..") {
			continue
		}
		parts := strings.Split(filepath.ToSlash(rel), "/")
		switch {
		case len(parts) == 2:
			out[i] = parts[1]
		case len(parts) == 3 && parts[1] == "release" && (parts[2] == "istioctl.bash" || parts[2] == "_istioctl"):
			out[i] = "istioctl.completion"
		case len(parts) == 3 && parts[1] == "release":
			out[i] = parts[2]
		}
	}
	return out
}
