// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package imageset

import "golang.org/x/sys/unix"

// peer is the process at the other end of a socket.
func peer(fd int) int {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(cred.Pid)
}
