// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// What an option that is not set stands for.
const (
	defaultTimeout = 30 * time.Second
	defaultBackoff = time.Second
	defaultMaxWait = time.Minute
	defaultJobs    = 64
	defaultPerHost = 2
)

// Options are those of the linter.
type Options struct {
	// Allow holds parts of addresses that are never asked for
	// (MARKDOWN_LINT_ALLOWLIST). Spaces around an entry do not count.
	Allow []string
	// Ignore holds patterns of addresses, and of relative targets as written,
	// that are not looked at: globs over the whole of it, where * stands for
	// any characters and ? for one, or regular expressions between slashes.
	Ignore []string
	// IgnoreFile is a file of the tree with more patterns for Ignore, one a
	// line; lines that start with # are comments. It need not exist.
	IgnoreFile string
	// Remap replaces starts of addresses before they are looked at.
	Remap []Remap
	// Offline asks no server: only files and anchors are checked.
	Offline bool
	// Compat looks at what awesome_bot 1.20.0 looks at, and at nothing else.
	Compat bool
	// CheckAnchors looks for the fragments of addresses in the pages of other
	// sites. Scripts may make anchors there, so one that is missing is only a
	// warning.
	CheckAnchors bool
	// NoPrivate keeps requests away from loopback, private and link-local
	// addresses, whatever a name stands for.
	NoPrivate bool
	// Cache is a file of earlier answers; empty: none.
	Cache string
	// Hosts says more about single hosts, by name ("example.com"), name and
	// port, or wildcard ("*.example.com").
	Hosts map[string]Host
	// Client sends the requests; nil: one of the linter's own. Redirects are
	// followed by the linter in any case.
	Client *http.Client
	// Timeout is how long one request may take; Backoff is the first pause
	// before a request is repeated; MaxWait is the longest pause that a server
	// may ask for with Retry-After.
	Timeout, Backoff, MaxWait time.Duration
	// Jobs is how many requests run at once, PerHost how many of them to one
	// host.
	Jobs, PerHost int
	// Getenv reads the tokens of Hosts; nil: there are none.
	Getenv func(string) string
	// Files chooses the files; nil: those that end in .md.
	Files func(string) bool
}

// Host is what is known about one host.
type Host struct {
	// Accept are the answers that mean a working link; none: 200 to 299, or 200
	// and 300 to 399 with Compat.
	Accept []Range `json:"accept,omitempty"`
	// TokenFrom names the environment variable of a token for this host. It is
	// sent as "Authorization: Bearer" to exactly this host, never elsewhere and
	// never without encryption. A wildcard has no token.
	TokenFrom string `json:"tokenFrom,omitempty"`
	// PerHost is how many requests run at once to this host; 0: as for others.
	PerHost int `json:"perHost,omitempty"`
}

// Range is a range of status codes, both ends included.
type Range struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Remap replaces the start From of an address by To. A To that starts with a
// single slash is a path from the root of the tree.
type Remap struct{ From, To string }

// Linter returns the linter "links".
func Linter(o Options) lint.Linter {
	files := o.Files
	if files == nil {
		files = func(file string) bool { return path.Ext(file) == ".md" }
	}
	l := lint.Linter{Name: "links", Files: files, Rules: o.rules()}
	if o.IgnoreFile != "" {
		l.Config = []string{o.IgnoreFile}
	}
	l.Whole = func(ctx context.Context, task lint.Task) (lint.Outcome, error) {
		return check(ctx, o, task)
	}
	return l
}

// rules stands for the options that decide what is found.
func (o Options) rules() string {
	text, err := json.Marshal([]any{o.Allow, o.Ignore, o.Remap, o.Offline, o.Compat, o.CheckAnchors, o.NoPrivate, o.Hosts})
	if err != nil {
		return "1"
	}
	return fmt.Sprintf("1 %s", text)
}

// filled returns the options with values in place of what is not set.
func (o Options) filled() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Backoff <= 0 {
		o.Backoff = defaultBackoff
	}
	if o.MaxWait <= 0 {
		o.MaxWait = defaultMaxWait
	}
	if o.Jobs <= 0 {
		o.Jobs = defaultJobs
	}
	if o.PerHost <= 0 {
		o.PerHost = defaultPerHost
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	return o
}
