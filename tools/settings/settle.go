// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
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
		ev.Missing,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fail.With(fail.Usage, explain(err))
		}
	}
	s := &Settings{values: map[string]Value{}}
	if err := s.settleIdentity(ctx, ev, in, gitSaid); err != nil {
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

// options are those of the evaluator. What git writes when it is asked for the
// commit is kept, to be shown only where the answer is needed.
func (in Input) options(gitSaid *bytes.Buffer) makevars.Options {
	limit := in.ShellLimit
	if limit <= 0 {
		limit = 30 * time.Second
	}
	stderr := in.Stderr
	if stderr == nil {
		stderr = io.Discard
	}
	say := in.Say
	if say == nil {
		say = func(string) {}
	}
	users := makevars.NewShell(in.Dir, in.Environ, stderr, limit)
	ours := once(makevars.NewShell(in.Dir, in.Environ, gitSaid, limit))
	return makevars.Options{
		Environ: in.Environ, CommandLine: in.CommandLine, EnvOverrides: in.EnvOverrides, Dir: in.Dir, Info: say, Warn: say,
		Shell: func(ctx context.Context, command string) (string, int, error) {
			if command == headCommand {
				return ours(ctx, command)
			}
			return users(ctx, command)
		},
	}
}

// headCommand is what TAG is by default.
const headCommand = "git rev-parse --verify HEAD"

// once runs a shell's one command the first time only: TAG is expanded wherever
// it is used, and its default asks git.
func once(shell func(context.Context, string) (string, int, error)) func(context.Context, string) (string, int, error) {
	var do sync.Once
	var out string
	var status int
	var err error
	return func(ctx context.Context, command string) (string, int, error) {
		do.Do(func() { out, status, err = shell(ctx, command) })
		return out, status, err
	}
}

// explain adds to make's words what to do about the most common mistakes.
func explain(err error) error {
	var e *makevars.Error
	if !errors.As(err, &e) {
		return err
	}
	hint := ""
	switch {
	case e.Unsupported:
	case strings.HasPrefix(e.Message, "missing separator"):
		hint = "this is no make assignment; the file is read by make's rules, so write NAME = value, one on a line, without shell commands"
	case strings.HasSuffix(e.Message, "Is a directory"):
		hint = UserFile + " must be a file; remove the folder or give it another name"
	case strings.HasPrefix(e.Message, "No rule to make target"):
		hint = "the file that an include line names is not there; -include makes it optional"
	case strings.HasPrefix(e.Message, "Recursive variable"):
		hint = "use := in place of = to take the value it has so far"
	}
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, hint)
}
