// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import "syscall"

// umask sets the umask of the process and returns what restores it.
func umask(mask int) (restore func()) {
	old := syscall.Umask(mask)
	return func() { syscall.Umask(old) }
}
