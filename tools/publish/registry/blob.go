// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Blob is something to push: its digest, its size in bytes, and a way to read
// it, which is called once for each sending.
type Blob struct {
	Digest v1.Hash
	Size   int64
	Open   func() (io.ReadCloser, error)
}

// How is how a blob came to be in a repository.
type How string

// The ways of PutBlob.
const (
	Present  How = "present"  // it was there
	Mounted  How = "mounted"  // the registry linked it from another repository of its own
	Uploaded How = "uploaded" // its bytes were sent
)

// chunk is the size of the pieces for a registry that refuses the blob in one
// (status 413), in bytes: small enough for the usual limits of gateways.
const chunk = 16 << 20

// PutBlob makes sure that repo holds b. A blob that is there costs one HEAD.
// Else the registry is asked to mount it from one of the repositories from;
// those of other registries are skipped, and a mount that is refused for any
// reason ends in a normal upload. A broken upload is repeated alone, from its
// start. Memory use does not depend on the size of b.
func (c *Client) PutBlob(ctx context.Context, repo name.Repository, b Blob, from []name.Repository) (How, error) {
	h := c.host(repo.Registry)
	how := Present
	err := h.retry(ctx, c.Stats(repo), func(ctx context.Context) *Error {
		found, e := h.hasBlob(ctx, repo, b)
		if e != nil || found {
			return e
		}
		var session *url.URL
		for _, source := range from {
			if source.RegistryStr() != repo.RegistryStr() || source.RepositoryStr() == repo.RepositoryStr() {
				continue
			}
			mounted, s, e := h.mount(ctx, repo, b, source)
			if e != nil {
				return e
			}
			if mounted {
				how = Mounted
				return nil
			}
			if session == nil {
				session = s
			}
		}
		how = Uploaded
		return h.upload(ctx, repo, b, session)
	})
	return how, err
}

func (h *host) hasBlob(ctx context.Context, repo name.Repository, b Blob) (bool, *Error) {
	r := h.client.request("asking for blob "+b.Digest.String(), http.MethodHead, repo, "blobs/"+b.Digest.String())
	r.accept = []int{http.StatusOK, http.StatusNotFound}
	resp, e := h.once(ctx, r)
	if e != nil {
		if e.Status == 0 || e.transient {
			return false, e
		}
		r.method = http.MethodPost // the same rights, but an answer with a reason
		r.path = "blobs/uploads/"
		r.accept = []int{http.StatusAccepted}
		if _, e := h.once(ctx, r); e != nil {
			return false, e
		}
		return false, nil // a registry without HEAD for blobs
	}
	return resp.status == http.StatusOK, nil
}

// mount asks the registry to link b from another repository of its own. The
// token for that needs the right to read there (scopes of both repositories).
// When it opens an upload instead, its address is returned. An error is one
// that an upload would meet too: a rate limit, or no connection.
func (h *host) mount(ctx context.Context, repo name.Repository, b Blob, source name.Repository) (bool, *url.URL, *Error) {
	r := h.client.request("mounting blob "+b.Digest.String(), http.MethodPost, repo, "blobs/uploads/")
	r.query = url.Values{"mount": {b.Digest.String()}, "from": {source.RepositoryStr()}}
	r.scopes = append(r.scopes, "repository:"+source.RepositoryStr()+":pull")
	r.accept = []int{http.StatusCreated, http.StatusAccepted}
	resp, e := h.once(ctx, r)
	if e != nil && (e.Class == RateLimited || e.Class == Unreachable) {
		return false, nil, e
	}
	if e != nil {
		h.client.opts.Log("mounting %s into %s from %s: %s; it is uploaded instead", b.Digest, r.repository(), source.RepositoryStr(), e.Reason())
		return false, nil, nil
	}
	if resp.status == http.StatusCreated {
		return true, nil, nil
	}
	u, e := location(h, r, resp)
	if e != nil {
		return false, nil, nil // the upload opens a session of its own
	}
	return false, u, nil
}

// upload sends the bytes of b in one PUT, into the session if there is one.
func (h *host) upload(ctx context.Context, repo name.Repository, b Blob, session *url.URL) *Error {
	if session == nil {
		var e *Error
		if session, e = h.openUpload(ctx, repo, b); e != nil {
			return e
		}
	}
	r := h.uploadRequest(http.MethodPut, repo, b, session)
	r.body = &content{size: b.Size, open: b.Open}
	r.url = finish(session, b.Digest)
	_, e := h.once(ctx, r)
	if e != nil && e.Status == http.StatusRequestEntityTooLarge && b.Size > chunk {
		e = h.uploadInChunks(ctx, repo, b)
	}
	if e != nil && (e.Code == "DIGEST_INVALID" || e.Class == Local) {
		return h.blame(e, b)
	}
	return e
}

func (h *host) openUpload(ctx context.Context, repo name.Repository, b Blob) (*url.URL, *Error) {
	r := h.client.request("starting the upload of blob "+b.Digest.String(), http.MethodPost, repo, "blobs/uploads/")
	r.accept = []int{http.StatusAccepted}
	resp, e := h.once(ctx, r)
	if e != nil {
		return nil, e
	}
	return location(h, r, resp)
}

func (h *host) uploadRequest(method string, repo name.Repository, b Blob, to *url.URL) *request {
	r := h.client.request("uploading blob "+b.Digest.String(), method, repo, "")
	r.url, r.session = to, true
	r.header = http.Header{"Content-Type": {"application/octet-stream"}}
	r.accept = []int{http.StatusCreated, http.StatusNoContent}
	return r
}

// finish is the address that ends an upload: the session's, whose own query
// stays as it is, with the digest.
func finish(session *url.URL, digest v1.Hash) *url.URL {
	u := *session
	extra := url.Values{"digest": {digest.String()}}.Encode()
	if u.RawQuery != "" {
		extra = u.RawQuery + "&" + extra
	}
	u.RawQuery = extra
	return &u
}

// uploadInChunks sends b in pieces, for registries behind a gateway that
// bounds the size of a request.
func (h *host) uploadInChunks(ctx context.Context, repo name.Repository, b Blob) *Error {
	to, e := h.openUpload(ctx, repo, b)
	if e != nil {
		return e
	}
	for at := int64(0); at < b.Size; at += chunk {
		n := min(chunk, b.Size-at)
		r := h.uploadRequest(http.MethodPatch, repo, b, to)
		r.body = &content{size: n, open: func() (io.ReadCloser, error) { return section(b, at, n) }}
		r.header.Set("Content-Range", fmt.Sprintf("%d-%d", at, at+n-1))
		r.accept = []int{http.StatusAccepted, http.StatusNoContent, http.StatusCreated}
		resp, e := h.once(ctx, r)
		if e != nil {
			return e
		}
		if to, e = location(h, r, resp); e != nil {
			return e
		}
	}
	r := h.uploadRequest(http.MethodPut, repo, b, finish(to, b.Digest))
	_, e = h.once(ctx, r)
	return e
}

// section opens n bytes of b from at.
func section(b Blob, at, n int64) (io.ReadCloser, error) {
	rc, err := b.Open()
	if err != nil {
		return nil, err
	}
	if s, ok := rc.(io.Seeker); ok {
		_, err = s.Seek(at, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, rc, at)
	}
	if err != nil {
		_ = rc.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(rc, n), rc}, nil
}

// blame finds out whose fault a wrong digest is: ours, when the file is not
// what its name says, else the way's, which another try may mend.
func (h *host) blame(e *Error, b Blob) *Error {
	rc, err := b.Open()
	if err != nil {
		e.Class, e.err = Local, err
		return e
	}
	defer func() { _ = rc.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, rc)
	got := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	switch {
	case err != nil:
		e.Class, e.Message, e.err = Local, h.client.secrets.clean(err.Error()), err
	case got != b.Digest.String() || n != b.Size:
		e.Class, e.Status, e.transient = Local, 0, false
		e.Message = fmt.Sprintf("the file in the layout holds %d bytes with digest %s, not %d bytes as named", n, got, b.Size)
		e.Advice = "build the image again"
	default:
		e.transient = true
	}
	return e
}
