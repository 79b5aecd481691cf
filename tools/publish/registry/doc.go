// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry is a client for pushing to container registries: blobs and
// manifests by digest, tags, and the questions around them, over the protocol
// of https://github.com/opencontainers/distribution-spec.
//
// One Client serves one run and all registries of it. It bounds the requests
// in flight (in all and per registry), finds out per registry whether it
// speaks TLS and what it wants for authentication, repeats what failed for a
// passing reason, and gives every failure a class and an advice.
//
// # Plain HTTP
//
// HTTPS is always tried first. Plain HTTP follows only for loopback addresses
// (localhost, 127.0.0.0/8, ::1) and for registries that the caller lists, and
// only when the server does not speak TLS. A certificate that cannot be
// verified is an error, never a reason for plain HTTP.
//
// # Authentication
//
// Nothing is asked for before a registry asks us: a registry without
// authentication costs no request and no run of a credential helper. After
// the first 401 of a registry, credentials come from the keychain once, and
// bearer tokens are fetched once per set of scopes and renewed before they
// end. The Authorization header goes to the registry alone, never to the host
// of a redirect or of a foreign upload address.
//
// # Retries
//
// See Retry for what is repeated, when, and for how long at most.
package registry
