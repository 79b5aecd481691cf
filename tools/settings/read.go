// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/settings/makevars"
)

// readAll takes the settled values over: of all known settings, and of what
// the user's file or the command line define beyond them.
func (s *Settings) readAll(ctx context.Context, ev *makevars.Evaluator, in Input) error {
	names := map[string]bool{}
	for _, g := range Groups() {
		for _, k := range g.Settings {
			names[k.Name] = true
		}
	}
	for _, name := range ev.Names() {
		v, _ := ev.Lookup(name)
		if v.Origin == makevars.CommandLine || v.Origin == makevars.Override || v.Origin == makevars.File && v.File != "" && v.File != defaultFile {
			names[name] = true
		}
	}
	for name := range names {
		value, err := in.read(ctx, ev, name)
		if err != nil {
			return err
		}
		s.values[name] = value
	}
	environ, err := ev.Environ(ctx)
	if err != nil {
		return err
	}
	s.environ = environ
	return nil
}

func (in Input) read(ctx context.Context, ev *makevars.Evaluator, name string) (Value, error) {
	value, err := ev.Value(ctx, name)
	if err != nil {
		return Value{}, err
	}
	v, set := ev.Lookup(name)
	out := Value{Name: name, Value: value, Origin: in.origin(v), unset: !set, isDefault: !set || v.File == defaultFile}
	if !set {
		out.Origin = "not set"
	}
	for _, l := range slices.Backward(ev.History(name)) {
		origin := in.originOf(name, l.Origin, l.File, l.Line)
		if origin == out.Origin && l.Took {
			continue // the winner itself, or an earlier part of +=
		}
		text, err := ev.Expand(ctx, l.Raw)
		if err != nil {
			text = l.Raw
		}
		out.Overridden = append(out.Overridden, Layer{Value: text, Origin: origin})
	}
	return out, nil
}

func (in Input) origin(v makevars.Variable) string {
	return in.originOf(v.Name, v.Origin, v.File, v.Line)
}

// originOf says where a value came from, in words for people.
func (in Input) originOf(name string, o makevars.Origin, file string, line int) string {
	if file == defaultFile {
		if d, ok := in.Defaults[name]; ok {
			return "default: " + d.Origin
		}
		if name == "PULL_POLICY" && line == 2 { // see settleIdentity
			return "TAG is latest"
		}
	}
	return originText(o, file, line)
}

func originText(o makevars.Origin, file string, line int) string {
	switch {
	case file == defaultFile:
		return "default"
	case file != "":
		return fmt.Sprintf("%s:%d", file, line)
	case o == makevars.Undefined:
		return "not set"
	}
	return o.String()
}

// Get returns the value of a setting; one that is not set is empty.
func (s *Settings) Get(name string) string { return s.values[name].Value }

// Lookup returns a setting with its origin.
func (s *Settings) Lookup(name string) Value {
	v, ok := s.values[name]
	if !ok {
		return Value{Name: name, Origin: "not set", unset: true, isDefault: true}
	}
	return v
}

// Names returns the names of all settings, known ones and the user's own,
// sorted.
func (s *Settings) Names() []string { return slices.Sorted(maps.Keys(s.values)) }

// Environ returns what make would put into the environment of its recipes:
// the environment as it was, with the settled values of exported variables.
func (s *Settings) Environ() []string { return slices.Clone(s.environ) }

// Full returns Environ with HUB, HUBS, TAG, PULL_POLICY and VERSION in it
// whether exported or not, so that no later step falls back to a default of
// its own.
func (s *Settings) Full() []string {
	env := s.Environ()
	for _, name := range []string{"HUB", "HUBS", "TAG", "PULL_POLICY", "VERSION"} {
		v := s.Lookup(name)
		if v.IsSet() && !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			env = append(env, name+"="+v.Value)
		}
	}
	return env
}
