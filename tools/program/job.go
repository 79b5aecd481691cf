// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/compile"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/image"
	"github.com/istio-ecosystem/slipway/tools/settings"
)

// job is artifacts with everything decided: what is compiled for which
// platform, fetched, put into images, and sent where.
type job struct {
	p         *program
	key       string // of the step that stands for all of it
	plan      *Plan
	catalog   *catalog.Catalog
	source    compile.Source
	compiles  []*compileJob
	prebuilts []*prebuiltJob
	images    []*imageJob // bases before what starts from them
	identity  *settings.Identity
	platforms []catalog.Platform
	layout    *image.Layout
	bases     *image.Bases
	codec     image.Codec
	rootfs    bool
	wanted    wantedBackend
	anew      bool  // see artifacts
	mustLoad  bool  // an engine is needed
	limit     int64 // bytes that the layout is pruned to; 0: never
	noBuilds  bool  // images are only described
	lock      *image.Lock
	release   func()      // of the layout
	builder   *builderJob // for images that BuildKit makes; nil: there are none
}

// compileJob is one call of compile.Build.
type compileJob struct {
	platform compile.Platform
	out      string
	packages []compile.Package
}

// plan decides everything that can be decided without making anything.
// Mistakes in settings come before the first step runs.
func (a *artifacts) plan(ctx context.Context, p *program) (*Plan, *job, error) {
	j := &job{p: p, plan: &Plan{Dir: p.ws.dir}, anew: a.anew, mustLoad: a.mustLoad, release: func() {}}
	j.noBuilds = len(a.images) > 0 && !slices.ContainsFunc(a.images, func(w imageWant) bool { return w.output != toBake })
	var err error
	if j.lock, err = image.ReadLock(filepath.Join(p.ws.dir, filepath.FromSlash(basesLock))); err != nil {
		return nil, nil, err
	}
	if j.catalog, err = p.ws.needCatalog(); err != nil {
		return nil, nil, err
	}
	for _, w := range j.catalog.Warnings {
		j.warn("%s", w.String())
	}
	if j.codec, err = image.ParseCodec(p.ws.settings.Get("SLIPWAY_CODEC")); err != nil {
		return nil, nil, err
	}
	if err := j.findSource(ctx); err != nil {
		return nil, nil, err
	}
	for _, decide := range []func(context.Context, *artifacts) error{j.planBinaries, j.planReleases, j.planImages, j.planBake, j.planPrebuilts} {
		if err := decide(ctx, a); err != nil {
			return nil, nil, err
		}
	}
	j.fillPlan()
	return j.plan, j, nil
}

func (j *job) warn(format string, args ...any) {
	j.plan.Warnings = append(j.plan.Warnings, fmt.Sprintf(format, args...))
}

// findSource only downloads the module when something will be made of it.
func (j *job) findSource(ctx context.Context) error {
	c := j.catalog.Source
	j.plan.Source = &SourcePlan{Module: c.Module, Version: c.Version}
	if c.Local() {
		j.plan.Source = &SourcePlan{Dir: j.p.ws.dir}
		if len(j.catalog.Binaries) == 0 { // a repository of images needs no go.mod
			j.source = compile.Source{Dir: j.p.ws.dir}
			return nil
		}
	}
	if root, _ := j.p.ws.sourceRoot(j.p); root == "" && j.p.flags.DryRun {
		return nil
	}
	source, err := j.p.ws.source(ctx, j.p)
	j.source, j.plan.Source.Dir = source, source.Dir
	return err
}

// compile adds binaries for a platform; each is compiled once.
func (j *job) compile(platform compile.Platform, out string, packages ...compile.Package) {
	at := slices.IndexFunc(j.compiles, func(c *compileJob) bool { return c.platform == platform && c.out == out })
	if at < 0 {
		j.compiles = append(j.compiles, &compileJob{platform: platform, out: out})
		at = len(j.compiles) - 1
	}
	c := j.compiles[at]
	for _, pkg := range packages {
		same := slices.IndexFunc(c.packages, func(o compile.Package) bool { return o.Name == pkg.Name && o.Output == pkg.Output })
		if same < 0 {
			c.packages = append(c.packages, pkg)
		} else if pkg.Named {
			c.packages[same].Named = true
		}
	}
}

// compilePackage is a binary of the catalog as compile takes it.
func (j *job) compilePackage(b catalog.Binary, named bool) compile.Package {
	tags := b.Tags
	for set, name := range map[catalog.Set]string{catalog.Standard: "STANDARD_TAGS", catalog.Agent: "AGENT_TAGS"} {
		if v := j.p.ws.settings.Lookup(name); b.Set == set && v.IsSet() {
			tags = strings.FieldsFunc(v.Value, func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	return compile.Package{Name: b.Name, Path: b.Package, Tags: tags, OS: b.OS, Named: named}
}

func (j *job) targetPlatform(linux bool) (compile.Platform, string, error) {
	s := j.p.ws.settings
	os := s.Get("TARGET_OS")
	if linux {
		os = "linux"
	}
	platform, err := compile.ParsePlatform(os + "/" + s.Get("TARGET_ARCH"))
	if err == nil {
		_, err = catalog.ParsePlatform(os + "/" + s.Get("TARGET_ARCH")) // knows what exists, and what was meant
	}
	if err != nil {
		return platform, "", fail.With(fail.Usage, fmt.Errorf("TARGET_OS is %q (%s) and TARGET_ARCH is %q (%s): %w",
			s.Get("TARGET_OS"), s.Lookup("TARGET_OS").Origin, s.Get("TARGET_ARCH"), s.Lookup("TARGET_ARCH").Origin, err))
	}
	return platform, j.p.ws.out(os, s.Get("TARGET_ARCH")), nil
}

func (j *job) planBinaries(_ context.Context, a *artifacts) error {
	for _, g := range a.groups {
		platform, out, err := j.targetPlatform(g == catalog.GroupLinux)
		if err != nil {
			return err
		}
		for _, b := range j.catalog.BinariesOf(g) {
			j.compile(platform, out, j.compilePackage(b, false))
		}
	}
	for i, names := range [][]string{a.binaries, a.linux} {
		if len(names) == 0 {
			continue
		}
		found, err := j.catalog.BinariesNamed(names)
		if err != nil {
			return err
		}
		platform, out, err := j.targetPlatform(i == 1)
		if err != nil {
			return err
		}
		for _, b := range found {
			j.compile(platform, out, j.compilePackage(b, true))
		}
	}
	return nil
}

// planReleases adds the binaries that users download. They lie in the folder
// of the platform that build is for, whatever they run on.
func (j *job) planReleases(_ context.Context, a *artifacts) error {
	_, out, err := j.targetPlatform(false)
	if err != nil {
		return err
	}
	for _, r := range j.catalog.Releases {
		if !a.all && !slices.Contains(a.releases, r.Name) {
			continue
		}
		platform := compile.Platform{OS: r.Platform.OS, Arch: r.Platform.Arch, Variant: r.Platform.Variant}
		j.compile(platform, out+"/release", compile.Package{Name: r.Name, Path: r.Package, Output: r.Name, Named: true})
	}
	return nil
}

func hostPlatform() string { return "linux/" + runtime.GOARCH }

// fillPlan puts what was decided into the plan that people see.
func (j *job) fillPlan() {
	for _, c := range j.compiles {
		cp := CompilePlan{Platform: c.platform.String(), Out: c.out}
		for _, pkg := range c.packages {
			name := pkg.Output
			if name == "" {
				name = pkg.Name
			}
			cp.Binaries = append(cp.Binaries, BinaryPlan{Name: pkg.Name, Package: pkg.Path, Tags: strings.Join(pkg.Tags, ","), Output: name})
		}
		j.plan.Compile = append(j.plan.Compile, cp)
	}
	for _, b := range j.prebuilts {
		j.plan.Prebuilts = append(j.plan.Prebuilts, b.describe())
	}
	for _, i := range j.images {
		j.plan.Images = append(j.plan.Images, i.describe())
	}
}
