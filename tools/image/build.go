// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/istio-ecosystem/slipway/tools/dockerfile"
)

// Request is one image to make.
type Request struct {
	Name        string // under which the layout's index lists it; empty: not listed
	File        string // name of the Dockerfile, for errors
	Layout      *Layout
	Bases       *Bases
	Platforms   []PlatformInput // at least one
	Created     time.Time       // of the image and its history
	Codec       Codec
	Labels      map[string]string // over those of the base, but not over those of the Dockerfile
	OwnLabels   []string          // names of the labels that the Dockerfile sets itself
	Annotations map[string]string
	Jobs        int  // platforms side by side; below 1: one
	AnyMachine  bool // programs for other machines are let through
	NoCache     bool // make every layer anew
}

// PlatformInput is what differs from platform to platform.
type PlatformInput struct {
	Platform v1.Platform
	Result   *dockerfile.Result
	Context  Context
	Ignore   *dockerfile.Ignore // nil: nothing is left out
}

// Built is a finished image in the layout.
type Built struct {
	Name       string
	Descriptor v1.Descriptor // of the manifest, or of the index when there are several platforms
	Platforms  []PlatformImage
}

// PlatformImage is one platform's image.
type PlatformImage struct {
	Platform   v1.Platform
	Descriptor v1.Descriptor
	Layers     []LayerInfo
}

// LayerInfo says where a layer comes from.
type LayerInfo struct {
	Layer
	CreatedBy string // empty for layers of the base
	Fresh     bool   // compressed in this run
}

// Build makes the image. One platform gives a plain image manifest, several
// give an index with their images in the order of the request.
func Build(ctx context.Context, r Request) (*Built, error) {
	built := &Built{Name: r.Name, Platforms: make([]PlatformImage, len(r.Platforms))}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(max(r.Jobs, 1))
	for i, input := range r.Platforms {
		g.Go(func() (err error) {
			built.Platforms[i], err = platformBuild{r, input}.run(gctx)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("building %s: %w", r.Name, err)
	}
	return built, r.Layout.Finish(ctx, built, r.Annotations)
}

// Finish joins the images of all platforms and lists the result under its
// name. One platform gives a plain image manifest, several give an index.
func (l *Layout) Finish(ctx context.Context, built *Built, annotations map[string]string) error {
	built.Descriptor = built.Platforms[0].Descriptor
	built.Descriptor.Platform = nil
	if len(built.Platforms) > 1 {
		index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Annotations: annotations}
		for _, i := range built.Platforms {
			index.Manifests = append(index.Manifests, i.Descriptor)
		}
		d, err := l.putJSON(index, types.OCIImageIndex)
		if err != nil {
			return fmt.Errorf("building %s: %w", built.Name, err)
		}
		built.Descriptor = d
	}
	if built.Name == "" {
		return nil
	}
	return l.Name(ctx, built.Name, built.Descriptor)
}

func (l *Layout) putJSON(value any, media types.MediaType) (v1.Descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return v1.Descriptor{}, err
	}
	h, err := l.Put(content)
	return v1.Descriptor{MediaType: media, Digest: h, Size: int64(len(content))}, err
}

func (p platformBuild) run(ctx context.Context) (PlatformImage, error) {
	image := PlatformImage{Platform: p.input.Platform}
	layers, history, err := p.layers(ctx, p.input.Result, &image)
	if err != nil {
		return image, err
	}
	config := v1.ConfigFile{
		Architecture: p.input.Platform.Architecture, OS: p.input.Platform.OS, Variant: p.input.Platform.Variant,
		Author:  p.input.Result.Author,
		Created: v1.Time{Time: p.request.Created.UTC()}, Config: *p.input.Result.Config.DeepCopy(),
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{}}, History: history,
	}
	config.Config.Labels = merged(config.Config.Labels, p.request.Labels, p.request.OwnLabels)
	for _, l := range layers {
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, l.DiffID)
	}
	if err := countHistory(config); err != nil {
		return image, err
	}
	whole, err := withStartInterval(config, p.input.Result.StartInterval)
	if err != nil {
		return image, err
	}
	return image, p.request.Layout.putImage(&image, whole, p.request.Annotations)
}

// merged adds labels to those that an image has, but for names that its
// Dockerfile has set.
func merged(has, more map[string]string, own []string) map[string]string {
	if len(more) == 0 {
		return has
	}
	all := maps.Clone(has)
	if all == nil {
		all = map[string]string{}
	}
	for name, value := range more {
		if _, set := all[name]; !set || !slices.Contains(own, name) {
			all[name] = value
		}
	}
	return all
}

// withStartInterval adds the one field of health checks that v1.ConfigFile has
// no place for.
func withStartInterval(config v1.ConfigFile, interval time.Duration) (any, error) {
	if interval == 0 || config.Config.Healthcheck == nil {
		return config, nil
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	var whole, inner, health map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(whole["config"], &inner); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(inner["Healthcheck"], &health); err != nil {
		return nil, err
	}
	err = errors.Join(
		replace(health, map[string]any{"StartInterval": interval}),
		replace(inner, map[string]any{"Healthcheck": health}),
		replace(whole, map[string]any{"config": inner}),
	)
	return whole, err
}

// layers makes the layers of an evaluated stage. What became of each is noted
// in image, unless that is nil.
func (p platformBuild) layers(ctx context.Context, r *dockerfile.Result, image *PlatformImage) ([]Layer, []v1.History, error) {
	var layers []Layer
	var history []v1.History
	if r.Root.Kind == dockerfile.FromImage {
		base, err := p.request.Bases.Get(ctx, r.Root.Reference, r.Root.Platform)
		if err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", p.request.File, r.Root.Line, err)
		}
		layers = append(layers, base.Layers...)
		history = append(history, base.history()...)
		for _, l := range base.Layers {
			image.note(LayerInfo{Layer: l})
		}
	}
	for _, s := range r.Steps {
		entry := v1.History{Created: v1.Time{Time: p.request.Created.UTC()}, CreatedBy: s.CreatedBy, Comment: "buildkit.dockerfile.v0", EmptyLayer: true}
		if s.Copy != nil || s.Mkdir != nil {
			m, err := p.step(ctx, s, layers)
			if err != nil {
				return nil, nil, fmt.Errorf("%s:%d: %s: %w", p.request.File, s.Line, s.CreatedBy, err)
			}
			if !m.empty {
				layers = append(layers, m.layer)
				image.note(LayerInfo{m.layer, s.CreatedBy, m.fresh})
				entry.EmptyLayer = false
			}
		}
		history = append(history, entry)
	}
	return layers, history, nil
}

func (i *PlatformImage) note(l LayerInfo) {
	if i != nil {
		i.Layers = append(i.Layers, l)
	}
}

// history is the base's own, filled up when it has less than one entry for
// each layer, since registries and engines refuse such images.
func (base *Base) history() []v1.History {
	history := base.Config.History
	withLayer := 0
	for _, h := range history {
		if !h.EmptyLayer {
			withLayer++
		}
	}
	for ; withLayer < len(base.Layers); withLayer++ {
		history = append(history, v1.History{CreatedBy: "base image", Comment: "added by slipway"})
	}
	return history
}

func countHistory(config v1.ConfigFile) error {
	withLayer := 0
	for _, h := range config.History {
		if !h.EmptyLayer {
			withLayer++
		}
	}
	if withLayer != len(config.RootFS.DiffIDs) {
		return fmt.Errorf("the history has %d entries for %d layers; the base image is not sound", withLayer, len(config.RootFS.DiffIDs))
	}
	return nil
}
