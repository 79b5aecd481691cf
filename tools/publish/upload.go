// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

// repoWork is what one repository must take.
type repoWork struct {
	repo  name.Repository
	roots []*rootWork
	blobs sync.WaitGroup // done when every blob was tried
}

// rootWork is one image in one repository; all its targets share its fate.
type rootWork struct {
	image   *image
	digest  v1.Hash
	targets []*target

	mu  sync.Mutex
	err error // the first fault
}

func (w *rootWork) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *rootWork) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *rootWork) needs(d v1.Hash) bool {
	return slices.ContainsFunc(w.image.blobs, func(b registry.Blob) bool { return b.Digest == d })
}

// blobWork is one blob and the repositories of one registry that need it.
type blobWork struct {
	blob  registry.Blob
	repos []*repoWork
}

// work is all of the upload phase.
type work struct {
	repos []*repoWork
	blobs []*blobWork
}

// prepare reads what the targets need from the layout and sorts it by
// repository and by registry. The largest blobs come first, since they decide
// how long the whole takes.
func (r *run) prepare(targets []*target) (*work, error) {
	w, images := &work{}, map[v1.Hash]*image{}
	for _, t := range targets {
		img := images[t.digest]
		if img == nil {
			var err error
			if img, err = r.layout.load(t.digest); err != nil {
				return nil, fmt.Errorf("image %s of layout %s: %w", t.item, r.layout.dir, err)
			}
			images[t.digest] = img
		}
		w.add(t, img)
	}
	slices.SortStableFunc(w.blobs, func(a, b *blobWork) int { return cmp.Compare(b.blob.Size, a.blob.Size) })
	return w, nil
}

func (w *work) add(t *target, img *image) {
	i := slices.IndexFunc(w.repos, func(x *repoWork) bool { return x.repo.Name() == t.tag.Repository.Name() })
	if i < 0 {
		i = len(w.repos)
		w.repos = append(w.repos, &repoWork{repo: t.tag.Repository})
	}
	repo := w.repos[i]
	if j := slices.IndexFunc(repo.roots, func(x *rootWork) bool { return x.digest == t.digest }); j >= 0 {
		repo.roots[j].targets = append(repo.roots[j].targets, t)
		return
	}
	repo.roots = append(repo.roots, &rootWork{image: img, digest: t.digest, targets: []*target{t}})
	for _, b := range img.blobs {
		w.addBlob(b, repo)
	}
}

func (w *work) addBlob(b registry.Blob, repo *repoWork) {
	host := repo.repo.RegistryStr()
	for _, known := range w.blobs {
		if known.blob.Digest == b.Digest && known.repos[0].repo.RegistryStr() == host {
			if !slices.Contains(known.repos, repo) {
				known.repos = append(known.repos, repo)
				repo.blobs.Add(1)
			}
			return
		}
	}
	w.blobs = append(w.blobs, &blobWork{blob: b, repos: []*repoWork{repo}})
	repo.blobs.Add(1)
}

// upload brings blobs and manifests to all repositories. The manifests of a
// repository follow as soon as its own blobs are there.
func (r *run) upload(ctx context.Context, w *work) {
	var wg sync.WaitGroup
	for _, b := range w.blobs {
		wg.Go(func() { r.uploadBlob(ctx, b) })
	}
	for _, repo := range w.repos {
		wg.Go(func() {
			repo.blobs.Wait()
			r.uploadManifests(ctx, repo)
		})
	}
	wg.Wait()
}

// uploadBlob brings a blob to one repository of a registry first, so that the
// others can mount it from there.
func (r *run) uploadBlob(ctx context.Context, b *blobWork) {
	hints := r.mounts[b.repos[0].repo.RegistryStr()]
	rest := b.repos
	for len(rest) > 0 {
		first := rest[0]
		rest = rest[1:]
		if r.putBlob(ctx, first, b.blob, hints) {
			hints = []name.Repository{first.repo}
			break
		}
	}
	var wg sync.WaitGroup
	for _, repo := range rest {
		wg.Go(func() { r.putBlob(ctx, repo, b.blob, hints) })
	}
	wg.Wait()
}

func (r *run) putBlob(ctx context.Context, repo *repoWork, b registry.Blob, from []name.Repository) bool {
	defer repo.blobs.Done()
	how, err := r.client.PutBlob(ctx, repo.repo, b, from)
	if err == nil {
		r.opts.Console.Verbose("%s: blob %s (%d bytes): %s", repo.repo, b.Digest, b.Size, how)
		return true
	}
	for _, root := range repo.roots {
		if root.needs(b.Digest) {
			root.fail(err)
		}
	}
	return false
}

func (r *run) uploadManifests(ctx context.Context, repo *repoWork) {
	for _, root := range repo.roots {
		for _, m := range root.image.manifests {
			if root.failure() != nil {
				break
			}
			if err := r.client.PutManifest(ctx, repo.repo, m, ""); err != nil {
				root.fail(err)
			}
		}
		for _, t := range root.targets {
			if err := root.failure(); err != nil {
				r.fail(t, err)
			} else {
				t.manifest = root.image.manifests[len(root.image.manifests)-1]
				r.record.set(t, Uploaded, "", "")
			}
		}
	}
	if err := r.record.save(soon); err != nil {
		r.opts.Console.Warn("%v", err)
	}
}
