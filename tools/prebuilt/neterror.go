// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// netError is a failure of the other side or of the way to it: the program
// cannot be had, which is no fault of the build.
type netError struct {
	err       error
	transient bool          // trying again may help
	after     time.Duration // not before this time; 0: unknown
}

func (e *netError) Error() string { return e.err.Error() }
func (e *netError) Unwrap() error { return e.err }

var (
	errStalled  = errors.New("no byte arrived for too long")
	errRedirect = errors.New("refused to follow a redirect")
)

// requestError turns what http.Client and a response body return into a
// netError, without the URL that net/http puts into it: that may be signed.
func requestError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return &netError{err: errStalled, transient: true}
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &netError{err: err, transient: passing(err)}
}

// passing is true for failures that may not happen again. A name that does not
// exist, a network that is not there and a bad certificate stay.
func passing(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsTimeout || (dns.IsTemporary && !dns.IsNotFound)
	}
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate), errors.As(err, &unknown), errors.As(err, &record),
		errors.Is(err, errRedirect), errors.Is(err, errPlainHTTP), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return false
	}
	return true
}

// statusError is the error for a response that has no file.
func statusError(resp *http.Response) error {
	e := &netError{err: errors.New(resp.Status)}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.err = fmt.Errorf("%s: the server does not let us read it", resp.Status)
	case http.StatusNotFound, http.StatusGone:
		e.err = fmt.Errorf("%s: the server has no such file", resp.Status)
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		e.transient = true
		e.after = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	return e
}

// retryAfter reads seconds or a date; 0 for none.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1<<30)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
