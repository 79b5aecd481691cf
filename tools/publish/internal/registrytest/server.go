// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package registrytest runs a real registry in the test's process, behind a
// front that records every request and fails the ones it is told to.
package registrytest

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Request is one request as the registry saw it.
type Request struct {
	Method, Path, Query string
	Authorization       string
	Bytes               int64 // of the body that arrived
	Status              int   // of the answer; 0: none was given
}

// Action answers a request in place of the registry, or spoils it and passes
// it on by calling next.
type Action func(w http.ResponseWriter, r *http.Request, next http.Handler)

type fault struct {
	match func(*http.Request) bool
	left  int
	act   Action
}

// Server is a registry behind a front.
type Server struct {
	*httptest.Server
	Store *Store

	rate atomic.Int64 // bytes per second of request bodies; 0: unlimited
	down atomic.Bool
	end  chan struct{}

	mu       sync.Mutex
	faults   []*fault
	requests []*Request
}

// New starts a registry in plain HTTP that ends with the test.
func New(t testing.TB) *Server {
	s := newServer()
	s.Server = httptest.NewServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(func() { close(s.end); s.Close() })
	return s
}

// NewTLS starts a registry in HTTPS; s.Client() trusts it.
func NewTLS(t testing.TB) *Server {
	s := newServer()
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() { close(s.end); s.Close() })
	return s
}

func newServer() *Server {
	quiet := log.New(io.Discard, "", 0)
	s := &Server{end: make(chan struct{}), Store: &Store{repos: map[string]map[string][]byte{}}}
	s.Store.next = registry.New(registry.Logger(quiet), registry.WithBlobHandler(s.Store))
	return s
}

// Host is the registry as it stands in a reference.
func (s *Server) Host() string {
	_, host, _ := strings.Cut(s.URL, "://")
	return host
}

// Fail applies act to the next times requests that match (forever when times
// is negative). Earlier faults go first.
func (s *Server) Fail(match func(*http.Request) bool, times int, act Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{match, times, act})
}

// Heal forgets all faults and brings the server up.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
	s.down.Store(false)
}

// Down makes the server drop every connection, as a host that vanished.
func (s *Server) Down() { s.down.Store(true) }

// Throttle bounds how fast request bodies are read, in bytes per second.
func (s *Server) Throttle(rate int64) { s.rate.Store(rate) }

// Requests returns what was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, 0, len(s.requests))
	for _, r := range s.requests {
		out = append(out, *r)
	}
	return out
}

// Forget empties the list of requests.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Count returns how many requests had the method and the part in their path
// or query.
func (s *Server) Count(method, part string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Method == method && strings.Contains(r.Path+"?"+r.Query, part) {
			n++
		}
	}
	return n
}

// ServeHTTP is the front.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.down.Load() {
		Reset(0)(w, r, nil)
		return
	}
	seen := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Authorization: r.Header.Get("Authorization")}
	s.mu.Lock()
	s.requests = append(s.requests, seen)
	act := s.pick(r)
	s.mu.Unlock()
	r.Body = &slow{ReadCloser: r.Body, s: s, seen: seen}
	rec := &recorder{ResponseWriter: w, s: s, seen: seen}
	if act != nil {
		act(rec, r, s.Store)
		return
	}
	s.Store.ServeHTTP(rec, r)
}

func (s *Server) pick(r *http.Request) Action {
	for _, f := range s.faults {
		if f.left != 0 && f.match(r) {
			f.left--
			return f.act
		}
	}
	return nil
}

type recorder struct {
	http.ResponseWriter
	s    *Server
	seen *Request
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.s.mu.Lock()
	r.seen.Status = status
	r.s.mu.Unlock()
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

type slow struct {
	io.ReadCloser
	s    *Server
	seen *Request
}

func (b *slow) Read(p []byte) (int, error) {
	rate := b.s.rate.Load()
	if rate > 0 {
		p = p[:min(len(p), 16<<10)]
	}
	n, err := b.ReadCloser.Read(p)
	if rate > 0 {
		time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
	}
	b.s.mu.Lock()
	b.seen.Bytes += int64(n)
	b.s.mu.Unlock()
	return n, err
}

// On matches requests by method and a part of the path or query.
func On(method, part string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == method && strings.Contains(r.URL.Path+"?"+r.URL.RawQuery, part)
	}
}

// Answer gives a status, a body in the form of the protocol's errors when code
// is not empty, and headers as pairs.
func Answer(status int, code string, headers ...string) Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		if code != "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		if code != "" && r.Method != http.MethodHead {
			_, _ = io.WriteString(w, `{"errors":[{"code":"`+code+`","message":"the registry says no"}]}`)
		}
	}
}

// Reset reads n bytes of the body and then resets the connection.
func Reset(n int64) Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		if n > 0 {
			_, _ = io.CopyN(io.Discard, r.Body, n)
		}
		drop(w)
	}
}

// DropAnswer lets the registry do its work, but the answer is lost.
func DropAnswer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	drop(w)
}

// Hang reads nothing and answers nothing until the client goes away, if that
// is seen (it is not while a body waits), or the test ends.
func (s *Server) Hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	select {
	case <-r.Context().Done():
	case <-s.end:
	}
}

func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // HTTP/2 has no connection of its own to drop
	}
	if tcp, ok := conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Body replaces what a request carries, before it is passed on.
func Body(content []byte) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body = io.NopCloser(bytes.NewReader(content))
		r.ContentLength = int64(len(content))
		next.ServeHTTP(w, r)
	}
}
