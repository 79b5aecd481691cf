// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

// asProgram names the environment variable that makes the test binary the
// program itself.
const asProgram = "SLIPWAY_TEST_HELM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	quiet()
	os.Exit(m.Run())
}

const (
	chartYAML = "apiVersion: v2\nname: c\nversion: 1.0.0\nicon: https://example.com/c.png\n"
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n"
)

type files map[string]string

// folder writes a chart. Files are those given, beside a Chart.yaml, values.yaml
// and an empty templates folder that are in order.
func folder(t testing.TB, given files) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	all := files{"Chart.yaml": chartYAML, "values.yaml": "name: foo\n", "templates/_none.tpl": ""}
	for name, text := range given {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if text == "-" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ask lints one chart.
func ask(t testing.TB, dir string, r charts.Request) charts.Result {
	t.Helper()
	r.Charts = []string{dir}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	response := answer(bytes.NewReader(text))
	if response.Error != "" || len(response.Charts) != 1 {
		t.Fatalf("%+v", response)
	}
	return response.Charts[0]
}

// found is what was found, one string for each finding.
func found(dir string, r charts.Result) []string {
	var all []string
	for _, f := range r.Findings {
		name, err := filepath.Rel(dir, f.File)
		if err != nil {
			name = f.File
		}
		all = append(all, fmt.Sprintf("%s:%d:%d %s %s %s", filepath.ToSlash(name), f.Line, f.Column, f.Severity, f.Rule, f.Message))
	}
	return all
}

type lintCase struct {
	name   string
	files  files
	ask    charts.Request
	want   []string // how each finding begins
	failed bool     // helm lint's own verdict
}

func check(t *testing.T, cases []lintCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, c.files)
			r := ask(t, dir, c.ask)
			got := found(dir, r)
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("found\n%s\nwant\n%s\nmessages %+v %v", strings.Join(got, "\n"), strings.Join(c.want, "\n"), r.Messages, r.Errors)
			}
			if r.Failed != c.failed {
				t.Errorf("failed is %t", r.Failed)
			}
		})
	}
}

// The field reports about charts.
func TestFieldReports(t *testing.T) {
	strict, thorough := charts.Request{Strict: true}, charts.Request{Thorough: true}
	optional := charts.Request{Thorough: true, OptionalValues: []string{"nane"}}
	annotated := chartYAML + "annotations:\n  " + charts.OptionalAnnotation + ": other, nane\n"
	needs := chartYAML + "dependencies:\n- name: lib\n  version: 1.x\n  repository: https://example.com/charts\n"
	includes := files{"Chart.yaml": needs, "templates/a.yaml": configMap + "data:\n  a: {{ include \"lib.name\" . }}\n"}
	mistyped := configMap + "data:\n  a: {{ .Values.nane }}\n"
	braces := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: { { .Values.name } }\n"
	lacks := " helm-dependencies the charts folder lacks lib 1.x of https://example.com/charts: run helm dependency build"
	check(t, []lintCase{
		{name: "C117 a template is no YAML", files: files{"templates/a.yaml": "{{ if .Values.name }}\n" + configMap + "{{ end }}\n"}, ask: strict},
		{name: "C118 braces apart", files: files{"templates/a.yaml": braces}, failed: true, want: []string{
			"templates/a.yaml:4:11 error helm-render a map stands where a key belongs: are the braces of a template action written with a blank between them?",
		}},
		{name: "C119 a dependency is not there, and is used", files: includes, failed: true, want: []string{"Chart.yaml:5:1 error" + lacks}},
		{name: "C119 a dependency is not there", files: files{"Chart.yaml": needs}, want: []string{"Chart.yaml:5:1 warning" + lacks}},
		{name: "C119 a dependency is not there, strict", files: files{"Chart.yaml": needs}, ask: strict, failed: true, want: []string{"Chart.yaml:5:1 error" + lacks}},
		{name: "C119 a dependency is there", files: files{
			"Chart.yaml": needs, "charts/lib/Chart.yaml": strings.Replace(chartYAML, "name: c", "name: lib", 1),
			"charts/lib/templates/_a.tpl": `{{ define "lib.name" }}n{{ end }}`, "templates/a.yaml": includes["templates/a.yaml"],
		}, ask: strict},
		{name: "C120 braces in values", files: files{
			"values.yaml": "a: \"{{ x }}\"\n", "templates/a.yaml": configMap + "data:\n  a: {{ .Values.a | quote }}\n  b: {{.Values.a|quote}}\n",
		}, ask: strict},
		{name: "C121 a mistyped value", files: files{"templates/a.yaml": mistyped}, ask: thorough, want: []string{
			"templates/a.yaml:6:17 error helm-values .Values.nane: values.yaml does not have it; did you mean name?",
		}},
		{name: "C121 helm's own verdict", files: files{"templates/a.yaml": mistyped}, ask: strict},
		{name: "C121 listed in the options", files: files{"templates/a.yaml": mistyped}, ask: optional},
		{name: "C121 listed in the chart", files: files{"Chart.yaml": annotated, "templates/a.yaml": mistyped}, ask: thorough},
		{name: "C121 harmless", files: files{"templates/a.yaml": configMap + "data:\n  a: {{ .Values.nane | default \"x\" }}\n"}, ask: thorough},
	})
}

// Each message of helm lint gets its place.
func TestPlaces(t *testing.T) {
	sub := strings.Replace(chartYAML, "name: c", "name: lib", 1)
	schema := `{"type": "object", "properties": {"name": {"type": "integer"}, "a": {"properties": {"b": {"type": "string"}}}}}`
	check(t, []lintCase{
		{name: "nothing to say"},
		{name: "syntax of a template", files: files{"templates/a.yaml": "a: 1\nb: {{ if }}\n"}, failed: true,
			want: []string{"templates/a.yaml:2:0 error helm-lint missing value for if"}},
		{name: "an error while rendering", files: files{"templates/a.yaml": "a: 1\nb: é{{ .Values.x.y }}\n"}, failed: true,
			want: []string{"templates/a.yaml:2:15 error helm-lint executing \"c/templates/a.yaml\" at <.Values.x.y>: nil pointer evaluating interface {}.y"}},
		{name: "an error in a helper", files: files{
			"templates/_h.tpl": "{{ define \"h\" }}\n{{ .Values.x.y }}{{ end }}", "templates/a.yaml": "a: 1\nb: {{ include \"h\" . }}\n",
		}, failed: true, want: []string{"templates/_h.tpl:2:11 error helm-lint executing \"h\" at <.Values.x.y>: nil pointer evaluating interface {}.y (rendering templates/a.yaml:2)"}},
		{name: "an error in a chart of the charts folder", files: files{
			"Chart.yaml": chartYAML + "dependencies:\n- name: lib\n  version: 1.0.0\n", "charts/other/Chart.yaml": sub, "charts/other/templates/a.yaml": "a: {{ .Values.x.y }}\n",
		}, failed: true, want: []string{"charts/other/templates/a.yaml:1:14 error helm-lint executing \"c/charts/lib/templates/a.yaml\" at <.Values.x.y>: nil pointer evaluating interface {}.y"}},
		{name: "required and fail are passed over", files: files{"templates/a.yaml": configMap + "data:\n  a: {{ required \"x\" .Values.x | quote }}\n{{ if false }}{{ fail \"no\" }}{{ end }}"}},
		{name: "no YAML, behind a loop", files: files{"templates/a.yaml": configMap + "data:\n{{- range until 5 }}\n  a{{ . }}: b\n{{- end }}\n  %\n"}, failed: true,
			want: []string{"templates/a.yaml:9:3 error helm-render no YAML: found character that cannot start any token"}},
		{name: "no YAML, from a value", files: files{"values.yaml": "name: '%'\n", "templates/a.yaml": configMap + "data:\n  a: {{ .Values.name }}\n"}, failed: true,
			want: []string{"templates/a.yaml:6:3 error helm-render no YAML: found character that cannot start any token"}},
		{name: "no YAML, in the second document", files: files{"templates/a.yaml": configMap + "---\n" + configMap + "---\na: [\n"}, failed: true,
			want: []string{"templates/a.yaml:11:1 error helm-render no YAML: did not find expected node content"}},
		{name: "a list for metadata", files: files{"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: [a]\n"}, failed: true,
			want: []string{"templates/a.yaml:3:11 error helm-render metadata is a list, no map"}},
		{name: "a name that Kubernetes refuses", files: files{"templates/a.yaml": configMap + "---\n" + strings.Replace(configMap, "name: x", "name: X_y", 1)},
			want: []string{`templates/a.yaml:9:9 warning helm-lint object name does not conform to Kubernetes naming requirements: "X_y": metadata.name: Invalid value: "X_y": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		{name: "an API that is gone", files: files{"templates/a.yaml": "{{/* x */}}\napiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: x\n"}, ask: charts.Request{Strict: true, KubeVersion: "1.30.0"}, failed: true,
			want: []string{"templates/a.yaml:2:13 error helm-lint batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in v1.25+"}},
		{name: "an API of an older Kubernetes", files: files{"templates/a.yaml": "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata:\n  name: x\n"}, ask: charts.Request{Strict: true, KubeVersion: "1.20.0"}},
		{name: "no selector", files: files{"templates/a.yaml": "a: b\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"}, failed: true,
			want: []string{`templates/a.yaml:1:1 warning helm-lint object name`, `templates/a.yaml:4:7 error helm-lint a Deployment must contain matchLabels or matchExpressions, and "x" does not`}},
		{name: "an indent", files: files{"templates/a.yaml": "\n  a: b\n"}, want: []string{
			`templates/a.yaml:2:3 warning helm-lint document starts with an illegal indent`, `templates/a.yaml:2:3 warning helm-lint object name`,
		}},
		{name: "a file of another kind", files: files{"templates/a.json": "{}"}, failed: true,
			want: []string{"templates/a.json:0:0 error helm-lint file extension '.json' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"}},
		{name: "no templates", files: files{"templates/_none.tpl": "-"}, want: []string{"Chart.yaml:0:0 warning helm-lint templates/: directory does not exist"}},
		{name: "no Chart.yaml", files: files{"Chart.yaml": "-"}, failed: true, want: []string{"Chart.yaml:0:0 error helm-lint unable to check Chart.yaml file in chart"}},
		{name: "a schema", files: files{"values.schema.json": schema, "values.yaml": "a:\n  b: [1]\nname: foo\n"}, failed: true,
			want: []string{"values.yaml:2:3 error helm-lint a.b: got array, want string", "values.yaml:3:1 error helm-lint name: got string, want integer"}},
		{name: "a value against the schema", files: files{"values.schema.json": schema, "values.yaml": "name: 1\n"}, ask: charts.Request{Set: []string{"name=x"}}, failed: true,
			want: []string{"values.yaml:1:1 error helm-lint name: got string, want integer"}},
		{name: "Chart.yaml lacks a version", files: files{"Chart.yaml": "apiVersion: v2\nname: c\nicon: https://example.com/c.png\n"}, failed: true, want: []string{
			"Chart.yaml:0:0 error helm-lint templates/: validation: chart.metadata.version is required", "Chart.yaml:0:0 error helm-lint unable to load chart; validation",
			"Chart.yaml:0:0 error helm-lint version is required", "Chart.yaml:0:0 warning helm-lint version '' is not",
		}},
		{name: "a version that is none", files: files{"Chart.yaml": strings.Replace(chartYAML, "1.0.0", "x.y", 1)}, failed: true, want: []string{
			"Chart.yaml:0:0 error helm-lint templates/: validation", "Chart.yaml:0:0 error helm-lint unable to load chart; validation",
			"Chart.yaml:3:1 error helm-lint version 'x.y' is not a valid SemVer", "Chart.yaml:3:1 warning helm-lint version 'x.y' is not a valid SemVerV2",
		}},
		{name: "values.yaml is no YAML", files: files{"values.yaml": "a: 1\nb: [\n"}, failed: true, want: []string{
			"values.yaml:2:0 error helm-lint templates/: cannot load values.yaml", "values.yaml:2:0 error helm-lint unable to load chart; cannot load", "values.yaml:2:0 error helm-lint unable to parse YAML",
		}},
		{name: "an icon is missing", files: files{"Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n"}, want: []string{"Chart.yaml:0:0 notice helm-lint icon is recommended"}},
	})
}

func TestRequestsThatAreWrong(t *testing.T) {
	dir := folder(t, nil)
	for text, want := range map[string]string{
		"":                               "reading the request",
		`{"carts": []}`:                  "unknown field",
		`{"kubeVersion": "x"}`:           "invalid kube version 'x'",
		`{"values": ["` + dir + `/no"]}`: "reading a values file",
		`{"set": ["a[-1]=x"]}`:           "failed parsing --set data",
	} {
		var out, errs bytes.Buffer
		if code := run([]string{"lint"}, strings.NewReader(text), &out, &errs); code != fail.Usage || !strings.Contains(out.String(), want) {
			t.Errorf("%s: code %d, %s", text, code, out.String())
		}
	}
	var out, errs bytes.Buffer
	if code := run(nil, nil, &out, &errs); code != fail.Usage || !strings.HasPrefix(errs.String(), "usage:") {
		t.Errorf("code %d, %s", code, errs.String())
	}
}

// What is made to cost time or to break is judged all the same.
func TestHostileCharts(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	actions := strings.Repeat("{{ if .Values.name }}", 20_000) + strings.Repeat("{{ end }}", 20_000)
	var labels strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&labels, "    a%d: 1\n", i)
	}
	for name, given := range map[string]files{
		"brackets in a template": {"templates/a.yaml": "a: " + deep},
		"brackets in values":     {"values.yaml": "a: " + deep},
		"brackets in Chart.yaml": {"Chart.yaml": "a: " + deep},
		"actions in actions":     {"templates/a.yaml": actions},
		"a long line":            {"templates/a.yaml": configMap + "data:\n  a: " + strings.Repeat("x", 4_000_000) + "\n  %"},
		"many faults":            {"templates/a.yaml": configMap + "  labels:\n" + labels.String()},
		"a helper without end":   {"templates/a.yaml": `{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`},
		"many unknown names":     {"templates/a.yaml": strings.Repeat("{{ .Values.x }}\n", 100_000)},
		"no text":                {"templates/a.yaml": "\xff\xfe\x00{{ .Values.x }}\n", "values.yaml": "\xff\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			dir := folder(t, given)
			r := ask(t, dir, charts.Request{Thorough: true})
			t.Logf("%d findings, failed %t, %s", len(r.Findings), r.Failed, time.Since(start))
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			if len(r.Findings) == 0 && name != "actions in actions" {
				t.Error("nothing was found")
			}
		})
	}
}
