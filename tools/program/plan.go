// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"strings"
)

// Plan says what a call will do. It is pure data: made from settings, catalog
// and file names, printed by make -n and make plan, and carried out by run.
type Plan struct {
	Goals     []string       `json:"goals"`
	Dir       string         `json:"repository"`
	Source    *SourcePlan    `json:"source,omitempty"`
	Compile   []CompilePlan  `json:"compile,omitempty"`
	Prebuilts []PrebuiltPlan `json:"prebuilts,omitempty"`
	Images    []ImagePlan    `json:"images,omitempty"`
	Commands  []CommandPlan  `json:"commands,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"`
}

// SourcePlan is where binaries are compiled from.
type SourcePlan struct {
	Module  string `json:"module,omitempty"` // empty: the repository itself
	Version string `json:"version,omitempty"`
	Dir     string `json:"dir,omitempty"` // empty: to be downloaded
}

// CompilePlan is one platform's binaries.
type CompilePlan struct {
	Platform string       `json:"platform"`
	Out      string       `json:"out"`
	Binaries []BinaryPlan `json:"binaries"`
}

// BinaryPlan is one binary.
type BinaryPlan struct {
	Name    string   `json:"name"`
	Package string   `json:"package"`
	Tags    string   `json:"tags,omitempty"` // of the build, with commas
	Output  string   `json:"output"`         // path below Out
	OS      []string `json:"-"`
	Named   bool     `json:"-"` // asked for by name, not as one of a group
}

// PrebuiltPlan is one file to download or to build outside of Go.
type PrebuiltPlan struct {
	Name     string `json:"name"`
	Platform string `json:"platform"`
	URL      string `json:"url,omitempty"`
	Cargo    string `json:"cargo,omitempty"` // checkout that is built in its place
	Path     string `json:"path"`
	Origin   string `json:"origin,omitempty"` // what gave the URL
}

// ImagePlan is one image in one variant.
type ImagePlan struct {
	Name       string            `json:"name"`
	Variants   []string          `json:"variants"` // names under which this build is tagged
	Dockerfile string            `json:"dockerfile"`
	Args       map[string]string `json:"args,omitempty"`
	Platforms  []string          `json:"platforms"`
	Bases      []string          `json:"bases,omitempty"`
	Builder    string            `json:"builder"`
	Reason     string            `json:"reason"`
	Inputs     []string          `json:"inputs,omitempty"`
	Outputs    []string          `json:"outputs"`              // "push", "save", "load", "layout"
	References []string          `json:"references,omitempty"` // names it gets
	Archives   []string          `json:"archives,omitempty"`   // files that save writes
}

// CommandPlan is a step that is not about building: a program that is run, or
// something that Slipway does itself.
type CommandPlan struct {
	Goal string `json:"goal"`
	Text string `json:"text"`
}

// Lines is the plan for people: one line for each thing that would be done.
func (p *Plan) Lines() []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if s := p.Source; s != nil && s.Module != "" {
		add("source    %s@%s", s.Module, s.Version)
	}
	for _, c := range p.Compile {
		for _, b := range c.Binaries {
			add("compile   %s %s -> %s/%s%s", c.Platform, b.Package, c.Out, b.Output, tagText(b.Tags))
		}
	}
	for _, b := range p.Prebuilts {
		from := b.URL
		if b.Cargo != "" {
			from = "cargo build in " + b.Cargo
		}
		add("fetch     %s %s -> %s", b.Platform, from, b.Path)
	}
	for _, i := range p.Images {
		add("image     %s (%s) from %s for %s, %s: %s", i.Name, strings.Join(i.Variants, ", "), i.Dockerfile, strings.Join(i.Platforms, ","), i.Builder, i.Reason)
		for _, base := range i.Bases {
			add("  base    %s", base)
		}
		for _, output := range i.Outputs {
			lines = append(lines, outputLines(output, i)...)
		}
	}
	for _, c := range p.Commands {
		add("%-9s %s", "run", c.Text)
	}
	return lines
}

func outputLines(output string, i ImagePlan) []string {
	names := i.References
	switch output {
	case "save":
		names = i.Archives
	case "layout":
		names = []string{"out/images"}
	}
	lines := make([]string, len(names))
	for n, name := range names {
		lines[n] = fmt.Sprintf("  %-7s %s", output, name)
	}
	return lines
}

func tagText(tags string) string {
	if tags == "" {
		return ""
	}
	return " (" + tags + ")"
}
