// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
)

// IsLoopback is true for a registry host, with or without a port, that is this
// machine by its very name: localhost, 127.0.0.0/8 and ::1. A name that only
// looks like one ("127.0.0.1.example.com", "my.localhost") is not.
func IsLoopback(host string) bool {
	name, _ := splitPort(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// splitPort cuts the port off a registry host; brackets of IPv6 go too.
func splitPort(host string) (name, port string) {
	if n, p, err := net.SplitHostPort(host); err == nil {
		return n, p
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ""
}

// contact sends r as the first request of the run to this host and so learns
// the scheme, without a request that only probes. The caller holds h.first.
func (h *host) contact(ctx context.Context, r *request, auth string) (*response, error) {
	var secured atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) { secured.Store(err == nil) },
	})
	resp, err := h.send(traced, r, "https", auth)
	if err == nil {
		h.setScheme("https")
		return resp, nil
	}
	if !h.speaksNoTLS(err, secured.Load()) {
		return nil, err
	}
	if !h.plainAllowed {
		if errors.Is(err, http.ErrSchemeMismatch) || isRecordHeader(err) {
			err = http.ErrSchemeMismatch
		}
		return nil, err
	}
	r.stats.requests.Add(-1) // it never was a request of HTTP
	plain, plainErr := h.send(ctx, r, "http", auth)
	if plainErr != nil {
		return nil, plainErr
	}
	if plain.status == http.StatusBadRequest && !errors.Is(err, http.ErrSchemeMismatch) && !isRecordHeader(err) {
		// A TLS server that hung up on the greeting for a passing reason
		// answers plain HTTP in this way.
		return nil, err
	}
	h.setScheme("http")
	return plain, nil
}

// speaksNoTLS is true when the failure of a first HTTPS request means that the
// server does not speak TLS: it answered in plain text, it hung up on the
// greeting, or nobody listens at port 443 while the host names no port.
func (h *host) speaksNoTLS(err error, secured bool) bool {
	if errors.Is(err, http.ErrSchemeMismatch) || isRecordHeader(err) {
		return true
	}
	if !h.plainAllowed || secured {
		return false
	}
	if _, port := splitPort(h.name); port == "" && isAbsent(err) {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

func isRecordHeader(err error) bool {
	var header tls.RecordHeaderError
	return errors.As(err, &header)
}
