// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// kind is what an address came to, where a status alone does not say it.
type kind string

const (
	unresolved kind = "no such host"
	refused    kind = "refused"
	network    kind = "network"
	silent     kind = "timeout"
	untrusted  kind = "tls"
	private    kind = "private"
	malformed  kind = "malformed"
	loop       kind = "loop"
	tooFar     kind = "too many redirects"
	limited    kind = "limited"
)

// answer is what an address came to.
type answer struct {
	Status    int             `json:"status,omitempty"`
	Kind      kind            `json:"kind,omitempty"`
	Detail    string          `json:"detail,omitempty"`
	Final     string          `json:"final,omitempty"`     // where redirects lead
	Permanent bool            `json:"permanent,omitempty"` // all of them are
	Loop      []string        `json:"loop,omitempty"`
	Fragments map[string]bool `json:"fragments,omitempty"` // which of them are there
}

// asker asks servers.
type asker struct {
	o      Options
	client *http.Client
	memo   *memo
	jobs   chan struct{}

	mu    sync.Mutex
	hosts map[string]*host
}

func newAsker(o Options, m *memo) *asker {
	return &asker{o: o, client: newClient(o), memo: m, jobs: make(chan struct{}, o.Jobs), hosts: map[string]*host{}}
}

func (a *asker) host(u *url.URL) *host {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := strings.ToLower(u.Host)
	h := a.hosts[name]
	if h == nil {
		most := a.o.PerHost
		if s, _ := a.o.settings(u); s.PerHost > 0 {
			most = s.PerHost
		}
		h = &host{slots: make(chan struct{}, most)}
		a.hosts[name] = h
	}
	return h
}

// ask finds out what an address without its fragment comes to, from earlier
// answers if they still hold. The error is that of ctx.
func (a *asker) ask(ctx context.Context, address string, fragments []string) (answer, error) {
	if known, ok := a.memo.look(address, fragments); ok {
		return known, nil
	}
	found, err := a.follow(ctx, address, fragments)
	if err == nil {
		a.memo.keep(address, found)
	}
	return found, err
}

const mostRedirects = 10

// follow asks for an address, and for those that it redirects to.
func (a *asker) follow(ctx context.Context, address string, fragments []string) (answer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return answer{Kind: malformed, Detail: "it is no valid address"}, nil
	}
	found := answer{Permanent: true}
	var way []string
	for {
		way = append(way, u.String())
		r, err := a.patient(ctx, u, len(fragments) > 0)
		if err != nil {
			return answer{}, err
		}
		found.Status, found.Kind, found.Detail = r.status, r.kind, r.detail
		next := target(u, r)
		if next == nil || a.o.Compat {
			if len(way) == 1 {
				found.Permanent = false
			}
			for _, f := range fragments {
				if r.ids != nil {
					if found.Fragments == nil {
						found.Fragments = map[string]bool{}
					}
					found.Fragments[f] = hasID(r.ids, f)
				}
			}
			return found, nil
		}
		found.Permanent = found.Permanent && (r.status == http.StatusMovedPermanently || r.status == http.StatusPermanentRedirect)
		u, found.Final = next, next.String()
		if at := slices.Index(way, found.Final); at >= 0 {
			found.Kind, found.Loop = loop, slices.Sorted(slices.Values(way[at:]))
			return found, nil
		}
		if len(way) > mostRedirects {
			found.Kind = tooFar
			return found, nil
		}
	}
}

// target is where an answer redirects to, without the fragment, or nil.
func target(from *url.URL, r reply) *url.URL {
	switch r.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	to, err := from.Parse(r.location)
	if err != nil || r.location == "" || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil
	}
	to.Fragment, to.RawFragment = "", ""
	return to
}

// mostTries is how often a server that fails is asked.
const mostTries = 3

// patient asks a server until its answer is one to rely on.
func (a *asker) patient(ctx context.Context, u *url.URL, wantIDs bool) (reply, error) {
	if a.o.NoPrivate && privateName(strings.ToLower(u.Hostname())) {
		return reply{kind: private, detail: "it is a private address"}, nil
	}
	h := a.host(u)
	method := http.MethodHead
	if a.o.Compat || wantIDs {
		method = http.MethodGet
	}
	for try := 1; ; {
		r, err := a.once(ctx, h, method, u, wantIDs)
		if err != nil || r.kind == limited {
			return r, err
		}
		if method == http.MethodHead && refusesHead(r) && !a.o.accepts(u, r.status) {
			method = http.MethodGet
			continue
		}
		if r.status == http.StatusTooManyRequests && !a.o.accepts(u, r.status) {
			pause, told := retryAfter(r.header, time.Now())
			if !told {
				pause = a.o.Backoff << h.strike()
			}
			if !h.limited(r.sent, pause, a.o.MaxWait) {
				r.kind = limited
				return r, nil
			}
			continue
		}
		if r.kind == "" {
			h.answered()
		}
		if !passing(r) || a.o.accepts(u, r.status) || try >= mostTries || r.kind == silent && try > 1 {
			return r, nil
		}
		pause := a.o.Backoff << (try - 1)
		if told, ok := retryAfter(r.header, time.Now()); ok {
			if told > a.o.MaxWait {
				return r, nil
			}
			pause = told
		}
		if err := sleep(ctx, pause); err != nil {
			return reply{}, err
		}
		try++
	}
}

// once makes one request when host and limits let it.
func (a *asker) once(ctx context.Context, h *host, method string, u *url.URL, wantIDs bool) (reply, error) {
	ok, err := h.enter(ctx)
	if err != nil {
		return reply{}, err
	}
	if !ok {
		return reply{status: http.StatusTooManyRequests, kind: limited}, nil
	}
	defer h.leave()
	select {
	case a.jobs <- struct{}{}:
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
	defer func() { <-a.jobs }()
	sent := time.Now()
	r, err := a.send(ctx, method, u, wantIDs)
	r.sent = sent
	return r, err
}

// refusesHead tells that a GET may be answered better than this HEAD.
func refusesHead(r reply) bool {
	switch r.status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return r.kind == network // some servers close the connection
}

// passing tells that an answer may be another one soon.
func passing(r reply) bool {
	switch r.status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return r.kind == network || r.kind == silent
}
