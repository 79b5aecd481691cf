// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package repo

import (
	"io/fs"
	"time"
)

// Identity has only the modification time to offer here.
func Identity(info fs.FileInfo) (inode uint64, changed time.Time) {
	return 0, info.ModTime()
}
