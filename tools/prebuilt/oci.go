// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// titleAnnotation names the file that a layer of an artifact holds.
const titleAnnotation = "org.opencontainers.image.title"

// reference is what an oci: URL names.
func (u URL) reference() (name.Reference, error) {
	text, _, _ := strings.Cut(string(u)[len("oci:"):], "#")
	ref, err := name.ParseReference(strings.TrimPrefix(text, "//"), name.StrictValidation)
	if err != nil {
		return nil, fmt.Errorf("%q is not oci://registry/repository:tag or @sha256:digest: %w", u, err)
	}
	return ref, nil
}

// digested is true for an oci: reference by digest: it is its own checksum.
func (u URL) digested() bool {
	kind, err := u.kind()
	return err == nil && kind == kindOCI && strings.Contains(string(u), "@sha256:")
}

// oci fetches the layer that holds the program. It starts from its first byte
// each time; the client compares every layer with its digest.
func (j *job) oci(ctx context.Context, p *partial) error {
	ref, err := j.URL.reference()
	if err != nil {
		return usage("%w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(j.opt.Limits.Idle, func() { cancel(errStalled) })
	defer stall.Stop()
	layers, err := j.layers(ctx, ref)
	if err != nil {
		return err
	}
	// What is added last stands on top, so it is looked at first.
	for i := len(layers) - 1; i >= 0; i-- {
		if err := j.layer(ctx, layers[i], p, func() { stall.Reset(j.opt.Limits.Idle) }); err != nil {
			return err
		}
		if len(layers) == 1 {
			return nil
		}
		stall.Stop() // no byte is expected while we look at them
		err := unpack(ctx, io.Discard, p.path, j.pattern(), j.opt.Limits.Unpacked)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errNoMember) && !errors.Is(err, errFormat) {
			return fmt.Errorf("layer %d of %d: %w", i+1, len(layers), err)
		}
		stall.Reset(j.opt.Limits.Idle)
	}
	return fmt.Errorf("none of its %d layers has a file %q; name it with a # and its path", len(layers), j.pattern())
}

// layers lists what may hold the program: the layer with its title if there is
// one, else all.
func (j *job) layers(ctx context.Context, ref name.Reference) ([]v1.Layer, error) {
	goos, rest, _ := strings.Cut(j.Platform, "/")
	arch, variant, _ := strings.Cut(rest, "/")
	inner := j.opt.Client.Transport
	if inner == nil {
		inner = http.DefaultTransport
	}
	image, err := remote.Image(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(j.opt.Keychain),
		remote.WithPlatform(v1.Platform{OS: goos, Architecture: arch, Variant: variant}),
		remote.WithTransport(plainOnlyHere{inner}), remote.WithUserAgent("slipway"),
		remote.WithRetryBackoff(remote.Backoff{Duration: time.Millisecond, Steps: 1})) // we repeat it ourselves
	if err != nil {
		return nil, registryError(ctx, err)
	}
	// From here on nothing is asked of the registry.
	manifest, err := image.Manifest()
	if err != nil {
		return nil, fmt.Errorf("reading its manifest: %w", err)
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, fmt.Errorf("reading its manifest: %w", err)
	}
	for i, d := range manifest.Layers {
		// By the name in the pattern, else by ours: envoy, envoy.tar.gz.
		wanted := path.Base(j.pattern())
		if strings.ContainsAny(wanted, "*?[") {
			wanted = j.Name
		}
		title := path.Base(d.Annotations[titleAnnotation])
		if name, _, _ := strings.Cut(title, "."); (title == wanted || name == wanted) && i < len(layers) && !strings.HasSuffix(title, ".sig") {
			return layers[i : i+1], nil
		}
	}
	if len(layers) == 0 {
		return nil, errors.New("it has no layers, so no program")
	}
	return layers, nil
}

func (j *job) layer(ctx context.Context, layer v1.Layer, p *partial, alive func()) error {
	size, err := layer.Size()
	if err != nil {
		return registryError(ctx, err)
	}
	if size > j.opt.Limits.Download {
		return tooLarge(size, j.opt.Limits.Download)
	}
	body, err := layer.Compressed()
	if err != nil {
		return registryError(ctx, err)
	}
	defer func() { _ = body.Close() }()
	if err := p.restart("", size); err != nil {
		return err
	}
	return j.copyBody(ctx, p, body, alive)
}

// registryError tells failures that may pass from answers that are final, such
// as an index without the platform.
func registryError(ctx context.Context, err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && context.Cause(ctx) == nil {
		return &netError{err: answer, transient: answer.Temporary() || answer.StatusCode >= 500}
	}
	var request *url.Error
	if !errors.As(err, &request) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) && context.Cause(ctx) == nil {
		return &netError{err: err}
	}
	return requestError(ctx, err)
}
