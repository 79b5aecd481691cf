// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

// reader finds the places that Helm's messages are about.
type reader struct {
	job       *job
	chart     *chart.Chart // nil when it cannot be loaded
	root      string       // name of the chart
	templates []string     // names of all templates
	files     map[string]string
	froms     map[string]origin // nil until one is asked for
	faulty    map[string]bool   // templates whose faults have been said
	missing   []string          // dependencies that are not there
	said      map[string]bool   // what the schema says, by place and message
}

func (r *reader) message(m charts.Message) {
	severity := r.job.severityOf(m.Severity)
	switch {
	case r.engine(m, severity):
	case r.schema(m, severity):
	case strings.HasPrefix(m.Path, "templates/") && m.Path != "templates/":
		if r.unparsed(m) {
			return
		}
		r.job.found(charts.RuleLint, r.inTemplate(m), severity, oneLine(m.Text))
	default:
		text := oneLine(m.Text)
		if strings.HasSuffix(m.Path, "/") {
			text = m.Path + ": " + text // the place is a file, and the folder is meant
		}
		r.job.found(charts.RuleLint, r.inYAML(m), severity, text)
	}
}

// engine reports an error of the template engine, which names places.
func (r *reader) engine(m charts.Message, severity string) bool {
	if m.Path != "templates/" {
		return false
	}
	all := mentions(m.Text, r.templates)
	if len(all) == 0 {
		return false
	}
	// The last place is where it happened, those before are how it came there.
	last := all[len(all)-1]
	at, ok := r.place(last)
	if !ok {
		return false
	}
	message := engineMessage(m.Text, last)
	if first := all[0]; first.name != last.name || first.line != last.line {
		message += fmt.Sprintf(" (rendering %s:%d)", strings.TrimPrefix(first.name, r.root+"/"), first.line)
	}
	r.job.found(charts.RuleLint, at, severity, message)
	return true
}

// place is the place of a mention in the tree.
func (r *reader) place(m mention) (place, bool) {
	p, ok := r.job.locate(r.root, m.name)
	if !ok {
		return p, false
	}
	p.line, p.column = m.line, columnOf(r.text(m.name), m.line, m.column)
	return p, true
}

// text is the text of a template.
func (r *reader) text(name string) string {
	text := ""
	var walk func(c *chart.Chart)
	walk = func(c *chart.Chart) {
		for _, t := range c.Templates {
			if c.ChartFullPath()+"/"+t.Name == name {
				text = string(t.Data)
			}
		}
		for _, d := range c.Dependencies() {
			walk(d)
		}
	}
	walk(r.chart)
	return text
}

// engineMessage is what an error says behind its last place, and else before
// its first.
func engineMessage(text string, last mention) string {
	message := oneLine(strings.TrimLeft(text[last.end:], "): \n"))
	if message == "" {
		message = oneLine(text)
	}
	return message
}

var pointer = regexp.MustCompile(`^\s*- at '([^']*)': (.*)$`)

// schema reports what the values schema says, each at its value.
func (r *reader) schema(m charts.Message, severity string) bool {
	if m.Path != "values.yaml" && !strings.HasPrefix(m.Text, "values don't meet the specifications") {
		return false
	}
	said := false
	name := r.root
	for line := range strings.Lines(m.Text) {
		line = strings.TrimRight(line, "\r\n")
		if m.Path == "templates/" && strings.HasSuffix(line, ":") && !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "values don't") {
			name = strings.TrimSuffix(line, ":") // the charts that the lines below it are about
		}
		match := pointer.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		said = true
		at, text := r.pointer(match[1]), oneLine(match[2])
		if name != r.root {
			at, text = r.job.inFile("values.yaml"), "chart "+name+": "+text
		}
		if match[1] != "" {
			text = dotted(match[1]) + ": " + text
		}
		if key := fmt.Sprint(at.file, ":", at.line, ":", text); !r.said[key] {
			r.said[key] = true // Helm says it of values.yaml and again of templates/
			r.job.found(charts.RuleLint, at, severity, text)
		}
	}
	return said
}

func dotted(pointer string) string {
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
}

// pointer is the place of a value in values.yaml.
func (r *reader) pointer(pointer string) place {
	p := r.job.inFile("values.yaml")
	n := r.job.parse("values.yaml")
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if n == nil {
			break
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		key, next := child(n, part)
		if key == nil {
			break
		}
		p.line, p.column, n = key.Line, key.Column, next
	}
	return p
}

func child(n *yaml.Node, part string) (key, value *yaml.Node) {
	n = resolve(n)
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == part {
				return n.Content[i], n.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i := number(part); i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	}
	return nil, nil
}

var (
	loaded  = regexp.MustCompile(`cannot load (Chart\.yaml|Chart\.lock|values\.yaml|requirements\.yaml|requirements\.lock)`)
	unknown = regexp.MustCompile(`unknown field "(?:[^"]*\.)?([^".]+)"`)
)

// inYAML is the place of a message about a plain YAML file: Chart.yaml,
// values.yaml, a CRD.
func (r *reader) inYAML(m charts.Message) place {
	name := m.Path
	if found := loaded.FindStringSubmatch(m.Text); found != nil {
		name = found[1]
	}
	switch {
	case name == "" || name == r.job.dir || strings.HasSuffix(name, "/"):
		if strings.HasPrefix(m.Text, "chart ") || strings.HasPrefix(m.Text, "multiple dependencies") {
			return r.job.inChartFile("dependencies")
		}
		return r.job.inFile("Chart.yaml")
	case name == "Chart.yaml":
		return r.inChart(m.Text)
	}
	p := r.job.inFile(name)
	p.line = errorLine(m.Text, 1)
	return p
}

// inChart is the place of a message about Chart.yaml: the line that an error
// names, or the key that the message speaks of.
func (r *reader) inChart(text string) place {
	p := r.job.inFile("Chart.yaml")
	if p.line = errorLine(text, 1); p.line > 0 {
		return p
	}
	if found := unknown.FindStringSubmatch(text); found != nil {
		return r.job.inChartFile(found[1])
	}
	for word := range strings.FieldsSeq(text) {
		if at := r.job.inChartFile(word); at.line > 0 {
			return at
		}
	}
	for from, to := range map[string]string{"invalid source URL": "sources", "maintainer": "maintainers", "invalid icon": "icon"} {
		if strings.Contains(text, from) {
			return r.job.inChartFile(to)
		}
	}
	return p
}
