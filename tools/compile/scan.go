// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
)

// scanStep is how much of a file is looked at at once.
const scanStep = 1 << 20

// scan reads a file once, for its sha256 and for which of the patterns it holds.
func scan(ctx context.Context, path string, patterns []string) (sum string, found map[string]bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	found = make(map[string]bool, len(patterns))
	overlap := 0
	for _, p := range patterns {
		overlap = max(overlap, len(p)-1)
	}
	hash := sha256.New()
	window := make([]byte, overlap+scanStep)
	kept := 0 // bytes at the start of window that were seen before
	for ctx.Err() == nil {
		n, err := io.ReadFull(file, window[kept:])
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = nil
		}
		if err != nil {
			return "", nil, err
		}
		if n == 0 {
			return hex.EncodeToString(hash.Sum(nil)), found, nil
		}
		hash.Write(window[kept : kept+n])
		seen := window[:kept+n]
		for _, p := range patterns {
			found[p] = found[p] || bytes.Contains(seen, []byte(p))
		}
		kept = copy(window, seen[max(0, len(seen)-overlap):])
	}
	return "", nil, ctx.Err()
}
