// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package prebuilt puts programs in place that are not compiled by Go: Envoy
// and ztunnel. They are downloaded at a pinned version, or, for ztunnel, built
// with cargo from a checkout.
//
// # Where a program comes from
//
// https: and http: URLs, s3: URLs (exchanged for one that is valid for a
// minute by the aws command), oci: references (oci://registry/repo:tag or
// @sha256:…, an artifact or an image; a #fragment names the file in it), and
// file: URLs or plain paths. What arrives is told by its first bytes: an ELF
// program is taken as it is, a tar archive (plain, gzip or zstd) is searched
// for the one member that is wanted.
//
// # What is trusted
//
// A download is checked against a sha256: that of the Source, else that of the
// lock file, else the digest in an oci: reference. Istio publishes no checksums
// and a mirror has URLs that no lock knows, so a URL without any is allowed,
// with one line that says so; its checksum is then kept in the cache, and other
// bytes under the same URL are an error from then on. The lock file takes a new
// URL only when asked to, and never changes an entry.
//
// The lock and the cache never hold a credential: a URL is named without user
// and password, and with a hash in place of its query.
//
// # What is left behind
//
// A program appears under its name complete, checked for its platform and
// executable, or not at all. A record beside it (folder .slipway) holds its
// size and sha256; a file that was cut short or altered since is not used
// again. A download that was interrupted goes on where it stopped, in this run
// or the next, if the server can prove that it still serves the same bytes.
// Processes that want the same file at once fetch it once.
package prebuilt
