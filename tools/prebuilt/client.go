// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const maxRedirects = 10

var errPlainHTTP = errors.New("plain HTTP is for this machine only")

// safeClient returns a client that follows redirects with care; given is not
// changed and may be nil.
func safeClient(given *http.Client) *http.Client {
	client := http.Client{}
	if given != nil {
		client = *given
	} else if base, ok := http.DefaultTransport.(*http.Transport); ok {
		transport := base.Clone()
		transport.ResponseHeaderTimeout = time.Minute
		client.Transport = transport
	}
	client.CheckRedirect = checkRedirect
	return &client
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: there were %d already", errRedirect, maxRedirects)
	case req.URL.Scheme != "https" && req.URL.Scheme != "http":
		return fmt.Errorf("%w: it leads to an unsupported protocol, %s", errRedirect, req.URL.Scheme)
	case last.URL.Scheme == "https" && req.URL.Scheme != "https":
		return fmt.Errorf("%w: it leads from https://%s to %s://%s, where anybody on the way can change the bytes", errRedirect, last.URL.Host, req.URL.Scheme, req.URL.Host)
	}
	// The address before may be signed and is no business of the next server.
	req.Header.Del("Referer")
	return nil
}

// plainOnlyHere lets plain HTTP through to loopback addresses only. The OCI
// client would also speak it to private networks.
type plainOnlyHere struct{ next http.RoundTripper }

// RoundTrip refuses before anything is sent.
func (t plainOnlyHere) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && !loopback(req.URL) {
		return nil, fmt.Errorf("%w: %s is elsewhere", errPlainHTTP, req.URL.Host)
	}
	return t.next.RoundTrip(req)
}

func loopback(u *url.URL) bool {
	if u.Hostname() == "localhost" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return ip != nil && ip.IsLoopback()
}
