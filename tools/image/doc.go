// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package image makes images from evaluated Dockerfiles, without a daemon and
// without running anything: layers, configuration and manifests in one OCI
// layout that all images of a workspace share.
//
// The same input gives the same digest on every machine: entries are sorted,
// times are fixed, owners are numbers, and modes do not depend on the umask.
// Files in layers are dated 1970-01-01, so that a binary that did not change
// is the same layer from commit to commit; the image itself is dated with
// Request.Created.
//
// A layer costs one pass of SHA-256 over its tar and, when no blob of that
// content is in the layout, one pass of the compressor. What a step made is
// remembered with the size, times and inode of every file that went into it,
// so a step whose files did not change is not read again.
package image
