// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/run"
)

// modFile is what we need of `go mod edit -json` and `go work edit -json`.
type modFile struct {
	Use     []struct{ DiskPath string }
	Replace []struct {
		New struct{ Path, Version string }
	}
}

// roots are the folders that a build in a checkout reads sources from: the
// module, the modules of its workspace, and what replace directives put in
// place of modules.
func (r Request) roots(ctx context.Context) ([]string, error) {
	modules := []string{r.Source.Dir}
	all := []string{r.Source.Dir}
	if work := r.workFile(); work != "" {
		file, err := r.editJSON(ctx, "work", work)
		if err != nil {
			return nil, err
		}
		dir := filepath.Dir(work)
		for _, use := range file.Use {
			modules = append(modules, absolute(dir, use.DiskPath))
		}
		all = append(append(all, modules...), file.local(dir)...)
		if vendor := filepath.Join(dir, "vendor"); content(filepath.Join(vendor, "modules.txt")) != "none" {
			all = append(all, vendor)
		}
	}
	slices.Sort(modules)
	for _, module := range slices.Compact(modules) {
		file, err := r.editJSON(ctx, "mod", filepath.Join(module, "go.mod"))
		if err != nil {
			return nil, err
		}
		all = append(all, file.local(module)...)
	}
	return outermost(all), nil
}

// local are the folders that replace directives name, which start with a dot
// or a slash.
func (m modFile) local(dir string) []string {
	var out []string
	for _, r := range m.Replace {
		if r.New.Version == "" {
			out = append(out, absolute(dir, r.New.Path))
		}
	}
	return out
}

func (r Request) editJSON(ctx context.Context, kind, path string) (modFile, error) {
	var file modFile
	out, err := run.Output(ctx, r.Runner, run.Command{
		Args: []string{r.GoBinary, kind, "edit", "-json", path}, Dir: filepath.Dir(path), Env: r.environ(),
	})
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal([]byte(out), &file); err != nil {
		return file, fmt.Errorf("reading %q: %w", path, err)
	}
	return file, nil
}

// workFile is the go.work that Go would use, "" for none
// (https://go.dev/ref/mod#workspaces).
func (r Request) workFile() string {
	if r.Source.InModuleCache {
		return ""
	}
	switch file := goEnv(r.baseEnv(), "GOWORK"); file {
	case "off":
		return ""
	case "":
	default:
		return file
	}
	for dir := r.Source.Dir; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "go.work")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			return ""
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// outermost sorts folders and drops those below another.
func outermost(dirs []string) []string {
	slices.Sort(dirs)
	var out []string
	for _, d := range dirs {
		if !slices.ContainsFunc(out, func(o string) bool { return d == o || strings.HasPrefix(d, o+"/") }) {
			out = append(out, d)
		}
	}
	return out
}
