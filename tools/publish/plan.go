// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

// target is one reference of the plan.
type target struct {
	reference string // as the caller wrote it
	item      string
	hub       string
	tag       name.Tag
	digest    v1.Hash
	manifest  registry.Manifest // set once it is uploaded
	moved     bool              // a former run put it in place, so another digest is news
}

// plan checks the items and lists their references, in order. The same
// reference twice is one; with two digests it is an error.
func plan(items []Item) ([]*target, error) {
	if len(items) == 0 {
		return nil, errors.New("publishing: no images are given")
	}
	var targets []*target
	seen := map[string]*target{}
	for _, it := range items {
		if it.Digest.Algorithm != "sha256" || len(it.Digest.Hex) != 64 {
			return nil, fmt.Errorf("publishing %q: its digest is %q: a sha256 digest is needed", it.Name, it.Digest)
		}
		if len(it.References) == 0 {
			return nil, fmt.Errorf("publishing %q: it has no references", it.Name)
		}
		for _, ref := range it.References {
			t, err := parseTarget(it, ref)
			if err != nil {
				return nil, err
			}
			switch old := seen[t.tag.Name()]; {
			case old == nil:
				seen[t.tag.Name()] = t
				targets = append(targets, t)
			case old.digest != t.digest:
				return nil, fmt.Errorf("reference %q is wanted for two images: %s (%s) and %s (%s)", ref, old.item, old.digest, t.item, t.digest)
			}
		}
	}
	return targets, nil
}

func parseTarget(it Item, ref string) (*target, error) {
	switch {
	case strings.TrimSpace(ref) != ref || ref == "":
		return nil, fmt.Errorf("reference %q of %s: it is empty or has white space around it", ref, it.Name)
	case strings.Contains(ref, "://"):
		_, rest, _ := strings.Cut(ref, "://")
		return nil, fmt.Errorf("reference %q of %s: a hub has no scheme: use %q", ref, it.Name, rest)
	case strings.Contains(ref, "@"):
		return nil, fmt.Errorf("reference %q of %s: it names a digest; a push needs a tag", ref, it.Name)
	case !strings.Contains(ref[strings.LastIndex(ref, "/")+1:], ":"):
		return nil, fmt.Errorf("reference %q of %s: it has no tag", ref, it.Name)
	}
	tag, err := name.NewTag(ref, name.WeakValidation)
	if err != nil {
		return nil, fmt.Errorf("parsing reference %q of %s: %w", ref, it.Name, err)
	}
	return &target{reference: ref, item: it.Name, hub: hubOf(ref, it.Name), tag: tag, digest: it.Digest}, nil
}

// hubOf is what stands before the image's name in a reference.
func hubOf(ref, item string) string {
	repo := ref[:strings.LastIndex(ref, ":")]
	if hub, ok := strings.CutSuffix(repo, "/"+item); ok {
		return hub
	}
	if i := strings.LastIndex(repo, "/"); i >= 0 {
		return repo[:i]
	}
	return "docker.io"
}

// mounts are repositories to mount from, by registry.
type mounts map[string][]name.Repository

func mountSources(hints map[string][]string) (mounts, error) {
	m := mounts{}
	for host, repos := range hints {
		reg, err := name.NewRegistry(host, name.WeakValidation)
		if err != nil {
			return nil, fmt.Errorf("parsing registry %q to mount from: %w", host, err)
		}
		for _, repo := range repos {
			r, err := name.NewRepository(reg.Name()+"/"+repo, name.WeakValidation)
			if err != nil {
				return nil, fmt.Errorf("parsing repository %q of %s to mount from: %w", repo, host, err)
			}
			m[reg.Name()] = append(m[reg.Name()], r)
		}
	}
	return m, nil
}
