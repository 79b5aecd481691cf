// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/settings/makevars"
)

// identityName tells whether a setting is defaulted by settleIdentity, whose
// order of steps matters.
func identityName(name string) bool {
	switch name {
	case "HUB", "HUBS", "TAG", "PULL_POLICY":
		return true
	}
	return false
}

// settleIdentity does what Istio's make files do after the user's file:
// default HUB, HUBS, TAG and PULL_POLICY in this order, and switch
// PULL_POLICY to Always when TAG is exactly latest. Where make would stop
// because one of them is empty, the reason is kept for Check.
func (s *Settings) settleIdentity(ctx context.Context, ev *makevars.Evaluator, in Input, gitSaid *bytes.Buffer) error {
	for _, k := range imageNames() {
		if !identityName(k.Name) {
			continue
		}
		if err := ev.Eval(ctx, defaultFile, k.Name+" ?= "+k.Default+"\n"); err != nil {
			return err
		}
		if k.Name == "PULL_POLICY" {
			if err := ev.Eval(ctx, defaultFile, "ifeq (latest,$(TAG))\nPULL_POLICY = Always\nendif\n"); err != nil {
				return err
			}
		}
		value, err := ev.Value(ctx, k.Name)
		if err != nil {
			return err
		}
		if value == "" && k.Name != "HUBS" && s.identity == nil {
			v, _ := ev.Lookup(k.Name)
			s.identity = emptyError(k.Name, in.origin(v), gitSaid.String())
		}
	}
	return nil
}

// emptyError is make's own message, and what to do about it.
func emptyError(name, origin, gitSaid string) error {
	if origin != "default" {
		return fail.With(fail.Usage, fmt.Errorf("%s cannot be empty: it is set but empty (%s); unset it to get the default, or give it a value", name, origin))
	}
	gitSaid = strings.TrimSpace(gitSaid)
	hint := "give TAG a value, as in TAG=dev, or run inside a git repository that has a commit"
	if dir := unsafeDirectory(gitSaid); dir != "" {
		hint = fmt.Sprintf("git refused because the repository belongs to another user; run: git config --global --add safe.directory %s; or give TAG a value", dir)
	}
	if gitSaid == "" {
		gitSaid = "nothing"
	}
	return fail.With(fail.Usage, fmt.Errorf("%s cannot be empty: by default it is the commit, but `git rev-parse --verify HEAD` said: %s; %s", name, gitSaid, hint))
}

// unsafeDirectory finds the folder in git's complaint about its owner.
func unsafeDirectory(gitSaid string) string {
	_, rest, found := strings.Cut(gitSaid, "dubious ownership in repository at '")
	if !found {
		return ""
	}
	dir, _, _ := strings.Cut(rest, "'")
	return dir
}

// Check returns the error on which make stops when HUB, TAG or PULL_POLICY is
// empty, with what to do about it.
func (s *Settings) Check() error { return s.identity }
