// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/frontend/subrequests/lint"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Check reads Dockerfiles with the rules of BuildKit's own build checks, in
// this process: no builder is needed and no registry is asked. A file that
// cannot be read to its end has a finding for that too.
func Check(ctx context.Context, files []builder.CheckFile) ([]builder.Finding, error) {
	var all []builder.Finding
	for _, f := range files {
		text, err := os.ReadFile(f.Path)
		if err != nil {
			return nil, fail.With(fail.Usage, fmt.Errorf("reading a Dockerfile: %w", err))
		}
		found, err := checkOne(ctx, f, text)
		if err != nil {
			return nil, fmt.Errorf("checking %s: %w", f.File, err)
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b builder.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(all), nil
}

func checkOne(ctx context.Context, f builder.CheckFile, text []byte) ([]builder.Finding, error) {
	// The source map needs a definition, though nothing is ever built from it.
	state := llb.Scratch()
	definition, err := state.Marshal(ctx)
	if err != nil {
		return nil, err
	}
	sources := llb.NewSourceMap(&state, f.File, "Dockerfile", text)
	sources.Definition = definition
	results, err := dockerfile2llb.DockerfileLint(ctx, text, dockerfile2llb.ConvertOpt{
		Config: dockerui.Config{BuildArgs: f.Args}, SourceMap: sources, MetaResolver: noRegistry{},
	})
	if err != nil {
		return nil, err
	}
	var found []builder.Finding
	for _, w := range results.Warnings {
		found = append(found, builder.Finding{File: f.File, Line: firstLine(w), Rule: w.RuleName, Message: w.Detail, URL: w.URL})
	}
	if e := results.Error; e != nil {
		finding := builder.Finding{File: f.File, Rule: "error", Message: e.Message}
		if len(e.Location.Ranges) > 0 {
			finding.Line = int(e.Location.Ranges[0].Start.Line)
		}
		found = append(found, finding)
	}
	return found, nil
}

func firstLine(w lint.Warning) int {
	if w.Location == nil || len(w.Location.Ranges) == 0 {
		return 0
	}
	return int(w.Location.Ranges[0].Start.Line)
}

// noRegistry answers for every base image that it has no configuration, so
// that checks say nothing about bases.
type noRegistry struct{}

func (noRegistry) ResolveImageConfig(_ context.Context, ref string, opt sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	var config ocispecs.Image
	config.OS, config.Architecture = "linux", "amd64"
	if opt.ImageOpt != nil && opt.ImageOpt.Platform != nil {
		config.Platform = *opt.ImageOpt.Platform
	}
	config.RootFS = ocispecs.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromString("unknown")}}
	text, err := json.Marshal(config)
	return ref, "", text, err
}
