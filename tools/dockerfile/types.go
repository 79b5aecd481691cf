// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile

import (
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Options choose what is built from a file.
type Options struct {
	Args          map[string]string // build arguments, as docker build --build-arg
	Platform      v1.Platform       // of the image
	BuildPlatform v1.Platform       // of this machine; zero: Platform
	Target        string            // stage name or number; empty: the last stage
}

// BaseKind says what a stage starts from.
type BaseKind int

// What a stage may start from.
const (
	Scratch   BaseKind = iota // nothing
	FromImage                 // an image: a registry reference or a name that the caller knows
	FromStage                 // an earlier stage of the same file
)

// Base is what a stage, or a COPY --from, takes files from.
type Base struct {
	Kind      BaseKind
	Reference string      // FromImage: the expanded name
	Stage     int         // FromStage: index into the file's stages
	Platform  v1.Platform // of the image
	Line      int
}

// Obstacle is an instruction that cannot be carried out without running a
// program in the image, or that this package does not evaluate.
type Obstacle struct {
	File   string
	Line   int
	Text   string // the instruction, shortened
	Reason string // "RUN needs a builder that can run programs"
}

func (o Obstacle) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", o.File, o.Line, o.Text, o.Reason)
}

// BaseConfig is the configuration of a base image.
type BaseConfig struct {
	v1.ConfigFile

	StartInterval time.Duration // of the health check, which v1.HealthConfig lacks
}

// ConfigOf returns the configuration of a base image.
type ConfigOf func(reference string, platform v1.Platform) (*BaseConfig, error)

// Result is one evaluated stage, flattened: Root is a FromImage or Scratch
// base, and Steps hold those of all stages between it and this stage.
type Result struct {
	Root   Base
	Config v1.Config // of the finished image: the root's, with all instructions applied
	Author string    // of MAINTAINER
	// StartInterval of the health check, for which Config has no place.
	StartInterval time.Duration
	Steps         []Step
	Unused        []string // build arguments that were given and never declared
}

// Step is one instruction that ends up in the image's history. A step with
// neither Copy nor Mkdir only changes the configuration (an empty layer).
type Step struct {
	CreatedBy string // history text, in BuildKit's form
	Line      int
	Copy      *Copy
	Mkdir     *Mkdir
}

// Mkdir is the folder that WORKDIR makes when it is not there.
type Mkdir struct {
	Path string // absolute, clean
	// Owner is that of a folder that has to be made, as USER text; BuildKit
	// makes it for the current user.
	Owner string
}

// Copy is a COPY or a local ADD, expanded and checked.
type Copy struct {
	From     *Result   // the evaluated stage or image (Result with Steps nil); nil: the build context
	Sources  []string  // slash-separated, relative to the root of From; may be patterns
	Heredocs []Heredoc // inline files, in place of sources
	Dest     string    // absolute and clean, but a trailing slash is kept
	Chown    string    // as written after expansion; empty: 0:0
	Chmod    string    // as written; empty: as in the source
	Link     bool
	Parents  bool
	Excludes []string
	Unpack   bool // ADD: local archives are unpacked
	Line     int
}

// Heredoc is a file written in the Dockerfile itself.
type Heredoc struct {
	Name    string
	Content string
}
