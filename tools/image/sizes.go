// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Sizes is how large an image for one platform is, layer by layer.
type Sizes struct {
	Image    string      `json:"image"`
	Platform string      `json:"platform"`
	Digest   v1.Hash     `json:"digest"`
	Total    int64       `json:"total"` // bytes of all layers, compressed
	Layers   []LayerSize `json:"layers"`
}

// LayerSize is one layer.
type LayerSize struct {
	Digest    v1.Hash `json:"digest"`
	Size      int64   `json:"size"` // bytes, compressed
	CreatedBy string  `json:"createdBy,omitempty"`
}

// SizesOf measures an image of the layout, a manifest or an index.
func (l *Layout) SizesOf(name string, d v1.Descriptor) ([]Sizes, error) {
	return sizesOf(name, d.Digest, func(h v1.Hash) ([]byte, error) {
		var text json.RawMessage
		return text, l.readJSON(h, &text)
	})
}

// sizesOf reads manifests and configurations through read.
func sizesOf(name string, h v1.Hash, read func(v1.Hash) ([]byte, error)) ([]Sizes, error) {
	text, err := read(h)
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Manifests []v1.Descriptor
		Config    v1.Descriptor
		Layers    []v1.Descriptor
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, fmt.Errorf("reading %s: %w", h, err)
	}
	if len(manifest.Manifests) > 0 {
		var all []Sizes
		for _, m := range manifest.Manifests {
			if m.Platform == nil || m.Platform.OS == "unknown" {
				continue
			}
			some, err := sizesOf(name, m.Digest, read)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	}
	if text, err = read(manifest.Config.Digest); err != nil {
		return nil, err
	}
	var config v1.ConfigFile
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("reading %s: %w", manifest.Config.Digest, err)
	}
	s := Sizes{Image: name, Platform: config.OS + "/" + config.Architecture, Digest: h}
	if config.Variant != "" {
		s.Platform += "/" + config.Variant
	}
	steps := withLayer(config.History)
	for i, layer := range manifest.Layers {
		size := LayerSize{Digest: layer.Digest, Size: layer.Size}
		if i < len(steps) {
			size.CreatedBy = steps[i].CreatedBy
		}
		s.Total += layer.Size
		s.Layers = append(s.Layers, size)
	}
	return []Sizes{s}, nil
}

// RemoteSizes measures an image of a registry without fetching its layers.
func (b *Bases) RemoteSizes(ctx context.Context, name, reference string) ([]Sizes, error) {
	ref, err := b.parse(reference)
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("parsing the reference %q: %w", reference, err))
	}
	options := b.remoteOptions(ctx)
	got, err := remote.Get(ref, options...)
	if err != nil {
		return nil, fail.With(fail.Unavailable, fmt.Errorf("asking for %s: %w", reference, err))
	}
	return sizesOf(name, got.Digest, func(h v1.Hash) ([]byte, error) {
		if h == got.Digest {
			return got.Manifest, nil
		}
		at := ref.Context().Digest(h.String())
		if d, err := remote.Get(at, options...); err == nil {
			return d.Manifest, nil
		}
		layer, err := remote.Layer(at, options...)
		if err != nil {
			return nil, fail.With(fail.Unavailable, fmt.Errorf("asking for %s: %w", at, err))
		}
		return readAll(layer)
	})
}

// Resolve asks a registry which digest a reference stands for now.
func (b *Bases) Resolve(ctx context.Context, reference string) (v1.Hash, error) {
	ref, err := b.parse(reference)
	if err != nil {
		return v1.Hash{}, fail.With(fail.Usage, fmt.Errorf("parsing the reference %q: %w", reference, err))
	}
	got, err := remote.Get(ref, b.remoteOptions(ctx)...)
	if err != nil {
		return v1.Hash{}, fail.With(fail.Unavailable, fmt.Errorf("asking for %s: %w", reference, err))
	}
	return got.Digest, nil
}

func (b *Bases) remoteOptions(ctx context.Context) []remote.Option {
	keychain := b.Keychain
	if keychain == nil {
		keychain = authn.DefaultKeychain
	}
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(keychain)}
}

// SizeDiff is what changed in an image between two builds.
type SizeDiff struct {
	Image    string      `json:"image"`
	Platform string      `json:"platform"`
	Before   int64       `json:"before"` // bytes; 0 for a new image
	After    int64       `json:"after"`
	Added    []LayerSize `json:"added,omitempty"`
	Removed  []LayerSize `json:"removed,omitempty"`
	Same     int         `json:"same"` // layers
}

// DiffSizes compares images of the same name and platform.
func DiffSizes(before, after []Sizes) []SizeDiff {
	var all []SizeDiff
	for _, a := range after {
		d := SizeDiff{Image: a.Image, Platform: a.Platform, After: a.Total}
		var old Sizes
		if at := slices.IndexFunc(before, func(b Sizes) bool { return b.Image == a.Image && b.Platform == a.Platform }); at >= 0 {
			old = before[at]
		}
		d.Before = old.Total
		d.Removed = without(old.Layers, a.Layers)
		d.Added = without(a.Layers, old.Layers)
		d.Same = len(a.Layers) - len(d.Added)
		all = append(all, d)
	}
	return all
}

// without are the layers of a that b lacks.
func without(a, b []LayerSize) []LayerSize {
	var rest []LayerSize
	for _, layer := range a {
		if !slices.ContainsFunc(b, func(o LayerSize) bool { return o.Digest == layer.Digest }) {
			rest = append(rest, layer)
		}
	}
	return rest
}
