// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// manifestTypes are the kinds of manifests that we can push, and so accept.
const manifestTypes = string(types.OCIManifestSchema1) + ", " + string(types.OCIImageIndex) + ", " +
	string(types.DockerManifestSchema2) + ", " + string(types.DockerManifestList)

// Manifest is a manifest or an index as bytes.
type Manifest struct {
	Digest    v1.Hash
	MediaType types.MediaType
	Body      []byte
}

// TagDigest returns what tag points to now; found is false when the registry
// does not know the tag or the repository. It costs one HEAD. Only a registry
// that does not name the digest, or that refuses, is asked once more by GET:
// for the bytes, or for its reason.
func (c *Client) TagDigest(ctx context.Context, tag name.Tag) (digest v1.Hash, found bool, err error) {
	r := c.request("asking for tag "+tag.TagStr(), http.MethodHead, tag.Repository, "manifests/"+tag.TagStr())
	r.header = http.Header{"Accept": {manifestTypes}}
	r.accept = []int{http.StatusOK, http.StatusNotFound}
	h := c.host(tag.Registry)
	err = h.retry(ctx, r.stats, func(ctx context.Context) *Error {
		resp, e := h.once(ctx, r)
		switch {
		case e != nil && e.Status != 0 && !e.transient:
			digest, found, e = h.tagByBody(ctx, r)
		case e == nil && resp.status == http.StatusOK:
			found = true
			if d, err := v1.NewHash(resp.header.Get("Docker-Content-Digest")); err == nil && d.Algorithm == "sha256" {
				digest = d
				return nil
			}
			digest, found, e = h.tagByBody(ctx, r)
		}
		return e
	})
	return digest, found, err
}

func (h *host) tagByBody(ctx context.Context, head *request) (v1.Hash, bool, *Error) {
	get := *head
	get.method = http.MethodGet
	resp, e := h.once(ctx, &get)
	if e != nil || resp.status == http.StatusNotFound {
		return v1.Hash{}, false, e
	}
	d, _, err := v1.SHA256(bytes.NewReader(resp.body))
	if err != nil {
		return v1.Hash{}, false, h.broken(head, err)
	}
	return d, true, nil
}

// VerifyTag reads the manifest that tag points to and compares the digest of
// its bytes with want. A registry may need a moment to show what it took, so
// an older answer is asked for again before it counts.
func (c *Client) VerifyTag(ctx context.Context, tag name.Tag, want v1.Hash) error {
	r := c.request("reading back tag "+tag.TagStr(), http.MethodGet, tag.Repository, "manifests/"+tag.TagStr())
	r.header = http.Header{"Accept": {manifestTypes}}
	h := c.host(tag.Registry)
	return h.retry(ctx, r.stats, func(ctx context.Context) *Error {
		resp, e := h.once(ctx, r)
		if e != nil {
			e.transient = e.transient || e.Status == http.StatusNotFound
			return e
		}
		got, _, err := v1.SHA256(bytes.NewReader(resp.body))
		if err != nil {
			return h.broken(r, err)
		}
		if got != want {
			return &Error{
				Class: Protocol, Op: r.op, Repository: r.repository(), transient: true,
				Message: fmt.Sprintf("it holds %s, not %s that was put there", got, want),
				Advice:  "did another job push the same tag?",
			}
		}
		return nil
	})
}

// PutManifest stores m under its digest when tag is empty, else under tag. All
// it refers to must be in the repository already.
func (c *Client) PutManifest(ctx context.Context, repo name.Repository, m Manifest, tag string) error {
	op, target := "putting manifest "+m.Digest.String(), m.Digest.String()
	if tag != "" {
		op, target = "putting tag "+tag, tag
	}
	r := c.request(op, http.MethodPut, repo, "manifests/"+target)
	r.header = http.Header{"Content-Type": {string(m.MediaType)}}
	r.body = &content{size: int64(len(m.Body)), open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.Body)), nil }}
	r.accept = []int{http.StatusCreated, http.StatusOK, http.StatusAccepted}
	h := c.host(repo.Registry)
	return h.retry(ctx, r.stats, func(ctx context.Context) *Error {
		resp, e := h.once(ctx, r)
		if e != nil {
			return e
		}
		if d := resp.header.Get("Docker-Content-Digest"); d != "" && d != m.Digest.String() {
			return &Error{
				Class: Protocol, Op: r.op, Repository: r.repository(),
				Message: fmt.Sprintf("the registry stored %s, not %s", h.client.secrets.clean(d), m.Digest),
			}
		}
		return nil
	})
}

// request returns a request with what all of them share.
func (c *Client) request(op, method string, repo name.Repository, path string) *request {
	return &request{
		op: op, method: method, repo: repo, path: path,
		scopes: []string{"repository:" + repo.RepositoryStr() + ":pull,push"},
		accept: []int{http.StatusOK}, stats: c.Stats(repo),
	}
}

// location returns the upload address of an answer, absolute.
func location(h *host, r *request, resp *response) (*url.URL, *Error) {
	text := resp.header.Get("Location")
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return nil, &Error{
			Class: Protocol, Op: r.op, Repository: r.repository(), Status: resp.status, err: err,
			Message: "the registry opened an upload but named no address for it",
		}
	}
	u = resp.url.ResolveReference(u)
	if !h.isOwn(u) && u.Scheme != "https" && h.currentScheme() == "https" {
		return nil, &Error{
			Class: Protocol, Op: r.op, Repository: r.repository(), err: errors.New("upload address without TLS"),
			Message: fmt.Sprintf("the registry sends the upload to %s in plain HTTP", u.Host),
		}
	}
	return u, nil
}
