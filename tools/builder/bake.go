// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// BakeTarget is a target of bake files with all variables settled.
type BakeTarget struct {
	Name             string            `json:"name"`
	Context          string            `json:"context"` // a folder, relative to where bake runs, or a URL
	Contexts         map[string]string `json:"contexts"`
	Dockerfile       string            `json:"dockerfile"` // relative to the context
	DockerfileInline string            `json:"dockerfileInline"`
	Args             map[string]string `json:"args"`
	Labels           map[string]string `json:"labels"`
	Tags             []string          `json:"tags"`
	Platforms        []string          `json:"platforms"`
	Target           string            `json:"target"` // stage
	NoCache          bool              `json:"noCache"`
	Pull             bool              `json:"pull"`
	CacheFrom        []BakeCache       `json:"cacheFrom"`
	CacheTo          []BakeCache       `json:"cacheTo"`
	Outputs          []struct {
		Type string `json:"type"`
	} `json:"outputs"`
	Secrets     []BakeSecret `json:"secrets"`
	SSH         []string     `json:"ssh"`
	Network     string       `json:"network"`
	Attest      []string     `json:"attest"`
	Call        string       `json:"call"`
	Unsupported []string     `json:"unsupported"`
}

// BakeCache is a place of a build cache.
type BakeCache struct {
	Type  string            `json:"type"`
	Attrs map[string]string `json:"attrs"`
}

// String is the cache as docker build takes it: type=…,name=value.
func (c BakeCache) String() string {
	fields := []string{"type=" + c.Type}
	for _, name := range slices.Sorted(maps.Keys(c.Attrs)) {
		fields = append(fields, name+"="+c.Attrs[name])
	}
	return joined(fields)
}

// joined is a line of values between commas, quoted where one has a comma.
func joined(fields []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(fields) // into memory
	w.Flush()
	return strings.TrimRight(b.String(), "\n")
}

// BakeSecret is a secret by the place that it comes from.
type BakeSecret struct {
	ID  string `json:"id"`
	Src string `json:"src"`
	Env string `json:"env"`
}

// String is the secret as docker build takes it.
func (s BakeSecret) String() string {
	fields := []string{"id=" + s.ID}
	if s.Src != "" {
		fields = append(fields, "src="+s.Src)
	}
	if s.Env != "" {
		fields = append(fields, "env="+s.Env)
	}
	return joined(fields)
}

// OnlyContext tells targets that are there for others alone.
func (t BakeTarget) OnlyContext() bool {
	return len(t.Outputs) == 1 && t.Outputs[0].Type == "cacheonly"
}

// Baker is Slipway's buildx program, ready to run.
type Baker struct {
	Path   string
	Dir    string // where bake files and their contexts are relative to
	Runner run.Runner
	Env    []string
	Stderr io.Writer
}

// Bake reads bake files, or those of the usual names when none is given. vars
// are the only values that their variables get from outside.
func (b Baker) Bake(ctx context.Context, files []string, vars map[string]string, targets []string) ([]BakeTarget, error) {
	args := []string{b.Path, "bake"}
	for _, f := range files {
		args = append(args, "-f", f)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		args = append(args, "--var", name+"="+vars[name])
	}
	var out, problems bytes.Buffer
	err := b.Runner.Run(ctx, run.Command{Args: append(args, targets...), Dir: b.Dir, Env: b.Env, Stdout: &out, Stderr: &problems})
	if err != nil {
		text := strings.TrimPrefix(strings.TrimSpace(problems.String()), "slipway: error: ")
		return nil, fail.With(fail.Usage, fmt.Errorf("reading bake files: %s", text))
	}
	var answer struct {
		Targets []BakeTarget `json:"targets"`
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("reading bake files: the buildx program answered something else: %w", err)
	}
	return answer.Targets, nil
}
