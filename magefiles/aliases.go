// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

// Aliases are the names that make users type. Mage reads this literal and
// nothing else; a test holds it against the goals of package program.
var Aliases = map[string]any{
	"build":             Build.Default,
	"build-linux":       Build.Linux,
	"build-cni":         Build.CNI,
	"istioctl-all":      Build.Istioctl,
	"docker":            Docker.Build,
	"docker.push":       Docker.Push,
	"push":              Docker.Push,
	"docker.save":       Docker.Save,
	"docker.resume":     Docker.Resume,
	"docker.load":       Docker.Load,
	"docker.kind":       Docker.Kind,
	"docker.plan":       Docker.Plan,
	"docker.check":      Docker.Check,
	"docker.sizes":      Docker.Sizes,
	"docker.lock":       Docker.Lock,
	"docker.update":     Docker.Update,
	"docker.prune":      Docker.Prune,
	"docker.bake":       Docker.Bake,
	"build-base-images": Docker.Bases,
	"bake":              Bake.Build,
	"bake.push":         Bake.Push,
	"bench.imageset":    Bench.Imageset,
	"lint":              Lint.All,
	"lint-go":           Lint.Go,
	"fmt":               Format,
	"test":              Test.All,
	"test.real":         Test.Real,
	"bench.start":       Bench.Start,
	"bench.build":       Bench.Build,
	"bench.images":      Bench.Images,
	"prebuilt.lock":     Prebuilt.Lock,
}
