// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/ui"
	"github.com/istio-ecosystem/slipway/tools/version"
)

// Package is one binary that is wanted.
type Package struct {
	Name string   // what people call it; also the file name when Output is empty
	Path string   // main package: ./relative to the source, or an import path
	Tags []string // build tags
	// Output is the file name, for release binaries (istioctl-linux-amd64);
	// the .exe of Windows is added when it is not there.
	Output string
	// OS lists the systems the program is for; empty: what its files allow.
	OS []string
	// Named is true when the user asked for this binary by name: a platform it
	// cannot be built for is then an error and not a line that says so.
	Named bool
}

// Request is one call of Build: binaries for one platform.
type Request struct {
	Source   Source
	Platform Platform
	Packages []Package
	OutDir   string // absolute; made when missing
	// Outputs are folders, absolute, that hold only what builds make. They are
	// no sources, so a change in them rebuilds nothing. OutDir always is one.
	Outputs []string

	Debug        bool // DEBUG
	Dynamic      bool // STATIC is off
	CGO          bool // CGO_ENABLED=1
	Verbose      bool // VERBOSE=1: go build -x
	Always       bool // make -B: no shortcut
	Jobs         int  // go build -p; 0: Go's default
	LDFlags      []string
	GCFlags      string   // one value of -gcflags, with a pattern or without
	GoBuildFlags []string // GOBUILDFLAGS as words
	GoBinary     string   // GOBINARY; empty: go
	Stamps       version.Stamps

	Env     []string    // base environment; nil: that of the process
	Runner  run.Runner  // nil: run.Exec{}
	Console *ui.Console // nil: nothing is printed
}

// Binary is one result.
type Binary struct {
	Name   string `json:"name"`
	Path   string `json:"path"`   // absolute
	SHA256 string `json:"sha256"` // of the file, hexadecimal
	Size   int64  `json:"size"`   // bytes
	// Fresh is true when the file was there and nothing it depends on changed.
	Fresh bool `json:"fresh"`
	// Stamped is true when the version stamps were found in it.
	Stamped bool `json:"stamped"`
	// Leaks lists paths of this machine that were found in a release binary.
	Leaks []string `json:"leaks,omitempty"`
}

// Report is what Build did.
type Report struct {
	Binaries []Binary      `json:"binaries"` // in the order of the request
	Skipped  []string      `json:"skipped,omitempty"`
	Duration time.Duration `json:"duration"`
}

var fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)

// check refuses what cannot be built, before anything is started or made, and
// fills the defaults.
func (r *Request) check() error {
	if err := r.Platform.check(); err != nil {
		return err
	}
	for _, p := range []struct{ name, path string }{{"source folder", r.Source.Dir}, {"output folder", r.OutDir}} {
		if !filepath.IsAbs(p.path) || filepath.Clean(p.path) == "/" {
			return usage("building: the %s is %q, which is not the absolute path of a folder", p.name, p.path)
		}
	}
	if r.Runner == nil {
		r.Runner = run.Exec{}
	}
	if r.Console == nil {
		r.Console = ui.Discard()
	}
	if r.GoBinary == "" {
		r.GoBinary = "go"
	}
	return r.checkPackages()
}

func (r *Request) checkPackages() error {
	r.Packages = slices.Clone(r.Packages)
	owner := map[string]string{}
	for i := range r.Packages {
		p := &r.Packages[i]
		if p.Output == "" {
			p.Output = p.Name
		}
		if r.Platform.OS == "windows" && !strings.HasSuffix(p.Output, ".exe") {
			p.Output += ".exe"
		}
		switch {
		case p.Name == "" || p.Path == "":
			return usage("building: package %d of the request has the name %q and the path %q; both are needed", i+1, p.Name, p.Path)
		case !fileName.MatchString(p.Output):
			return usage("building %s: %q is not a file name; use letters, digits and . _ + -", p.Name, p.Output)
		case strings.HasPrefix(p.Path, "-") || strings.ContainsAny(p.Path, " \t\n") || strings.Contains(p.Path, "..."):
			return usage("building %s: %q is not the path of one package", p.Name, p.Path)
		case owner[p.Output] != "":
			return usage("building %s: %q would also be the file of %s", p.Name, p.Output, owner[p.Output])
		}
		owner[p.Output] = p.Name
	}
	return nil
}

func usage(format string, args ...any) error {
	return fail.With(fail.Usage, fmt.Errorf(format, args...))
}
