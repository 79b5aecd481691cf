// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package imageset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// way is one way to build the set and push it to both hubs.
type way struct {
	name    string
	missing string // what is not installed
	daemon  int
	fresh   func(ctx context.Context) error // forgets all that the way remembers
	push    func(ctx context.Context, m *meter, hubs []string) error
}

func (o Options) ways() []way {
	all := []way{
		{name: "slipway, daemonless", fresh: o.forget, push: o.slipway("crane")},
		{name: "slipway, BuildKit", fresh: o.pruneBuildKit, push: o.slipway("buildkit"), daemon: daemonOf(o.BuildKit)},
		{name: "buildctl", fresh: o.pruneBuildKit, push: o.buildctl, daemon: daemonOf(o.BuildKit)},
		{name: "dockerd, one platform", fresh: o.pruneDocker, push: o.dockerd, daemon: daemonOf(o.Docker)},
		{name: "as Istio's crane builder", fresh: func(context.Context) error { return nil }, push: o.crane},
	}
	if o.BuildKit == "" {
		all[1].missing, all[2].missing = "buildkitd (BUILDKIT_HOST)", "buildkitd (BUILDKIT_HOST)"
	}
	if o.Buildctl == "" {
		all[2].missing = "buildctl"
	}
	if o.Docker == "" {
		all[3].missing = "dockerd (DOCKER_HOST)"
	}
	return all
}

func (o Options) forget(context.Context) error { return os.RemoveAll(filepath.Join(o.Dir, "out")) }

// slipway is this program, as make calls it.
func (o Options) slipway(builder string) func(context.Context, *meter, []string) error {
	return func(ctx context.Context, m *meter, hubs []string) error {
		env := append(slices.Clone(o.Environ), "SLIPWAY_GOALS=docker.push", "HUBS="+strings.Join(hubs, " "), "TAG=1", "ISTIO_DOCKER_BUILDER="+builder,
			"DOCKER_ARCHITECTURES=linux/amd64,linux/arm64", "BUILDKIT_PROGRESS=quiet", "BUILDKIT_HOST="+o.BuildKit)
		return m.run(ctx, o.Dir, env, o.Self...)
	}
}

func (o Options) pruneBuildKit(ctx context.Context) error {
	return errors.Join(o.forget(ctx), (&meter{}).run(ctx, o.Dir, o.Environ, o.Buildctl, "--addr", o.BuildKit, "prune", "--all"))
}

// buildctl pushes each image to both hubs in one solve, as its users do.
func (o Options) buildctl(ctx context.Context, m *meter, hubs []string) error {
	for _, image := range names() {
		var refs []string
		for _, h := range hubs {
			refs = append(refs, h+"/"+image+":1")
		}
		err := m.run(ctx, o.Dir, o.Environ, o.Buildctl, "--addr", o.BuildKit, "build", "--frontend", "dockerfile.v0",
			"--local", "context=files/"+image, "--local", "dockerfile=docker", "--opt", "filename=Dockerfile."+image,
			"--opt", "platform=linux/amd64,linux/arm64", "--output", `type=image,"name=`+strings.Join(refs, ",")+`",push=true`)
		if err != nil {
			return err
		}
	}
	return nil
}

func (o Options) pruneDocker(ctx context.Context) error {
	return (&meter{}).run(ctx, o.Dir, o.Environ, "docker", "-H", o.Docker, "builder", "prune", "-af")
}

// dockerd builds and pushes with the engine, which knows one platform. Its
// classic builder needs no plugin of the client.
func (o Options) dockerd(ctx context.Context, m *meter, hubs []string) error {
	env := append(slices.Clone(o.Environ), "DOCKER_BUILDKIT=0")
	for _, image := range names() {
		args := []string{"docker", "-H", o.Docker, "build", "-q", "-f", "docker/Dockerfile." + image, "--build-arg", "TARGETARCH=amd64"}
		for _, h := range hubs {
			args = append(args, "-t", h+"/"+image+":1")
		}
		if err := m.run(ctx, o.Dir, env, append(args, "files/"+image)...); err != nil {
			return err
		}
		for _, h := range hubs {
			if err := m.run(ctx, o.Dir, env, "docker", "-H", o.Docker, "push", "-q", h+"/"+image+":1"); err != nil {
				return err
			}
		}
	}
	return nil
}

// crane does as Istio's daemonless builder does: for each image and platform
// the tar in memory, compressed for its digest and again for each hub. It runs
// in this process, so its memory is not measured.
func (o Options) crane(ctx context.Context, m *meter, hubs []string) error {
	before := ownCPU()
	for _, image := range names() {
		index := mutate.IndexMediaType(empty.Index, "application/vnd.docker.distribution.manifest.list.v2+json")
		for _, arch := range arches() {
			img, err := o.craneImage(image, arch)
			if err != nil {
				return err
			}
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
		}
		for _, h := range hubs {
			ref, err := name.ParseReference(h + "/" + image + ":1")
			if err != nil {
				return err
			}
			if err := remote.WriteIndex(ref, index, remote.WithContext(ctx)); err != nil {
				return err
			}
		}
	}
	m.cost.CPU += ownCPU() - before
	return nil
}

func (o Options) craneImage(image, arch string) (v1.Image, error) {
	var content bytes.Buffer
	tw := tar.NewWriter(&content)
	for _, file := range images()[image] {
		text, err := os.ReadFile(o.file(image, arch, file))
		if err != nil {
			return nil, err
		}
		if err := tw.WriteHeader(&tar.Header{Name: "usr/local/bin/" + file, Mode: 0o755, Size: int64(len(text))}); err != nil {
			return nil, err
		}
		if _, err := tw.Write(text); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, fmt.Errorf("making the layer of %s: %w", image, err)
	}
	return mutate.AppendLayers(empty.Image, layer)
}
