// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package imageset measures how a set of images for two platforms gets to two
// hubs: by Slipway without a daemon and with BuildKit, and by its peers, each
// as whole processes. Times of daemons count; registries are behind counters of
// the bytes that they are sent.
package imageset
