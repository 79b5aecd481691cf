// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Retry says how failures that may pass are repeated.
//
// Passing are: status 408, 429 and every 5xx; the error code TOOMANYREQUESTS
// in any answer; connections that are reset, closed early or time out; an
// upload session that the registry forgot. Everything else is reported at
// once. A connection that is refused counts as passing only for a registry
// that answered before in this run: one that was never there is reported
// without delay.
//
// The pause before attempt n+1 is Base·2ⁿ⁻¹, at most Max, of which a random
// part of up to a half is taken off, so that many clients do not come back
// together. A longer Retry-After of the registry replaces the pause, up to
// MaxRetryAfter. After a rate limit all requests to that registry wait. One
// operation pauses for Total at most and is tried Attempts times at most.
type Retry struct {
	Attempts      int           // 0: 6
	Base          time.Duration // 0: 500 ms
	Max           time.Duration // 0: 15 s
	MaxRetryAfter time.Duration // 0: 60 s
	Total         time.Duration // 0: 3 min

	// For tests: the clock, and a random number in [0, 1).
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Random func() float64
}

// withDefaults fills in what the caller left open.
func (r Retry) withDefaults() Retry {
	defaultTo(&r.Attempts, 6)
	defaultTo(&r.Base, 500*time.Millisecond)
	defaultTo(&r.Max, 15*time.Second)
	defaultTo(&r.MaxRetryAfter, time.Minute)
	defaultTo(&r.Total, 3*time.Minute)
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	if r.Random == nil {
		r.Random = rand.Float64
	}
	return r
}

func defaultTo[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// pause returns how long to wait after attempt (1 is the first) failed.
func (r Retry) pause(attempt int, asked time.Duration) time.Duration {
	d := r.Max
	if shift := attempt - 1; shift < 30 && r.Base<<shift < r.Max {
		d = r.Base << shift
	}
	d -= time.Duration(r.Random() * float64(d) / 2)
	if asked > d {
		d = min(asked, r.MaxRetryAfter)
	}
	return d
}

// retryAfter reads the header of that name: seconds or a date (RFC 9110,
// section 10.2.3). It is 0 when absent, malformed or past.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.Atoi(v); err == nil {
		return time.Duration(max(0, min(s, 1<<30))) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// retry runs f until it works, fails for good, or patience ends.
func (h *host) retry(ctx context.Context, stats *Stats, f func(context.Context) *Error) error {
	policy, paused := h.client.opts.Retry, time.Duration(0)
	for attempt := 1; ; attempt++ {
		e := f(ctx)
		if e == nil {
			h.worked()
			return nil
		}
		e.Attempts = max(e.Attempts, attempt)
		if ctx.Err() != nil {
			e.Class, e.Message, e.Status, e.Advice, e.err = Interrupted, "interrupted", 0, "", ctx.Err()
			return e
		}
		if !e.transient {
			if e.hostDown {
				h.giveUp(e)
			}
			return e
		}
		d := policy.pause(attempt, e.retryAfter)
		if attempt >= policy.Attempts || paused+d > policy.Total {
			h.exhausted(e)
			return e
		}
		if e.Class == RateLimited {
			h.holdUntil(policy.Now().Add(d))
		}
		stats.retried()
		h.client.opts.Log("%s, %s: %s; next try in %s", e.Op, e.Repository, e.Reason(), d.Round(time.Millisecond))
		if err := policy.Sleep(ctx, d); err != nil {
			e.Class, e.Message, e.err = Interrupted, "interrupted", err
			return e
		}
		paused += d
	}
}
