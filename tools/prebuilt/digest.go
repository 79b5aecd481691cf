// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/istio-ecosystem/slipway/tools/repo"
)

// digest is the content of a file.
type digest struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// state tells whether a file was written to, without reading it.
type state struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds
	Changed  int64  `json:"changed"`  // nanoseconds
	Inode    uint64 `json:"inode"`
}

// stateOf follows symbolic links: what counts is the content.
func stateOf(path string) (state, error) {
	info, err := os.Stat(path)
	if err != nil {
		return state{}, err
	}
	if !info.Mode().IsRegular() {
		return state{}, fmt.Errorf("%q is not a regular file", path)
	}
	inode, changed := repo.Identity(info)
	return state{info.Size(), info.ModTime().UnixNano(), changed.UnixNano(), inode}, nil
}

func digestOf(ctx context.Context, path string) (digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return digest{}, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.CopyBuffer(h, reader{until(ctx), f}, make([]byte, 1<<20))
	if err != nil {
		return digest{}, fmt.Errorf("reading %q: %w", path, err)
	}
	return digest{hex.EncodeToString(h.Sum(nil)), n}, nil
}

// reader ends when stop says so, so that a long copy can be interrupted.
type reader struct {
	stop func() error
	r    io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.stop(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// until is a reader's stop for a context: why it ended, nil before.
func until(ctx context.Context) func() error {
	return func() error {
		if ctx.Err() == nil {
			return nil
		}
		return context.Cause(ctx)
	}
}
