// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"io/fs"
	"time"

	"github.com/istio-ecosystem/slipway/tools/repo"
)

// stamp is what the file system says of a file: size in bytes, times of the
// last change of content and of attributes in nanoseconds, and inode.
type stamp [4]int64

func stampOf(info fs.FileInfo) stamp {
	inode, changed := repo.Identity(info)
	return stamp{info.Size(), info.ModTime().UnixNano(), changed.UnixNano(), int64(inode)}
}

// modified is when the file last changed in any way.
func (s stamp) modified() time.Time { return time.Unix(0, max(s[1], s[2])) }
