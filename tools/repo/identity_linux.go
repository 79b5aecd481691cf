// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"io/fs"
	"syscall"
	"time"
)

// Identity returns the inode number and the time of the last change of
// content or attributes.
func Identity(info fs.FileInfo) (inode uint64, changed time.Time) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, info.ModTime()
	}
	return st.Ino, time.Unix(st.Ctim.Unix())
}
