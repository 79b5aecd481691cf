// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// Options are what all programs of one run share. Cache must be set; the rest
// has defaults.
type Options struct {
	Cache      string         // folder for downloads, may be shared by processes and checkouts
	Dir        string         // where relative file paths start; empty: the working directory
	Lock       *Lock          // known checksums; nil: none
	UpdateLock bool           // add what the lock does not know; the caller saves it
	Offline    bool           // never use the network
	Console    *ui.Console    // nil: silent
	Runner     run.Runner     // for aws and cargo; nil: run.Exec
	Environ    []string       // for aws and cargo, NAME=value; nil: os.Environ()
	Client     *http.Client   // nil: one with time-outs and the proxies of the environment
	Keychain   authn.Keychain // for oci:; nil: that of Docker's configuration
	Retry      Retry
	Limits     Limits
}

// Retry says how often and how fast a request is repeated that failed in a way
// that may pass. The zero value means the defaults.
type Retry struct {
	Attempts int           // failures in a row without progress; 0: 5
	First    time.Duration // wait after the first failure, doubled each time; 0: 1 s
	Longest  time.Duration // longest wait, also for a server's Retry-After; 0: 2 minutes
	// Sleep waits; nil: by the clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Limits bound what a server or an archive can make us do. The zero value
// means the defaults.
type Limits struct {
	Download int64         // bytes of a download; 0: 2 GiB
	Unpacked int64         // bytes that an archive unpacks to; 0: 2 GiB
	Idle     time.Duration // longest time without a byte before a download is tried again; 0: 60 s
}

const gib = 1 << 30

// complete fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.Cache == "" {
		return o, usage("fetching a program needs a cache folder")
	}
	if o.Console == nil {
		o.Console = ui.Discard()
	}
	if o.Runner == nil {
		o.Runner = run.Exec{}
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Keychain == nil {
		o.Keychain = authn.DefaultKeychain
	}
	o.Retry.Attempts = orDefault(o.Retry.Attempts, 5)
	o.Retry.First = orDefault(o.Retry.First, time.Second)
	o.Retry.Longest = orDefault(o.Retry.Longest, 2*time.Minute)
	o.Limits.Download = orDefault(o.Limits.Download, 2*gib)
	o.Limits.Unpacked = orDefault(o.Limits.Unpacked, 2*gib)
	o.Limits.Idle = orDefault(o.Limits.Idle, time.Minute)
	o.Client = safeClient(o.Client)
	return o, nil
}

func orDefault[T int | int64 | time.Duration](v, standard T) T {
	if v <= 0 {
		return standard
	}
	return v
}
