// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// errPrivate says that an address is one of the machine or its network.
var errPrivate = errors.New("a private address")

// newClient returns the client of the requests. It follows no redirect and
// keeps no cookies.
func newClient(o Options) *http.Client {
	client := &http.Client{}
	if o.Client != nil {
		*client = *o.Client
	} else if base, ok := http.DefaultTransport.(*http.Transport); ok {
		transport := base.Clone()
		transport.MaxIdleConnsPerHost = o.PerHost
		if o.NoPrivate {
			guard(transport)
		}
		client.Transport = transport
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Timeout = 0 // each request has its own
	return client
}

// guard refuses connections to private addresses after names were resolved, so
// that a name cannot hide one. A proxy may be private: the user chose it.
func guard(t *http.Transport) {
	var proxies sync.Map
	if choose := t.Proxy; choose != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			u, err := choose(r)
			if u != nil {
				proxies.Store(u.Hostname(), true)
			}
			return u, err
		}
	}
	free := &net.Dialer{Timeout: defaultTimeout}
	guarded := &net.Dialer{Timeout: defaultTimeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		if to, err := netip.ParseAddrPort(address); err != nil || isPrivate(to.Addr()) {
			return errPrivate
		}
		return nil
	}}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if name, _, err := net.SplitHostPort(address); err == nil {
			if _, ok := proxies.Load(name); ok {
				return free.DialContext(ctx, network, address)
			}
		}
		return guarded.DialContext(ctx, network, address)
	}
}

func isPrivate(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsGlobalUnicast() || a.IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(a)
}

// privateName tells without asking anyone that a host is private.
func privateName(name string) bool {
	if name == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && isPrivate(a)
}

const (
	drained  = 64 << 10 // bytes of a body that are read so that the connection can be used again
	longPage = 10 << 20 // bytes of a page that are looked through for anchors
)

// reply is the answer to one request.
type reply struct {
	sent     time.Time
	status   int
	location string
	header   http.Header
	ids      map[string]bool // of the page, when they were wanted
	kind     kind            // what went wrong below HTTP
	detail   string
}

// send makes one request. The error is that of ctx alone.
func (a *asker) send(ctx context.Context, method string, u *url.URL, wantIDs bool) (reply, error) {
	rctx, cancel := context.WithTimeout(ctx, a.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(rctx, method, u.String(), nil)
	if err != nil {
		return reply{kind: malformed, detail: err.Error()}, nil
	}
	req.Header.Set("User-Agent", "slipway-links/1 (+https://github.com/istio-ecosystem/slipway)")
	req.Header.Set("Accept", "*/*")
	if token := a.o.token(u); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return reply{}, ctx.Err()
		}
		return failed(err, a.o.Timeout), nil
	}
	defer func() { _ = resp.Body.Close() }() // what was read of it is enough
	r := reply{status: resp.StatusCode, location: resp.Header.Get("Location"), header: resp.Header}
	if wantIDs && resp.StatusCode == http.StatusOK {
		r.ids = htmlIDs(io.LimitReader(resp.Body, longPage))
	} else if method == http.MethodGet {
		_, _ = io.CopyN(io.Discard, resp.Body, drained) // only for the next request's sake
	}
	return r, ctx.Err()
}

// failed names what kept a request from an answer. The client's wrapper around
// the error repeats the address, so it is taken off.
func failed(err error, timeout time.Duration) reply {
	var wrapped *url.Error
	timedOut := errors.Is(err, context.DeadlineExceeded)
	if errors.As(err, &wrapped) {
		timedOut = timedOut || wrapped.Timeout()
		err = wrapped.Err
	}
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var alert tls.AlertError
	switch {
	case errors.Is(err, errPrivate):
		return reply{kind: private, detail: "it is a private address"}
	case errors.As(err, &dns) && dns.IsNotFound:
		return reply{kind: unresolved, detail: "no such host"}
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &record), errors.As(err, &alert):
		return reply{kind: untrusted, detail: err.Error()}
	case timedOut:
		return reply{kind: silent, detail: fmt.Sprintf("no answer within %v", timeout)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return reply{kind: refused, detail: "connection refused"}
	}
	return reply{kind: network, detail: err.Error()}
}
