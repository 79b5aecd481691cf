// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/repo"
)

// DefaultPackage is where Istio and its sister projects keep the stamps.
const DefaultPackage = "istio.io/istio/pkg/version"

// DefaultHub is what report_build_info.sh stamps when HUB is empty.
const DefaultHub = "registry.istio.io/release"

// Unknown is what a binary says when nobody told it.
const Unknown = "unknown"

// The names of the stamps.
const (
	Version  = "buildVersion"
	Revision = "buildGitRevision"
	Status   = "buildStatus"
	Tag      = "buildTag"
	Hub      = "buildHub"
	OS       = "buildOS"
	Arch     = "buildArch"
)

// Stamp is one string variable that the linker sets.
type Stamp struct {
	Symbol string // import path, dot, variable
	Value  string
}

// Name is the variable's name without its package.
func (s Stamp) Name() string { return s.Symbol[strings.LastIndexByte(s.Symbol, '.')+1:] }

// Package is the import path of the variable's package.
func (s Stamp) Package() string {
	return s.Symbol[:max(strings.LastIndexByte(s.Symbol, '.'), 0)]
}

// Stamps are what goes into each binary of one build, in a fixed order.
type Stamps []Stamp

// Get returns the value of the stamp with that variable name, "" when it is
// not there.
func (s Stamps) Get(name string) string {
	for _, stamp := range s {
		if stamp.Name() == name {
			return stamp.Value
		}
	}
	return ""
}

// For returns the stamps for a platform: the same, but for buildOS and
// buildArch. Stamps without these two get none.
func (s Stamps) For(os, arch string) Stamps {
	out := make(Stamps, len(s))
	for i, stamp := range s {
		switch stamp.Name() {
		case OS:
			stamp.Value = os
		case Arch:
			stamp.Value = arch
		}
		out[i] = stamp
	}
	return out
}

// Flags returns the stamps as words for the linker: -X, SYMBOL=VALUE, …
func (s Stamps) Flags() []string {
	words := make([]string, 0, 2*len(s))
	for _, stamp := range s {
		words = append(words, "-X", stamp.Symbol+"="+stamp.Value)
	}
	return words
}

// LDFlags returns the stamps as one value for go build's -ldflags. A value
// that Go has no notation for is an error that names it.
func (s Stamps) LDFlags() (string, error) { return Join(s.Flags()) }

// Input is what stamps are made from.
type Input struct {
	Package     string // of the variables; empty: DefaultPackage
	Version     string // VERSION; empty: the revision
	Hub         string // HUB as settled; empty: DefaultHub
	OS, Arch    string // of the target
	IgnoreDirty bool   // IGNORE_DIRTY_TREE is set to anything
	// BuildInfo wins over everything but OS and Arch; see ReadBuildInfo.
	BuildInfo Stamps
}

// FromCheckout makes stamps from what git says about the sources. gitErr is
// the error that came with the facts: the stamps that need git are then those
// of a tree without git, and a warning says why, unless BuildInfo has them.
func FromCheckout(in Input, facts repo.Facts, gitErr error) (Stamps, []string) {
	c := core{revision: Unknown, status: "Modified"}
	if gitErr == nil {
		c = core{revision: facts.Head, status: "Clean", tag: facts.Describe}
		if facts.Dirty && !in.IgnoreDirty {
			c.revision += "-dirty"
		}
		if facts.Modified && !in.IgnoreDirty {
			c.status = "Modified"
		}
	} else if in.IgnoreDirty {
		c.status = "Clean"
	}
	stamps := in.stamps(c)
	if gitErr != nil && stamps.Get(Revision) == Unknown {
		return stamps, []string{fmt.Sprintf("the binaries will say revision %q: %v", Unknown, gitErr)}
	}
	return stamps, nil
}

// FromModule makes stamps for sources that are a module at a version, whose
// content nobody can have changed. hash is the commit if it is known (the
// Origin of `go mod download -json`), else the commit that a pseudo-version
// carries is used, else the version itself.
func FromModule(in Input, moduleVersion, hash string) Stamps {
	revision := hash
	if revision == "" {
		revision = PseudoRevision(moduleVersion)
	}
	if revision == "" {
		revision = moduleVersion
	}
	return in.stamps(core{revision: revision, status: "Clean", tag: moduleVersion})
}

// pseudo is the end of a pseudo-version: a time of 14 digits and 12 digits of
// the commit (https://go.dev/ref/mod#pseudo-versions).
var pseudo = regexp.MustCompile(`[.-]\d{14}-([0-9a-f]{12})(?:\+incompatible)?$`)

// PseudoRevision returns the 12 digits of the commit in a pseudo-version, ""
// for other versions.
func PseudoRevision(v string) string {
	if m := pseudo.FindStringSubmatch(v); m != nil {
		return m[1]
	}
	return ""
}

// core are the three stamps that come from version control.
type core struct{ revision, status, tag string }

func (in Input) stamps(c core) Stamps {
	pkg := in.Package
	if pkg == "" {
		pkg = DefaultPackage
	}
	known := in.BuildInfo.qualified(pkg)
	if r := known.find(pkg + "." + Revision); r != nil {
		c.revision = r.Value
	}
	values := []Stamp{
		{Version, firstOf(in.Version, c.revision)}, {Revision, c.revision}, {Status, c.status}, {Tag, c.tag},
		{Hub, firstOf(in.Hub, DefaultHub)}, {OS, in.OS}, {Arch, in.Arch},
	}
	out := make(Stamps, 0, len(values)+len(known))
	for _, v := range values {
		v.Symbol = pkg + "." + v.Symbol
		if given := known.find(v.Symbol); given != nil && v.Name() != OS && v.Name() != Arch {
			v.Value = given.Value
		}
		out = append(out, v)
	}
	for _, extra := range known {
		if out.find(extra.Symbol) == nil {
			out = append(out, extra)
		}
	}
	return out
}

func (s Stamps) find(symbol string) *Stamp {
	for i := range s {
		if s[i].Symbol == symbol {
			return &s[i]
		}
	}
	return nil
}

// qualified puts pkg before names that have no package.
func (s Stamps) qualified(pkg string) Stamps {
	out := make(Stamps, len(s))
	for i, stamp := range s {
		if stamp.Package() == "" {
			stamp.Symbol = pkg + "." + stamp.Name()
		}
		out[i] = stamp
	}
	return out
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
