// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Store keeps blobs by repository and mounts them, as real registries do; the
// registry of the library has one heap of blobs for all and mounts nothing.
type Store struct {
	next http.Handler

	mu    sync.Mutex
	repos map[string]map[string][]byte
}

// ServeHTTP answers mounts and leaves the rest to the library.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if digest := q.Get("mount"); r.Method == http.MethodPost && digest != "" {
		repo := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v2/"), "/blobs/uploads/")
		s.mu.Lock()
		b, ok := s.repos[q.Get("from")][digest]
		if ok {
			s.put(repo, digest, b)
		}
		s.mu.Unlock()
		if ok {
			w.WriteHeader(http.StatusCreated)
			return
		}
	}
	s.next.ServeHTTP(w, r)
}

// Has is true when the repository holds the blob.
func (s *Store) Has(repo, digest string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.repos[repo][digest]
	return ok
}

func (s *Store) put(repo, digest string, b []byte) {
	if s.repos[repo] == nil {
		s.repos[repo] = map[string][]byte{}
	}
	s.repos[repo][digest] = b
}

// clean undoes what the library does to the name at the end of an upload.
func clean(repo string) string { return strings.TrimSuffix(repo, "/blobs") }

// Get implements registry.BlobHandler.
func (s *Store) Get(_ context.Context, repo string, h v1.Hash) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.repos[clean(repo)][h.String()]
	if !ok {
		return nil, registry.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// Stat implements registry.BlobStatHandler.
func (s *Store) Stat(_ context.Context, repo string, h v1.Hash) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.repos[clean(repo)][h.String()]
	if !ok {
		return 0, registry.ErrNotFound
	}
	return int64(len(b)), nil
}

// Put implements registry.BlobPutHandler.
func (s *Store) Put(_ context.Context, repo string, h v1.Hash, rc io.ReadCloser) error {
	b, err := io.ReadAll(rc)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(clean(repo), h.String(), b)
	return nil
}
