// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import "strings"

// Catalog is what can be built.
type Catalog struct {
	Origin    string             `json:"origin"` // the file it was read from, relative to the repository
	Kind      Kind               `json:"kind"`
	Source    Source             `json:"source"`
	Variants  []Variant          `json:"variants"` // the default one first
	Binaries  []Binary           `json:"binaries"`
	Releases  []Release          `json:"releases"`
	Prebuilts []Prebuilt         `json:"prebuilts"`
	Pins      []Pin              `json:"pins"`
	Images    []Image            `json:"images"` // in the order of the file
	Contexts  map[string]Context `json:"contexts,omitempty"`
	Warnings  []Problem          `json:"warnings,omitempty"`
}

// Source is the module that the binaries are compiled from.
type Source struct {
	Module  string `json:"module"`            // module path
	Version string `json:"version,omitempty"` // empty: the repository itself
}

// Local tells whether the repository itself is what is compiled.
func (s Source) Local() bool { return s.Version == "" }

// Set names the build tags that binaries share. Istio has two, since the agent
// is built without what only the control plane needs.
type Set string

// The sets of Istio.
const (
	Standard Set = "standard"
	Agent    Set = "agent"
)

// Group is a goal that builds several binaries.
type Group string

// The groups of Istio's make files.
const (
	GroupBuild Group = "build"       // for the platform of TARGET_OS and TARGET_ARCH
	GroupLinux Group = "build-linux" // what goes into images
	GroupCNI   Group = "build-cni"
)

// Binary is a Go program of the source.
type Binary struct {
	Name    string   `json:"name"`    // also the name of its file
	Package string   `json:"package"` // ./relative to the root of the source
	Set     Set      `json:"set,omitempty"`
	Tags    []string `json:"tags,omitempty"` // build tags of the set
	OS      []string `json:"os,omitempty"`   // systems it is for; empty: what its files allow
	Groups  []Group  `json:"groups,omitempty"`
	Position
}

// Release is a binary that is built for one fixed platform under a name of its
// own, without build tags (istioctl-linux-armv7).
type Release struct {
	Name     string   `json:"name"` // also the name of its file
	Binary   string   `json:"binary"`
	Package  string   `json:"package"`
	Platform Platform `json:"platform"`
	Position
}

// Prebuilt is a program that is downloaded, or built outside of Go.
type Prebuilt struct {
	Name    string `json:"name"`              // also the name of its file
	Pin     string `json:"pin"`               // setting and istio.deps entry that choose the version (PROXY_REPO_SHA)
	Version string `json:"version,omitempty"` // what the pin says
	Position
}

// Pin is one entry of istio.deps: a setting whose default lives in that file.
type Pin struct {
	Name    string `json:"name"` // PROXY_REPO_SHA, ZTUNNEL_REPO_SHA, AGENTGATEWAY_IMAGE
	Repo    string `json:"repo,omitempty"`
	Version string `json:"version"`
	Position
}

// Image is one image.
type Image struct {
	Name              string `json:"name"`
	Dockerfile        string `json:"dockerfile"` // relative to the repository
	Base              bool   `json:"base,omitempty"`
	EmulationRequired bool   `json:"emulationRequired,omitempty"`
	// Context is a folder of the repository that is the build context, with the
	// ignore file that lies in it; Inputs are laid over it. Empty: Inputs are
	// the whole context.
	Context string  `json:"context,omitempty"`
	Inputs  []Input `json:"inputs,omitempty"`
	// Distributions gives the value of BASE_DISTRIBUTION for each variant.
	// Empty: the image is the same in every variant.
	Distributions map[string]string `json:"distributions,omitempty"`
	// Variants that it is built in; empty: all that are asked for.
	Variants []string `json:"variants,omitempty"`
	// Args are build arguments that come from the catalog.
	Args map[string]string `json:"args,omitempty"`
	// Bases are contexts that its Dockerfile may start from.
	Bases []string `json:"bases,omitempty"`
	Position
}

// Context is a name in FROM that another image of the catalog stands for.
type Context struct {
	Image string `json:"image"`
	Position
}

// InputKind says what makes an input.
type InputKind string

// What makes an input.
const (
	FromBinary    InputKind = "binary"    // a Binary, compiled for the image's platform
	FromPrebuilt  InputKind = "prebuilt"  // a Prebuilt
	FromPackage   InputKind = "package"   // a Linux package: istio-sidecar.deb, istio-sidecar.rpm
	FromFile      InputKind = "file"      // a file of the repository or the source
	FromDir       InputKind = "dir"       // a folder of the repository or the source, with all in it
	FromGenerated InputKind = "generated" // a folder that Slipway writes: Rootfs
	FromOutput    InputKind = "output"    // a file in the output folder that something else makes
)

// Rootfs is the generated input that holds the files of the static base image.
const Rootfs = "rootfs"

// Input is one thing in an image's build context.
type Input struct {
	Kind InputKind `json:"kind"`
	// Name is what makes it, for a binary, a prebuilt, a package or a
	// generated folder.
	Name string `json:"name,omitempty"`
	// Path of a file or folder, slash-separated; of an output, relative to the
	// platform's output folder. It may hold ${TARGET_OS} and ${TARGET_ARCH}.
	Path string `json:"path,omitempty"`
	// Source is true for a path in the source, false for one in the
	// repository. The two are the same in an Istio tree.
	Source bool `json:"source,omitempty"`
	Position
}

// PathFor is Path for a platform.
func (i Input) PathFor(p Platform) string {
	return strings.NewReplacer(symbolOS, p.OS, symbolArch, p.Arch).Replace(i.Path)
}

// Staged is where the input lies in the build context: things made for one
// platform in a folder with the name of the architecture, so one Dockerfile
// serves all; the rest under its base name. Source: docker-copy.sh of
// istio/istio.
func (i Input) Staged(p Platform) string {
	name := i.Name
	if name == "" {
		name = base(i.PathFor(p))
	}
	switch i.Kind {
	case FromFile, FromDir, FromGenerated:
		return name
	default:
		return p.Arch + "/" + name
	}
}

func base(slashPath string) string {
	return slashPath[strings.LastIndexByte(slashPath, '/')+1:]
}
