// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

const (
	severityError   = string(lint.Error)
	severityWarning = string(lint.Warning)
	severityNotice  = string(lint.Notice)
)

func (j *job) found(rule string, p place, severity, message string) {
	if p.inner != "" {
		at := p.inner
		if p.line > 0 {
			at = fmt.Sprintf("%s:%d", at, p.line)
		}
		message, p.line, p.column = at+": "+message, 0, 0
	}
	j.result.Findings = append(j.result.Findings, charts.Found{
		File: p.file, Line: p.line, Column: p.column, Rule: rule, Severity: severity, Message: message,
	})
}

// severityOf is what a severity of Helm's messages means for the run.
func (j *job) severityOf(name string) string {
	switch {
	case name == "ERROR", name == "WARNING" && j.strict:
		return severityError
	case name == "WARNING":
		return severityWarning
	default:
		return severityNotice
	}
}

// report turns Helm's messages into findings with places, and adds what Helm
// does not look for when that is asked for.
func (j *job) report() {
	if len(j.result.Messages) == 0 && !j.thorough {
		return
	}
	r := reader{job: j, faulty: map[string]bool{}, said: map[string]bool{}}
	if c, err := loader.LoadDir(j.dir); err == nil {
		r.root, r.chart, r.templates = c.Name(), c, templateNames(c)
		r.missing = lacking(c)
	}
	files, left, err := j.render(nil)
	if err == nil {
		r.files = files
	}
	if r.chart != nil && j.thorough {
		r.manifests()
	}
	for _, m := range j.result.Messages {
		if !r.becauseMissing(m) {
			r.message(m)
		}
	}
	r.sayMissing()
	if r.chart != nil && j.thorough {
		r.values(left)
	}
}

// lacking are the dependencies that the charts folder does not hold, as helm
// lint looks for them: by name.
func lacking(c *chart.Chart) []string {
	var all []string
	for _, d := range c.Metadata.Dependencies {
		there := slices.ContainsFunc(c.Dependencies(), func(have *chart.Chart) bool { return have.Metadata.Name == d.Name })
		if there {
			continue
		}
		name := d.Name
		if d.Version != "" {
			name += " " + d.Version
		}
		if d.Repository != "" {
			name += " of " + d.Repository
		}
		all = append(all, name)
	}
	return all
}

// missingText is how helm lint (v4.3.2) tells of missing dependencies.
const missingText = "chart directory is missing these dependencies"

// becauseMissing says whether a message is the consequence of dependencies
// that are not there, which are reported at once.
func (r *reader) becauseMissing(m charts.Message) bool {
	if len(r.missing) == 0 {
		return false
	}
	return strings.HasPrefix(m.Text, missingText) ||
		m.Path == "templates/" && noTemplate.MatchString(m.Text)
}

// noTemplate is how the template engine tells that a template is not defined:
// in include, and in the action template.
var noTemplate = regexp.MustCompile(`no template "|template "[^"]*" not defined`)

// sayMissing reports missing dependencies, as gravely as Helm takes them: an
// error when the chart does not render without them, else a warning.
func (r *reader) sayMissing() {
	if len(r.missing) == 0 {
		return
	}
	severity := ""
	for _, m := range r.job.result.Messages {
		if s := r.job.severityOf(m.Severity); r.becauseMissing(m) && severity != severityError {
			severity = s
		}
	}
	if severity != "" {
		r.job.found(charts.RuleDependencies, r.job.inChartFile("dependencies"), severity, fmt.Sprintf(
			"the charts folder lacks %s: run helm dependency build", strings.Join(r.missing, ", ")))
	}
}

// inChartFile is the place of a top key of Chart.yaml.
func (j *job) inChartFile(key string) place {
	return j.keyIn("Chart.yaml", key)
}

// keyIn is the place of a top key in a YAML file of the chart.
func (j *job) keyIn(name, key string) place {
	p := j.inFile(name)
	root := j.parse(name)
	if root == nil || root.Kind != yaml.MappingNode {
		return p
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if k := root.Content[i]; k.Value == key {
			p.line, p.column = k.Line, k.Column
		}
	}
	return p
}

// inFile is the place of a file of the chart as a whole.
func (j *job) inFile(name string) place {
	return place{file: filepath.Join(j.dir, filepath.FromSlash(name))}
}

// parse reads a YAML file of the chart; nil when it is none.
func (j *job) parse(name string) *yaml.Node {
	if n, known := j.parsed[name]; known {
		return n
	}
	var root *yaml.Node
	var n yaml.Node
	text, err := os.ReadFile(filepath.Join(j.dir, filepath.FromSlash(name)))
	if err == nil && yaml.Unmarshal(text, &n) == nil && len(n.Content) > 0 {
		root = n.Content[0]
	}
	j.parsed[name] = root
	return root
}

var lineNumber = regexp.MustCompile(`\byaml: (?:unmarshal errors:\s+)?line (\d+):`)

// errorLine is the line that a YAML error names, for a text that starts at
// line first; 0 when it names none.
func errorLine(message string, first int) int {
	m := lineNumber.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	return number(m[1]) + first - 1
}

// oneLine is a message of several lines in one.
func oneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case b.Len() == 0:
		case strings.HasSuffix(b.String(), ":"):
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}
