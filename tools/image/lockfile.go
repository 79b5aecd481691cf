// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"go.yaml.in/yaml/v3"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Lock says which digest a base image stands for, so that a build tomorrow
// starts from what a build today starts from.
type Lock struct {
	path    string
	digests map[string]v1.Hash
}

type lockFile struct {
	Images []lockEntry `yaml:"images"`
}

type lockEntry struct {
	Reference string `yaml:"reference"`
	Digest    string `yaml:"digest"`
}

// ReadLock reads a lock file. A file that is not there locks nothing.
func ReadLock(path string) (*Lock, error) {
	l := &Lock{path: path, digests: map[string]v1.Hash{}}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the lock of base images: %w", err)
	}
	var file lockFile
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("reading %s: %w; make docker.lock writes it anew", path, err))
	}
	for _, e := range file.Images {
		h, err := v1.NewHash(e.Digest)
		if err != nil {
			return nil, fail.With(fail.Usage, fmt.Errorf("reading %s: the digest of %s is %q: %w", path, e.Reference, e.Digest, err))
		}
		l.digests[e.Reference] = h
	}
	return l, nil
}

// Digest is what a reference is locked to.
func (l *Lock) Digest(reference string) (v1.Hash, bool) {
	h, ok := l.digests[reference]
	return h, ok
}

// References are all that are locked, sorted.
func (l *Lock) References() []string { return slices.Sorted(maps.Keys(l.digests)) }

// Set locks a reference.
func (l *Lock) Set(reference string, h v1.Hash) { l.digests[reference] = h }

// Retain drops references that no Dockerfile names any more.
func (l *Lock) Retain(references []string) {
	maps.DeleteFunc(l.digests, func(r string, _ v1.Hash) bool { return !slices.Contains(references, r) })
}

// Save writes the file as a whole.
func (l *Lock) Save() error {
	var file lockFile
	for _, r := range l.References() {
		file.Images = append(file.Images, lockEntry{r, l.digests[r].String()})
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		return fmt.Errorf("writing the lock of base images: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return fmt.Errorf("writing the lock of base images: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(l.path), ".lock-")
	if err != nil {
		return fmt.Errorf("writing the lock of base images: %w", err)
	}
	_, err = f.WriteString("# Base images by digest. `make docker.lock` adds what is missing, `make docker.update` asks the registries anew.\n" + string(text))
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), l.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing the lock of base images: %w", err), os.Remove(f.Name()))
	}
	return nil
}
