// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/prebuilt"
)

// lockFile holds the checksums of downloads, relative to the repository.
const lockFile = "common/config/prebuilt.lock.yaml"

// prebuiltJob is Envoy or ztunnel for one architecture.
type prebuiltJob struct {
	name, arch string
	demand     demand
	items      []prebuilt.Item
	cargo      *prebuilt.CargoBuild
}

func (b *prebuiltJob) stepKey() string { return " prebuilt " + b.name + " " + b.arch }

// planPrebuilts adds what goals want beyond what images need.
func (j *job) planPrebuilts(_ context.Context, a *artifacts) error {
	if a.prebuilts == unwanted {
		return nil
	}
	for _, p := range j.catalog.Prebuilts {
		if _, err := j.addPrebuilt(p.Name, j.p.ws.settings.Get("TARGET_ARCH"), a.prebuilts); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) addPrebuilt(name, arch string, d demand) (*prebuiltJob, error) {
	at := slices.IndexFunc(j.prebuilts, func(b *prebuiltJob) bool { return b.name == name && b.arch == arch })
	if at >= 0 {
		j.prebuilts[at].demand = max(j.prebuilts[at].demand, d)
		return j.prebuilts[at], nil
	}
	b := &prebuiltJob{name: name, arch: arch, demand: d}
	if err := b.decide(j.prebuiltInput(arch)); err != nil {
		return nil, err
	}
	j.prebuilts = append(j.prebuilts, b)
	return b, nil
}

func (b *prebuiltJob) decide(in prebuilt.Input) (err error) {
	switch b.name {
	case "envoy":
		b.items, err = prebuilt.Envoy(in)
		return err
	case "ztunnel":
		build, wanted, err := prebuilt.ZtunnelBuild(in)
		if err != nil {
			return err
		}
		if wanted {
			b.cargo = &build
			return build.Check()
		}
		item, err := prebuilt.Ztunnel(in)
		b.items = []prebuilt.Item{item}
		return err
	}
	return fail.With(fail.Usage, fmt.Errorf("the catalog lists a prebuilt %q, and Slipway knows how to fetch envoy and ztunnel", b.name))
}

// prebuiltInput hands over what the user set; defaults are the package's own.
func (j *job) prebuiltInput(arch string) prebuilt.Input {
	ws := j.p.ws
	pins := map[string]prebuilt.Pin{}
	for _, p := range j.catalog.Pins {
		pins[p.Name] = prebuilt.Pin{Version: p.Version, Origin: p.Name + " (" + p.At() + ")"}
	}
	lookup := func(name string) string {
		if v := ws.settings.Lookup(name); v.IsSet() {
			if v.IsDefault() {
				return ""
			}
			return v.Value
		}
		return j.p.inv.getenv(name)
	}
	return prebuilt.Input{
		Lookup: lookup, Pins: pins, Root: ws.dir, Arch: arch, LocalOS: runtime.GOOS,
		TargetOut: ws.out("linux", arch), TargetOutLinux: ws.out("linux", arch),
	}
}

// imageInput is the file that images take: the debug Envoy when there is one.
func (b *prebuiltJob) imageInput(sidecar string) string {
	if b.cargo != nil {
		return b.cargo.Places[0]
	}
	name := b.name
	if b.name == "envoy" {
		name = sidecar
	}
	for _, path := range append(slices.Clone(b.items[0].Copies), b.items[0].Dest) {
		if filepath.Base(path) == name {
			return path
		}
	}
	return b.items[0].Dest
}

func (b *prebuiltJob) describe() PrebuiltPlan {
	if b.cargo != nil {
		return PrebuiltPlan{Name: b.name, Platform: "linux/" + b.arch, Cargo: b.cargo.Repo, Path: b.cargo.Places[0], Origin: b.cargo.Origin}
	}
	it := b.items[0]
	return PrebuiltPlan{Name: b.name, Platform: it.Platform, URL: string(it.URL), Path: it.Dest, Origin: it.Origin}
}

func (j *job) prebuiltOptions(lock *prebuilt.Lock) prebuilt.Options {
	return prebuilt.Options{
		Cache: filepath.Join(j.p.ws.cache(), "downloads"), Dir: j.p.ws.dir, Lock: lock, Console: j.p.console,
		Runner: j.p.runner, Environ: j.p.ws.settings.Environ(),
	}
}

// fetch puts the programs into their places. When the rest can do without
// them, a machine without that network gets a warning and goes on.
func (j *job) fetch(b *prebuiltJob) func(context.Context) error {
	return func(ctx context.Context) error {
		lock, err := prebuilt.ReadLock(filepath.Join(j.p.ws.dir, filepath.FromSlash(lockFile)))
		if err != nil {
			return err
		}
		err = b.fetch(ctx, j.prebuiltOptions(lock))
		if err != nil && b.demand == welcome && fail.Code(err) == fail.Unavailable {
			j.p.console.Warn("%v", err)
			j.p.console.Warn("going on without %s for linux/%s", b.name, b.arch)
			return nil
		}
		return err
	}
}

func (b *prebuiltJob) fetch(ctx context.Context, options prebuilt.Options) error {
	if b.cargo != nil {
		_, err := prebuilt.BuildZtunnel(ctx, *b.cargo, options)
		return err
	}
	for _, item := range b.items {
		if _, err := prebuilt.Fetch(ctx, item, options); err != nil {
			return err
		}
	}
	return nil
}
