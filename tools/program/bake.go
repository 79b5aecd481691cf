// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/image"
)

// bakeFile is a description of images that docker buildx bake reads. It holds
// settled values only, so nothing in bake's own environment changes it.
type bakeFile struct {
	Group  map[string]bakeGroup  `json:"group"`
	Target map[string]bakeTarget `json:"target"`
}

type bakeGroup struct {
	Targets []string `json:"targets"`
}

type bakeTarget struct {
	Context    string            `json:"context"`
	Contexts   map[string]string `json:"contexts,omitempty"` // names in FROM
	Dockerfile string            `json:"dockerfile"`
	Args       map[string]string `json:"args,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Platforms  []string          `json:"platforms"`
	Tags       []string          `json:"tags,omitempty"`
	NoCache    bool              `json:"no-cache,omitempty"`
	Attest     []string          `json:"attest"`
}

func (i *imageJob) onlyBake() bool {
	return len(i.outputs) == 1 && i.outputs[0] == toBake || len(i.outputs) == 0 && i.job.wants(toBake)
}

func (i *imageJob) bakeName() string { return i.build.Image.Name + "-" + i.build.Primary() }

func (j *job) bakeDir() string { return filepath.Join(j.p.ws.dir, "out", "bake") }

// stage lays the build context of an image out as a folder.
func (i *imageJob) stage(context.Context) error {
	dir := filepath.Join(i.job.bakeDir(), i.bakeName())
	if err := os.RemoveAll(dir); err != nil { // nothing of an older run may stay
		return fmt.Errorf("staging image %s: %w", i.build.Image.Name, err)
	}
	var ignore *dockerfile.Ignore
	if i.ignore != "" {
		var err error
		if ignore, err = dockerfile.ParseIgnore([]byte(i.ignore)); err != nil {
			return err
		}
	}
	entries, err := image.Context(i.mergedContext()).Entries(ignore)
	if err != nil {
		return fmt.Errorf("staging image %s: %w", i.build.Image.Name, err)
	}
	for _, e := range entries {
		if err := stageEntry(filepath.Join(dir, "context", filepath.FromSlash(e.Path)), e); err != nil {
			return fmt.Errorf("staging image %s: %w", i.build.Image.Name, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(i.job.p.ws.dir, filepath.FromSlash(i.build.Image.Dockerfile)))
	if err != nil {
		return fmt.Errorf("staging image %s: %w", i.build.Image.Name, err)
	}
	return errors.Join(os.MkdirAll(filepath.Join(dir, "context"), 0o755), writeWhole(filepath.Join(dir, "Dockerfile"), text, 0o644))
}

// stageEntry makes one file, folder or link. Files are linked where the file
// system can, since binaries are large and are not changed in place.
func stageEntry(path string, e image.Entry) error {
	switch {
	case e.Mode.IsDir():
		return os.MkdirAll(path, 0o755)
	case e.Mode&fs.ModeSymlink != 0:
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(e.Link, path))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(e.Host)
	if err != nil {
		return err
	}
	if os.Link(real, path) == nil {
		return nil
	}
	from, err := os.Open(real)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, e.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// writeBake writes the description beside the staged contexts, and prints it.
func (j *job) writeBake(ctx context.Context) error {
	created, err := j.p.ws.created(ctx, j.source)
	if err != nil {
		return err
	}
	file := bakeFile{Group: map[string]bakeGroup{}, Target: map[string]bakeTarget{}}
	for _, i := range j.images {
		if !i.onlyBake() {
			continue
		}
		target := bakeTarget{
			Context: filepath.Join(j.bakeDir(), i.bakeName(), "context"), Dockerfile: filepath.Join(j.bakeDir(), i.bakeName(), "Dockerfile"),
			Args: maps.Clone(i.args), Labels: j.labels(ctx, i), Tags: i.references, NoCache: j.noCache(),
			Contexts: i.bakeContexts(), Attest: []string{"type=provenance,disabled=true"},
		}
		target.Args["SOURCE_DATE_EPOCH"] = fmt.Sprint(max(created.Unix(), 0))
		for _, p := range i.platforms {
			target.Platforms = append(target.Platforms, p.String())
		}
		file.Target[i.bakeName()] = target
		if len(i.outputs) > 0 { // not a base that others start from
			for _, group := range append([]string{"default"}, i.build.Variants...) {
				targets := file.Group[group].Targets
				if !slices.Contains(targets, i.bakeName()) {
					file.Group[group] = bakeGroup{append(targets, i.bakeName())}
				}
			}
		}
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(j.bakeDir(), "docker-bake.json")
	if err := writeWhole(path, append(text, '\n'), 0o644); err != nil {
		return err
	}
	j.p.console.Result("%s", text)
	j.p.console.Note("slipway: docker buildx bake -f %s", j.relative(path))
	return nil
}

// bakeContexts are the names in FROM that other targets stand for, and those
// that are locked.
func (i *imageJob) bakeContexts() map[string]string {
	contexts := map[string]string{}
	for _, plan := range i.plans {
		for _, base := range plan.Bases() {
			if named, ours := i.job.catalog.Contexts[base.Reference]; ours {
				contexts[base.Reference] = "target:" + strings.Join([]string{named.Image, catalog.Default}, "-")
			} else if h, locked := i.job.lock.Digest(base.Reference); locked {
				contexts[base.Reference] = "docker-image://" + base.Reference + "@" + h.String()
			}
		}
	}
	return contexts
}
