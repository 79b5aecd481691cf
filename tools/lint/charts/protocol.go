// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package charts

// HelmVersion is the version of Helm whose verdict it is.
const HelmVersion = "v4.3.2"

// Request is what the helm program is asked, as JSON on its standard input.
// Its answer on standard output is a Response.
type Request struct {
	Charts         []string `json:"charts"`                   // folders: paths on this machine
	Strict         bool     `json:"strict,omitempty"`         // as in helm lint --strict
	KubeVersion    string   `json:"kubeVersion,omitempty"`    // as in helm lint --kube-version
	Namespace      string   `json:"namespace,omitempty"`      // as in helm lint --namespace; empty: default
	Values         []string `json:"values,omitempty"`         // as in helm lint --values: paths on this machine
	Set            []string `json:"set,omitempty"`            // as in helm lint --set
	Thorough       bool     `json:"thorough,omitempty"`       // as in Options
	OptionalValues []string `json:"optionalValues,omitempty"` // as in Options
}

// Response is what the helm program answers.
type Response struct {
	Charts []Result `json:"charts,omitempty"` // those of the request, in its order
	Error  string   `json:"error,omitempty"`  // why nothing was linted
	Code   int      `json:"code,omitempty"`   // exit code of the error, as in package fail
}

// Result is what was found in one chart.
type Result struct {
	Dir string `json:"dir"`
	// Messages, Errors and Failed are what helm lint itself says, word for
	// word: its messages, why it gave up on the chart, and its verdict.
	Messages []Message `json:"messages,omitempty"`
	Errors   []string  `json:"errors,omitempty"`
	Failed   bool      `json:"failed,omitempty"`
	// Findings are the messages with their places, and what Slipway finds
	// beyond them when it was asked to be thorough.
	Findings []Found `json:"findings,omitempty"`
}

// Message is one message of helm lint.
type Message struct {
	Severity string `json:"severity"` // UNKNOWN, INFO, WARNING, ERROR
	Path     string `json:"path"`
	Text     string `json:"text"`
}

// Found is one thing to say about a file.
type Found struct {
	File     string `json:"file"` // path on this machine
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"` // in characters
	Rule     string `json:"rule"`
	Severity string `json:"severity"` // as in lint.Severity
	Message  string `json:"message"`  // one line
}

// The rules.
const (
	RuleLint         = "helm-lint"         // what helm lint itself says
	RuleRender       = "helm-render"       // what comes out of a template is no manifest
	RuleDependencies = "helm-dependencies" // a chart that another needs is not there
	RuleValues       = "helm-values"       // a template names a value that nobody declares
)

// OptionalAnnotation is the annotation of Chart.yaml that lists names of values
// which templates may mention although values.yaml and the schema lack them:
// dotted names without .Values, separated by commas or blanks. A name covers
// all names below it; * stands for one part of a name.
const OptionalAnnotation = "slipway.dev/optional-values"
