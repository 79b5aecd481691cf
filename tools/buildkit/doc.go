// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package buildkit speaks to BuildKit. It is linked only into the program
// tools/cmd/buildkit.
//
// A build sends the context with fixed times, owners and modes, asks for the
// image with uncompressed layers, and takes each blob as it comes: layers that
// the build has made get fixed times and are compressed as Slipway compresses
// its own; layers of bases stay as they are. What the layout has already is
// not sent again.
package buildkit
