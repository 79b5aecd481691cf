// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import "syscall"

func changeTime(s *syscall.Stat_t) int64 { return s.Ctim.Nano() }
