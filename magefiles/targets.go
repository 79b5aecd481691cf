// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/magefile/mage/mg"
)

// Help lists all goals, which are targets too.
func Help(ctx context.Context) { goals(ctx, "help") }

// Settings shows every setting, where it came from and what it beat.
func Settings(ctx context.Context) { goals(ctx, "settings") }

// Catalog shows the binaries, downloads and images that can be made.
func Catalog(ctx context.Context) { goals(ctx, "catalog") }

// Plan shows what the goals in GOALS would do.
func Plan(ctx context.Context) { goals(ctx, "plan") }

// Clean removes what was built.
func Clean(ctx context.Context) { goals(ctx, "clean") }

// Init fetches Envoy and ztunnel.
func Init(ctx context.Context) { goals(ctx, "init") }

// Format formats Go and tidies go.mod.
func Format(ctx context.Context) { goals(ctx, "format") }

// Build compiles binaries.
type Build mg.Namespace

// Default compiles the standard binaries and the agent.
func (Build) Default(ctx context.Context) { goals(ctx, "build") }

// Linux compiles all binaries that go into images.
func (Build) Linux(ctx context.Context) { goals(ctx, "build-linux") }

// CNI compiles the CNI binaries.
func (Build) CNI(ctx context.Context) { goals(ctx, "build-cni") }

// Binary compiles one binary by name.
func (Build) Binary(ctx context.Context, name string) { goals(ctx, name) }

// Istioctl compiles istioctl for all systems it is released for.
func (Build) Istioctl(ctx context.Context) { goals(ctx, "istioctl-all") }

// Docker makes images.
type Docker mg.Namespace

// Build builds the images of DOCKER_TARGETS, or all.
func (Docker) Build(ctx context.Context) { goals(ctx, "docker") }

// Image builds one image by name.
func (Docker) Image(ctx context.Context, name string) { goals(ctx, "docker."+name) }

// Push builds images once and pushes them to all hubs.
func (Docker) Push(ctx context.Context) { goals(ctx, "docker.push") }

// Save saves images as Docker archives.
func (Docker) Save(ctx context.Context) { goals(ctx, "docker.save") }

// Resume finishes the last push without building.
func (Docker) Resume(ctx context.Context) { goals(ctx, "docker.resume") }

// Load builds images and loads them into a Docker engine.
func (Docker) Load(ctx context.Context) { goals(ctx, "docker.load") }

// Kind builds images and loads what changed into the nodes of a kind cluster.
func (Docker) Kind(ctx context.Context) { goals(ctx, "docker.kind") }

// Plan shows who would build which image, and why.
func (Docker) Plan(ctx context.Context) { goals(ctx, "docker.plan") }

// Check reads the Dockerfiles with BuildKit's rules.
func (Docker) Check(ctx context.Context) { goals(ctx, "docker.check") }

// Sizes shows the size of each layer, and what changed.
func (Docker) Sizes(ctx context.Context) { goals(ctx, "docker.sizes") }

// Lock writes the digests of base images down.
func (Docker) Lock(ctx context.Context) { goals(ctx, "docker.lock") }

// Update asks for the digests of base images anew.
func (Docker) Update(ctx context.Context) { goals(ctx, "docker.update") }

// Prune removes layers that no image needs any more.
func (Docker) Prune(ctx context.Context) { goals(ctx, "docker.prune") }

// Bake prints what docker buildx bake would need to build the images.
func (Docker) Bake(ctx context.Context) { goals(ctx, "docker.bake") }

// Bases builds all base images anew and pushes them.
func (Docker) Bases(ctx context.Context) { goals(ctx, "build-base-images") }

// Bake builds what bake files describe.
type Bake mg.Namespace

// Build builds the targets of bake files.
func (Bake) Build(ctx context.Context) { goals(ctx, "bake") }

// Push builds the targets of bake files and pushes them.
func (Bake) Push(ctx context.Context) { goals(ctx, "bake.push") }

// Buildkitd runs BuildKit's daemon here.
func Buildkitd(ctx context.Context) { goals(ctx, "buildkitd") }

// Lint checks sources.
type Lint mg.Namespace

// All runs the linters.
func (Lint) All(ctx context.Context) { goals(ctx, "lint") }

// Go checks Go with the pinned golangci-lint.
func (Lint) Go(ctx context.Context) { goals(ctx, "lint-go") }

// Fix mends what linters can mend, then runs them.
func (Lint) Fix(ctx context.Context) { goals(ctx, "lint-fix") }

// Common runs the linters of istio/common-files.
func (Lint) Common(ctx context.Context) { goals(ctx, "lint-all") }

// Markdown checks Markdown with the rules of mdl.
func (Lint) Markdown(ctx context.Context) { goals(ctx, "lint-markdown") }

// Python checks the layout of Python.
func (Lint) Python(ctx context.Context) { goals(ctx, "lint-python") }

// Yaml checks YAML.
func (Lint) Yaml(ctx context.Context) { goals(ctx, "lint-yaml") }

// Scripts checks shell scripts.
func (Lint) Scripts(ctx context.Context) { goals(ctx, "lint-scripts") }

// Dockerfiles checks Dockerfiles with the rules of hadolint.
func (Lint) Dockerfiles(ctx context.Context) { goals(ctx, "lint-dockerfiles") }

// Helm checks all charts as helm lint --strict does.
func (Lint) Helm(ctx context.Context) { goals(ctx, "lint-helm") }

// HelmGlobal checks the charts below manifests as helm lint does.
func (Lint) HelmGlobal(ctx context.Context) { goals(ctx, "lint-helm-global") }

// Links checks the links of Markdown files.
func (Lint) Links(ctx context.Context) { goals(ctx, "lint-links") }

// Samples checks the samples with istioctl validate.
func (Lint) Samples(ctx context.Context) { goals(ctx, "lint-samples") }

// CopyrightBanner checks that sources say whose they are.
func (Lint) CopyrightBanner(ctx context.Context) { goals(ctx, "lint-copyright-banner") }

// Licenses checks the licenses of Go modules.
func (Lint) Licenses(ctx context.Context) { goals(ctx, "lint-licenses") }

// Test runs tests.
type Test mg.Namespace

// All runs the tests of PKG.
func (Test) All(ctx context.Context) { goals(ctx, "test") }

// Real runs the long tests too, against real tools.
func (Test) Real(ctx context.Context) { goals(ctx, "test.real") }

// Bench measures beside other ways to do the same.
type Bench mg.Namespace

// Start measures how long the program takes to start.
func (Bench) Start(ctx context.Context) { goals(ctx, "bench.start") }

// Build measures builds beside plain go build.
func (Bench) Build(ctx context.Context) { goals(ctx, "bench.build") }

// Images measures images beside hashing and compressing alone.
func (Bench) Images(ctx context.Context) { goals(ctx, "bench.images") }

// Lint measures the linters beside the programs that they stand in for.
func (Bench) Lint(ctx context.Context) { goals(ctx, "bench.lint") }

// Imageset measures four images for two platforms beside other builders.
func (Bench) Imageset(ctx context.Context) { goals(ctx, "bench.imageset") }

// Prebuilt is Envoy and ztunnel.
type Prebuilt mg.Namespace

// Lock writes down the checksums of Envoy and ztunnel.
func (Prebuilt) Lock(ctx context.Context) { goals(ctx, "prebuilt.lock") }
