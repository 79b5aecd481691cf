// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// realProgress is how many new bytes an attempt must bring to count as one
// that helped, so that a bad line is not given up while it still delivers.
const realProgress = 1 << 20

// retrying repeats attempt until it succeeds or has failed too often in a row
// without bringing p further than it ever was.
func (j *job) retrying(ctx context.Context, p *partial, attempt func(context.Context, *partial) error) error {
	failures, furthest := 0, p.size
	for {
		err := attempt(ctx, p)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var cause *netError
		if !errors.As(err, &cause) || !cause.transient {
			return err
		}
		if p.size >= furthest+realProgress {
			furthest, failures = p.size, 0
		}
		failures++
		if err := j.pause(ctx, failures, cause); err != nil {
			return err
		}
	}
}

// pause waits before the next attempt, or says why there is none.
func (j *job) pause(ctx context.Context, failures int, cause *netError) error {
	r := j.opt.Retry
	if failures >= r.Attempts {
		return &netError{err: fmt.Errorf("%w (tried %d times)", cause.err, failures)}
	}
	if cause.after > r.Longest {
		return &netError{err: fmt.Errorf("%w: the server asks to wait %s, longer than the %s that we would", cause.err, cause.after.Round(time.Second), r.Longest)}
	}
	wait := max(r.backoff(failures), cause.after)
	j.note("%s; trying again in %s", cause.err, wait.Round(100*time.Millisecond))
	return r.sleep(ctx, wait)
}

// backoff is the wait after so many failures: doubled each time, and spread,
// so that many builds that lost one server do not come back at once.
func (r Retry) backoff(failures int) time.Duration {
	wait := min(r.First<<min(failures-1, 20), r.Longest)
	return min(time.Duration(float64(wait)*(0.8+0.4*rand.Float64())), r.Longest)
}

func (r Retry) sleep(ctx context.Context, d time.Duration) error {
	if r.Sleep != nil {
		return r.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
