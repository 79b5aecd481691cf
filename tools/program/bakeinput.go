// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/toolbin"
)

// bake adds images that bake files describe, in place of a catalog's.
func (w *wants) bake(out output) error {
	a := w.artifacts()
	a.bake = append(a.bake, out)
	return nil
}

// planBake reads the bake files and adds what they describe. Their variables
// see the settled settings and nothing else.
func (j *job) planBake(ctx context.Context, a *artifacts) error {
	if len(a.bake) == 0 {
		return nil
	}
	if err := j.imageSettings(); err != nil {
		return err
	}
	targets, err := j.bakeTargets(ctx)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if err := j.addBakeTarget(ctx, t, a.bake); err != nil {
			return fmt.Errorf("bake target %s: %w", t.Name, err)
		}
	}
	if slices.Contains(a.bake, toHubs) {
		return j.identity.CheckPush(j.p.ws.settings)
	}
	return nil
}

func (j *job) bakeTargets(ctx context.Context) ([]builder.BakeTarget, error) {
	root, err := j.p.slipwayRoot()
	if err != nil {
		return nil, err
	}
	s := j.p.ws.settings
	path, err := toolbin.Own(ctx, j.p.runner, j.p.console, j.p.ws.cache(), root, "buildx")
	if err != nil {
		return nil, err
	}
	vars := map[string]string{}
	for _, name := range []string{"HUB", "HUBS", "TAG", "TAGS", "VERSION", "BASE_VERSION", "ISTIO_BASE_REGISTRY", "TARGET_ARCH"} {
		// HUBS and TAGS may be lists in a bake file, which only take what is meant.
		if v := s.Lookup(name); v.IsSet() && (!v.IsDefault() || !strings.HasSuffix(name, "S")) {
			vars[name] = v.Value
		}
	}
	for _, word := range strings.Fields(s.Get("BAKE_VARS")) {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fail.With(fail.Usage, fmt.Errorf("BAKE_VARS has %q (%s): use NAME=VALUE, separated by spaces", word, s.Lookup("BAKE_VARS").Origin))
		}
		vars[name] = value
	}
	b := builder.Baker{Path: path, Dir: j.p.ws.dir, Runner: j.p.runner, Env: run.Environ(s.Full()), Stderr: j.p.inv.Stderr}
	return b.Bake(ctx, strings.Fields(s.Get("BAKE_FILES")), vars, strings.Fields(s.Get("BAKE_TARGETS")))
}

// addBakeTarget turns one target into an image to build.
func (j *job) addBakeTarget(ctx context.Context, t builder.BakeTarget, outputs []output) error {
	if len(t.Unsupported) > 0 || t.Call != "" && t.Call != "build" {
		return fail.With(fail.Usage, fmt.Errorf("Slipway has no part in %s of bake files; docker buildx bake does that", strings.Join(append(t.Unsupported, t.Call), ", "))) //nolint:staticcheck // a name begins the text
	}
	if len(t.Attest) > 0 && !strings.Contains(strings.Join(t.Attest, " "), "disabled=true") {
		j.warn("bake target %s: its attestations are left out; SLIPWAY_SBOM=1 and SLIPWAY_PROVENANCE=1 attach ours", t.Name)
	}
	i := &imageJob{job: j, baked: &t, args: t.Args, target: t.Target, platforms: j.platforms}
	i.build = catalog.Build{Image: catalog.Image{Name: t.Name}, Variants: []string{catalog.Default}}
	if len(t.Platforms) > 0 {
		var err error
		if i.platforms, err = catalog.ParsePlatforms(strings.Join(t.Platforms, ",")); err != nil {
			return fail.With(fail.Usage, err)
		}
	}
	if err := i.placeBake(t); err != nil {
		return err
	}
	if !t.OnlyContext() {
		i.outputs, i.references = slices.Clone(outputs), t.Tags
		if slices.Contains(outputs, toHubs) && len(t.Tags) == 0 {
			return fail.With(fail.Usage, errors.New("it has no tags, so there is nowhere to push it to"))
		}
	}
	for _, alias := range t.Contexts {
		if needed, ok := strings.CutPrefix(alias, "target:"); ok {
			i.needs = append(i.needs, (&imageJob{build: catalog.Build{Image: catalog.Image{Name: needed}, Variants: []string{catalog.Default}}}).stepKey())
		}
	}
	if err := i.prepare(ctx); err != nil {
		return err
	}
	j.images = append(j.images, i)
	return nil
}

// placeBake says where context and Dockerfile are, relative to the repository.
func (i *imageJob) placeBake(t builder.BakeTarget) error {
	root := i.job.p.ws.dir
	if strings.Contains(t.Context, "://") || strings.HasPrefix(t.Context, "git@") {
		return fail.With(fail.Usage, fmt.Errorf("its context is %q: fetch it into a folder first", t.Context))
	}
	dir := t.Context
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	file := filepath.Join(dir, filepath.FromSlash(t.Dockerfile))
	if filepath.IsAbs(t.Dockerfile) {
		file = t.Dockerfile
	}
	if t.DockerfileInline != "" {
		file = filepath.Join(root, "out", "bake", t.Name+".Dockerfile")
		if err := writeWhole(file, []byte(t.DockerfileInline), 0o644); err != nil {
			return err
		}
	}
	for into, path := range map[*string]string{&i.build.Image.Context: dir, &i.build.Image.Dockerfile: file} {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		*into = filepath.ToSlash(rel)
	}
	return nil
}

// bakedRequest adds to a request what only bake files say.
func (i *imageJob) bakedRequest(r *builder.Request) error {
	t := i.baked
	if t == nil {
		return nil
	}
	for name, value := range t.Contexts {
		needed, isTarget := strings.CutPrefix(value, "target:")
		switch {
		case isTarget:
			at := slices.IndexFunc(i.job.images, func(o *imageJob) bool { return o.build.Image.Name == needed && o.built != nil })
			if at < 0 {
				return fmt.Errorf("its context %s is target %s, which was not built", name, needed)
			}
			value = i.job.images[at].built.Descriptor.Digest.String()
		case !strings.Contains(value, "://"):
			if !filepath.IsAbs(value) {
				value = filepath.Join(i.job.p.ws.dir, value)
			}
			if _, err := os.Stat(value); err != nil {
				return fail.With(fail.Usage, fmt.Errorf("its context %s: %w", name, err))
			}
			value = builder.FolderContext + value
		}
		r.Contexts[name] = value
	}
	for _, s := range t.Secrets {
		r.Secrets = append(r.Secrets, s.String())
	}
	for _, c := range t.CacheFrom {
		r.CacheFrom = append(r.CacheFrom, c.String())
	}
	for _, c := range t.CacheTo {
		r.CacheTo = append(r.CacheTo, c.String())
	}
	r.SSH = append(r.SSH, t.SSH...)
	r.NoCache, r.Pull = r.NoCache || t.NoCache, r.Pull || t.Pull
	if t.Network != "" {
		r.Network = t.Network
	}
	return nil
}

// needsBuilder says what in a bake target only BuildKit can do.
func (i *imageJob) needsBuilder() []dockerfile.Obstacle {
	if i.baked == nil || len(i.baked.Contexts) == 0 {
		return nil
	}
	return []dockerfile.Obstacle{{File: i.build.Image.Dockerfile, Line: 1, Text: "bake target " + i.baked.Name, Reason: "its named contexts need a builder"}}
}
