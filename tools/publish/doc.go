// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish pushes a set of images from one OCI layout to many hubs, so
// that a hub never shows a half of the set and a tag never names something
// that is not there.
//
// # Phases
//
// Check: every tag is asked for. One that has the wanted digest is done. With
// NoClobber, a tag that has another digest ends the run here, before anything
// is sent.
//
// Upload: blobs, manifests and indexes (children first) go to all repositories
// side by side, by digest. A blob that several repositories of one registry
// need is sent once and mounted in the others.
//
// Tag: only when that is complete everywhere that can complete, tags are put,
// and each is read back: the sha256 of the bytes that a hub answers must be
// the wanted digest, so all hubs hold the same bytes.
//
// # When a hub fails
//
// A hub is what stands before the image's name in a reference. The hub is the
// unit: one that could not take every blob and manifest of the set gets no tag
// at all, while the other hubs get theirs. With AllOrNothing, no hub gets a
// tag unless all could take the whole set. All images are tried in any case,
// save at a registry that cannot be reached any more. Registries have no
// transactions, so a failure in the tag phase leaves the tags that are set;
// what they name is complete.
//
// # Result
//
// The result file is written before anything is sent and holds the plan, so
// that a run that was killed at any moment can be finished by Resume. Exit
// codes: 0 when every reference is in place, 4 when some are, 1 when none is,
// 3 when none is because no registry could be reached, 2 for a plan that makes
// no sense, 130 when interrupted.
package publish
