// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

// manifests looks at what comes out of the chart's own templates.
func (r *reader) manifests() {
	for _, t := range r.chart.Templates {
		output := r.files[r.root+"/"+t.Name]
		if !isYAML(t.Name) || strings.TrimSpace(output) == "" {
			continue
		}
		for _, f := range faults(output) {
			r.fault(t.Name, f)
		}
	}
}

// fault reports what is wrong in the output of a template.
func (r *reader) fault(template string, f fault) {
	r.faulty[template] = r.faulty[template] || f.known
	p := r.origin(template, f.line, f.column)
	if p.line == 0 && f.line > 0 {
		f.message = fmt.Sprintf("line %d of the output: %s", f.line, f.message)
	}
	r.job.found(charts.RuleRender, p, severityError, f.message)
}

// unparsed reports that Helm cannot read the output of a template, at the
// place that it does not name; false when that is not found.
func (r *reader) unparsed(m charts.Message) bool {
	if !strings.HasPrefix(m.Text, "unable to parse YAML") {
		return false
	}
	if r.faulty[m.Path] {
		return true // manifests has said it
	}
	for _, f := range faults(r.files[r.root+"/"+m.Path]) {
		if f.known {
			r.fault(m.Path, f)
			return true
		}
	}
	return false
}

// origin is the place in a template of the chart that a line of its output
// comes from.
func (r *reader) origin(template string, line, column int) place {
	p := r.job.inFile(template)
	if line == 0 {
		return p
	}
	if r.froms == nil {
		r.froms = r.job.origins(r.files)
	}
	name := r.root + "/" + template
	if o, ok := r.froms[name]; ok {
		p.line, p.column = o.at(line, column, lineOf(r.files[name], line))
	}
	return p
}

func lineOf(text string, line int) string {
	n := 0
	for l := range strings.Lines(text) {
		if n++; n == line {
			return l
		}
	}
	return ""
}

var (
	badName    = regexp.MustCompile(`naming requirements: ("(?:[^"\\]|\\.)*")`)
	deprecated = regexp.MustCompile(`^(\S+) (\S+) is deprecated in`)
)

// inTemplate is the place of a message about the output of a template.
func (r *reader) inTemplate(m charts.Message) place {
	output := r.files[r.root+"/"+m.Path]
	switch {
	case output == "":
		return r.job.inFile(m.Path)
	case strings.HasPrefix(m.Text, "document starts with an illegal indent"):
		first := len(output) - len(strings.TrimLeft(output, " \t\r\n"))
		return r.origin(m.Path, 1+strings.Count(output[:first], "\n"), 0)
	}
	if n, first := object(output, m.Text); n != nil {
		return r.origin(m.Path, n.Line+first-1, n.Column)
	}
	return r.job.inFile(m.Path)
}

// object finds the field that a message about an object speaks of, and the
// line at which its document starts.
func object(output, text string) (n *yaml.Node, first int) {
	for _, d := range documents(output) {
		var doc yaml.Node
		if yaml.Unmarshal([]byte(d.text), &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
			continue
		}
		if n := meant(doc.Content[0], text); n != nil {
			return n, d.line
		}
	}
	return nil, 0
}

func meant(o *yaml.Node, text string) *yaml.Node {
	kind, version := field(o, "kind"), field(o, "apiVersion")
	var name *yaml.Node
	if meta := field(o, "metadata"); meta != nil && meta.Kind == yaml.MappingNode {
		name = field(meta, "name")
	}
	if m := badName.FindStringSubmatch(text); m != nil {
		switch {
		case name != nil && fmt.Sprintf("%q", name.Value) == m[1]:
			return name
		case name == nil && m[1] == `""`:
			return o
		}
		return nil
	}
	if m := deprecated.FindStringSubmatch(text); m != nil {
		if kind != nil && version != nil && version.Value == m[1] && kind.Value == m[2] {
			return version
		}
		return nil
	}
	if kind != nil && strings.HasPrefix(text, "a "+kind.Value+" must contain") && name != nil && strings.Contains(text, fmt.Sprintf("%q", name.Value)) {
		return kind
	}
	return nil
}
