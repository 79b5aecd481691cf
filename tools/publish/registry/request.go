// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

// request is one HTTP request to a registry, ready to be sent again.
type request struct {
	op     string // for messages: `uploading blob sha256:…`
	method string
	repo   name.Repository
	path   string     // below /v2/REPOSITORY/
	query  url.Values // of path
	url    *url.URL   // instead of path: an upload address that the registry gave
	header http.Header
	body   *content // nil: none
	scopes []string
	accept []int // the statuses that are no error
	// session is set for requests of an upload session, which a new session
	// can mend.
	session bool
	stats   *Stats
}

// content is a request body that can be read more than once.
type content struct {
	size int64
	open func() (io.ReadCloser, error)
}

// response is an answer, read to its end.
type response struct {
	status int
	header http.Header
	body   []byte
	url    *url.URL // where it came from
}

func (r *request) repository() string {
	return display(r.repo.RegistryStr()) + "/" + r.repo.RepositoryStr()
}

// once sends r one time (and a second time after a challenge) and makes an
// error of every answer that r does not accept.
func (h *host) once(ctx context.Context, r *request) (*response, *Error) {
	if e := h.down(r); e != nil {
		return nil, e
	}
	settled, err := h.takeTurn(ctx)
	if err != nil {
		return nil, h.broken(r, err)
	}
	defer settled()
	if e := h.down(r); e != nil { // the first request found out
		return nil, e
	}
	release, err := h.acquire(ctx)
	if err != nil {
		return nil, h.broken(r, err)
	}
	defer release()
	resp, err := h.converse(ctx, r)
	if err != nil {
		return nil, h.broken(r, err)
	}
	if !slices.Contains(r.accept, resp.status) {
		return nil, h.refused(r, resp)
	}
	return resp, nil
}

// converse sends r with what we know of the registry's scheme and login, and
// once more when a challenge teaches us better.
func (h *host) converse(ctx context.Context, r *request) (*response, error) {
	auth, err := h.authorization(ctx, r, "")
	if err != nil {
		return nil, err
	}
	resp, err := h.sendOrContact(ctx, r, auth)
	if err != nil || resp.status != http.StatusUnauthorized || !h.ownAddress(r) || !h.learn(resp.header, r.scopes) {
		return resp, err
	}
	again, err := h.authorization(ctx, r, auth)
	if err != nil || again == "" || again == auth {
		return resp, err
	}
	return h.sendOrContact(ctx, r, again)
}

func (h *host) sendOrContact(ctx context.Context, r *request, auth string) (*response, error) {
	if scheme := h.currentScheme(); scheme != "" {
		return h.send(ctx, r, scheme, auth)
	}
	return h.contact(ctx, r, auth)
}

// ownAddress is true when r goes to the registry itself and not to a foreign
// upload address, which must not see our credentials.
func (h *host) ownAddress(r *request) bool { return r.url == nil || h.isOwn(r.url) }

// isOwn is true for an address at the registry itself, with or without the
// usual port of its scheme.
func (h *host) isOwn(u *url.URL) bool {
	usual := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	return strings.TrimSuffix(u.Host, usual) == strings.TrimSuffix(h.name, usual)
}

// address is where r goes, by the given scheme.
func (h *host) address(r *request, scheme string) *url.URL {
	if r.url == nil {
		return &url.URL{Scheme: scheme, Host: h.name, Path: "/v2/" + r.repo.RepositoryStr() + "/" + r.path, RawQuery: r.query.Encode()}
	}
	u := *r.url
	if h.ownAddress(r) {
		u.Scheme, u.Host = scheme, h.name // a registry behind a proxy often names the wrong scheme
	}
	return &u
}

// send does one round trip and reads the answer. A request without progress
// is ended.
func (h *host) send(ctx context.Context, r *request, scheme, auth string) (*response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := h.client.opts.Stall
	watch := time.AfterFunc(stall, func() { cancel(fmt.Errorf("%w for %s", errStalled, stall)) })
	defer watch.Stop()

	req, err := http.NewRequestWithContext(ctx, r.method, h.address(r, scheme).String(), nil)
	if err != nil {
		return nil, err
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", userAgent)
	if auth != "" && h.ownAddress(r) {
		req.Header.Set("Authorization", auth)
	}
	if r.body != nil {
		req.ContentLength = r.body.size
		req.GetBody = func() (io.ReadCloser, error) { return r.open(watch, stall) }
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
		if r.body.size == 0 {
			_ = req.Body.Close()
			req.Body = http.NoBody
		}
	}
	r.stats.requested()
	resp, err := h.client.http.Do(req)
	if err != nil {
		return nil, stalledOr(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, stalledOr(ctx, err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("the answer is larger than %d bytes", maxBody)
	}
	return &response{status: resp.StatusCode, header: resp.Header, body: body, url: resp.Request.URL}, nil
}

// stalledOr prefers the reason of our own cancellation over its effect.
func stalledOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
		return cause
	}
	return err
}

// open opens the body of r for one sending.
func (r *request) open(watch *time.Timer, stall time.Duration) (io.ReadCloser, error) {
	rc, err := r.body.open()
	if err != nil {
		return nil, &localError{err}
	}
	return &meter{rc: rc, left: r.body.size, stats: r.stats, watch: watch, stall: stall}, nil
}

// meter counts the bytes of a body and tells the watch about progress.
type meter struct {
	rc    io.ReadCloser
	left  int64
	stats *Stats
	watch *time.Timer
	stall time.Duration
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.rc.Read(p)
	m.left -= int64(n)
	m.stats.bytes.Add(int64(n))
	if n > 0 {
		patience := m.stall
		if m.left <= 0 {
			patience *= 5 // all sent: now the registry checks and stores it
		}
		m.watch.Reset(patience)
	}
	switch {
	case err == io.EOF && m.left > 0:
		err = &localError{fmt.Errorf("the file ends %d bytes early", m.left)}
	case err != nil && err != io.EOF:
		err = &localError{err}
	}
	return n, err
}

// Close implements io.Closer.
func (m *meter) Close() error { return m.rc.Close() }
