// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docker/buildx/bake"
	"github.com/docker/buildx/util/buildflags"
)

// baked is the answer of the command bake. A target stands behind those whose
// contexts it is for; besides that, the order is that of the names.
type baked struct {
	Targets []target `json:"targets"`
}

// target is one build with all variables settled. The fields mean what they
// mean in a bake file: context is relative to the current folder, dockerfile
// to the context. A target that was only pulled in as a context of another has
// the single output cacheonly.
type target struct {
	Name             string            `json:"name"`
	Context          string            `json:"context"`
	Contexts         map[string]string `json:"contexts"`
	Dockerfile       string            `json:"dockerfile"`
	DockerfileInline string            `json:"dockerfileInline"`
	Args             map[string]string `json:"args"`
	Labels           map[string]string `json:"labels"`
	Annotations      []string          `json:"annotations"`
	Tags             []string          `json:"tags"`
	Platforms        []string          `json:"platforms"`
	Target           string            `json:"target"` // the stage; empty: the last
	NoCache          bool              `json:"noCache"`
	NoCacheFilter    []string          `json:"noCacheFilter"` // stages
	Pull             bool              `json:"pull"`
	CacheFrom        []cache           `json:"cacheFrom"`
	CacheTo          []cache           `json:"cacheTo"`
	Outputs          []output          `json:"outputs"`
	Secrets          []secret          `json:"secrets"`
	SSH              []string          `json:"ssh"`    // id or id=path, as --ssh
	Attest           []string          `json:"attest"` // as --attest
	Network          string            `json:"network"`
	ExtraHosts       map[string]string `json:"extraHosts"`
	ShmSize          string            `json:"shmSize"`
	Ulimits          []string          `json:"ulimits"`
	Entitlements     []string          `json:"entitlements"`
	Call             string            `json:"call"` // build, check, outline, targets; empty: build
	// Unsupported names the fields that the target sets and that have no
	// place here, so that nobody drops them unseen.
	Unsupported []string `json:"unsupported,omitempty"`
}

// cache is a place of a build cache, as BuildKit's client takes it.
type cache struct {
	Type  string            `json:"type"`
	Attrs map[string]string `json:"attrs"`
}

// output is where a result goes, as BuildKit's client takes it.
type output struct {
	Type  string            `json:"type"`
	Dest  string            `json:"dest,omitempty"` // file or folder
	Attrs map[string]string `json:"attrs"`
}

// secret comes from a file or from an environment variable. When neither is
// named, BuildKit's rule counts: the variable of its id, else the file.
type secret struct {
	ID  string `json:"id"`
	Src string `json:"src,omitempty"`
	Env string `json:"env,omitempty"`
}

// settle turns bake's targets into ours.
func settle(all map[string]*bake.Target) []target {
	result := make([]target, 0, len(all))
	done := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		t, ok := all[name]
		if !ok || done[name] {
			return
		}
		done[name] = true // bake has refused circles
		for _, alias := range slices.Sorted(maps.Keys(t.Contexts)) {
			if needed, ok := strings.CutPrefix(t.Contexts[alias], "target:"); ok {
				add(needed)
			}
		}
		result = append(result, convert(name, t))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		add(name)
	}
	return result
}

func convert(name string, t *bake.Target) target {
	return target{
		Name: name, Context: value(t.Context), Contexts: filled(t.Contexts),
		Dockerfile: value(t.Dockerfile), DockerfileInline: value(t.DockerfileInline),
		Args: values(t.Args), Labels: values(t.Labels), Annotations: list(t.Annotations),
		Tags: list(t.Tags), Platforms: list(t.Platforms), Target: value(t.Target),
		NoCache: value(t.NoCache), NoCacheFilter: list(t.NoCacheFilter), Pull: value(t.Pull),
		CacheFrom: caches(t.CacheFrom), CacheTo: caches(t.CacheTo), Outputs: outputs(t.Outputs), Secrets: secrets(t.Secrets),
		SSH: texts(t.SSH), Attest: texts(t.Attest), Network: value(t.NetworkMode), ExtraHosts: values(t.ExtraHosts),
		ShmSize: value(t.ShmSize), Ulimits: sorted(t.Ulimits), Entitlements: list(t.Entitlements), Call: value(t.Call),
		Unsupported: unsupported(t),
	}
}

func unsupported(t *bake.Target) []string {
	var names []string
	if len(t.Policy) > 0 {
		names = append(names, "policy")
	}
	if t.Resources != nil {
		names = append(names, "resources")
	}
	return names
}

func caches(all buildflags.CacheOptions) []cache {
	result := make([]cache, 0, len(all))
	for _, c := range all {
		result = append(result, cache{Type: c.Type, Attrs: filled(c.Attrs)})
	}
	return result
}

func outputs(all buildflags.Exports) []output {
	result := make([]output, 0, len(all))
	for _, o := range all {
		result = append(result, output{Type: o.Type, Dest: o.Destination, Attrs: filled(o.Attrs)})
	}
	return result
}

func secrets(all buildflags.Secrets) []secret {
	result := make([]secret, 0, len(all))
	for _, s := range all {
		result = append(result, secret{ID: s.ID, Src: s.FilePath, Env: s.Env})
	}
	return result
}

// value is what p points at, or nothing.
func value[T any](p *T) T {
	if p == nil {
		var none T
		return none
	}
	return *p
}

// values leaves out names that have no value.
func values(all map[string]*string) map[string]string {
	result := map[string]string{}
	for name, v := range all {
		if v != nil {
			result[name] = *v
		}
	}
	return result
}

// filled and list are never null in JSON.
func filled(all map[string]string) map[string]string {
	if all == nil {
		return map[string]string{}
	}
	return all
}

func list(all []string) []string {
	return append([]string{}, all...)
}

// sorted is for lists that bake collects from maps, in any order.
func sorted(all []string) []string {
	return append([]string{}, slices.Sorted(slices.Values(all))...)
}

func texts[T fmt.Stringer](all []T) []string {
	result := make([]string, 0, len(all))
	for _, t := range all {
		result = append(result, t.String())
	}
	return result
}
