// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Source is the module that holds the packages.
type Source struct {
	Dir     string // root of the module, absolute
	Module  string // module path
	Version string // module version; empty for a checkout
	Commit  string // where the version came from, if known
	Sum     string // hash of the module's content (h1:…), for a module version
	// InModuleCache is true when Dir lies in Go's module cache: nobody writes
	// to it, so Sum stands for all of it.
	InModuleCache bool
}

var moduleLine = regexp.MustCompile(`(?m)^\s*module\s+(?:"([^"]+)"|([^\s"]+))`)

// Checkout returns the source in a folder that holds a go.mod.
func Checkout(dir string) (Source, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Source{}, fmt.Errorf("finding the sources in %q: %w", dir, err)
	}
	path := filepath.Join(abs, "go.mod")
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Source{}, usage("finding the sources: there is no go.mod in %q; start in the root of the repository, or give it with make -C or mage -w", abs)
	}
	if err != nil {
		return Source{}, fmt.Errorf("finding the sources: %w", err)
	}
	m := moduleLine.FindSubmatch(raw)
	if m == nil {
		return Source{}, usage("finding the sources: %q has no module line", path)
	}
	return Source{Dir: abs, Module: string(m[1]) + string(m[2])}, nil
}

// Resolve returns the source of a module at a version, which is downloaded
// when it is not in Go's module cache. A version that is there already costs
// no process. version may be anything that `go mod download` takes.
func Resolve(ctx context.Context, r run.Runner, module, moduleVersion string) (Source, error) {
	if module == "" || moduleVersion == "" || strings.HasPrefix(module, "-") {
		return Source{}, usage("finding module %q at version %q: both are needed", module, moduleVersion)
	}
	if source, ok := cached(module, moduleVersion); ok {
		return source, nil
	}
	var out, stderr bytes.Buffer
	err := retry(ctx, func() (string, error) {
		out.Reset()
		stderr.Reset()
		err := download(ctx, r, module+"@"+moduleVersion, &out, &stderr)
		return out.String() + stderr.String(), err
	})
	var answer struct {
		Path, Version, Dir, Sum, Error string
		Origin                         struct{ Hash string }
	}
	if jsonErr := json.Unmarshal(out.Bytes(), &answer); jsonErr != nil && err == nil {
		err = jsonErr
	}
	if err != nil || answer.Error != "" || answer.Dir == "" {
		return Source{}, explainDownload(ctx, module+"@"+moduleVersion, answer.Error, stderr.String(), err)
	}
	return Source{
		Dir: answer.Dir, Module: answer.Path, Version: answer.Version,
		Commit: answer.Origin.Hash, Sum: answer.Sum, InModuleCache: true,
	}, nil
}

func download(ctx context.Context, r run.Runner, query string, out, stderr *bytes.Buffer) error {
	// In an empty folder no go.mod or go.work of somebody else has a say.
	dir, err := os.MkdirTemp("", "slipway-module-")
	if err != nil {
		return fmt.Errorf("making a folder to download in: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	flags := ""
	if strings.Contains(goEnv(os.Environ(), "GOFLAGS"), "-modcacherw") {
		flags = "-modcacherw" // the one flag that is about the cache; -mod would be refused here
	}
	return r.Run(ctx, run.Command{
		Args:   []string{"go", "mod", "download", "-json", query},
		Dir:    dir,
		Env:    run.Environ(os.Environ(), "GOWORK=off", "GO111MODULE=on", "GOFLAGS="+flags),
		Stdout: out,
		Stderr: stderr,
	})
}

func explainDownload(ctx context.Context, query, said, stderr string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("downloading %s: %w", query, context.Cause(ctx))
	}
	if fail.Code(err) == fail.Unavailable {
		return noGo("go", err)
	}
	if said == "" {
		said = strings.TrimSpace(stderr)
	}
	if said == "" && err != nil {
		said = err.Error()
	}
	if unreachable(said) {
		return fail.With(fail.Unavailable, fmt.Errorf("downloading %s: %s\n"+
			"the module cache does not hold it and no module proxy could be reached: go online, set GOPROXY to a proxy that can be, or build in a checkout", query, said))
	}
	return usage("downloading %s: %s; see whether the module has this version", query, said)
}

// noGo is the error for a Go command that is not there.
func noGo(binary string, err error) error {
	return fail.With(fail.Unavailable, fmt.Errorf("looking for the Go command %q: %w; install Go from https://go.dev/dl/, or name one with GOBINARY", binary, err))
}

// cached finds a version that Go has unpacked before.
func cached(module, moduleVersion string) (Source, bool) {
	if !canonical.MatchString(moduleVersion) {
		return Source{}, false
	}
	cache := moduleCache(os.Environ())
	if cache == "" {
		return Source{}, false
	}
	dir := filepath.Join(cache, filepath.FromSlash(escape(module))+"@"+escape(moduleVersion))
	meta := filepath.Join(cache, "cache", "download", filepath.FromSlash(escape(module)), "@v", escape(moduleVersion))
	// Go marks a folder that it is still unpacking with a .partial file, and
	// writes .ziphash when it has checked the archive.
	if _, err := os.Lstat(meta + ".partial"); err == nil {
		return Source{}, false
	}
	sum, err := os.ReadFile(meta + ".ziphash")
	if err != nil {
		return Source{}, false
	}
	if info, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil || !info.Mode().IsRegular() {
		return Source{}, false
	}
	return Source{
		Dir: dir, Module: module, Version: moduleVersion, Commit: origin(meta + ".info"),
		Sum: strings.TrimSpace(string(sum)), InModuleCache: true,
	}, true
}

// origin returns the commit in a module's .info file, if it has one.
func origin(path string) string {
	var info struct{ Origin struct{ Hash string } }
	raw, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(raw, &info) != nil {
		return ""
	}
	return info.Origin.Hash
}

var canonical = regexp.MustCompile(`^v\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`)

var upper = regexp.MustCompile(`[A-Z]`)

// escape writes a module path or version as the cache does, for file systems
// that do not tell upper from lower case
// (https://go.dev/ref/mod#module-cache).
func escape(s string) string {
	return upper.ReplaceAllStringFunc(s, func(c string) string { return "!" + strings.ToLower(c) })
}
