// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	"time"

	"github.com/istio-ecosystem/slipway/tools/image"
)

// Request is one image for BuildKit to build, as JSON on the standard input of
// the buildkit program. Its answer on standard output is a Response.
type Request struct {
	Endpoint Endpoint `json:"endpoint"`
	Layout   string   `json:"layout"` // folder of the OCI layout that the image goes to
	Name     string   `json:"name"`   // under which the layout lists it, and in progress lines

	Dockerfile string        `json:"dockerfile"` // path on this machine
	File       string        `json:"file"`       // how errors name it
	Context    image.Context `json:"context,omitempty"`
	Ignore     string        `json:"ignore,omitempty"` // text of an ignore file

	Args      map[string]string `json:"args,omitempty"`
	Target    string            `json:"target,omitempty"` // stage; empty: the last one
	Platforms []string          `json:"platforms"`        // at least one

	// Contexts are names in FROM and --from that stand for something else: an
	// image of the layout by digest ("sha256:…"), a folder (FolderContext and
	// its path), or what BuildKit itself knows ("docker-image://…", a URL).
	Contexts map[string]string `json:"contexts,omitempty"`

	Secrets   []string `json:"secrets,omitempty"`   // as in docker build: id=NAME,src=FILE or id=NAME,env=NAME
	SSH       []string `json:"ssh,omitempty"`       // as in docker build: default, or NAME=SOCKET
	CacheFrom []string `json:"cacheFrom,omitempty"` // as in docker build: type=registry,ref=…
	CacheTo   []string `json:"cacheTo,omitempty"`
	NoCache   bool     `json:"noCache,omitempty"`
	Pull      bool     `json:"pull,omitempty"`    // ask for base images anew
	Network   string   `json:"network,omitempty"` // of RUN: default, host, none; empty: the builder's own

	Codec       string            `json:"codec"`
	Created     time.Time         `json:"created"`
	Labels      map[string]string `json:"labels,omitempty"`
	OwnLabels   []string          `json:"ownLabels,omitempty"` // names that the Dockerfile sets itself, which win
	Annotations map[string]string `json:"annotations,omitempty"`
	AnyMachine  bool              `json:"anyMachine,omitempty"`

	Progress string `json:"progress,omitempty"` // auto, plain, tty, quiet, rawjson; empty: auto
}

// FolderContext stands before the path of a folder that is a named context.
const FolderContext = "folder:"

// Response is what the buildkit program answers.
type Response struct {
	Built    *image.Built `json:"built,omitempty"`
	Warnings []string     `json:"warnings,omitempty"` // each with file:line where it has one
	Error    string       `json:"error,omitempty"`
	Code     int          `json:"code,omitempty"` // exit code of the error, as in package fail
}
