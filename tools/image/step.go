// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/dockerfile"
)

// stepRecord is what a step made, and the state of the files it was made of.
type stepRecord struct {
	States []fileState
	Layer  Layer
	Empty  bool // nothing changed: no layer
}

// made is what became of a step.
type made struct {
	layer Layer
	empty bool
	fresh bool // compressed in this run
}

// platformBuild is one platform's image on its way.
type platformBuild struct {
	request Request
	input   PlatformInput
}

// step carries one COPY or WORKDIR out, on top of layers.
func (p platformBuild) step(ctx context.Context, s dockerfile.Step, below []Layer) (made, error) {
	l := p.request.Layout
	from, states, key, err := p.sources(ctx, s, below)
	if err != nil {
		return made{}, err
	}
	var record stepRecord
	if !p.request.NoCache && l.recall("steps", key, &record) && slices.Equal(record.States, states) && (record.Empty || l.Has(record.Layer.Digest, record.Layer.Size)) {
		l.touch(record.Layer.Digest)
		return made{layer: record.Layer, empty: record.Empty}, nil
	}
	begun := time.Now()
	t, err := l.treeOf(digests(below))
	if err != nil {
		return made{}, err
	}
	entries, err := p.entries(t, s, from)
	if err != nil {
		return made{}, err
	}
	record = stepRecord{States: states, Empty: len(entries) == 0}
	m := made{empty: record.Empty}
	if !record.Empty {
		if err := p.checkMachines(entries); err != nil {
			return made{}, err
		}
		if record.Layer, m.fresh, err = l.makeLayer(ctx, entries, p.request.Codec, p.request.NoCache); err != nil {
			return made{}, err
		}
		m.layer = record.Layer
	}
	_, after, _, err := p.sources(ctx, s, below)
	if err != nil {
		return made{}, err
	}
	if !slices.Equal(after, states) {
		return made{}, fmt.Errorf("a file changed while it was copied; is something still writing it? Run again")
	}
	if settled(states, begun) {
		err = l.remember("steps", key, record)
	}
	return m, err
}

// settled tells whether the times of all files are so far back that a later
// change is sure to show in them. File systems count in ticks of up to 10 ms;
// those of a second or two are met by the change time's own inode clock.
func settled(states []fileState, begun time.Time) bool {
	limit := begun.Add(-50 * time.Millisecond).UnixNano()
	for _, s := range states {
		if s.Modified > limit || s.Changed > limit {
			return false
		}
	}
	return true
}

// sources finds what a step copies, the state of its files, and the key of all
// else that it depends on.
func (p platformBuild) sources(ctx context.Context, s dockerfile.Step, below []Layer) (from origin, states []fileState, key string, err error) {
	parts := []string{"step", p.request.Codec.key(), p.input.Platform.String(), fmt.Sprint(p.request.AnyMachine)}
	for _, layer := range below {
		parts = append(parts, layer.DiffID.Hex)
	}
	plain := s
	if s.Copy != nil {
		c := *s.Copy
		c.From, c.Line = nil, 0
		plain.Copy, plain.Line = &c, 0
		if s.Copy.From != nil {
			layers, _, err := p.layers(ctx, s.Copy.From, nil)
			if err != nil {
				return nil, nil, "", err
			}
			t, err := p.request.Layout.treeOf(digests(layers))
			if err != nil {
				return nil, nil, "", err
			}
			from = imageOrigin{t}
			for _, layer := range layers {
				parts = append(parts, "from "+layer.Digest.Hex)
			}
		} else {
			v := view{p.input.Context, p.input.Ignore}
			from = v
			if states, err = v.states(s.Copy.Sources); err != nil {
				return nil, nil, "", err
			}
		}
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, nil, "", err
	}
	return from, states, keyOf(append(parts, string(text))...), nil
}

// states lists the state of all files that the sources name.
func (v view) states(sources []string) ([]fileState, error) {
	var states []fileState
	for _, pattern := range sources {
		matches, err := v.match(pattern)
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			states = append(states, m.state())
			if !m.isDir() {
				continue
			}
			below, err := v.list(m.path)
			if err != nil {
				return nil, err
			}
			for _, s := range below {
				states = append(states, s.state())
			}
		}
	}
	return states, nil
}

func digests(layers []Layer) []v1.Hash {
	var list []v1.Hash
	for _, l := range layers {
		list = append(list, l.Digest)
	}
	return list
}

// entries are what a step adds to the image.
func (p platformBuild) entries(t tree, s dockerfile.Step, from origin) ([]node, error) {
	read := p.request.Layout.readFrom(t)
	if s.Mkdir != nil {
		return makeFolder(t, s.Mkdir, read)
	}
	c := *s.Copy
	if c.Chown != "" {
		numbers, err := numeric(c.Chown, read)
		if err != nil {
			return nil, fmt.Errorf("--chown=%s: %w", c.Chown, err)
		}
		c.Chown = numbers
	}
	return p.request.Layout.copyEntries(t, &c, from)
}

// makeFolder makes the folder of WORKDIR, and those above it, where missing.
func makeFolder(t tree, m *dockerfile.Mkdir, read fileReader) ([]node, error) {
	dir, err := t.resolve(m.Path)
	if err != nil {
		return nil, err
	}
	uid, gid := 0, 0
	if m.Owner != "" && !t.isDir(dir) {
		numbers, err := numeric(m.Owner, read)
		if err != nil {
			return nil, fmt.Errorf("the current USER: %w", err)
		}
		if uid, gid, err = owner(numbers); err != nil {
			return nil, err
		}
	}
	var entries []node
	for ; dir != "." && !t.isDir(dir); dir = path.Dir(dir) {
		if _, ok := t[dir]; ok {
			return nil, fmt.Errorf("%q is in the way: it is no folder", "/"+dir)
		}
		entries = append(entries, node{Path: dir, Kind: tar.TypeDir, Mode: 0o755, UID: uid, GID: gid})
	}
	slices.Reverse(entries)
	return entries, nil
}
