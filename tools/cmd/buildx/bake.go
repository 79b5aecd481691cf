// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/containerd/platforms"
	"github.com/docker/buildx/bake"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// bakeRequest is what is asked of bake files.
type bakeRequest struct {
	files     []string          // HCL, JSON or compose; "-" is standard input
	overrides []string          // target.key=value, as --set of docker buildx bake
	vars      map[string]string // the only values for the variables of the files
	targets   []string          // targets, groups and patterns; none: default
}

// bakeCommand prints what targets of bake files mean.
func bakeCommand(ctx context.Context, args []string, s streams) error {
	r := bakeRequest{vars: map[string]string{}}
	set := flag.NewFlagSet("bake", flag.ContinueOnError)
	set.Func("f", "", appendTo(&r.files))
	set.Func("set", "", func(value string) error {
		if !strings.Contains(value, "=") {
			return fmt.Errorf("%q has no value: use TARGET.KEY=VALUE", value) // bake would look into the environment
		}
		return appendTo(&r.overrides)(value)
	})
	set.Func("var", "", func(value string) error {
		name, v, ok := strings.Cut(value, "=")
		if !ok || name == "" {
			return fmt.Errorf("%q is not NAME=VALUE", value)
		}
		r.vars[name] = v
		return nil
	})
	if err := parse(set, args, true); err != nil {
		return err
	}
	r.targets = set.Args()
	targets, err := r.read(ctx, s.in)
	if err != nil {
		return err
	}
	return printJSON(s.out, baked{targets})
}

func appendTo(list *[]string) func(string) error {
	return func(value string) error {
		*list = append(*list, value)
		return nil
	}
}

// read evaluates the files. Whatever is wrong is wrong with what the user
// gave, so each error is one of usage.
func (r bakeRequest) read(ctx context.Context, in io.Reader) ([]target, error) {
	if err := shutEnvironment(); err != nil {
		return nil, err
	}
	files, err := bake.ReadLocalFiles(r.files, in, nil)
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("reading bake files: %w", err))
	}
	if len(files) == 0 {
		return nil, fail.With(fail.Usage, r.nothingRead())
	}
	builtin := map[string]string{"BAKE_CMD_CONTEXT": fromHere, "BAKE_LOCAL_PLATFORM": platforms.Format(platforms.DefaultSpec())}
	config, _, err := bake.ParseFiles(files, maps.Clone(builtin), r.vars)
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("reading bake files %s: %w", strings.Join(names(files), ", "), err))
	}
	wanted := r.targets
	if len(wanted) == 0 {
		wanted = []string{"default"}
	}
	if err := checkNames(config, wanted, names(files)); err != nil {
		return nil, err
	}
	targets, _, err := bake.ReadTargets(ctx, files, slices.Clone(wanted), r.overrides, builtin, r.vars, &bake.EntitlementConf{})
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("resolving %s of %s: %w; %s", strings.Join(wanted, ", "), strings.Join(names(files), ", "), err, offer(config)))
	}
	return settle(targets), nil
}

func (r bakeRequest) nothingRead() error {
	if len(r.files) > 0 {
		return fmt.Errorf("the bake files %s are empty: there are no targets", strings.Join(r.files, ", "))
	}
	return errors.New("no bake file is given, and none of the usual names exists here: name one with -f")
}

// shutEnvironment keeps bake from taking variables of its files from the
// environment: HUB and TAG reach it by --var or not at all. bake offers this
// switch only, and reads it once. (A .env file beside compose files is part of
// the description, not of the environment; --var wins over it.)
func shutEnvironment() error {
	if err := os.Setenv("BUILDX_BAKE_DISABLE_VARS_ENV_LOOKUP", "1"); err != nil {
		return fmt.Errorf("closing bake off from the environment: %w", err)
	}
	return nil
}

func names(files []bake.File) []string {
	all := make([]string, len(files))
	for i, f := range files {
		all[i] = f.Name
	}
	return all
}

// checkNames refuses a target, group or pattern that the files do not have.
func checkNames(c *bake.Config, wanted, files []string) error {
	targets, groups := offered(c)
	all := slices.Concat(targets, groups)
	for _, w := range wanted {
		// bake writes dots as underscores, since compose allows them.
		pattern := strings.ReplaceAll(w, ".", "_")
		if _, err := path.Match(pattern, ""); err != nil {
			return fail.With(fail.Usage, fmt.Errorf("the target is %q: %w", w, err))
		}
		if !slices.ContainsFunc(all, func(name string) bool { ok, _ := path.Match(pattern, name); return ok }) {
			return fail.With(fail.Usage, fmt.Errorf("there is no target or group %q in %s; %s", w, strings.Join(files, ", "), offer(c)))
		}
	}
	return nil
}

// offered are the targets and the groups of the files, each sorted.
func offered(c *bake.Config) (targets, groups []string) {
	for _, t := range c.Targets {
		targets = append(targets, t.Name)
	}
	for _, g := range c.Groups {
		groups = append(groups, g.Name)
	}
	slices.Sort(targets)
	slices.Sort(groups)
	return slices.Compact(targets), slices.Compact(groups)
}

// offer is the end of a message: what the user may choose from.
func offer(c *bake.Config) string {
	targets, groups := offered(c)
	text := "targets: " + strings.Join(targets, ", ")
	if len(targets) == 0 {
		text = "there are no targets"
	}
	if len(groups) > 0 {
		text += "; groups: " + strings.Join(groups, ", ")
	}
	return text
}
