// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// errStalled is the cause of a request that made no progress.
var errStalled = errors.New("no progress")

// localError is a fault of this machine met while sending: a layout file that
// cannot be read. It must not be mistaken for a fault of the network.
type localError struct{ err error }

func (l *localError) Error() string { return l.err.Error() }
func (l *localError) Unwrap() error { return l.err }

// isBrokenUpload is true for the code of an upload whose session is gone or
// broken; a new session mends it.
func isBrokenUpload(code string) bool {
	return code == "BLOB_UPLOAD_UNKNOWN" || code == "BLOB_UPLOAD_INVALID" || code == "RANGE_INVALID"
}

// refused makes an error of an answer that is no success.
func (h *host) refused(r *request, resp *response) *Error {
	codes, text := diagnose(resp)
	e := &Error{
		Op: r.op, Repository: r.repository(), Status: resp.status, Message: h.client.secrets.clean(text),
		retryAfter: retryAfter(resp.header, h.client.opts.Retry.Now()),
	}
	if len(codes) > 0 {
		e.Code = codes[0]
	}
	switch s := resp.status; {
	case s == http.StatusTooManyRequests || slices.Contains(codes, "TOOMANYREQUESTS"):
		e.Class, e.transient = RateLimited, true
		e.Advice = "the registry limits requests: wait, or log in for a higher limit with " + loginCommand(h.name)
	case s == http.StatusRequestTimeout || s >= 500:
		e.Class, e.transient = ServerError, true
	case s == http.StatusUnauthorized:
		e.Class, e.Advice = Unauthorized, h.loginAdvice()
	case s == http.StatusForbidden:
		e.Class = Denied
		e.Advice = fmt.Sprintf("log in with an account that may push to %s: %s", r.repo.RepositoryStr(), loginCommand(h.name))
	case s == http.StatusNotFound:
		e.Class = NotFound
		if slices.Contains(codes, "NAME_UNKNOWN") {
			e.Advice = "create the repository first, or correct the hub"
		}
	default:
		e.Class = Rejected
	}
	if r.session && (slices.ContainsFunc(codes, isBrokenUpload) || resp.status == http.StatusRequestedRangeNotSatisfiable) {
		e.transient = true
	}
	return e
}

// diagnose returns the error codes of an answer and its text: the registry's
// own words where it has some, else the start of the body.
func diagnose(resp *response) (codes []string, text string) {
	var doc struct {
		Errors []struct {
			Code    string          `json:"code"`
			Message string          `json:"message"`
			Detail  json.RawMessage `json:"detail"`
		} `json:"errors"`
	}
	if json.Unmarshal(resp.body, &doc) != nil || len(doc.Errors) == 0 {
		if strings.Contains(resp.header.Get("Content-Type"), "html") {
			return nil, "" // the page of some gateway: the status says it all
		}
		return nil, string(resp.body)
	}
	var parts []string
	for _, d := range doc.Errors {
		codes = append(codes, d.Code)
		part := d.Code
		if d.Message != "" {
			part += ": " + d.Message
		}
		if detail := string(d.Detail); detail != "" && detail != "null" && detail != "{}" {
			part += " " + detail
		}
		parts = append(parts, part)
	}
	return codes, strings.Join(parts, "; ")
}

// broken makes an error of a request that got no answer.
func (h *host) broken(r *request, err error) *Error {
	e := &Error{Op: r.op, Repository: r.repository(), Message: h.client.secrets.clean(networkText(err)), err: bare(err)}
	var own *Error
	var local *localError
	var token *transport.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &local):
		e.Class = Local
	case errors.As(err, &token):
		return h.tokenRefused(r, token)
	case isCertificate(err):
		e.Class, e.hostDown = Certificate, true
		e.Advice = fmt.Sprintf("make the certificate of %s valid, or add its CA to the system's (SSL_CERT_FILE names one for a single run)", h.name)
	case errors.Is(err, http.ErrSchemeMismatch):
		e.Class, e.hostDown = Protocol, true
		e.Message = "the registry speaks plain HTTP, which is allowed for loopback addresses only"
		e.Advice = fmt.Sprintf("list %s as an insecure registry if that network is trusted", h.name)
	case isAbsent(err):
		e.Class, e.hostDown, e.transient = Unreachable, true, h.hasAnswered()
		e.Advice = fmt.Sprintf("is the registry %s running, and is the name right?", h.name)
	case isTransient(err):
		e.Class, e.transient, e.hostDown = Unreachable, true, true
	default:
		e.Class = Protocol
	}
	return e
}

// networkText is the innermost useful text of err, without the address of the
// request, which may be signed.
func networkText(err error) string {
	var dns *net.DNSError
	var u *url.Error
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("looking up %s: %s", dns.Name, dns.Err)
	case errors.As(err, &u):
		return networkText(u.Err)
	case errors.Is(err, io.EOF):
		return "the connection was closed before the answer"
	default:
		return err.Error()
	}
}

// bare drops the *url.Error around err: printing one prints the whole address.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func isCertificate(err error) bool {
	var v *tls.CertificateVerificationError
	return errors.As(err, &v)
}

// isAbsent is true when nobody listens at the address.
func isAbsent(err error) bool {
	var dns *net.DNSError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) ||
		errors.Is(err, syscall.ENETUNREACH) || (errors.As(err, &dns) && dns.IsNotFound)
}

// isTransient is true for connections that broke or timed out.
func isTransient(err error) bool {
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		return true
	}
	for _, known := range []error{
		errStalled, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return true
	}
	// net/http has no exported errors for these.
	text := err.Error()
	for _, part := range []string{"server closed idle connection", "transport connection broken", "http2: ", "stream error: "} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
