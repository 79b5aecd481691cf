// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"path/filepath"
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
// to the context. bake's cwd:// is resolved. A target that was only pulled in
// as a context of another has the single output cacheonly.
type target struct {
	Name             string            `json:"name"`
	Context          string            `json:"context"`
	Contexts         map[string]string `json:"contexts"`
	Dockerfile       string            `json:"dockerfile"`
	DockerfileInline string            `json:"dockerfileInline"`
	Args             map[string]string `json:"args"`
	Labels           map[string]string `json:"labels"`
	Tags             []string          `json:"tags"`
	Platforms        []string          `json:"platforms"`
	Target           string            `json:"target"` // the stage; empty: the last
	NoCache          bool              `json:"noCache"`
	Pull             bool              `json:"pull"`
	CacheFrom        []cache           `json:"cacheFrom"`
	CacheTo          []cache           `json:"cacheTo"`
	Outputs          []output          `json:"outputs"`
	Secrets          []secret          `json:"secrets"`
	SSH              []string          `json:"ssh"`    // id or id=path,path, as --ssh
	Attest           []string          `json:"attest"` // as --attest
	Network          string            `json:"network"`
	Call             string            `json:"call"` // build, check, outline, targets; empty: build
	// Unsupported names the fields of bake files that the target sets and that
	// Slipway's builders do not carry out, so that nobody drops them unseen.
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
	contexts := map[string]string{}
	for alias, c := range t.Contexts {
		contexts[alias] = local(c)
	}
	return target{
		Name: name, Context: local(value(t.Context)), Contexts: contexts,
		Dockerfile: dockerfile(value(t.Dockerfile)), DockerfileInline: value(t.DockerfileInline),
		Args: values(t.Args), Labels: values(t.Labels),
		Tags: list(t.Tags), Platforms: list(t.Platforms), Target: value(t.Target),
		NoCache: value(t.NoCache), Pull: value(t.Pull),
		CacheFrom: caches(t.CacheFrom), CacheTo: caches(t.CacheTo), Outputs: outputs(t.Outputs), Secrets: secrets(t.Secrets),
		SSH: keys(t.SSH), Attest: attests(t.Attest), Network: value(t.NetworkMode),
		Call: value(t.Call), Unsupported: unsupported(t),
	}
}

// fromHere begins paths that bake takes from the current folder.
const fromHere = "cwd://"

func local(path string) string {
	if rest, ok := strings.CutPrefix(path, fromHere); ok {
		return filepath.Clean(rest)
	}
	return path
}

// dockerfile makes a path from the current folder whole, since others are
// relative to the context. Should the current folder be unknown, the path
// stays as it is and is refused as the name of no file.
func dockerfile(path string) string {
	rest, ok := strings.CutPrefix(path, fromHere)
	if !ok {
		return path
	}
	whole, err := filepath.Abs(rest)
	if err != nil {
		return path
	}
	return whole
}

func unsupported(t *bake.Target) []string {
	// network = "host" brings its entitlement along.
	extra := slices.DeleteFunc(slices.Clone(t.Entitlements), func(e string) bool {
		return e == string(bake.EntitlementKeyNetworkHost) && value(t.NetworkMode) == "host"
	})
	var names []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"annotations", len(t.Annotations) > 0},
		{"entitlements", len(extra) > 0},
		{"extra-hosts", len(t.ExtraHosts) > 0},
		{"no-cache-filter", len(t.NoCacheFilter) > 0},
		{"policy", len(t.Policy) > 0},
		{"resources", t.Resources != nil},
		{"shm-size", value(t.ShmSize) != ""},
		{"ulimits", len(t.Ulimits) > 0},
	} {
		if f.set {
			names = append(names, f.name)
		}
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

// keys are written as docker build reads --ssh, which is not the quoted form
// that bake would print.
func keys(all buildflags.SSHKeys) []string {
	result := make([]string, 0, len(all))
	for _, k := range all {
		text := k.ID
		if len(k.Paths) > 0 {
			text += "=" + strings.Join(k.Paths, ",")
		}
		result = append(result, text)
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

func attests(all buildflags.Attests) []string {
	result := make([]string, 0, len(all))
	for _, a := range all {
		result = append(result, a.String())
	}
	return result
}
