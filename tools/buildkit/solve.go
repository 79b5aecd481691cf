// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/client"
	"github.com/tonistiigi/fsutil"
	"golang.org/x/sync/errgroup"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/image"
)

// Build has an image built and takes it into the layout. Progress goes to
// progress; warnings are the builder's, each with file:line where it has one.
func Build(ctx context.Context, r builder.Request, progress io.Writer) (built *image.Built, warnings []string, err error) {
	s, err := newSolve(r)
	if err != nil {
		return nil, nil, err
	}
	if s.con, err = connect(ctx, r.Endpoint); err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.con.Close() }()
	if err := s.checkPlatforms(); err != nil {
		return nil, nil, err
	}
	built = &image.Built{Name: r.Name}
	if s.con.exportsLayouts {
		built.Platforms, err = s.layout(ctx, progress)
	} else {
		built.Platforms, err = s.engine(ctx, progress)
	}
	if err == nil {
		err = s.judge()
	}
	if err != nil {
		return nil, s.warnings, err
	}
	return built, s.warnings, s.into.Finish(ctx, built, r.Annotations)
}

// solve is one build on its way.
type solve struct {
	request   builder.Request
	codec     image.Codec
	into      *image.Layout
	entries   []image.Entry
	platforms []v1.Platform
	con       *connection

	mu       sync.Mutex // of what follows: platforms are built side by side
	warnings []string
	mismatch []string // bases of another platform
}

func newSolve(r builder.Request) (*solve, error) {
	s := &solve{request: r}
	var err error
	if s.codec, err = image.ParseCodec(r.Codec); err != nil {
		return nil, err
	}
	if s.into, err = image.OpenLayout(r.Layout); err != nil {
		return nil, err
	}
	for _, text := range r.Platforms {
		p, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, fail.With(fail.Usage, fmt.Errorf("reading the platform %q: %w", text, err))
		}
		s.platforms = append(s.platforms, *p)
	}
	if len(s.platforms) == 0 {
		return nil, fail.With(fail.Usage, errors.New("no platform to build for"))
	}
	var ignore *dockerfile.Ignore
	if r.Ignore != "" {
		if ignore, err = dockerfile.ParseIgnore([]byte(r.Ignore)); err != nil {
			return nil, fail.With(fail.Usage, err)
		}
	}
	s.entries, err = r.Context.Entries(ignore)
	return s, err
}

// checkPlatforms finds out before the build what would fail late: programs of
// a platform that the builder can neither run nor emulate. Builders do not list
// what they can do without running anything, so a missing platform is only
// told of.
func (s *solve) checkPlatforms() error {
	if !s.con.exportsLayouts && len(s.platforms) > 1 {
		return fail.With(fail.Usage, fmt.Errorf("%s builds for one platform at a time: choose one with DOCKER_ARCHITECTURES, or use buildkitd", s.con.endpoint))
	}
	for _, p := range s.platforms {
		known := func(has string) bool { return has == p.String() || strings.HasPrefix(has, p.OS+"/"+p.Architecture+"/") }
		if !slices.ContainsFunc(s.con.platforms, known) {
			s.warnings = append(s.warnings, fmt.Sprintf("%s runs programs of %s; RUN for %s needs an emulator there (binfmt_misc)",
				s.con.endpoint, strings.Join(s.con.platforms, ", "), p.String()))
		}
	}
	return nil
}

// layout lets BuildKit export into our layout, each platform in a solve of its
// own: within one solve the platforms would fight over the copy of the context
// that the builder keeps, and the files would be sent again and again.
func (s *solve) layout(ctx context.Context, progress io.Writer) ([]image.PlatformImage, error) {
	in := newIntake(s.into, s.codec)
	shared := newDisplay(s.request, len(s.platforms), progress)
	images := make([]image.PlatformImage, len(s.platforms))
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return shared.show(ctx) })
	for n, p := range s.platforms {
		g.Go(func() (err error) {
			images[n], err = s.platform(gctx, p, in, shared)
			return err
		})
	}
	return images, g.Wait()
}

// platform builds the image for one platform.
func (s *solve) platform(ctx context.Context, p v1.Platform, in *intake, shared *display) (image.PlatformImage, error) {
	statuses := shared.channel(p.String())
	opt, err := s.options(p)
	if err != nil {
		close(statuses)
		return image.PlatformImage{}, err
	}
	opt.Exports = []client.ExportEntry{{
		Type: client.ExporterOCI, OutputStore: in,
		Attrs: map[string]string{"tar": "false", "compression": "uncompressed", "oci-mediatypes": "true"},
	}}
	response, err := s.run(ctx, opt, statuses)
	if err != nil {
		return image.PlatformImage{}, err
	}
	d, err := v1.NewHash(response["containerimage.digest"])
	if err != nil {
		return image.PlatformImage{}, fmt.Errorf("reading what the builder made: %w", err)
	}
	if d, err = s.manifestOf(d, p); err != nil {
		return image.PlatformImage{}, err
	}
	return s.into.Adopt(s.foreign(d, p, in.isFresh))
}

// manifestOf is the image manifest behind a digest, which may name an index of
// one image.
func (s *solve) manifestOf(d v1.Hash, p v1.Platform) (v1.Hash, error) {
	f, err := s.into.Blob(d)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("the builder did not hand over %s: %w", d, err)
	}
	defer func() { _ = f.Close() }()
	var index v1.IndexManifest
	if err := json.NewDecoder(f).Decode(&index); err != nil {
		return v1.Hash{}, fmt.Errorf("reading what the builder made: %w", err)
	}
	if len(index.Manifests) == 0 {
		return d, nil
	}
	at := slices.IndexFunc(index.Manifests, func(m v1.Descriptor) bool { return m.Platform != nil && samePlatform(*m.Platform, p) })
	if at < 0 {
		return v1.Hash{}, fmt.Errorf("the builder made no image for %s", p.String())
	}
	return index.Manifests[at].Digest, nil
}

// samePlatform lets BuildKit add the variant that goes without saying (arm64
// is arm64/v8).
func samePlatform(has, want v1.Platform) bool {
	return has.OS == want.OS && has.Architecture == want.Architecture && (has.Variant == want.Variant || want.Variant == "")
}

// familiar is a name as BuildKit looks it up: docker.io and latest go without
// saying.
func familiar(name string) string {
	ref, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return name
	}
	return strings.TrimSuffix(reference.FamiliarString(ref), ":latest")
}

func (s *solve) foreign(manifest v1.Hash, p v1.Platform, fresh func(v1.Hash) bool) image.Foreign {
	return image.Foreign{
		Manifest: manifest, Platform: p, Codec: s.codec, Created: s.request.Created,
		Labels: s.request.Labels, OwnLabels: s.request.OwnLabels, Annotations: s.request.Annotations, AnyMachine: s.request.AnyMachine, Fresh: fresh,
	}
}

// options are those that do not depend on where the image goes.
func (s *solve) options(p v1.Platform) (client.SolveOpt, error) {
	r := s.request
	attrs := map[string]string{"filename": "Dockerfile", "platform": p.String()}
	for name, value := range r.Args {
		attrs["build-arg:"+name] = value
	}
	if _, given := r.Args["SOURCE_DATE_EPOCH"]; !given {
		attrs["build-arg:SOURCE_DATE_EPOCH"] = fmt.Sprint(max(r.Created.Unix(), 0))
	}
	if r.Target != "" {
		attrs["target"] = r.Target
	}
	if r.NoCache {
		attrs["no-cache"] = ""
	}
	if r.Pull {
		attrs["image-resolve-mode"] = "pull"
	}
	if r.Network != "" {
		attrs["force-network-mode"] = r.Network
	}
	stores, mounts := map[string]content.Store{}, map[string]fsutil.FS{}
	for name, value := range r.Contexts {
		if dir, ok := strings.CutPrefix(value, builder.FolderContext); ok {
			entries, err := image.Folder(dir).Entries(nil)
			if err != nil {
				return client.SolveOpt{}, err
			}
			mounts["named-"+name] = newPaperFS(entries, nil)
			value = "local:named-" + name
		}
		if strings.HasPrefix(value, "sha256:") {
			stores["slipway"] = offer{layout: s.into}
			value = "oci-layout://slipway@" + value
		}
		attrs["context:"+familiar(name)] = value
	}
	text, err := os.ReadFile(r.Dockerfile)
	if err != nil {
		return client.SolveOpt{}, fail.With(fail.Usage, fmt.Errorf("reading the Dockerfile: %w", err))
	}
	// The context comes without what the ignore file leaves out; an ignore
	// file of its own keeps BuildKit from reading another one in it.
	files := map[string]string{"Dockerfile": string(text), "Dockerfile.dockerignore": "# nothing more is left out\n"}
	opt := client.SolveOpt{
		Frontend: "dockerfile.v0", FrontendAttrs: attrs, OCIStores: stores, SharedKey: "slipway " + r.Name + " " + p.String(),
		LocalMounts: mounts,
	}
	mounts["context"], mounts["dockerfile"] = newPaperFS(s.entries, nil), newPaperFS(nil, files)
	if r.Network == "host" {
		opt.AllowedEntitlements = []string{"network.host"}
	}
	if opt.CacheImports, err = cacheEntries(r.CacheFrom); err != nil {
		return opt, err
	}
	if opt.CacheExports, err = cacheEntries(r.CacheTo); err != nil {
		return opt, err
	}
	opt.Session, err = attachables(r, os.Getenv)
	return opt, err
}

// run solves, passes progress on, and returns what the exporter says.
func (s *solve) run(ctx context.Context, opt client.SolveOpt, show chan<- *client.SolveStatus) (map[string]string, error) {
	statuses := make(chan *client.SolveStatus)
	var response *client.SolveResponse
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		response, err = s.con.Solve(gctx, nil, opt, statuses)
		return err
	})
	g.Go(func() error {
		defer close(show)
		for status := range statuses {
			s.note(status.Warnings)
			show <- status
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, s.explain(ctx, err)
	}
	return response.ExporterResponse, nil
}

// note keeps warnings for the end.
func (s *solve) note(warnings []*client.VertexWarning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range warnings {
		at := s.request.File
		if len(w.Range) > 0 {
			at = fmt.Sprintf("%s:%d", at, w.Range[0].Start.Line)
		}
		text := at + ": " + string(w.Short)
		if strings.HasPrefix(string(w.Short), "InvalidBaseImagePlatform") {
			s.mismatch = append(s.mismatch, text)
		} else if !slices.Contains(s.warnings, text) {
			s.warnings = append(s.warnings, text)
		}
	}
}

// judge refuses an image whose base is for another platform: BuildKit itself
// only warns, and the image then says that it is what it is not.
func (s *solve) judge() error {
	if len(s.mismatch) == 0 || s.request.AnyMachine {
		return nil
	}
	slices.Sort(s.mismatch)
	return fail.With(fail.Usage, errors.New(strings.Join(slices.Compact(s.mismatch), "\n")))
}

// cacheEntries reads type=registry,ref=… as docker build does.
func cacheEntries(texts []string) ([]client.CacheOptionsEntry, error) {
	var entries []client.CacheOptionsEntry
	for _, text := range texts {
		attrs := map[string]string{}
		fields, err := csv.NewReader(strings.NewReader(text)).Read()
		if err != nil {
			return nil, fail.With(fail.Usage, fmt.Errorf("reading the cache %q: %w", text, err))
		}
		for _, field := range fields {
			name, value, ok := strings.Cut(field, "=")
			if !ok && len(attrs) == 0 && !strings.Contains(text, ",") {
				name, value, ok = "ref", text, true // a bare reference
				attrs["type"] = "registry"
			}
			if !ok {
				return nil, fail.With(fail.Usage, fmt.Errorf("reading the cache %q: %q is not NAME=VALUE", text, field))
			}
			attrs[name] = value
		}
		kind := attrs["type"]
		if kind == "" {
			return nil, fail.With(fail.Usage, fmt.Errorf("reading the cache %q: it has no type, such as type=registry", text))
		}
		attrs = maps.Clone(attrs)
		delete(attrs, "type")
		for _, name := range []string{"src", "dest"} {
			if path, ok := attrs[name]; ok {
				absolute, err := filepath.Abs(path)
				if err != nil {
					return nil, fmt.Errorf("reading the cache %q: %w", text, err)
				}
				attrs[name] = absolute
			}
		}
		entries = append(entries, client.CacheOptionsEntry{Type: kind, Attrs: attrs})
	}
	return entries, nil
}
