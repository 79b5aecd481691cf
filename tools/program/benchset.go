// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/istio-ecosystem/slipway/tools/bench"
	"github.com/istio-ecosystem/slipway/tools/bench/imageset"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// benchImageSet measures four images for two platforms on their way to two
// hubs, beside BuildKit's own client, a Docker engine and Istio's daemonless
// builder: those of them that are there.
func (w *wants) benchImageSet(string) error {
	w.measure(func(ctx context.Context) ([]bench.Row, error) {
		options, err := w.imageSet()
		if err != nil {
			return nil, err
		}
		b := &imageBench{p: w.p, dir: filepath.Join(options.Dir, "registries")}
		if err := os.MkdirAll(b.dir, 0o755); err != nil {
			return nil, err
		}
		defer func() {
			b.close()
			_ = os.RemoveAll(options.Dir)
		}()
		if err := b.serve(ctx); err != nil {
			return nil, fail.With(fail.Unavailable, err)
		}
		return imageset.Run(ctx, options, b.hosts)
	})
	return nil
}

func (w *wants) imageSet() (imageset.Options, error) {
	o := imageset.Options{
		Binaries: map[string]string{}, BuildKit: w.p.inv.getenv("BUILDKIT_HOST"), Docker: w.p.inv.getenv("DOCKER_HOST"), Note: w.p.console.Note,
		Environ: run.Environ(w.p.inv.Environ, "SLIPWAY_MAKEFLAGS=s"),
	}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, name := range imageset.Programs() {
			path := filepath.Join(w.p.ws.out("linux", arch), name)
			if _, err := os.Stat(path); err != nil {
				return o, fail.With(fail.Usage, fmt.Errorf("the images to measure hold real binaries: run make TARGET_ARCH=%s build-linux first: %w", arch, err))
			}
			o.Binaries[arch+"/"+name] = path
		}
	}
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	o.Self = []string{self, "make"}
	o.Buildctl, _ = exec.LookPath("buildctl") // none is a peer that is missing
	o.Dir, err = os.MkdirTemp(filepath.Join(w.p.ws.dir, "out"), "bench-")
	return o, err
}
