// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/compile"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/image"
)

// imageJob is one build of an image, for all platforms.
type imageJob struct {
	job        *job
	build      catalog.Build
	args       map[string]string
	platforms  []catalog.Platform
	outputs    []output
	references []string
	plans      []*dockerfile.Plan // one for each platform
	contexts   []image.Context
	ignore     string // text of the ignore file of the context
	backend    backend
	target     string              // stage; empty: the last one
	baked      *builder.BakeTarget // what a bake file says; nil: it is one of the catalog
	needs      []string            // keys of the steps that make what goes in
	built      *image.Built
	created    time.Time
	attached   []attached // documents about it
}

func (i *imageJob) layoutName() string { return i.build.Image.Name + ":" + i.build.Primary() }

// planImages decides on images, variants, platforms, names and inputs.
func (j *job) planImages(ctx context.Context, a *artifacts) error {
	if len(a.images) == 0 {
		return nil
	}
	if err := j.imageSettings(); err != nil {
		return err
	}
	for _, want := range a.images {
		builds, err := j.buildsOf(want)
		if err != nil {
			return err
		}
		references, err := catalog.Name(builds, j.identity.Hubs, j.identity.Tags)
		if err != nil {
			return err
		}
		for n, b := range builds {
			if _, err := j.addImage(ctx, b, want.output, references[n]); err != nil {
				return err
			}
		}
	}
	return j.checkOutputs(a)
}

func (j *job) imageSettings() (err error) {
	s := j.p.ws.settings
	if j.identity, err = s.Identity(); err != nil {
		return err
	}
	for _, w := range j.identity.Warnings {
		j.warn("%s", w)
	}
	v := s.Lookup("DOCKER_ARCHITECTURES")
	if j.platforms, err = catalog.ParsePlatforms(v.Value); err != nil {
		return fail.With(fail.Usage, fmt.Errorf("DOCKER_ARCHITECTURES is %q (%s): %w", v.Value, v.Origin, err))
	}
	limit := s.Lookup("SLIPWAY_IMAGES_LIMIT")
	if j.limit, err = parseSize(limit.Value); err != nil || j.limit < 0 {
		return fail.With(fail.Usage, fmt.Errorf("SLIPWAY_IMAGES_LIMIT is %q (%s): use a size such as 10GB, or 0", limit.Value, limit.Origin))
	}
	j.wanted, err = j.wantedBackend()
	return err
}

func (j *job) buildsOf(want imageWant) ([]catalog.Build, error) {
	s := j.p.ws.settings
	names := want.names
	if v := s.Lookup("DOCKER_TARGETS"); names == nil && v.IsSet() {
		names = append([]string{}, strings.Fields(v.Value)...)
	}
	images, err := j.catalog.ImagesFor(names)
	if err != nil {
		return nil, j.because("DOCKER_TARGETS", want.names == nil, err)
	}
	v := s.Lookup("DOCKER_BUILD_VARIANTS")
	list := append([]string{}, strings.Fields(v.Value)...)
	variants, err := j.catalog.VariantsFor(list, s.Get("INCLUDE_UNTAGGED_DEFAULT") == "true")
	if err != nil {
		return nil, j.because("DOCKER_BUILD_VARIANTS", true, err)
	}
	builds, skipped, err := catalog.Builds(images, variants)
	for _, skip := range skipped {
		j.warn("%s", skip)
	}
	return builds, err
}

// because names the setting that a mistake is in.
func (j *job) because(name string, itIs bool, err error) error {
	v := j.p.ws.settings.Lookup(name)
	if !itIs || !v.IsSet() {
		return err
	}
	return fail.With(fail.Usage, fmt.Errorf("%s is %q (%s): %w", name, v.Value, v.Origin, err))
}

// addImage adds a build, or another output to one that is there. Images of
// the catalog that it starts from come first.
func (j *job) addImage(ctx context.Context, b catalog.Build, out output, references []string) (*imageJob, error) {
	at := slices.IndexFunc(j.images, func(i *imageJob) bool {
		return i.build.Image.Name == b.Image.Name && i.build.Distribution == b.Distribution
	})
	if at < 0 {
		i := &imageJob{job: j, build: b, args: j.args(b), platforms: j.platformsOf(b.Image)}
		if len(i.platforms) == 0 {
			j.warn("image %s is skipped: it needs the machine that it is for, %s", b.Image.Name, hostPlatform())
			return nil, nil
		}
		if err := i.prepare(ctx); err != nil {
			return nil, err
		}
		j.images = append(j.images, i)
		at = len(j.images) - 1
	}
	i := j.images[at]
	if out != "" && !slices.Contains(i.outputs, out) {
		i.outputs = append(i.outputs, out)
	}
	for _, r := range references {
		if !slices.Contains(i.references, r) {
			i.references = append(i.references, r)
		}
	}
	return i, nil
}

// platformsOf drops those that an image cannot be made for on this machine.
func (j *job) platformsOf(i catalog.Image) []catalog.Platform {
	if !i.EmulationRequired || j.p.ws.settings.Get("ISTIO_DOCKER_QEMU") == "true" {
		return j.platforms
	}
	return slices.DeleteFunc(slices.Clone(j.platforms), func(p catalog.Platform) bool { return p.String() != hostPlatform() })
}

// args are the build arguments of Istio's image builder. One that no
// Dockerfile of the image declares does no harm.
func (j *job) args(b catalog.Build) map[string]string {
	s := j.p.ws.settings
	args := map[string]string{
		"BASE_VERSION": s.Get("BASE_VERSION"), "ISTIO_BASE_REGISTRY": s.Get("ISTIO_BASE_REGISTRY"), "istio_version": s.Get("VERSION"),
		"proxy_version": j.pin("PROXY_REPO_SHA"), "ztunnel_version": j.pin("ZTUNNEL_REPO_SHA"), "AGENTGATEWAY_IMAGE": s.Get("AGENTGATEWAY_IMAGE"),
	}
	if pin := j.pin("AGENTGATEWAY_IMAGE"); args["AGENTGATEWAY_IMAGE"] == "" && pin != "" {
		args["AGENTGATEWAY_IMAGE"] = "cr.agentgateway.dev/agentgateway:" + pin
	}
	maps.Copy(args, b.Args())
	maps.DeleteFunc(args, func(_, value string) bool { return value == "" })
	return args
}

func (j *job) pin(name string) string {
	if v := j.p.ws.settings.Lookup(name); v.IsSet() && name != "AGENTGATEWAY_IMAGE" && v.Value != "" {
		return v.Value
	}
	return j.catalog.Pin(name)
}

// prepare reads the Dockerfile, prunes it, and finds all inputs.
func (i *imageJob) prepare(ctx context.Context) error {
	name := i.build.Image.Dockerfile
	content, err := os.ReadFile(filepath.Join(i.job.p.ws.dir, filepath.FromSlash(name)))
	if err != nil {
		return fail.With(fail.Usage, fmt.Errorf("reading the Dockerfile of %s: %w", i.build.Image.Name, err))
	}
	file, err := dockerfile.Parse(name, content)
	if err != nil {
		return err
	}
	for _, p := range i.platforms {
		plan, err := file.Plan(dockerfile.Options{Args: i.args, Platform: v1Platform(p), Target: i.target})
		if err != nil {
			return fmt.Errorf("image %s (%s): %w", i.build.Image.Name, strings.Join(i.build.Variants, ", "), err)
		}
		i.plans = append(i.plans, plan)
		c, err := i.inputs(p)
		if err != nil {
			return err
		}
		i.contexts = append(i.contexts, c)
	}
	if err := i.addBases(ctx); err != nil {
		return err
	}
	return i.chooseBackend()
}

// addBases adds the images of the catalog that this one starts from.
func (i *imageJob) addBases(ctx context.Context) error {
	for _, plan := range i.plans {
		for _, base := range plan.Bases() {
			named, ok := i.job.catalog.Contexts[base.Reference]
			if !ok {
				continue
			}
			parent, err := i.job.catalog.Image(named.Image)
			if err != nil {
				return err
			}
			builds, _, err := catalog.Builds([]catalog.Image{parent}, []string{catalog.Default})
			if err != nil {
				return err
			}
			made, err := i.job.addImage(ctx, builds[0], "", nil)
			if err != nil {
				return err
			}
			if made != nil {
				i.needs = append(i.needs, made.stepKey())
			}
		}
	}
	return nil
}

func (i *imageJob) stepKey() string { return " image " + i.layoutName() }

// inputs are the build context for a platform, and what makes it.
func (i *imageJob) inputs(p catalog.Platform) (image.Context, error) {
	j, out := i.job, i.job.p.ws.out("linux", p.Arch)
	c, err := i.folder()
	if err != nil {
		return nil, err
	}
	for _, in := range i.build.Image.Inputs {
		host := filepath.Join(out, filepath.FromSlash(in.Name))
		switch in.Kind {
		case catalog.FromBinary:
			b, err := j.catalog.Binary(in.Name)
			if err != nil {
				return nil, err
			}
			j.compile(compile.Platform{OS: "linux", Arch: p.Arch, Variant: p.Variant}, out, j.compilePackage(b, true))
		case catalog.FromPrebuilt:
			b, err := j.addPrebuilt(in.Name, p.Arch, needed)
			if err != nil {
				return nil, err
			}
			host = b.imageInput(j.p.ws.settings.Get("SIDECAR"))
			i.needs = append(i.needs, b.stepKey())
		case catalog.FromGenerated:
			host, j.rootfs = j.rootfsDir(), true
			i.needs = append(i.needs, " rootfs")
		case catalog.FromFile, catalog.FromDir:
			root := j.p.ws.dir
			if in.Source {
				root = j.source.Dir
			}
			host = filepath.Join(root, filepath.FromSlash(in.PathFor(p)))
		default:
			host = filepath.Join(out, filepath.FromSlash(in.PathFor(p)))
			if in.Kind == catalog.FromPackage {
				host = filepath.Join(out, "release", in.Name)
			}
			if _, err := os.Stat(host); err != nil {
				return nil, fail.With(fail.Usage, fmt.Errorf("image %s needs %s, which Slipway does not make; make it first (%s)", i.build.Image.Name, host, in.At()))
			}
		}
		c[in.Staged(p)] = host
	}
	return c, nil
}

// folder is the context that is a folder of the repository, if there is one,
// and notes its ignore file.
func (i *imageJob) folder() (image.Context, error) {
	if i.build.Image.Context == "" {
		return image.Context{}, nil
	}
	root := i.job.p.ws.dir
	dir := filepath.Join(root, filepath.FromSlash(i.build.Image.Context))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fail.With(fail.Usage, fmt.Errorf("%s: the context of image %s, %s, is no folder", i.build.Image.At(), i.build.Image.Name, dir))
	}
	beside := filepath.Join(root, filepath.FromSlash(i.build.Image.Dockerfile)) + ".dockerignore"
	for _, path := range []string{beside, filepath.Join(dir, ".dockerignore")} {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the ignore file of image %s: %w", i.build.Image.Name, err)
		}
		i.ignore = string(text)
		break
	}
	return image.Folder(dir), nil
}

func (j *job) rootfsDir() string { return filepath.Join(j.p.ws.dir, "out", "rootfs") }

func v1Platform(p catalog.Platform) v1.Platform {
	return v1.Platform{OS: p.OS, Architecture: p.Arch, Variant: p.Variant}
}

// checkOutputs refuses outputs that cannot be, before anything is compiled.
func (j *job) checkOutputs(a *artifacts) error {
	s := j.p.ws.settings
	for _, want := range a.images {
		switch {
		case want.output == toHubs:
			if err := j.identity.CheckPush(s); err != nil {
				return err
			}
		case want.output == toEngine && len(j.platforms) > 1 && s.Get("DOCKER_LOAD") == "1":
			return fail.With(fail.Usage, fmt.Errorf("a Docker engine takes images of one platform, and DOCKER_ARCHITECTURES is %q (%s): choose one, or push",
				s.Get("DOCKER_ARCHITECTURES"), s.Lookup("DOCKER_ARCHITECTURES").Origin))
		}
	}
	return nil
}

func (i *imageJob) describe() ImagePlan {
	plan := ImagePlan{
		Name: i.build.Image.Name, Variants: i.build.Variants, Dockerfile: i.build.Image.Dockerfile, Args: i.args,
		Builder: string(i.backend.kind), Reason: i.backend.reason, References: i.references, Outputs: []string{},
	}
	for n, p := range i.platforms {
		plan.Platforms = append(plan.Platforms, p.String())
		for _, b := range i.plans[n].Bases() {
			if !slices.Contains(plan.Bases, b.Reference) {
				plan.Bases = append(plan.Bases, b.Reference)
			}
		}
		for _, at := range slices.Sorted(maps.Keys(i.contexts[n])) {
			plan.Inputs = append(plan.Inputs, at+" = "+i.contexts[n][at])
		}
		if slices.Contains(i.outputs, toFiles) {
			plan.Archives = append(plan.Archives, i.archives(p)...)
		}
	}
	for _, o := range i.outputs {
		plan.Outputs = append(plan.Outputs, string(o))
	}
	return plan
}

// archives are the files that save writes for a platform, with today's names.
func (i *imageJob) archives(p catalog.Platform) []string {
	dir := filepath.Join(i.job.p.ws.abs(i.job.p.ws.settings.Get("TARGET_OUT_LINUX")), "release", "docker")
	var files []string
	for _, variant := range i.build.Variants {
		files = append(files, filepath.Join(dir, catalog.ArchiveName(i.build.Image.Name, variant, p.Arch)))
	}
	return files
}
