// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog says what a repository can build: binaries, release
// binaries, downloads and images, in which variants and for which platforms.
//
// There are two readers and one type. FromIstio reads an Istio tree's own files
// (tools/docker.yaml, istio.deps, the lists in Makefile.core.mk), so a checkout
// or a fork needs no file of ours; FromYAML reads common/config/catalog.yaml.
// Detect says which one applies, Load does it all.
//
// A catalog that is returned without an error has been checked whole: names
// are names that a registry takes, every input is something that can be made
// or is there, every variant is a stage of its Dockerfile, and images do not
// start from each other. Problems are all reported at once, each with file and
// line.
//
// The package only reads; it knows no setting. Callers put in front of its
// errors which setting a bad value came from.
package catalog
