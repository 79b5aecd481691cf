// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/settings/makevars"
)

// UserFile is the user's settings file, sought in the folder where make runs.
const UserFile = ".istiorc.mk"

// Input is everything that settings depend on.
type Input struct {
	Dir          string             // where make runs: UserFile lies here, and $(shell) runs here
	Environ      []string           // NAME=value
	CommandLine  []string           // NAME=value and the like, as given to make
	EnvOverrides bool               // make -e
	Defaults     map[string]Default // defaults that come from the workspace, such as VERSION
	ShellLimit   time.Duration      // how long one $(shell) may take; 0: 30 s
	Stderr       io.Writer          // what programs in the user's file write; nil: discarded
	Say          func(string)       // $(info) and $(warning) of the user's file; nil: discarded
}

// Default is a default that is found out and not built in.
type Default struct {
	Value  string // plain text
	Origin string // "VERSION file", "istio.deps"
}

// Settings are settled values.
type Settings struct {
	values   map[string]Value
	environ  []string
	identity error // why no image name can be formed; see Check
}

// Value is one settled variable.
type Value struct {
	Name       string
	Value      string
	Origin     string // "command line", "environment", ".istiorc.mk:3", "default"
	Overridden []Layer
	unset      bool
	isDefault  bool
}

// Layer is a value that lost.
type Layer struct {
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// IsSet tells whether anybody, defaults included, set the variable.
func (v Value) IsSet() bool { return !v.unset }

// IsDefault tells whether nobody but Slipway set the variable.
func (v Value) IsDefault() bool { return v.isDefault }

// Settle evaluates all settings. Mistakes in the user's file, such as shell
// syntax or a reference to itself, are errors with file and line, in make's
// words. An empty HUB, TAG or PULL_POLICY, on which make stops too, is only
// an error once something needs it: see [Settings.Check].
func Settle(ctx context.Context, in Input) (*Settings, error) {
	gitSaid := &bytes.Buffer{}
	ev, err := makevars.New(ctx, in.options(gitSaid))
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	early, late := in.fragments()
	steps := []func() error{
		func() error { return ev.Eval(ctx, defaultFile, early) },
		func() error { return ev.Include(ctx, UserFile, true) },
		func() error { return ev.Eval(ctx, defaultFile, late) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fail.With(fail.Usage, explain(err))
		}
	}
	s := &Settings{values: map[string]Value{}}
	if err := s.settleIdentity(ctx, ev, gitSaid); err != nil {
		return nil, fail.With(fail.Usage, explain(err))
	}
	if err := s.readAll(ctx, ev, in); err != nil {
		return nil, fail.With(fail.Usage, explain(err))
	}
	return s, nil
}

const (
	defaultFile = "default"
	hostOS      = "SLIPWAY_HOST_OS"
	hostArch    = "SLIPWAY_HOST_ARCH"
)

// fragments are the defaults as make text: what Istio's make files settle
// before they read the user's file, and after.
func (in Input) fragments() (early, late string) {
	var e, l strings.Builder
	for _, g := range Groups() {
		for _, k := range g.Settings {
			b := &l
			if k.Early {
				b = &e
			}
			b.WriteString(in.assignment(k))
		}
	}
	host := strings.NewReplacer("$("+hostOS+")", runtime.GOOS, "$("+hostArch+")", runtime.GOARCH)
	return host.Replace(e.String()), host.Replace(l.String())
}

func (in Input) assignment(k Known) string {
	d, found := in.Defaults[k.Name]
	switch {
	case found && k.Name == "VERSION":
		// An empty VERSION counts as unset, unlike any other setting.
		return fmt.Sprintf("ifeq (,$(VERSION))\nVERSION := %s\nendif\n", escape(d.Value))
	case found:
		return fmt.Sprintf("%s ?= %s\n", k.Name, escape(d.Value))
	case k.Unset || identityName(k.Name):
		return ""
	default:
		return fmt.Sprintf("%s ?= %s\n", k.Name, k.Default)
	}
}

// escape makes plain text stand for itself in a make assignment.
func escape(s string) string { return strings.NewReplacer("$", "$$", "#", `\#`).Replace(s) }
