// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/compile"
	"github.com/istio-ecosystem/slipway/tools/repo"
	"github.com/istio-ecosystem/slipway/tools/settings"
	"github.com/istio-ecosystem/slipway/tools/version"
)

// workspace is the repository of the call, its settings, and what can be built
// in it.
type workspace struct {
	dir      string
	settings *settings.Settings
	checkout *repo.Checkout

	catalog    *catalog.Catalog
	catalogErr error // why there is none; an error only once it is needed
}

// openWorkspace settles the settings. A repository without a catalog can still
// be tested and linted, so a missing one is no error yet.
func openWorkspace(ctx context.Context, p *program) (*workspace, error) {
	w := &workspace{dir: p.inv.Dir, checkout: repo.Open(p.runner, p.inv.Dir, repo.Options{Ignore: []string{"out"}})}
	w.catalog, w.catalogErr = catalog.Load(w.dir, catalog.Options{Env: p.inv.lookupEnv})
	limit, err := shellLimit(p.inv.getenv("SLIPWAY_SHELL_LIMIT"))
	if err != nil {
		return nil, err
	}
	w.settings, err = settings.Settle(ctx, settings.Input{
		Dir: w.dir, Environ: cleanEnviron(p.inv.Environ, p.flags.Overrides), CommandLine: p.flags.Overrides, EnvOverrides: p.flags.EnvOverrides,
		Defaults: w.defaults(p), ShellLimit: limit, Stderr: p.console.Err(), Say: func(text string) { p.console.Note("%s", text) },
	})
	return w, err
}

func shellLimit(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("SLIPWAY_SHELL_LIMIT is %q: use a time such as 30s or 2m", text)
	}
	return d, nil
}

// cleanEnviron drops what the shim and make put into the environment, so that
// the user's file sees what make would have seen: variables of the command
// line come by their own way.
func cleanEnviron(environ, overrides []string) []string {
	given := map[string]bool{}
	for _, o := range overrides {
		given[strings.TrimRight(o[:strings.IndexByte(o, '=')], ":+?! \t")] = true
	}
	var clean []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !given[name] && !strings.HasPrefix(name, "SLIPWAY_GOALS") && name != "SLIPWAY_MAKEFLAGS" && name != "MAKEFLAGS" && name != "MFLAGS" && name != "MAKELEVEL" && name != "MAKEOVERRIDES" {
			clean = append(clean, kv)
		}
	}
	return clean
}

// defaults are those that the sources give: their VERSION file and the base
// images that their make file names.
func (w *workspace) defaults(p *program) map[string]settings.Default {
	d := map[string]settings.Default{}
	root, name := w.sourceRoot(p)
	if root == "" {
		return d
	}
	if v, err := version.FromFile(root); err == nil {
		d["VERSION"] = settings.Default{Value: v, Origin: "VERSION file" + name}
	}
	if content, err := os.ReadFile(filepath.Join(root, "Makefile.core.mk")); err == nil {
		if m := baseVersion.FindSubmatch(content); m != nil {
			d["BASE_VERSION"] = settings.Default{Value: string(m[1]), Origin: "Makefile.core.mk" + name}
		}
		if m := allowList.FindSubmatch(content); m != nil && root == w.dir {
			d["MARKDOWN_LINT_ALLOWLIST"] = settings.Default{Value: string(m[1]), Origin: "Makefile.core.mk"}
		}
	}
	return d
}

var baseVersion = regexp.MustCompile(`(?m)^BASE_VERSION \?= (\S+)`)

// allowList is how Istio's make file sets it; a setting of the user wins.
var allowList = regexp.MustCompile(`(?m)^MARKDOWN_LINT_ALLOWLIST\s*[:?]?=\s*(\S+)`)

// sourceRoot is the folder of the sources if it is on this machine already.
func (w *workspace) sourceRoot(p *program) (dir, name string) {
	if w.catalog == nil || w.catalog.Source.Local() {
		return w.dir, ""
	}
	s := w.catalog.Source
	cache := p.inv.getenv("GOMODCACHE")
	if cache == "" {
		gopath, _, _ := strings.Cut(p.inv.getenv("GOPATH"), string(filepath.ListSeparator))
		if gopath == "" {
			gopath = filepath.Join(p.inv.getenv("HOME"), "go")
		}
		cache = filepath.Join(gopath, "pkg", "mod")
	}
	dir = filepath.Join(cache, filepath.FromSlash(s.Module)+"@"+s.Version)
	if _, err := os.Stat(dir); err != nil {
		return "", ""
	}
	return dir, " of " + s.Module + "@" + s.Version
}

// needCatalog returns the catalog, or the error of reading it.
func (w *workspace) needCatalog() (*catalog.Catalog, error) { return w.catalog, w.catalogErr }

// out is a folder of outputs for a platform. TARGET_OUT and TARGET_OUT_LINUX
// name those of the target architecture; other architectures lie beside.
func (w *workspace) out(os, arch string) string {
	s := w.settings
	switch {
	case os == s.Get("TARGET_OS") && arch == s.Get("TARGET_ARCH"):
		return w.abs(s.Get("TARGET_OUT"))
	case os == "linux" && arch == s.Get("TARGET_ARCH"):
		return w.abs(s.Get("TARGET_OUT_LINUX"))
	}
	return filepath.Join(w.dir, "out", os+"_"+arch)
}

func (w *workspace) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(w.dir, path)
}

// cache is the folder of downloads and pinned programs.
func (w *workspace) cache() string {
	if dir := w.settings.Get("SLIPWAY_CACHE"); dir != "" {
		return w.abs(dir)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "slipway")
	}
	return filepath.Join(w.dir, "out", "cache")
}

// source finds the sources, and downloads the module when it is not there.
func (w *workspace) source(ctx context.Context, p *program) (compile.Source, error) {
	c, err := w.needCatalog()
	if err != nil {
		return compile.Source{}, err
	}
	if c.Source.Local() {
		return compile.Checkout(w.dir)
	}
	s, err := compile.Resolve(ctx, p.runner, c.Source.Module, c.Source.Version)
	if err != nil {
		return s, err
	}
	return s, c.CheckSource(os.DirFS(s.Dir))
}

// stamps are what binaries say about themselves.
func (w *workspace) stamps(ctx context.Context, p *program, source compile.Source, platform compile.Platform) (version.Stamps, error) {
	s := w.settings
	in := version.Input{Hub: s.Get("HUB"), Version: s.Get("VERSION"), OS: platform.OS, Arch: platform.Arch, IgnoreDirty: s.Get("IGNORE_DIRTY_TREE") != ""}
	if in.Version == "" {
		in.Version, _ = version.FromFile(source.Dir)
	}
	if path := s.Get("BUILDINFO"); path != "" {
		info, err := version.ReadBuildInfo(w.abs(path))
		if err != nil {
			return nil, err
		}
		in.BuildInfo = info
	}
	if source.Version != "" {
		return version.FromModule(in, source.Version, source.Commit), nil
	}
	facts, err := w.checkout.Facts(ctx)
	stamps, warnings := version.FromCheckout(in, facts, err)
	for _, text := range warnings {
		p.console.Warn("%s", text)
	}
	return stamps, nil
}

var pseudoTime = regexp.MustCompile(`-(?:0\.)?(\d{14})-[0-9a-f]{12}$`)

// created is when images are dated: SOURCE_DATE_EPOCH, else the commit of the
// sources, else the beginning of time; never now, so that a build can be
// repeated.
func (w *workspace) created(ctx context.Context, source compile.Source) (time.Time, error) {
	if text := w.settings.Get("SOURCE_DATE_EPOCH"); text != "" {
		var seconds int64
		if n, err := fmt.Sscanf(text, "%d", &seconds); n != 1 || err != nil || fmt.Sprint(seconds) != text {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q (%s): it is a number of seconds since 1970", text, w.settings.Lookup("SOURCE_DATE_EPOCH").Origin)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	if m := pseudoTime.FindStringSubmatch(source.Version); m != nil {
		return time.Parse("20060102150405", m[1])
	}
	if source.Version == "" {
		if facts, err := w.checkout.Facts(ctx); err == nil {
			return facts.Time.UTC(), nil
		}
	}
	return time.Unix(0, 0).UTC(), nil
}
