// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package settings

// A Known setting is one that some step reads.
type Known struct {
	Name    string
	Default string // text of a make assignment `NAME ?= Default`
	Unset   bool   // there is no default: the variable stays unset
	Early   bool   // defaulted before .istiorc.mk is read, so `?=` in that file is too late
	Summary string // one line: what it is for
	Example string // for .istiorc.mk.example where the default would say little
}

// A Group is settings that belong together, as help and the example file show
// them.
type Group struct {
	Title    string
	Settings []Known
}

// Groups returns the table of all known settings. The defaults are those of
// Istio's own make files; where they differ, the summary says so.
func Groups() []Group {
	return []Group{
		{"Image names", imageNames()},
		{"Image builds", imageBuilds()},
		{"Platform and output folders", platforms()},
		{"Go builds", goBuilds()},
		{"Envoy and ztunnel", prebuilts()},
		{"Lint", lints()},
		{"Tests and output", reports()},
	}
}

func imageNames() []Known {
	return []Known{
		{Name: "HUB", Default: "istio", Summary: "registry and path that images are named after", Example: "localhost:5000"},
		{Name: "HUBS", Default: "$(HUB)", Summary: "hubs that one build is pushed to, separated by spaces", Example: "localhost:5000/a 127.0.0.1:5001/b"},
		{Name: "TAG", Default: "$(shell " + headCommand + ")", Summary: "image tag; the commit when it is not set", Example: "dev"},
		{Name: "TAGS", Unset: true, Summary: "several tags in place of TAG, separated by spaces", Example: "1.31.0 latest"},
		{Name: "PULL_POLICY", Default: "IfNotPresent", Summary: "pull policy that charts and tests get; TAG latest makes it Always"},
		{Name: "VERSION", Unset: true, Early: true, Summary: "version that binaries report; by default that of the VERSION file with -dev", Example: "1.31.0"},
		{Name: "INCLUDE_UNTAGGED_DEFAULT", Unset: true, Summary: "true: the default variant is built beside those of DOCKER_BUILD_VARIANTS", Example: "true"},
	}
}

func imageBuilds() []Known {
	return []Known{
		{Name: "DOCKER_TARGETS", Unset: true, Summary: "images to build, separated by spaces, with or without docker.; all when not set", Example: "docker.install-cni docker.istioctl"},
		{Name: "DOCKER_BUILD_VARIANTS", Default: "default", Summary: "variants to build: default, debug, distroless"},
		{Name: "DOCKER_ARCHITECTURES", Default: "linux/$(SLIPWAY_HOST_ARCH)", Summary: "platforms to build, separated by commas; by default that of this machine (Istio's make files: linux/amd64)", Example: "linux/amd64,linux/arm64"},
		{Name: "BASE_VERSION", Unset: true, Early: true, Summary: "tag of Istio's base images", Example: "latest"},
		{Name: "ISTIO_BASE_REGISTRY", Default: "registry.istio.io/release", Early: true, Summary: "hub of Istio's base images"},
		{Name: "AGENTGATEWAY_IMAGE", Unset: true, Summary: "whole reference of the agentgateway image"},
		{Name: "ISTIO_DOCKER_BUILDER", Default: "auto", Summary: "how images are made: auto (daemonless where no program has to run, else BuildKit), crane (daemonless), buildkit, docker (the Docker engine's BuildKit, or buildx)"},
		{Name: "ISTIO_DOCKER_QEMU", Unset: true, Summary: "true: images that run programs are built for other architectures too; the builder needs an emulator", Example: "true"},
		{Name: "BUILDKIT_HOST", Unset: true, Summary: "address of BuildKit, for images that run programs; by default its usual socket, the builder of docker buildx use, or the Docker engine", Example: "tcp://builder.example:1234"},
		{Name: "BUILDX_BUILDER", Unset: true, Summary: "builder that docker buildx knows, by name, in place of BUILDKIT_HOST", Example: "kubernetes-pool"},
		{Name: "BUILDKIT_PROGRESS", Unset: true, Summary: "how BuildKit's progress is shown: auto, plain, tty, quiet, rawjson", Example: "plain"},
		{Name: "SLIPWAY_SECRETS", Unset: true, Summary: "secrets for RUN --mount=type=secret, separated by spaces, as in docker build", Example: "id=token,env=TOKEN id=netrc,src=/home/me/.netrc"},
		{Name: "SLIPWAY_SSH", Unset: true, Summary: "ssh agents for RUN --mount=type=ssh, separated by spaces", Example: "default"},
		{Name: "SLIPWAY_RUN_NETWORK", Unset: true, Summary: "network of RUN: default, host, none; the builder must allow it", Example: "host"},
		{Name: "SLIPWAY_CACHE_FROM", Unset: true, Summary: "caches that BuildKit reads, separated by spaces", Example: "type=registry,ref=registry.example/me/cache"},
		{Name: "SLIPWAY_CACHE_TO", Unset: true, Summary: "caches that BuildKit writes, separated by spaces", Example: "type=registry,ref=registry.example/me/cache,mode=max"},
		{Name: "SLIPWAY_NO_CACHE", Unset: true, Summary: "1: build images anew, whatever the caches hold; make -B does so too", Example: "1"},
		{Name: "SLIPWAY_PULL", Unset: true, Summary: "1: ask for base images anew", Example: "1"},
		{Name: "SLIPWAY_CODEC", Default: "gzip-1", Summary: "compression of image layers: gzip-1 to gzip-9, zstd, none; never chosen by the name of the hub", Example: "gzip-6"},
		{Name: "BAKE_FILES", Unset: true, Summary: "bake files (HCL, JSON, compose) of the goal bake, separated by spaces; by default those of the usual names", Example: "docker-bake.hcl"},
		{Name: "BAKE_TARGETS", Unset: true, Summary: "targets and groups of bake files, separated by spaces; by default the group default", Example: "app web"},
		{Name: "BAKE_VARS", Unset: true, Summary: "variables of bake files beside HUB, TAG and the like, as NAME=VALUE, separated by spaces", Example: "DEBUG=1"},
		{Name: "SLIPWAY_IMAGES_LIMIT", Default: "20GB", Summary: "size that out/images is pruned to after a build; 0: never", Example: "5GB"},
		{Name: "SLIPWAY_SIZES_AGAINST", Unset: true, Summary: "what docker.sizes compares with: a tag in the first hub, or a whole reference; by default the last time", Example: "1.30.0"},
		{Name: "SLIPWAY_INSECURE", Unset: true, Summary: "registries that may be spoken to in plain HTTP, separated by spaces; loopback always may", Example: "registry.lan:5000"},
		{Name: "SLIPWAY_SBOM", Unset: true, Summary: "1: attach to each pushed image what is in it (SPDX), as a referrer", Example: "1"},
		{Name: "SLIPWAY_PROVENANCE", Unset: true, Summary: "1: attach to each pushed image how it was made (SLSA), as a referrer", Example: "1"},
		{Name: "SLIPWAY_NO_CLOBBER", Unset: true, Summary: "1: a tag that has another digest already is refused", Example: "1"},
		{Name: "SLIPWAY_ALL_OR_NOTHING", Unset: true, Summary: "1: no hub gets a tag unless every hub took everything", Example: "1"},
		{Name: "SOURCE_DATE_EPOCH", Unset: true, Summary: "seconds since 1970 that images are dated with; by default the time of the commit", Example: "1700000000"},
		{Name: "KIND_CLUSTER_NAME", Default: "kind", Summary: "kind cluster that docker.kind loads images into"},
		{Name: "DOCKER_LOAD", Default: "auto", Summary: "auto: load images into a Docker engine where one answers; 1: an engine is required; 0: never"},
	}
}

func platforms() []Known {
	return []Known{
		{Name: "TARGET_OS", Default: "$(SLIPWAY_HOST_OS)", Summary: "operating system that build compiles for"},
		{Name: "TARGET_ARCH", Default: "$(SLIPWAY_HOST_ARCH)", Summary: "architecture that build compiles for", Example: "arm64"},
		{Name: "TARGET_OUT", Default: "$(CURDIR)/out/$(TARGET_OS)_$(TARGET_ARCH)", Summary: "folder of what build makes"},
		{Name: "TARGET_OUT_LINUX", Default: "$(CURDIR)/out/linux_$(TARGET_ARCH)", Summary: "folder of what images are made of"},
		{Name: "LOCAL_OUT", Default: "$(CURDIR)/out/$(SLIPWAY_HOST_OS)_$(SLIPWAY_HOST_ARCH)", Summary: "folder of what runs on this machine"},
		{Name: "SLIPWAY_CACHE", Unset: true, Summary: "folder of downloads and pinned programs; by default slipway in the user's cache folder"},
	}
}

func goBuilds() []Known {
	return []Known{
		{Name: "DEBUG", Unset: true, Summary: "1: binaries for a debugger (no optimisation, symbols kept)", Example: "1"},
		{Name: "STATIC", Default: "1", Summary: "1: static linking; 0: the linker's own default"},
		{Name: "LDFLAGS", Unset: true, Summary: "linker flags, added to ours", Example: "-X main.note=hello"},
		{Name: "GCFLAGS", Unset: true, Summary: "compiler flags", Example: "all=-l"},
		{Name: "GOBUILDFLAGS", Unset: true, Summary: "flags of go build and go test, quoted as in a shell", Example: "-p 4"},
		{Name: "CGO_ENABLED", Default: "0", Summary: "1: let binaries use C"},
		{Name: "GOBINARY", Default: "$(GO)", Summary: "go command that builds"},
		{Name: "GO", Default: "go", Summary: "go command for everything"},
		{Name: "STANDARD_TAGS", Unset: true, Summary: "build tags of the standard binaries; by default those of the catalog", Example: "vtprotobuf,disable_pgv"},
		{Name: "AGENT_TAGS", Unset: true, Summary: "build tags of the agent binaries; by default those of the catalog", Example: "agent,disable_pgv"},
		{Name: "BUILDINFO", Unset: true, Summary: "file of key=value lines that binaries are stamped with in place of git's answers", Example: "buildinfo.txt"},
		{Name: "IGNORE_DIRTY_TREE", Unset: true, Summary: "1: binaries do not say that the tree was modified", Example: "1"},
		{Name: "BUILD_ALL", Default: "true", Summary: "not needed any more: exactly the wanted binaries are compiled, in one go build for each tag set"},
		{Name: "VERBOSE", Default: "0", Summary: "1: show each command and decision"},
	}
}

func prebuilts() []Known {
	return []Known{
		{Name: "SIDECAR", Default: "envoy", Summary: "name of the proxy binary"},
		{Name: "DEBUG_IMAGE", Unset: true, Summary: "not empty: images get the debug Envoy", Example: "1"},
		{Name: "PROXY_REPO_SHA", Unset: true, Summary: "commit of istio/proxy; by default that of istio.deps"},
		{Name: "ISTIO_ENVOY_BASE_URL", Default: "https://blob.istio.io/istio-build/proxy", Summary: "where Envoy archives lie", Example: "https://mirror.example/proxy"},
		{Name: "ISTIO_ENVOY_VERSION", Unset: true, Summary: "version in the names of Envoy archives"},
		{Name: "ISTIO_ENVOY_RELEASE_URL", Unset: true, Summary: "whole URL of the release Envoy; file: and oci: work too", Example: "file:/tmp/envoy.tar.gz"},
		{Name: "ISTIO_ENVOY_DEBUG_URL", Unset: true, Summary: "whole URL of the debug Envoy"},
		{Name: "ISTIO_ENVOY_LINUX_VERSION", Unset: true, Summary: "version of the Envoy for Linux"},
		{Name: "ISTIO_ENVOY_LINUX_RELEASE_URL", Unset: true, Summary: "URL of the release Envoy for Linux"},
		{Name: "ISTIO_ENVOY_LINUX_DEBUG_URL", Unset: true, Summary: "URL of the debug Envoy for Linux"},
		{Name: "ISTIO_ENVOY_LINUX_RELEASE_DIR", Unset: true, Summary: "folder of the release Envoy"},
		{Name: "ISTIO_ENVOY_LINUX_RELEASE_NAME", Unset: true, Summary: "file name of the release Envoy"},
		{Name: "ISTIO_ENVOY_LINUX_RELEASE_PATH", Unset: true, Summary: "path of the release Envoy"},
		{Name: "ISTIO_ENVOY_LINUX_DEBUG_DIR", Unset: true, Summary: "folder of the debug Envoy"},
		{Name: "ISTIO_ENVOY_LINUX_DEBUG_NAME", Unset: true, Summary: "file name of the debug Envoy"},
		{Name: "ISTIO_ENVOY_LINUX_DEBUG_PATH", Unset: true, Summary: "path of the debug Envoy"},
		{Name: "ZTUNNEL_REPO_SHA", Unset: true, Summary: "commit of istio/ztunnel; by default that of istio.deps"},
		{Name: "ISTIO_ZTUNNEL_BASE_URL", Default: "https://blob.istio.io/istio-build/ztunnel", Summary: "where ztunnel binaries lie"},
		{Name: "ISTIO_ZTUNNEL_VERSION", Unset: true, Summary: "version in the names of ztunnel binaries"},
		{Name: "ISTIO_ZTUNNEL_RELEASE_URL", Unset: true, Summary: "whole URL of ztunnel; file: and oci: work too", Example: "file:/tmp/ztunnel"},
		{Name: "ISTIO_ZTUNNEL_LINUX_RELEASE_DIR", Unset: true, Summary: "folder of ztunnel"},
		{Name: "ISTIO_ZTUNNEL_LINUX_RELEASE_NAME", Unset: true, Summary: "file name of ztunnel"},
		{Name: "ISTIO_ZTUNNEL_LINUX_RELEASE_PATH", Unset: true, Summary: "path of ztunnel"},
		{Name: "BUILD_ZTUNNEL", Unset: true, Summary: "not empty: build ztunnel with cargo from ../ztunnel", Example: "1"},
		{Name: "BUILD_ZTUNNEL_REPO", Unset: true, Summary: "checkout to build ztunnel from", Example: "../ztunnel"},
		{Name: "BUILD_ZTUNNEL_PROFILE", Unset: true, Summary: "cargo profile", Example: "dev"},
		{Name: "BUILD_ZTUNNEL_TARGET", Unset: true, Summary: "cargo target triple"},
	}
}

func lints() []Known {
	return []Known{
		{Name: "FINDFILES_IGNORE", Unset: true, Summary: "tests of find that name more files and folders no linter looks at", Example: "-path ./third_party -o -name testdata"},
		{Name: "LINT_FILES", Default: "all", Summary: "files that are looked at: all, or git for those that git does not ignore"},
		{Name: "LINT_SINCE", Unset: true, Summary: "branch, tag or commit: only what changed since the merge base with it is looked at", Example: "origin/master"},
		{Name: "LINT_FIX", Unset: true, Summary: "1: what linters can mend is mended first; diff: it is only shown", Example: "diff"},
		{Name: "LINT_OUTPUT_FILE", Unset: true, Summary: "file for the report in the form of OUTPUT, or that of its ending (.sarif, .json, .xml); the screen gets text", Example: "out/lint.sarif"},
		{Name: "LINT_REQUIRE", Unset: true, Summary: "1: a linter whose tool is missing is a failure, as in CI", Example: "1"},
		{Name: "LINT_CACHE", Default: "yes", Summary: "no: nothing is remembered from one run to the next"},
		{Name: "GOLANGCI_LINT_VERSION", Unset: true, Summary: "version of golangci-lint; by default the one in go.mod, else Istio's or ours", Example: "v2.11.3"},
		{Name: "LINT_BANNER_IGNORE", Unset: true, Summary: "folders and patterns of files that need no banner since they are of somebody else", Example: "third_party pkg/copied/*.go"},
		{Name: "LINT_ENV_VARS", Default: "istioctl pilot security", Summary: "folders in which lint-env-vars looks"},
		{Name: "MARKDOWN_LINT_ALLOWLIST", Unset: true, Early: true, Summary: "parts of addresses that lint-links never fails for, separated by commas", Example: "localhost:8080,example.com/private"},
		{Name: "MARKDOWN_LINT_COMMENTS", Unset: true, Summary: "1: comments such as <!-- markdownlint-disable MD009 --> turn rules off", Example: "1"},
		{Name: "MARKDOWN_LINT_DIALECT", Default: "kramdown", Summary: "Markdown that lint-markdown reads: kramdown, as mdl, or commonmark, as GitHub", Example: "commonmark"},
		{Name: "LINT_LINKS_OFFLINE", Unset: true, Summary: "1: lint-links asks no host", Example: "1"},
		{Name: "SHELLCHECK", Default: "shellcheck", Summary: "program that lint-scripts runs beside its own checks, where it is installed"},
	}
}

func reports() []Known {
	return []Known{
		{Name: "T", Unset: true, Summary: "more arguments of go test", Example: "-run TestX -v"},
		{Name: "PKG", Default: "./...", Summary: "packages that test runs"},
		{Name: "OUTPUT", Default: "text", Summary: "form of reports: text, json, sarif, junit, github"},
		{Name: "ARTIFACTS", Default: "$(TARGET_OUT)", Summary: "folder that reports for CI go to: junit-lint.xml"},
		{Name: "CI", Unset: true, Summary: "set in CI: allows pushes to the official hubs, and missing tools are failures"},
	}
}
