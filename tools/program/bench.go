// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

func (w *wants) benchStart(string) error  { return nil }
func (w *wants) benchBuild(string) error  { return nil }
func (w *wants) benchImages(string) error { return nil }
