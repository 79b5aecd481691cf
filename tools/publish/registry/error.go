// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Class says why a request failed, in the few kinds that call for different
// action.
type Class string

// The classes of failures.
const (
	Unreachable  Class = "unreachable"  // no connection, or connections that break
	Certificate  Class = "certificate"  // TLS works, but the certificate is not trusted
	Unauthorized Class = "unauthorized" // 401, or credentials that cannot be read
	Denied       Class = "denied"       // 403
	NotFound     Class = "not-found"    // 404 where something must be there
	RateLimited  Class = "rate-limited" // 429 or TOOMANYREQUESTS, beyond our patience
	ServerError  Class = "server-error" // 408 or 5xx, beyond our patience
	Rejected     Class = "rejected"     // any other status that is no success
	Protocol     Class = "protocol"     // an answer that breaks the protocol
	Local        Class = "local"        // the fault is on this side: a file that cannot be read or has changed
	Interrupted  Class = "interrupted"  // the caller cancelled
)

// Error is a failure of one operation on one repository. It holds no secret:
// what a registry or a helper said went through redaction.
type Error struct {
	Class      Class
	Op         string // what was tried: `uploading blob sha256:…`
	Repository string // where: `localhost:5000/a/app`
	Status     int    // HTTP status, 0 when there was no answer
	Code       string // the first error code that the registry gave: `DENIED`
	Message    string // what the registry or the network said
	Advice     string // what to do next, may be empty
	Attempts   int    // how often it was tried

	retryAfter time.Duration // what the registry asked for
	transient  bool          // worth another try
	hostDown   bool          // no other request to this host can work
	err        error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: ", e.Op, e.Repository)
	b.WriteString(e.Reason())
	return b.String()
}

// Reason is the failure without the operation and the repository, for a table
// that names them already.
func (e *Error) Reason() string {
	var b strings.Builder
	if e.Status != 0 {
		fmt.Fprintf(&b, "status %d %s", e.Status, http.StatusText(e.Status))
		if e.Message != "" {
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Message)
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (tried %d times)", e.Attempts)
	}
	if e.Advice != "" {
		b.WriteString("; ")
		b.WriteString(e.Advice)
	}
	return b.String()
}

// Unwrap returns the cause, if the failure has one in this process.
func (e *Error) Unwrap() error { return e.err }

// display is the name that users know a registry by.
func display(host string) string {
	if host == "index.docker.io" {
		return "docker.io"
	}
	return host
}

// loginCommand is how one logs in to host.
func loginCommand(host string) string {
	if display(host) == "docker.io" {
		return "`docker login`"
	}
	return "`docker login " + host + "`"
}
