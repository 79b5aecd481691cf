// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/attest"
	"github.com/istio-ecosystem/slipway/tools/publish"
)

// attached is what belongs to one image or index: the list of its referrers.
type attached struct {
	subject v1.Hash
	index   v1.Descriptor
}

// attestations tells which documents are wanted.
func (j *job) attestations() (sbom, provenance bool) {
	s := j.p.ws.settings
	return s.Get("SLIPWAY_SBOM") == "1", s.Get("SLIPWAY_PROVENANCE") == "1"
}

// attest writes the documents of all images that go somewhere.
func (j *job) attest(ctx context.Context) error {
	for _, i := range j.images {
		if len(i.outputs) == 0 || i.onlyBake() {
			continue
		}
		if err := i.attest(ctx); err != nil {
			return fmt.Errorf("describing image %s: %w", i.build.Image.Name, err)
		}
	}
	return nil
}

func (i *imageJob) attest(ctx context.Context) error {
	sbom, provenance := i.job.attestations()
	var statement []byte
	if provenance {
		var err error
		if statement, err = i.provenance(ctx); err != nil {
			return err
		}
	}
	i.attached = nil
	for _, s := range i.subjects() {
		var documents []attest.Attachment
		if sbom {
			text, err := i.sbom(ctx, s)
			if err != nil {
				return err
			}
			documents = append(documents, attest.Attachment{Type: attest.SPDX, Content: text})
		}
		if provenance {
			documents = append(documents, attest.Attachment{Type: attest.InToto, Content: statement})
		}
		index, err := attest.Attach(i.job.layout, s.Descriptor, documents)
		if err != nil {
			return err
		}
		i.attached = append(i.attached, attached{s.Descriptor.Digest, index})
		// A name keeps it from being pruned before it is pushed.
		if err := i.job.layout.Name(ctx, i.layoutName()+"."+s.Platform.String()+".referrers", index); err != nil {
			return err
		}
	}
	return nil
}

// subjects are the images of all platforms, and the index when there is one.
func (i *imageJob) subjects() []attest.Subject {
	base := attest.Subject{Name: i.build.Image.Name, Created: i.created, Version: i.job.p.ws.settings.Get("VERSION")}
	var all []attest.Subject
	for _, p := range i.built.Platforms {
		s := base
		s.Descriptor, s.Platform = p.Descriptor, p.Platform
		all = append(all, s)
	}
	if len(all) > 1 {
		base.Descriptor = i.built.Descriptor
		all = append(all, base)
	}
	return all
}

func (i *imageJob) sbom(ctx context.Context, s attest.Subject) ([]byte, error) {
	if !s.Descriptor.MediaType.IsIndex() {
		return attest.SBOM(ctx, i.job.layout, s)
	}
	var platforms []v1.Descriptor
	for _, p := range i.built.Platforms {
		platforms = append(platforms, p.Descriptor)
	}
	return attest.IndexSBOM(s, platforms)
}

func (i *imageJob) provenance(ctx context.Context) ([]byte, error) {
	labels := i.job.labels(ctx, i)
	b := attest.Build{
		Dockerfile: i.build.Image.Dockerfile, Target: i.target, Args: i.args, Builder: string(i.backend.kind),
		Source: labels["org.opencontainers.image.source"], Commit: labels["org.opencontainers.image.revision"],
	}
	for _, p := range i.platforms {
		b.Platforms = append(b.Platforms, p.String())
	}
	var digests []v1.Descriptor
	for _, s := range i.subjects() {
		digests = append(digests, s.Descriptor)
	}
	for _, plan := range i.plans {
		for _, base := range plan.Bases() {
			d := attest.Dependency{URI: "docker://" + base.Reference}
			if h, ok := i.job.bases.DigestOf(base.Reference, base.Platform); ok {
				d.Digest = h
			} else if h, ok := i.job.lock.Digest(base.Reference); ok {
				d.Digest = h
			}
			if !slices.Contains(b.Bases, d) {
				b.Bases = append(b.Bases, d)
			}
		}
	}
	return attest.Provenance(i.build.Image.Name, digests, b)
}

// referrers are what is pushed beside an image: the lists of its documents,
// under the tags that registries without the referrers API need.
func (i *imageJob) referrers(ctx context.Context) []publish.Item {
	var items []publish.Item
	for _, a := range i.attached {
		item := publish.Item{Name: i.layoutName() + " (documents)", Digest: a.index.Digest}
		for _, r := range i.references {
			repository, _, _ := strings.Cut(r, "@")
			if at := strings.LastIndex(repository, ":"); at > strings.LastIndex(repository, "/") {
				repository = repository[:at]
			}
			reference := repository + ":" + attest.FallbackTag(a.subject)
			if slices.Contains(item.References, reference) {
				continue
			}
			if now, err := i.job.bases.Resolve(ctx, reference); err == nil && now != a.index.Digest && !i.job.layout.Has(now, a.index.Size) {
				i.job.p.console.Warn("%s lists documents of others already, so those of this build are not attached there", reference)
				continue
			}
			item.References = append(item.References, reference)
		}
		if len(item.References) > 0 {
			items = append(items, item)
		}
	}
	return items
}

// writeSBOMs writes the SBOM of each image to a file of its own.
func (w *wants) writeSBOMs(string) error {
	w.artifacts().image(toLayout)
	unit := len(w.units) - 1
	dir := filepath.Join(w.p.ws.dir, "out", "sbom")
	w.do("write SBOMs to "+dir, func(ctx context.Context) error {
		j := w.units[unit].job
		for _, i := range j.images {
			if len(i.outputs) == 0 {
				continue
			}
			for _, s := range i.subjects() {
				text, err := i.sbom(ctx, s)
				if err != nil {
					return err
				}
				name := i.build.Image.Name + "-" + i.build.Primary()
				if s.Platform.Architecture != "" {
					name += "-" + strings.ReplaceAll(s.Platform.String(), "/", "-")
				}
				path := filepath.Join(dir, name+".spdx.json")
				if err := writeWhole(path, text, 0o644); err != nil {
					return err
				}
				w.p.console.Result("%s", path)
			}
		}
		return nil
	})
	return nil
}
