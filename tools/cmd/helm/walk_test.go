// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

// unknownNames are the names of values that nobody declares, each once.
func unknownNames(t *testing.T, given files) []string {
	t.Helper()
	r := ask(t, folder(t, given), charts.Request{Thorough: true})
	var all []string
	for _, f := range r.Findings {
		if f.Rule == charts.RuleValues {
			name, _, _ := strings.Cut(f.Message, ":")
			all = append(all, strings.TrimPrefix(name, ".Values."))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestUnknownValues(t *testing.T) {
	const values = "a:\n  b: 1\n  list: [1]\n  empty: {}\n# commented: 1\n## @param described.name of a thing\nmap: {k: {x: 1}}\n"
	for text, want := range map[string]string{
		`{{ .Values.a.b }}`:                                     "",
		`{{ .Values.a.c }}`:                                     "a.c",
		`{{ .Values.c.d.e }}`:                                   "c",
		`{{ $.Values.c }}`:                                      "c",
		`{{ (.Values.c) }}`:                                     "c",
		`{{ .Values.a.empty.anything }}`:                        "", // users fill it
		`{{ .Values.commented }}`:                               "",
		`{{ .Values.described.name }}`:                          "",
		`{{ with .Values.a }}{{ .x }}{{ end }}`:                 "a.x",
		`{{ with .Values.a }}{{ $.Values.x }}{{ .b }}{{ end }}`: "x",
		`{{ range .Values.map }}{{ .y }}{{ end }}`:              "", // users choose elements
		`{{ range $k, $v := .Values.map }}{{ $v.y }}{{ end }}`:  "",
		`{{ $a := .Values.a }}{{ $a.x }}`:                       "a.x",
		`{{ $a := .Values.a }}{{ if true }}{{ $a = .Values.map }}{{ end }}{{ $a.x }}`: "",
		`{{ .Values.c | default 1 }}`:                                               "",
		`{{ default 1 .Values.c }}`:                                                 "",
		`{{ default .Values.c .Values.d }}`:                                         "c",
		`{{ coalesce .Values.c .Values.d 1 }}`:                                      "",
		`{{ required "c" .Values.c }}`:                                              "",
		`{{ if hasKey .Values "c" }}{{ .Values.c }}{{ end }}`:                       "",
		`{{ dig "c" "d" 1 .Values.a }}{{ .Values.a.c.d }}`:                          "",
		`{{ get .Values "c" }}{{ index .Values "d" "e" }}`:                          "c d",
		`{{ index .Values "a" "b" }}{{ index .Values.a.list 0 }}`:                   "",
		`{{ define "h" }}{{ .x }}{{ end }}{{ include "h" .Values.a }}`:              "a.x",
		`{{ define "h" }}{{ .Values.x }}{{ end }}{{ template "h" . }}`:              "x",
		`{{ define "h" }}{{ .v.x }}{{ end }}{{ include "h" (dict "v" .Values.a) }}`: "a.x",
		`{{ define "h" }}{{ .Values.x }}{{ end }}`:                                  "", // nobody asks for it
		`{{ if false }}{{ .Values.c }}{{ end }}`:                                    "c",
		`{{ .Chart.Name }}{{ .Release.x }}`:                                         "",
		`{{ toYaml .Values.c | nindent 2 }}`:                                        "c",
	} {
		got := unknownNames(t, files{"values.yaml": values, "templates/NOTES.txt": text})
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestSchemaDeclares(t *testing.T) {
	schema := `{"$defs": {"n": {"properties": {"deep": {"type": "string"}}}}, "properties": {
		"a": {"$ref": "#/$defs/n"}, "open": {"additionalProperties": {"properties": {"in": {}}}}},
		"patternProperties": {"^x-": {}}, "allOf": [{"properties": {"all": {}}}]}`
	got := unknownNames(t, files{"values.yaml": "{}", "values.schema.json": schema, "templates/NOTES.txt": `
{{ .Values.a.deep }} {{ .Values.a.other }} {{ .Values.open.any.in }} {{ .Values.open.any.out }} {{ index .Values "x-y" }} {{ .Values.all }} {{ .Values.none }}`})
	if want := []string{"a.other", "none"}; !slices.Equal(got, want) { // below additionalProperties anything may be
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"name", "replicaCount", "image"}
	for key, want := range map[string]string{"nane": "name", "Name": "name", "replicacount": "replicaCount", "replicaCounts": "replicaCount", "x": "", "imge": "image", "": ""} {
		if got := nearest(key, names); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

func TestCovers(t *testing.T) {
	for pattern, want := range map[string]bool{
		"a.b": true, "a": true, ".Values.a": true, "Values.a.b": true, "*.b": true, "a.*": true, "a.b.c": true, "a.b.c.d": true, "b": false, "": false,
	} {
		if got := covers(pattern, "a.b.c"); got != want {
			t.Errorf("%q: %t", pattern, got)
		}
	}
}

// What a template puts out does not change when it is marked, and each line
// that stands in the template as it is comes from there.
func FuzzMarked(f *testing.F) {
	for _, text := range []string{
		"a: 1\n", "a:\n{{- range . }}\n  b: {{ . }}\n{{- end }}\n", "{{/* c */}}x\n{{ if true -}}\n y{{ else }}z{{ end }}", "é{{ \"a\\nb\" }}\nc", "{{ define \"t\" }}a\n{{ end }}{{ template \"t\" }}b", "a\r\nb",
	} {
		f.Add(text)
	}
	number := regexp.MustCompile(`^line-\d+$`)
	f.Fuzz(func(t *testing.T, text string) {
		plain, err := template.New("a").Parse(text)
		if err != nil {
			return
		}
		with, ok := marked("a", text)
		if !ok {
			return
		}
		marks, err := template.New("a").Parse(with)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, with, err)
		}
		var want, got strings.Builder
		data := map[string]any{"x": []string{"1", "2"}}
		if err := plain.Execute(&want, data); err != nil {
			return
		}
		if err := marks.Execute(&got, data); err != nil {
			return // its place differs, and so may what a comparison sees
		}
		out, o := readMarks(text, got.String())
		if strings.Count(out, "\n") != strings.Count(want.String(), "\n") {
			return // origins leaves such a template alone
		}
		if out != want.String() {
			t.Fatalf("%q became %q, want %q", text, out, want.String())
		}
		lines := strings.Split(text, "\n")
		for i, line := range strings.Split(out, "\n") {
			at, column := o.at(i+1, 0, line)
			if at > len(lines) || at > 0 && column > len(lines[at-1])+1 {
				t.Fatalf("line %d is said to be from %d:%d of %q", i+1, at, column, text)
			}
			if number.MatchString(line) && at > 0 && !strings.Contains(lines[at-1], line) {
				t.Fatalf("line %q is said to be from %q", line, lines[at-1])
			}
		}
	})
}

func FuzzFaults(f *testing.F) {
	for _, text := range []string{"a: { { b } }", "kind: [1]\nmetadata: x\n", "a: &a\n  b: *a\n", "---\n---\n- - -", "kind: List\nitems:\n- kind: 5\n", "a: |\n---\nb: ["} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, x := range faults(text) {
			if x.message == "" || x.line > strings.Count(text, "\n")+2 {
				t.Errorf("%+v", x)
			}
		}
	})
}
