// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Kind is the way in which a builder is reached.
type Kind string

// The ways to reach a builder.
const (
	Buildkit Kind = "buildkit" // an address of buildkitd: unix, tcp, docker-container, podman-container, kube-pod, ssh
	Buildx   Kind = "buildx"   // a builder that docker buildx knows, by name
	Docker   Kind = "docker"   // the BuildKit inside of a Docker engine
)

// Endpoint is where a builder may be.
type Endpoint struct {
	Kind    Kind   `json:"kind"`
	Address string `json:"address"` // of buildkitd or of the engine; of a buildx builder: its name
	Origin  string `json:"origin"`  // what named it: BUILDKIT_HOST, "its usual socket"
	// Dial is a command whose standard input and output are a connection to
	// the builder; only for Buildx.
	Dial []string `json:"dial,omitempty"`
}

// String is how people are told of it.
func (e Endpoint) String() string {
	switch e.Kind {
	case Buildx:
		return fmt.Sprintf("the buildx builder %q (%s)", e.Address, e.Origin)
	case Docker:
		return fmt.Sprintf("the Docker engine at %s (%s)", e.Address, e.Origin)
	}
	return fmt.Sprintf("BuildKit at %s (%s)", e.Address, e.Origin)
}

// World is what finding a builder depends on.
type World struct {
	Getenv func(string) string
	Exists func(path string) bool // of a socket or file; nil: os.Stat
	Read   func(path string) ([]byte, error)
}

func (w World) fill() World {
	if w.Exists == nil {
		w.Exists = func(path string) bool { _, err := os.Stat(path); return err == nil }
	}
	if w.Read == nil {
		w.Read = os.ReadFile
	}
	return w
}

// Find chooses a builder without speaking to it. An address that the user has
// given counts alone: BUILDKIT_HOST, then BUILDX_BUILDER. Else the places are
// tried where one usually is: buildkitd's sockets, the builder that docker
// buildx use has chosen, the Docker engine. only, when not empty, leaves out
// other kinds; Docker takes in Buildx, as docker build does. An error lists
// what was tried and how to start one.
func Find(w World, only Kind) (Endpoint, error) {
	w = w.fill()
	var tried []string
	for _, c := range candidates(w) {
		if only != "" && c.Kind != only && (only != Docker || c.Kind != Buildx) {
			continue
		}
		socket, isSocket := strings.CutPrefix(c.Address, "unix://")
		if !isSocket || c.Kind == Buildx || w.Exists(socket) {
			return c.Endpoint, nil
		}
		if c.given {
			return Endpoint{}, fail.With(fail.Unavailable, fmt.Errorf("%s is %s, and there is no such socket: start the builder, or unset %s", c.Origin, c.Address, c.Origin))
		}
		tried = append(tried, c.Address)
	}
	return Endpoint{}, fail.With(fail.Unavailable, fmt.Errorf("no builder is there: tried %s; start one (make buildkitd, or a Docker engine) or name one with BUILDKIT_HOST or BUILDX_BUILDER",
		strings.Join(tried, ", ")))
}

type candidate struct {
	Endpoint
	given bool
}

func candidates(w World) []candidate {
	var all []candidate
	add := func(kind Kind, address, origin string, given bool) {
		all = append(all, candidate{Endpoint{Kind: kind, Address: address, Origin: origin}, given})
	}
	if host := w.Getenv("BUILDKIT_HOST"); host != "" {
		add(Buildkit, host, "BUILDKIT_HOST", true)
	}
	if name := w.Getenv("BUILDX_BUILDER"); name != "" {
		add(Buildx, name, "BUILDX_BUILDER", true)
	}
	if dir := w.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		add(Buildkit, "unix://"+filepath.Join(dir, "buildkit", "buildkitd.sock"), "its usual socket", false)
	}
	add(Buildkit, "unix:///run/buildkit/buildkitd.sock", "its usual socket", false)
	if name, file := chosen(w); name != "" {
		add(Buildx, name, "docker buildx use, "+file, false)
	}
	all = append(all, engines(w)...)
	return slices.CompactFunc(all, func(a, b candidate) bool { return a.Kind == b.Kind && a.Address == b.Address })
}

// engines are the places of a Docker engine.
func engines(w World) []candidate {
	if host := w.Getenv("DOCKER_HOST"); host != "" {
		return []candidate{{Endpoint{Kind: Docker, Address: host, Origin: "DOCKER_HOST"}, true}}
	}
	paths := []string{"/var/run/docker.sock"}
	if home := w.Getenv("HOME"); home != "" {
		paths = append(paths, filepath.Join(home, ".docker", "run", "docker.sock"))
	}
	if dir := w.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		paths = append(paths, filepath.Join(dir, "docker.sock"))
	}
	var all []candidate
	for _, p := range paths {
		all = append(all, candidate{Endpoint{Kind: Docker, Address: "unix://" + p, Origin: "its usual socket"}, false})
	}
	return all
}

// chosen is the builder that docker buildx use --default has written down. The
// engine's own, which has no entry, is reached directly.
func chosen(w World) (name, file string) {
	dir := w.Getenv("BUILDX_CONFIG")
	if dir == "" {
		config := w.Getenv("DOCKER_CONFIG")
		if config == "" && w.Getenv("HOME") != "" {
			config = filepath.Join(w.Getenv("HOME"), ".docker")
		}
		if config == "" {
			return "", ""
		}
		dir = filepath.Join(config, "buildx")
	}
	file = filepath.Join(dir, "current")
	content, err := w.Read(file)
	var current struct{ Name string }
	if err != nil || json.Unmarshal(content, &current) != nil || current.Name == "default" {
		return "", ""
	}
	return current.Name, file
}
