// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/compile"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/graph"
	"github.com/istio-ecosystem/slipway/tools/image"
	"github.com/istio-ecosystem/slipway/tools/rootfs"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/version"
)

// steps are the job as a graph: what is made from what. The step named after
// the job needs them all.
func (j *job) steps() []graph.Step {
	for _, w := range j.plan.Warnings {
		if !j.p.flags.DryRun {
			j.p.console.Warn("%s", w)
		}
	}
	all := graph.Step{Key: j.key}
	var steps []graph.Step
	var keys []string
	add := func(key string, run func(context.Context) error, needs ...string) {
		keys = append(keys, key)
		for i := range needs {
			needs[i] = j.key + needs[i]
		}
		slices.Sort(needs)
		steps = append(steps, graph.Step{Key: j.key + key, Needs: slices.Compact(needs), Run: run})
		all.Needs = append(all.Needs, j.key+key)
	}
	// One go build uses all processors, so platforms are compiled one after
	// the other; downloads go on beside.
	var before []string
	for _, c := range j.compiles {
		key := " compile " + c.platform.String() + " " + c.out
		add(key, j.compileStep(c), before...)
		before = []string{key}
	}
	for _, b := range j.prebuilts {
		add(b.stepKey(), j.fetch(b))
	}
	if j.rootfs {
		add(" rootfs", j.rootfsStep)
	}
	if len(j.images) > 0 {
		add(" layout", func(ctx context.Context) error { return j.use(ctx) })
	}
	if j.builder != nil && !j.wants(toBake) {
		add(" builder", j.builderStep)
	}
	var made []string
	for _, i := range j.images {
		needs := append(append([]string{" layout"}, i.needs...), j.compileKeys(i)...)
		if i.backend.kind == byBuildKit && !i.onlyBake() {
			needs = append(needs, " builder")
		}
		if i.onlyBake() {
			add(i.stepKey(), i.stage, needs...)
		} else {
			add(i.stepKey(), i.make, needs...)
		}
		made = append(made, i.stepKey())
	}
	if j.wants(toBake) {
		add(" bake", j.writeBake, slices.Clone(made)...)
	}
	if sbom, provenance := j.attestations(); (sbom || provenance) && len(made) > 0 {
		add(" documents", j.attest, slices.Clone(made)...)
		made = append(made, " documents")
	}
	if j.wants(toFiles) {
		add(" save", j.save, slices.Clone(made)...)
	}
	if j.wants(toEngine) {
		add(" load", j.load, slices.Clone(made)...)
	}
	if j.wants(toNodes) {
		add(" kind", j.loadNodes, slices.Clone(made)...)
	}
	if j.wants(toHubs) {
		add(" push", j.push, slices.Clone(made)...)
	}
	if len(j.images) > 0 {
		add(" tidy", j.keepSmall, slices.Clone(keys)...)
	}
	return append(steps, all)
}

func (j *job) wants(o output) bool {
	return slices.ContainsFunc(j.images, func(i *imageJob) bool { return slices.Contains(i.outputs, o) })
}

// compileKeys are the steps that compile for the platforms of an image.
func (j *job) compileKeys(i *imageJob) []string {
	if !slices.ContainsFunc(i.build.Image.Inputs, func(in catalog.Input) bool { return in.Kind == catalog.FromBinary }) {
		return nil
	}
	var keys []string
	for _, c := range j.compiles {
		if c.platform.OS == "linux" && slices.ContainsFunc(i.platforms, func(p catalog.Platform) bool { return p.Arch == c.platform.Arch }) {
			keys = append(keys, " compile "+c.platform.String()+" "+c.out)
		}
	}
	return keys
}

func (j *job) compileStep(c *compileJob) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := j.compileRequest(ctx, c)
		if err != nil {
			return err
		}
		report, err := compile.Build(ctx, request)
		if err != nil {
			return err
		}
		fresh := 0
		for _, b := range report.Binaries {
			if b.Fresh {
				fresh++
			}
			for _, leak := range b.Leaks {
				j.p.console.Warn("%s holds a path of this machine: %s", b.Path, leak)
			}
		}
		if fresh < len(report.Binaries) {
			j.p.console.Note("slipway: compiled %d binaries for %s into %s (%d were up to date)", len(report.Binaries)-fresh, c.platform, c.out, fresh)
		} else {
			j.p.console.Verbose("slipway: %d binaries for %s are up to date", fresh, c.platform)
		}
		return nil
	}
}

func (j *job) compileRequest(ctx context.Context, c *compileJob) (compile.Request, error) {
	s := j.p.ws.settings
	r := compile.Request{
		Source: j.source, Platform: c.platform, Packages: c.packages, OutDir: c.out,
		Outputs: []string{filepath.Join(j.p.ws.dir, "out"), j.p.ws.out("linux", c.platform.Arch)},
		Debug:   compile.ParseDebug(s.Get("DEBUG")), Dynamic: !compile.ParseStatic(s.Get("STATIC")), CGO: s.Get("CGO_ENABLED") == "1",
		Verbose: s.Get("VERBOSE") == "1", Always: j.p.flags.AlwaysMake, Jobs: j.p.flags.Jobs, GCFlags: s.Get("GCFLAGS"), GoBinary: s.Get("GOBINARY"),
		Env: run.Environ(s.Environ()), Runner: j.p.runner, Console: j.p.console,
	}
	var err error
	if r.LDFlags, err = version.Split("LDFLAGS", s.Get("LDFLAGS")); err != nil {
		return r, fail.With(fail.Usage, err)
	}
	if r.GoBuildFlags, err = compile.SplitWords("GOBUILDFLAGS", s.Get("GOBUILDFLAGS")); err != nil {
		return r, fail.With(fail.Usage, err)
	}
	r.Stamps, err = j.p.ws.stamps(ctx, j.p, j.source, c.platform)
	return r, err
}

func (j *job) rootfsStep(ctx context.Context) error {
	goroot, err := run.Output(ctx, j.p.runner, run.Command{Args: []string{j.p.ws.settings.Get("GO"), "env", "GOROOT"}, Dir: j.p.ws.dir})
	if err != nil {
		return fmt.Errorf("asking Go where its time zones are: %w", err)
	}
	summary, err := rootfs.Write(ctx, j.rootfsDir(), goroot)
	for _, note := range summary.Notes {
		j.p.console.Verbose("slipway: %s", note)
	}
	return err
}

// use opens the layout and keeps others from pruning it.
func (j *job) use(ctx context.Context) error {
	if err := j.open(); err != nil {
		return err
	}
	release, err := j.layout.Use(ctx)
	if err == nil {
		j.release = release
	}
	return err
}

// open makes the layout and the finder of base images.
func (j *job) open() error {
	layout, err := image.OpenLayout(filepath.Join(j.p.ws.dir, "out", "images"))
	if err != nil {
		return err
	}
	j.layout = layout
	j.bases = &image.Bases{Layout: layout, Insecure: strings.Fields(j.p.ws.settings.Get("SLIPWAY_INSECURE")), Named: j.named, Pinned: j.lock.Digest}
	return nil
}

// named finds an image of this job by the name that Dockerfiles use for it.
func (j *job) named(name string) (v1.Descriptor, bool) {
	c, ok := j.catalog.Contexts[name]
	if !ok {
		return v1.Descriptor{}, false
	}
	for _, i := range j.images {
		if i.build.Image.Name == c.Image && i.built != nil {
			return i.built.Descriptor, true
		}
	}
	return v1.Descriptor{}, false
}
