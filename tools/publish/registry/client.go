// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

const (
	userAgent = "slipway"
	// maxBody bounds an answer that is kept in memory, in bytes. Registries
	// take manifests of at least 4 MiB; few take more.
	maxBody = 8 << 20
	// maxExhausted is how many operations in a row may use up their patience
	// before the registry counts as down for the rest of the run.
	maxExhausted = 3
)

// Options of a Client. The zero value is ready for use.
type Options struct {
	Jobs     int      // requests in flight, in all; 0: 16
	PerHost  int      // requests in flight to one registry; 0: 6
	Insecure []string // registries that may be spoken to in plain HTTP, as host or host:port
	Keychain authn.Keychain
	Retry    Retry
	// Transport sends the requests; nil: one of our own. It must not retry.
	Transport http.RoundTripper
	// Stall ends a request that made no progress for so long; 0: 1 min. The
	// answer to a sent blob may take five times that: the registry checks it.
	Stall time.Duration
	// Log is told about retries and decisions; nil: nobody is.
	Log func(format string, args ...any)
}

// Client speaks to all registries of one run. It is safe for use by many
// goroutines.
type Client struct {
	opts      Options
	transport http.RoundTripper
	http      *http.Client
	secrets   *secrets
	slots     chan struct{}

	mu    sync.Mutex
	hosts map[string]*host
	stats map[string]*Stats // by repository
}

// New returns a client.
func New(o Options) *Client {
	defaultTo(&o.Jobs, 16)
	defaultTo(&o.PerHost, 6)
	defaultTo(&o.Stall, time.Minute)
	o.Retry = o.Retry.withDefaults()
	if o.Keychain == nil {
		o.Keychain = DockerConfig{}
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Transport == nil {
		o.Transport = defaultTransport(o.PerHost)
	}
	c := &Client{
		opts: o, transport: o.Transport, secrets: &secrets{}, slots: make(chan struct{}, o.Jobs),
		hosts: map[string]*host{}, stats: map[string]*Stats{},
	}
	c.http = &http.Client{Transport: c.transport, CheckRedirect: checkRedirect}
	return c
}

func defaultTransport(perHost int) http.RoundTripper {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: perHost,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // digests are of the bytes as sent
		WriteBufferSize:     64 << 10,
	}
}

// checkRedirect lets no credentials leave the registry and no request leave TLS.
func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case len(via) >= 10:
		return errors.New("stopped after 10 redirects")
	case first.Scheme == "https" && r.URL.Scheme != "https":
		return errors.New("refused a redirect from HTTPS to plain HTTP")
	case r.URL.Host != first.Host:
		r.Header.Del("Authorization")
	}
	return nil
}

// CloseIdle closes the connections that the client keeps open for later, when
// the transport is its own.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// Clean makes text that came from elsewhere fit for a message: one line, of
// bounded length, without any secret that this client met.
func (c *Client) Clean(text string) string { return c.secrets.clean(text) }

// Stats counts what one repository cost. Read it through Snapshot.
type Stats struct{ requests, retries, bytes atomic.Int64 }

// Counts is a copy of Stats at one moment.
type Counts struct {
	Requests int64 `json:"requests"`  // HTTP requests, also to token servers
	Retries  int64 `json:"retries"`   // operations that were tried again
	Bytes    int64 `json:"bytesSent"` // bytes of request bodies
}

// Snapshot returns the counts of now.
func (s *Stats) Snapshot() Counts {
	return Counts{Requests: s.requests.Load(), Retries: s.retries.Load(), Bytes: s.bytes.Load()}
}

func (s *Stats) requested() { s.requests.Add(1) }
func (s *Stats) retried()   { s.retries.Add(1) }

// Stats returns the counters of a repository.
func (c *Client) Stats(repo name.Repository) *Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats[repo.Name()]
	if s == nil {
		s = &Stats{}
		c.stats[repo.Name()] = s
	}
	return s
}

// host is one registry: what was learnt about it in this run.
type host struct {
	name         string
	client       *Client
	plainAllowed bool
	slots        chan struct{}
	first        chan struct{} // held by the first request, until the scheme is known
	login        login

	mu       sync.Mutex
	scheme   string // "" until the first answer
	hold     time.Time
	dead     *Error
	failures int // operations in a row that used up their patience
}

func (c *Client) host(reg name.Registry) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := reg.RegistryStr()
	h := c.hosts[key]
	if h == nil {
		h = &host{
			name: key, client: c, slots: make(chan struct{}, c.opts.PerHost), first: make(chan struct{}, 1),
			plainAllowed: IsLoopback(key) || slices.ContainsFunc(c.opts.Insecure, func(i string) bool { return strings.EqualFold(i, key) }),
		}
		c.hosts[key] = h
	}
	return h
}

// acquire waits for a rate limit to pass and for a free place: first at the
// host, then among all, so that a slow registry cannot hold places while its
// own requests wait for each other.
func (h *host) acquire(ctx context.Context) (release func(), err error) {
	policy := h.client.opts.Retry
	h.mu.Lock()
	hold := h.hold
	h.mu.Unlock()
	if d := hold.Sub(policy.Now()); d > 0 {
		if err := policy.Sleep(ctx, d); err != nil {
			return nil, err
		}
	}
	for i, slots := range []chan struct{}{h.slots, h.client.slots} {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			if i == 1 {
				<-h.slots
			}
			return nil, ctx.Err()
		}
	}
	return func() { <-h.client.slots; <-h.slots }, nil
}

// takeTurn lets one request alone to a registry of which nothing is known yet;
// the others wait, without a place among the requests in flight, until it
// found out. Its caller must call settled when the request is done.
func (h *host) takeTurn(ctx context.Context) (settled func(), err error) {
	if h.hasAnswered() {
		return func() {}, nil
	}
	select {
	case h.first <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if h.hasAnswered() {
		<-h.first
		return func() {}, nil
	}
	return func() { <-h.first }, nil
}

func (h *host) currentScheme() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.scheme
}

func (h *host) setScheme(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scheme = s
}

// hasAnswered is true once the registry gave any answer in this run.
func (h *host) hasAnswered() bool { return h.currentScheme() != "" }

func (h *host) holdUntil(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.After(h.hold) {
		h.hold = t
	}
}

// down returns why r, like any request to this host, is not worth trying; nil
// when it is.
func (h *host) down(r *request) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead == nil {
		return nil
	}
	e := *h.dead
	e.Op, e.Repository, e.transient, e.Attempts = r.op, r.repository(), false, 0
	return &e
}

func (h *host) giveUp(e *Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead == nil {
		dead := *e
		h.dead = &dead
	}
}

func (h *host) worked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = 0
}

// exhausted notes that e outlived all retries. A registry that cannot be
// reached, or that fails every time, is not asked again: the run would take
// the patience of one operation times the number of blobs.
func (h *host) exhausted(e *Error) {
	h.mu.Lock()
	h.failures++
	dead := e.hostDown || h.failures >= maxExhausted
	h.mu.Unlock()
	if dead {
		h.giveUp(e)
	}
}
