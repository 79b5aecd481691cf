// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package settings settles every variable that a user may set: HUB, HUBS, TAG,
// PULL_POLICY and the rest of the make interface of an Istio-shaped
// repository. It reads the command line of make, the environment, the user's
// .istiorc.mk and the built-in defaults, in make's own order of strength, and
// remembers for each value where it came from and what it beat.
//
// What is settled is exactly what GNU make settles on. What is then used in an
// image name is checked: see [Settings.Hubs] and [Settings.Tags].
package settings
