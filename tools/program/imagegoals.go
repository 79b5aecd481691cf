// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/image"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/toolbin"
)

// basesLock holds the digests of base images, relative to the repository.
const basesLock = "common/config/images.lock.yaml"

// planned works out the images of DOCKER_TARGETS, or all, without making any.
func (w *wants) planned(a *artifacts) (*job, error) {
	dry := *w.p
	dry.flags.DryRun = true // nobody needs a builder to look at a plan
	_, j, err := a.plan(w.ctx, &dry)
	return j, err
}

// bases are the references that the Dockerfiles start and copy from, as far as
// registries hold them and tags name them.
func (j *job) baseReferences() []string {
	var all []string
	for _, i := range j.images {
		for _, plan := range i.plans {
			for _, base := range plan.Bases() {
				_, ours := j.catalog.Contexts[base.Reference]
				if !ours && !strings.Contains(base.Reference, "@") && !slices.Contains(all, base.Reference) {
					all = append(all, base.Reference)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// lockBases writes the digests of base images down; update asks for those anew
// that are there already.
func (w *wants) lockBases(update bool) error {
	a := &artifacts{}
	a.image(toLayout)
	j, err := w.planned(a)
	if err != nil {
		return err
	}
	references := j.baseReferences()
	w.do("write "+basesLock, func(ctx context.Context) error {
		lock, err := image.ReadLock(filepath.Join(w.p.ws.dir, filepath.FromSlash(basesLock)))
		if err != nil {
			return err
		}
		if err := j.open(); err != nil {
			return err
		}
		j.bases.Pinned = nil
		for _, r := range references {
			old, had := lock.Digest(r)
			if had && !update {
				w.p.console.Result("%s\t%s\tas before", r, old)
				continue
			}
			now, err := j.bases.Resolve(ctx, r)
			if err != nil {
				return err
			}
			lock.Set(r, now)
			switch {
			case !had:
				w.p.console.Result("%s\t%s\tnew", r, now)
			case old == now:
				w.p.console.Result("%s\t%s\tas before", r, now)
			default:
				w.p.console.Result("%s\t%s\twas %s", r, now, old)
			}
		}
		if v := w.p.ws.settings.Lookup("DOCKER_TARGETS"); !v.IsSet() { // all images were looked at
			lock.Retain(references)
		}
		return lock.Save()
	})
	return nil
}

// planImages shows the plan of what docker would do.
func (w *wants) planOfImages(string) error {
	w.show(func(ctx context.Context) error { return w.p.printPlan(ctx, []string{"docker"}) })
	return w.p.checkOutput()
}

// sizes builds images and shows how large they are, and what changed since the
// last time, or against SLIPWAY_SIZES_AGAINST: a tag or a whole reference.
func (w *wants) sizes(string) error {
	a := w.artifacts()
	a.image(toLayout)
	unit := len(w.units) - 1
	w.do("measure the images", func(ctx context.Context) error {
		j := w.units[unit].job
		now, err := j.sizesNow()
		if err != nil {
			return err
		}
		against := w.p.ws.settings.Get("SLIPWAY_SIZES_AGAINST")
		before, err := j.sizesBefore(ctx, against)
		if err != nil {
			return err
		}
		if err := w.p.printSizes(now, image.DiffSizes(before, now)); err != nil {
			return err
		}
		text, err := json.Marshal(now)
		if err != nil {
			return err
		}
		return writeWhole(j.sizesFile(), text, 0o644)
	})
	return w.p.checkOutput()
}

func (j *job) sizesFile() string { return filepath.Join(j.layout.Dir(), "sizes.json") }

func (j *job) sizesNow() ([]image.Sizes, error) {
	var all []image.Sizes
	for _, i := range j.images {
		if len(i.outputs) == 0 {
			continue
		}
		some, err := j.layout.SizesOf(i.layoutName(), i.built.Descriptor)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// sizesBefore are those of the last time, or of what a tag names.
func (j *job) sizesBefore(ctx context.Context, against string) ([]image.Sizes, error) {
	var before []image.Sizes
	if against == "" {
		text, err := os.ReadFile(j.sizesFile())
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err == nil {
			err = json.Unmarshal(text, &before)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the sizes of the last time: %w; remove %s", err, j.sizesFile())
		}
		return before, nil
	}
	for _, i := range j.images {
		if len(i.outputs) == 0 {
			continue
		}
		reference := against
		if !strings.ContainsAny(against, "/:@") {
			reference = j.identity.Hubs[0] + "/" + i.build.Image.Name + ":" + against
		}
		some, err := j.bases.RemoteSizes(ctx, i.layoutName(), reference)
		if err != nil {
			return nil, err
		}
		before = append(before, some...)
	}
	return before, nil
}

func (p *program) printSizes(now []image.Sizes, diffs []image.SizeDiff) error {
	if p.json() {
		return p.printJSON(map[string]any{"images": now, "changes": diffs})
	}
	for n, s := range now {
		d := diffs[n]
		change := "new"
		if d.Before > 0 {
			change = fmt.Sprintf("%+.1f MB, %d layers as before", float64(d.After-d.Before)/1e6, d.Same)
		}
		p.console.Result("%s %s: %.1f MB (%s)", s.Image, s.Platform, float64(s.Total)/1e6, change)
		for _, layer := range s.Layers {
			mark := " "
			if slices.ContainsFunc(d.Added, func(o image.LayerSize) bool { return o.Digest == layer.Digest }) && d.Before > 0 {
				mark = "+"
			}
			p.console.Result("%s %10.2f MB  %s  %s", mark, float64(layer.Size)/1e6, layer.Digest.Hex[:12], shortened(layer.CreatedBy))
		}
		for _, layer := range d.Removed {
			p.console.Result("- %10.2f MB  %s  %s", float64(layer.Size)/1e6, layer.Digest.Hex[:12], shortened(layer.CreatedBy))
		}
	}
	return nil
}

func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 90 {
		return text[:87] + "..."
	}
	return text
}

// prune removes what no image needs.
func (w *wants) prune(string) error {
	dir := filepath.Join(w.p.ws.dir, "out", "images")
	w.do("prune "+dir, func(ctx context.Context) error {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		layout, err := image.OpenLayout(dir)
		if err != nil {
			return err
		}
		pruned, err := layout.Prune(ctx, 0)
		if err != nil {
			return err
		}
		if pruned.Busy {
			return fail.With(fail.Failed, errors.New("another run builds images in this workspace: try again when it is done"))
		}
		w.p.console.Result("removed %d files, %.1f MB; %.1f MB are left", pruned.Removed, float64(pruned.Freed)/1e6, float64(pruned.Kept)/1e6)
		return nil
	})
	return nil
}

// parseSize reads 500MB, 10GB, 2TB or plain bytes.
func parseSize(text string) (int64, error) {
	for unit, factor := range map[string]int64{"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12} {
		if number, ok := strings.CutSuffix(strings.ToUpper(text), unit); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			return int64(n * float64(factor)), err
		}
	}
	return strconv.ParseInt(text, 10, 64)
}

// keepSmall prunes the images folder when it has outgrown its limit. What the
// named images need stays, so it never fails a build.
func (j *job) keepSmall(ctx context.Context) error {
	if j.limit == 0 {
		return nil
	}
	j.release()
	pruned, err := j.layout.Prune(ctx, j.limit)
	if err == nil && pruned.Removed > 0 {
		j.p.console.Verbose("slipway: pruned %.1f MB from %s", float64(pruned.Freed)/1e6, j.relative(j.layout.Dir()))
	}
	return err
}

// checkDockerfiles reads the Dockerfiles of all images with BuildKit's rules.
func (w *wants) checkDockerfiles(string) error {
	a := &artifacts{}
	a.image(toLayout)
	j, err := w.planned(a)
	if err != nil {
		return err
	}
	var files []builder.CheckFile
	for _, i := range j.images {
		name := i.build.Image.Dockerfile
		if !slices.ContainsFunc(files, func(f builder.CheckFile) bool { return f.File == name }) {
			files = append(files, builder.CheckFile{File: name, Path: filepath.Join(w.p.ws.dir, filepath.FromSlash(name)), Args: i.args})
		}
	}
	w.do("check the Dockerfiles of the images", func(ctx context.Context) error {
		program, err := w.p.builderProgram(ctx)
		if err != nil {
			return err
		}
		findings, err := program.Check(ctx, files)
		if err != nil {
			return err
		}
		if w.p.json() {
			if err := w.p.printJSON(findings); err != nil {
				return err
			}
		} else {
			for _, f := range findings {
				w.p.console.Result("%s", f)
			}
		}
		if len(findings) > 0 {
			return fail.With(fail.Failed, fmt.Errorf("%d findings in %d Dockerfiles", len(findings), len(files)))
		}
		return nil
	})
	return w.p.checkOutput()
}

// buildkitd runs BuildKit's daemon at its usual socket until it is
// interrupted, for machines that have no builder.
func (w *wants) buildkitd(string) error {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return fail.With(fail.Unavailable, fmt.Errorf("BuildKit's daemon needs Linux and root (this is %s, user %d): use a Docker engine, or name a builder elsewhere with BUILDKIT_HOST", runtime.GOOS, os.Getuid()))
	}
	if _, err := exec.LookPath("runc"); err != nil {
		return fail.With(fail.Unavailable, errors.New("BuildKit's daemon needs runc, which is not on PATH: install the package runc"))
	}
	s := w.p.ws.settings
	address := "unix:///run/buildkit/buildkitd.sock"
	if v := s.Lookup("BUILDKIT_HOST"); v.IsSet() {
		address = v.Value
	}
	dir := filepath.Join(w.p.ws.cache(), "buildkitd")
	config := fmt.Sprintf("root = %q\n[grpc]\naddress = [%q]\n[worker.oci]\nenabled = true\n[worker.containerd]\nenabled = false\n", dir, address)
	for _, host := range strings.Fields(s.Get("SLIPWAY_INSECURE")) {
		config += fmt.Sprintf("[registry.%q]\nhttp = true\n", host)
	}
	w.do("run buildkitd at "+address, func(ctx context.Context) error {
		path, err := toolbin.Ensure(ctx, w.p.runner, w.p.console, w.p.ws.cache(), toolbin.Buildkitd())
		if err != nil {
			return err
		}
		file := filepath.Join(w.p.ws.cache(), "buildkitd.toml")
		if err := writeWhole(file, []byte(config), 0o644); err != nil {
			return err
		}
		w.p.console.Note("slipway: BuildKit listens at %s; end it with an interrupt", address)
		return w.p.runner.Run(ctx, run.Command{Args: []string{path, "--config", file}, Env: run.Environ(s.Full()), Stdout: w.p.inv.Stdout, Stderr: w.p.inv.Stderr})
	})
	return nil
}

// baseImages builds and pushes what images start from: anew, and never over a
// tag that has something else.
func (w *wants) baseImages(string) error {
	c, err := w.p.ws.needCatalog()
	if err != nil {
		return err
	}
	s := w.p.ws.settings
	if s.Lookup("HUBS").IsDefault() && s.Lookup("HUB").IsDefault() {
		return fail.With(fail.Usage, errors.New("say where base images go to: HUBS has to be given"))
	}
	if v := s.Lookup("TAG"); v.IsDefault() && !s.Lookup("TAGS").IsSet() {
		return fail.With(fail.Usage, fmt.Errorf("TAG has to be given for base images: it is %q (%s)", v.Value, v.Origin))
	}
	var names []string
	for _, i := range c.Images {
		if i.Base {
			names = append(names, i.Name)
		}
	}
	if len(names) == 0 {
		return fail.With(fail.Usage, fmt.Errorf("%s lists no base images", c.Origin))
	}
	a := w.artifacts()
	a.image(toHubs, names...)
	a.anew = true
	return nil
}
