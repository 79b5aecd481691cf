// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"slices"

	"github.com/istio-ecosystem/slipway/tools/catalog"
)

// artifacts is what goals want made.
type artifacts struct {
	groups    []catalog.Group // sets of binaries for the platform that they go with
	binaries  []string        // by name, for TARGET_OS and TARGET_ARCH
	linux     []string        // by name, for linux and TARGET_ARCH
	releases  []string        // istioctl-linux-amd64 and the like; all when allReleases
	all       bool            // all releases
	prebuilts demand          // Envoy and ztunnel for TARGET_ARCH
	images    []imageWant
	bake      []output // of the targets of bake files
	mustLoad  bool     // images have to get into an engine
	anew      bool     // images are built whatever caches hold, and no tag is moved
}

// demand says how much something is wanted.
type demand int

const (
	unwanted demand = iota
	welcome         // the rest is made without it, with a warning
	needed
)

// imageWant is images in an output.
type imageWant struct {
	names  []string // without docker.; nil: those of DOCKER_TARGETS, or all
	output output
}

type output string

// The outputs of images.
const (
	toLayout output = "layout"
	toEngine output = "load"
	toHubs   output = "push"
	toFiles  output = "save"
	toBake   output = "bake" // a description for docker buildx bake
	toNodes  output = "kind" // nodes of a kind cluster
)

func (a *artifacts) group(g catalog.Group) {
	if !slices.Contains(a.groups, g) {
		a.groups = append(a.groups, g)
	}
}

func (a *artifacts) prebuilt(d demand) { a.prebuilts = max(a.prebuilts, d) }

func (a *artifacts) image(out output, names ...string) {
	a.images = append(a.images, imageWant{names, out})
}
