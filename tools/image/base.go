// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Base is an image that another one starts from, with its layers in the layout.
type Base struct {
	Digest v1.Hash // of the image manifest for the platform
	Config v1.ConfigFile
	Layers []Layer
	// StartInterval of the health check, for which Config has no place.
	StartInterval time.Duration
}

// Bases finds base images: those that the caller has built itself, and those
// of registries. Each is fetched once.
type Bases struct {
	Layout   *Layout
	Keychain authn.Keychain // nil: docker config and its helpers
	Insecure []string       // registries that are spoken to in plain HTTP; loopback always may be
	// Named resolves a name that stands for an image in the layout, such as
	// "static"; nil or false: the name is a registry reference.
	Named func(name string) (v1.Descriptor, bool)
	// Pinned gives the digest that a reference stands for, as a lock file
	// says; nil or false: the registry decides.
	Pinned func(reference string) (v1.Hash, bool)

	mu    sync.Mutex
	known map[string]*Base
}

// Get returns the base image of a reference for a platform. Layers that the
// layout lacks are downloaded and checked.
func (b *Bases) Get(ctx context.Context, reference string, platform v1.Platform) (*Base, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := reference + " " + platform.String()
	if known, ok := b.known[key]; ok {
		return known, nil
	}
	base, err := b.find(ctx, reference, platform)
	if err != nil {
		return nil, err
	}
	if b.known == nil {
		b.known = map[string]*Base{}
	}
	b.known[key] = base
	return base, nil
}

// DigestOf is the digest of a base that was used for a platform.
func (b *Bases) DigestOf(reference string, platform v1.Platform) (v1.Hash, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	base, ok := b.known[reference+" "+platform.String()]
	if !ok {
		return v1.Hash{}, false
	}
	return base.Digest, true
}

func (b *Bases) find(ctx context.Context, reference string, platform v1.Platform) (*Base, error) {
	if b.Named != nil {
		if d, ok := b.Named(reference); ok {
			return b.fromLayout(d, reference, platform)
		}
	}
	return b.fromRegistry(ctx, reference, platform)
}

// fromLayout reads an image of ours.
func (b *Bases) fromLayout(d v1.Descriptor, reference string, platform v1.Platform) (*Base, error) {
	if d.MediaType.IsIndex() {
		var index v1.IndexManifest
		if err := b.Layout.readJSON(d.Digest, &index); err != nil {
			return nil, err
		}
		child, err := choose(index, reference, platform)
		if err != nil {
			return nil, err
		}
		d = child
	}
	var manifest v1.Manifest
	if err := b.Layout.readJSON(d.Digest, &manifest); err != nil {
		return nil, err
	}
	base := &Base{Digest: d.Digest}
	if err := b.Layout.readJSON(manifest.Config.Digest, &base.Config); err != nil {
		return nil, err
	}
	var extra healthConfig
	if err := b.Layout.readJSON(manifest.Config.Digest, &extra); err != nil {
		return nil, err
	}
	base.StartInterval = extra.Config.Healthcheck.StartInterval
	if err := matches(base.Config, reference, platform); err != nil {
		return nil, err
	}
	return base, base.fill(manifest)
}

// healthConfig reads what v1.ConfigFile leaves out.
type healthConfig struct {
	Config struct {
		Healthcheck struct{ StartInterval time.Duration }
	} `json:"config"`
}

// choose picks the image of a platform out of an index.
func choose(index v1.IndexManifest, reference string, platform v1.Platform) (v1.Descriptor, error) {
	var has []string
	for _, m := range index.Manifests {
		if m.Platform == nil || m.Platform.OS == "unknown" { // attestations
			continue
		}
		if m.Platform.OS == platform.OS && m.Platform.Architecture == platform.Architecture && (platform.Variant == "" || m.Platform.Variant == platform.Variant) {
			return m, nil
		}
		has = append(has, m.Platform.String())
	}
	return v1.Descriptor{}, wrongPlatform(reference, strings.Join(has, ", "), platform)
}

func matches(config v1.ConfigFile, reference string, platform v1.Platform) error {
	if config.OS == platform.OS && config.Architecture == platform.Architecture {
		return nil
	}
	return wrongPlatform(reference, config.OS+"/"+config.Architecture, platform)
}

func wrongPlatform(reference, has string, platform v1.Platform) error {
	return fail.With(fail.Usage, fmt.Errorf("base image %s has %s, wanted %s", reference, has, platform.String()))
}

func (base *Base) fill(manifest v1.Manifest) error {
	if len(manifest.Layers) != len(base.Config.RootFS.DiffIDs) {
		return fmt.Errorf("base image %s has %d layers, but its configuration lists %d", base.Digest, len(manifest.Layers), len(base.Config.RootFS.DiffIDs))
	}
	for i, d := range manifest.Layers {
		base.Layers = append(base.Layers, Layer{DiffID: base.Config.RootFS.DiffIDs[i], Digest: d.Digest, Size: d.Size, Media: string(ociMedia(d.MediaType))})
	}
	return nil
}

// ociMedia is the OCI name of a layer's type; the bytes are the same.
func ociMedia(t types.MediaType) types.MediaType {
	switch t {
	case types.DockerLayer:
		return types.OCILayer
	case types.DockerUncompressedLayer:
		return types.OCIUncompressedLayer
	}
	return t
}

func (b *Bases) fromRegistry(ctx context.Context, reference string, platform v1.Platform) (*Base, error) {
	ref, err := b.parse(reference)
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("parsing the base image %q: %w", reference, err))
	}
	if b.Pinned != nil {
		if h, ok := b.Pinned(reference); ok {
			ref = ref.Context().Digest(h.String())
		}
	}
	record := keyOf("base", ref.Name(), platform.String())
	if _, pinned := ref.(name.Digest); pinned { // what a digest names never changes
		base := &Base{}
		if b.Layout.recall("steps", record, base) && b.whole(base) {
			return base, nil
		}
	}
	options := append(b.remoteOptions(ctx), remote.WithPlatform(platform))
	got, err := remote.Get(ref, options...)
	if err != nil {
		return nil, fail.With(fail.Unavailable, fmt.Errorf("fetching the base image %s: %w; ISTIO_BASE_REGISTRY and BASE_VERSION name another one, "+
			"and the variant of the image that needs no registry is shown by `make catalog`", reference, err))
	}
	if got.MediaType.IsIndex() {
		index, err := got.ImageIndex()
		if err != nil {
			return nil, fmt.Errorf("reading the base image %s: %w", reference, err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			return nil, fmt.Errorf("reading the base image %s: %w", reference, err)
		}
		if _, err := choose(*manifest, reference, platform); err != nil {
			return nil, err
		}
	}
	img, err := got.Image()
	if err != nil {
		return nil, fmt.Errorf("reading the base image %s: %w", reference, err)
	}
	base, err := b.download(ctx, img, reference, platform)
	if err != nil {
		return nil, err
	}
	return base, b.Layout.remember("steps", record, base)
}

func (b *Bases) parse(reference string) (name.Reference, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, err
	}
	if slices.Contains(b.Insecure, ref.Context().RegistryStr()) {
		return name.ParseReference(reference, name.Insecure)
	}
	return ref, nil
}

func (b *Bases) whole(base *Base) bool {
	for _, layer := range base.Layers {
		if !b.Layout.Has(layer.Digest, layer.Size) {
			return false
		}
	}
	return true
}

func (b *Bases) download(ctx context.Context, img v1.Image, reference string, platform v1.Platform) (*Base, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of %s: %w", reference, err)
	}
	if err := matches(*config, reference, platform); err != nil {
		return nil, err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of %s: %w", reference, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of %s: %w", reference, err)
	}
	base := &Base{Digest: digest, Config: *config}
	text, err := img.RawConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of %s: %w", reference, err)
	}
	var extra healthConfig
	if err := json.Unmarshal(text, &extra); err != nil {
		return nil, fmt.Errorf("reading the configuration of %s: %w", reference, err)
	}
	base.StartInterval = extra.Config.Healthcheck.StartInterval
	if err := base.fill(*manifest); err != nil {
		return nil, err
	}
	for _, layer := range base.Layers {
		if b.Layout.Has(layer.Digest, layer.Size) {
			continue
		}
		blob, err := img.LayerByDigest(layer.Digest)
		if err == nil {
			err = b.fetch(ctx, blob, layer)
		}
		if err != nil {
			return nil, fail.With(fail.Unavailable, fmt.Errorf("fetching layer %s of %s: %w", layer.Digest, reference, err))
		}
	}
	return base, nil
}

func (b *Bases) fetch(ctx context.Context, blob v1.Layer, layer Layer) error {
	r, err := blob.Compressed()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	s, err := b.Layout.spool()
	if err != nil {
		return err
	}
	_, err = io.Copy(s, r)
	if err == nil {
		err = ctx.Err()
	}
	if got := hex.EncodeToString(s.sum.Sum(nil)); err == nil && got != layer.Digest.Hex {
		err = fmt.Errorf("what came has digest sha256:%s", got)
	}
	_, _, err = s.commit(err)
	return err
}

// keyOf names a record after all that it depends on.
func keyOf(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ConfigOf is what dockerfile.Plan.Evaluate asks for.
func (b *Bases) ConfigOf(ctx context.Context) dockerfile.ConfigOf {
	return func(reference string, platform v1.Platform) (*dockerfile.BaseConfig, error) {
		base, err := b.Get(ctx, reference, platform)
		if err != nil {
			return nil, err
		}
		return &dockerfile.BaseConfig{ConfigFile: base.Config, StartInterval: base.StartInterval}, nil
	}
}

// readAll reads a small blob, such as a configuration.
func readAll(layer v1.Layer) ([]byte, error) {
	r, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(io.LimitReader(r, 16<<20))
}
