// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package goal turns the names that users type into goals: exact names,
// aliases and patterns such as docker.%, with suggestions for names that are
// none. All names are looked up before anything runs.
package goal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Goal is a name that can be asked for. T is what the program collects the
// wishes of all goals in.
type Goal[T any] struct {
	Name    string   // may hold one %, which stands for any text but none
	Aliases []string // other names; a % in them takes the place of the one in Name
	Group   string   // heading in help
	Summary string   // one line for help; empty: not listed
	// Want adds what the goal asks for. The stem is what stood for %.
	Want func(into T, stem string) error
}

// Match is a goal that was asked for.
type Match[T any] struct {
	Goal Goal[T]
	Name string // as given
	Stem string
}

// Registry is all goals.
type Registry[T any] struct {
	exact    map[string]Goal[T]
	patterns []pattern[T]
	groups   []string
	goals    []Goal[T]
}

type pattern[T any] struct {
	prefix, suffix string
	goal           Goal[T]
}

// NewRegistry checks that no two goals share a name.
func NewRegistry[T any](goals []Goal[T]) (*Registry[T], error) {
	r := &Registry[T]{exact: map[string]Goal[T]{}, goals: goals}
	seen := map[string]bool{}
	for _, g := range goals {
		if !slices.Contains(r.groups, g.Group) {
			r.groups = append(r.groups, g.Group)
		}
		for _, name := range append([]string{g.Name}, g.Aliases...) {
			if seen[name] {
				return nil, fmt.Errorf("goal %q is defined twice", name)
			}
			seen[name] = true
			prefix, suffix, isPattern := strings.Cut(name, "%")
			if isPattern {
				r.patterns = append(r.patterns, pattern[T]{prefix, suffix, g})
			} else {
				r.exact[name] = g
			}
		}
	}
	// As in make, the pattern with the shortest stem is the most specific.
	slices.SortStableFunc(r.patterns, func(a, b pattern[T]) int {
		return len(b.prefix) + len(b.suffix) - len(a.prefix) - len(a.suffix)
	})
	return r, nil
}

// Find returns the goal of a name: an exact one before a pattern.
func (r *Registry[T]) Find(name string) (Match[T], bool) {
	if g, ok := r.exact[name]; ok {
		return Match[T]{Goal: g, Name: name}, true
	}
	for _, p := range r.patterns {
		if len(name) > len(p.prefix)+len(p.suffix) && strings.HasPrefix(name, p.prefix) && strings.HasSuffix(name, p.suffix) {
			return Match[T]{Goal: p.goal, Name: name, Stem: name[len(p.prefix) : len(name)-len(p.suffix)]}, true
		}
	}
	return Match[T]{}, false
}

// Resolve looks all names up, each once, in the order given. Unknown ones are
// one error that names them all, with names that are near.
func (r *Registry[T]) Resolve(names []string) ([]Match[T], error) {
	var matches []Match[T]
	var unknown []string
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		if m, ok := r.Find(name); ok {
			matches = append(matches, m)
			continue
		}
		line := fmt.Sprintf("no goal %q", name)
		if near := Near(name, r.Names(), 3); len(near) > 0 {
			line += "; did you mean " + strings.Join(near, ", ") + "?"
		}
		unknown = append(unknown, line)
	}
	if len(unknown) > 0 {
		return nil, fail.With(fail.Usage, errors.New(strings.Join(unknown, "\n")+"\n`make help` lists all goals; nothing was run"))
	}
	return matches, nil
}

// Names returns all exact names, aliases included, sorted.
func (r *Registry[T]) Names() []string {
	names := make([]string, 0, len(r.exact))
	for name := range r.exact {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Entry is a line of help.
type Entry struct {
	Group   string   `json:"group"`
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Aliases []string `json:"aliases,omitempty"`
}

// Help returns the goals that have a summary, group by group, in the order in
// which they were registered.
func (r *Registry[T]) Help() []Entry {
	var entries []Entry
	for _, group := range r.groups {
		for _, g := range r.goals {
			if g.Group == group && g.Summary != "" {
				entries = append(entries, Entry{Group: g.Group, Name: g.Name, Summary: g.Summary, Aliases: g.Aliases})
			}
		}
	}
	return entries
}
