// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Build is how an image was made.
type Build struct {
	Dockerfile string            // relative to the repository
	Target     string            // stage
	Args       map[string]string // of the build
	Platforms  []string
	Builder    string       // daemonless, buildkit
	Source     string       // address of the repository or module
	Commit     string       // of git, or version of the module
	Bases      []Dependency // images that it starts or copies from
}

// Dependency is something that went in.
type Dependency struct {
	URI    string
	Digest v1.Hash // zero: not known
}

type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     any        `json:"predicate"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

type predicate struct {
	Definition struct {
		BuildType    string         `json:"buildType"`
		External     map[string]any `json:"externalParameters"`
		Internal     map[string]any `json:"internalParameters,omitempty"`
		Dependencies []resource     `json:"resolvedDependencies,omitempty"`
	} `json:"buildDefinition"`
	Details struct {
		Builder map[string]string `json:"builder"`
	} `json:"runDetails"`
}

// secretName tells arguments whose values have no business in a document.
var secretName = regexp.MustCompile(`(?i)(TOKEN|SECRET|PASSW|CREDENTIAL|APIKEY|API_KEY|PRIVATE)`)

// Provenance says how an image was made, as an in-toto statement with SLSA's
// predicate 1.0. Values of arguments whose names speak of secrets are left out.
func Provenance(name string, digests []v1.Descriptor, b Build) ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, d := range digests {
		s.Subject = append(s.Subject, resource{Name: name, Digest: map[string]string{"sha256": d.Digest.Hex}})
	}
	var p predicate
	p.Definition.BuildType = "https://github.com/istio-ecosystem/slipway/image@v1"
	args := map[string]string{}
	for name, value := range b.Args {
		if secretName.MatchString(name) {
			value = "(left out)"
		}
		args[name] = value
	}
	p.Definition.External = map[string]any{"dockerfile": b.Dockerfile, "args": args, "platforms": b.Platforms}
	if b.Target != "" {
		p.Definition.External["target"] = b.Target
	}
	p.Definition.Internal = map[string]any{"builder": b.Builder}
	if b.Source != "" {
		p.Definition.Dependencies = append(p.Definition.Dependencies, source(b))
	}
	for _, d := range b.Bases {
		r := resource{URI: d.URI}
		if d.Digest.Hex != "" {
			r.Digest = map[string]string{d.Digest.Algorithm: d.Digest.Hex}
		}
		p.Definition.Dependencies = append(p.Definition.Dependencies, r)
	}
	slices.SortStableFunc(p.Definition.Dependencies, func(a, b resource) int { return strings.Compare(a.URI, b.URI) })
	p.Details.Builder = map[string]string{"id": "https://github.com/istio-ecosystem/slipway"}
	s.Predicate = p
	return json.MarshalIndent(s, "", " ")
}

// source is the commit or the module version that was compiled.
func source(b Build) resource {
	r := resource{URI: b.Source}
	if len(b.Commit) == 40 {
		r.Digest = map[string]string{"gitCommit": b.Commit}
	} else if b.Commit != "" {
		r.URI += "@" + b.Commit
	}
	return r
}
