// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockKey waits until no other process fetches the same URL into this cache.
// The kernel drops the lock of a process that dies. The lock file stays: with
// it removed, two processes could each lock a file of that name.
func (j *job) lockKey(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(j.opt.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	f, err := os.OpenFile(j.keyPath()+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the cache: %w", err)
	}
	if err := j.waitForLock(ctx, f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// waitForLock asks again and again: a blocking flock could not be interrupted.
func (j *job) waitForLock(ctx context.Context, f *os.File) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("locking %q: %w", f.Name(), err)
		case wait == 40*time.Millisecond: // not for the blink of an eye
			j.note("waiting for another process that fetches it")
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
