// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/image"
	"github.com/istio-ecosystem/slipway/tools/publish"
)

// make builds the image for all platforms.
func (i *imageJob) make(ctx context.Context) error {
	j := i.job
	created, err := j.p.ws.created(ctx, j.source)
	if err != nil {
		return fail.With(fail.Usage, err)
	}
	i.created = created
	if i.backend.kind == daemonless {
		err = i.makeHere(ctx, created)
	} else {
		err = i.makeByBuilder(ctx, created)
	}
	if err != nil {
		return err
	}
	i.report()
	return nil
}

// makeHere evaluates the Dockerfile for each platform and builds the image.
func (i *imageJob) makeHere(ctx context.Context, created time.Time) error {
	j := i.job
	r := image.Request{
		Name: i.layoutName(), File: i.build.Image.Dockerfile, Layout: j.layout, Bases: j.bases, Created: created, Codec: j.codec,
		Labels: j.labels(ctx, i), OwnLabels: i.ownLabels(), Annotations: j.annotations(ctx, i, created), Jobs: j.p.jobs(), NoCache: j.noCache(),
	}
	var ignore *dockerfile.Ignore
	if i.ignore != "" {
		var err error
		if ignore, err = dockerfile.ParseIgnore([]byte(i.ignore)); err != nil {
			return fail.With(fail.Usage, err)
		}
	}
	for n, p := range i.platforms {
		result, err := i.plans[n].Evaluate(j.bases.ConfigOf(ctx))
		if err != nil {
			return err
		}
		r.Platforms = append(r.Platforms, image.PlatformInput{Platform: v1Platform(p), Result: result, Context: i.contexts[n], Ignore: ignore})
	}
	var err error
	i.built, err = image.Build(ctx, r)
	return err
}

// labels are the OCI's own, as far as they do not depend on hub and tag: one
// build is one digest, however it is named.
func (j *job) labels(ctx context.Context, i *imageJob) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":   i.build.Image.Name,
		"org.opencontainers.image.version": j.p.ws.settings.Get("VERSION"),
	}
	if j.source.Version != "" {
		labels["org.opencontainers.image.revision"] = j.source.Version
		labels["org.opencontainers.image.source"] = "https://" + j.source.Module
	} else if facts, err := j.p.ws.checkout.Facts(ctx); err == nil {
		labels["org.opencontainers.image.revision"] = facts.Head
		labels["org.opencontainers.image.source"] = facts.Remote
	}
	if i.baked != nil {
		maps.Copy(labels, i.baked.Labels)
	}
	for k, v := range labels {
		if v == "" {
			delete(labels, k)
		}
	}
	return labels
}

// annotations are for those who look at manifests without fetching
// configurations: the labels, and the date.
func (j *job) annotations(ctx context.Context, i *imageJob, created time.Time) map[string]string {
	all := j.labels(ctx, i)
	all["org.opencontainers.image.created"] = created.UTC().Format(time.RFC3339)
	return all
}

// ownLabels are those that the Dockerfile sets. A bake file has the last word.
func (i *imageJob) ownLabels() []string {
	own := i.plans[0].Labels()
	if i.baked == nil {
		return own
	}
	return slices.DeleteFunc(own, func(name string) bool { _, given := i.baked.Labels[name]; return given })
}

// report is one line: what the image is and how much of it was made now.
func (i *imageJob) report() {
	layers, fresh, size := 0, 0, int64(0)
	for _, p := range i.built.Platforms {
		for _, l := range p.Layers {
			layers, size = layers+1, size+l.Size
			if l.Fresh {
				fresh++
			}
		}
	}
	say := i.job.p.console.Note
	if len(i.outputs) == 0 {
		say = i.job.p.console.Verbose
	}
	say("slipway: image %s (%s) is %s: %d of %d layers made, %.1f MB", i.build.Image.Name, strings.Join(i.build.Variants, ", "),
		i.built.Descriptor.Digest, fresh, layers, float64(size)/1e6)
}

// single are the images that go to outputs which take one platform each.
func (j *job) single(o output, do func(i *imageJob, n int, p catalog.Platform) error) error {
	for _, i := range j.images {
		if !slices.Contains(i.outputs, o) {
			continue
		}
		for n, p := range i.platforms {
			if err := do(i, n, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// tagged are the names of an image in an archive of one platform: those of
// other architectures than amd64 end with the architecture when there are
// several, since one name can stand for one platform only.
func (i *imageJob) tagged(variant string, p catalog.Platform) []string {
	arch := ""
	if len(i.platforms) > 1 {
		arch = p.Arch
	}
	var names []string
	for _, hub := range i.job.identity.Hubs {
		for _, tag := range i.job.identity.Tags {
			names = append(names, hub+"/"+i.build.Image.Name+":"+catalog.TagFor(tag, variant, arch))
		}
	}
	return names
}

func (j *job) save(ctx context.Context) error {
	return j.single(toFiles, func(i *imageJob, n int, p catalog.Platform) error {
		for v, path := range i.archives(p) {
			names := i.tagged(i.build.Variants[v], p)
			if err := j.layout.Save(ctx, path, i.built.Platforms[n].Descriptor, names); err != nil {
				return err
			}
			j.p.console.Result("%s", path)
		}
		return nil
	})
}

// load sends images to a Docker engine where there is one.
func (j *job) load(ctx context.Context) error {
	want := j.p.ws.settings.Get("DOCKER_LOAD")
	if j.mustLoad {
		want = "1"
	}
	if want == "0" {
		return nil
	}
	engine, err := image.FindEngine(ctx, j.p.inv.getenv)
	if err != nil {
		if want == "1" {
			return err
		}
		j.p.console.Note("slipway: the images are in %s; no Docker engine answers, so they are not loaded into one", j.relative(j.layout.Dir()))
		return nil
	}
	if len(j.platforms) > 1 {
		j.p.console.Warn("the images are in %s and not loaded into %s, which takes one platform (DOCKER_ARCHITECTURES is %s)",
			j.relative(j.layout.Dir()), engine, j.p.ws.settings.Get("DOCKER_ARCHITECTURES"))
		return nil
	}
	return j.single(toEngine, func(i *imageJob, n int, _ catalog.Platform) error {
		r, w := io.Pipe()
		go func() { w.CloseWithError(j.layout.Archive(ctx, w, i.built.Platforms[n].Descriptor, i.references)) }()
		if err := errors.Join(engine.Load(ctx, r), r.Close()); err != nil {
			return err
		}
		j.p.console.Note("slipway: loaded %s into %s", strings.Join(i.references, ", "), engine)
		return nil
	})
}

// loadNodes puts images into all nodes of a kind cluster, so that its pods need
// no registry.
func (j *job) loadNodes(ctx context.Context) error {
	engine, err := image.FindEngine(ctx, j.p.inv.getenv)
	if err != nil {
		return err
	}
	nodes, err := engine.Nodes(ctx, j.p.ws.settings.Get("KIND_CLUSTER_NAME"))
	if err != nil {
		return err
	}
	arch, err := engine.Architecture(ctx)
	if err != nil {
		return err
	}
	if policy := j.p.ws.settings.Lookup("PULL_POLICY"); policy.Value == "Always" {
		j.p.console.Warn("PULL_POLICY is Always (%s), so pods will ask a registry for images that are loaded: use another TAG, or give PULL_POLICY=IfNotPresent", policy.Origin)
	}
	for _, i := range j.images {
		if !slices.Contains(i.outputs, toNodes) {
			continue
		}
		at := slices.IndexFunc(i.platforms, func(p catalog.Platform) bool { return p.Arch == arch })
		if at < 0 {
			return fail.With(fail.Usage, fmt.Errorf("the nodes run programs of linux/%s, and image %s is built for %s: add it to DOCKER_ARCHITECTURES", arch, i.build.Image.Name, j.p.ws.settings.Get("DOCKER_ARCHITECTURES")))
		}
		for _, node := range nodes {
			loaded, err := node.Load(ctx, j.layout, i.built.Platforms[at].Descriptor, i.references)
			if err != nil {
				return err
			}
			what := fmt.Sprintf("%d blobs, %.1f MB", loaded.Blobs, float64(loaded.Bytes)/1e6)
			if loaded.Had {
				what = "was there"
			}
			j.p.console.Note("slipway: %s in node %s (%s)", strings.Join(i.references, ", "), node.Name, what)
		}
	}
	return nil
}

func (j *job) relative(path string) string {
	if rel, err := filepath.Rel(j.p.ws.dir, path); err == nil {
		return rel
	}
	return path
}

// resultFile is what a push leaves behind, for resume and for CI.
func (ws *workspace) resultFile() string { return filepath.Join(ws.dir, "out", "publish.json") }

func (j *job) push(ctx context.Context) error {
	options := j.p.ws.publishOptions(j.p)
	options.Layout = j.layout.Dir()
	options.NoClobber = options.NoClobber || j.anew
	for _, i := range j.images {
		if slices.Contains(i.outputs, toHubs) {
			options.Items = append(options.Items, publish.Item{Name: i.layoutName(), Digest: i.built.Descriptor.Digest, References: i.references})
			options.Items = append(options.Items, i.referrers(ctx)...)
		}
	}
	result, err := publish.Publish(ctx, options)
	return errors.Join(err, j.p.reportPublish(result))
}

func (ws *workspace) publishOptions(p *program) publish.Options {
	s := ws.settings
	return publish.Options{
		ResultFile: ws.resultFile(), Insecure: strings.Fields(s.Get("SLIPWAY_INSECURE")), Jobs: p.flags.Jobs, Console: p.console,
		NoClobber: s.Get("SLIPWAY_NO_CLOBBER") == "1", AllOrNothing: s.Get("SLIPWAY_ALL_OR_NOTHING") == "1",
	}
}

// reportPublish prints the result: a line for each reference, or JSON.
func (p *program) reportPublish(result *publish.Result) error {
	if result == nil {
		return nil
	}
	if p.json() {
		return p.printJSON(result)
	}
	for _, r := range result.References {
		p.console.Result("%s@%s\t%s", r.Reference, r.Digest, r.State)
	}
	return nil
}
