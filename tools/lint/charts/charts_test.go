// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// fake stands for the helm program: each chart has one finding, and it dies of
// those whose name says so.
type fake struct {
	started int
	asked   []Request
	answer  string // instead
}

func (f *fake) Run(_ context.Context, c run.Command) error {
	var r Request
	if err := json.NewDecoder(c.Stdin).Decode(&r); err != nil {
		return err
	}
	f.asked = append(f.asked, r)
	if f.answer != "" {
		_, err := c.Stdout.Write([]byte(f.answer))
		return err
	}
	var out Response
	for _, dir := range r.Charts {
		if filepath.Base(dir) == "deadly" {
			return errors.New("exit status 2")
		}
		out.Charts = append(out.Charts, Result{Dir: dir, Findings: []Found{
			{File: filepath.Join(dir, "Chart.yaml"), Line: 1, Rule: RuleLint, Severity: "warning", Message: "m"},
			{File: filepath.Join(filepath.Dir(dir), "shared.yaml"), Rule: RuleLint, Severity: "error", Message: "shared"},
		}})
	}
	return json.NewEncoder(c.Stdout).Encode(out)
}

func (f *fake) options() Options {
	return Options{Runner: f, Program: func(context.Context) (string, error) { f.started++; return "helm", nil }}
}

// charts are those that the last request was about.
func (f *fake) charts() string {
	if len(f.asked) == 0 {
		return ""
	}
	var names []string
	for _, dir := range f.asked[len(f.asked)-1].Charts {
		names = append(names, filepath.Base(dir))
	}
	return strings.Join(names, " ")
}

func tree(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		write(t, root, f, f)
	}
	return root
}

func write(t *testing.T, root, file, text string) {
	t.Helper()
	name := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lintTree(t *testing.T, root string, o Options, lo lint.Options, files ...string) lint.Result {
	t.Helper()
	lo.Root = root
	report, err := lint.Run(t.Context(), files, []lint.Linter{Linter("helm", Chosen(), o)}, lo)
	if err != nil {
		t.Fatal(err)
	}
	return report.Results[0]
}

func TestUnchangedChartsAreNotAskedAbout(t *testing.T) {
	files := []string{"a/Chart.yaml", "a/templates/x.yaml", "b/Chart.yaml"}
	root := tree(t, files...)
	lo := lint.Options{Cache: filepath.Join(t.TempDir(), "cache.json")}
	for _, step := range []struct {
		name   string
		change func()
		o      func(*Options)
		want   string // charts that are asked about
	}{
		{name: "first", want: "a b"},
		{name: "nothing changed"},
		{name: "a template changed", change: func() { write(t, root, "a/templates/x.yaml", "other") }, want: "a"},
		{name: "a file came", change: func() { write(t, root, "b/values.yaml", "") }, want: "b"},
		{name: "an empty folder came", change: func() { _ = os.Mkdir(filepath.Join(root, "b/templates"), 0o755) }, want: "b"},
		{name: "nothing changed again"},
		{name: "strict", o: func(o *Options) { o.Strict = true }, want: "a b"},
	} {
		f := &fake{}
		o := f.options()
		if step.change != nil {
			step.change()
		}
		if step.o != nil {
			step.o(&o)
		}
		r := lintTree(t, root, o, lo, files...)
		if f.charts() != step.want || f.started != min(1, len(step.want)) || len(f.asked) > 1 {
			t.Errorf("%s: asked %d times about %q, want %q", step.name, len(f.asked), f.charts(), step.want)
		}
		if r.Files != 2 || r.Cached != 2-len(strings.Fields(step.want)) || len(r.Failures) > 0 {
			t.Errorf("%s: %+v", step.name, r)
		}
		if len(r.Findings) != 3 { // that which both have counts once
			t.Errorf("%s: findings %v", step.name, r.Findings)
		}
	}
}

func TestOneDeadlyChartCostsNoOther(t *testing.T) {
	files := []string{"a/Chart.yaml", "deadly/Chart.yaml", "z/Chart.yaml"}
	f := &fake{}
	r := lintTree(t, tree(t, files...), f.options(), lint.Options{}, files...)
	if len(r.Failures) != 1 || r.Failures[0].File != "deadly/Chart.yaml" || !strings.Contains(r.Failures[0].Err, "exit status 2") {
		t.Errorf("failures %+v", r.Failures)
	}
	if len(r.Findings) != 3 {
		t.Errorf("findings %v", r.Findings)
	}
}

func TestOnlyTouchedChartsWithSince(t *testing.T) {
	files := []string{"a/Chart.yaml", "a/x", "b/Chart.yaml", "c/Chart.yaml"}
	f := &fake{}
	since := &lint.Changes{Files: map[string]bool{"a/x": true, "y": true}, Deleted: []string{"c/templates/old.yaml"}}
	lintTree(t, tree(t, files...), f.options(), lint.Options{Since: since}, files...)
	if f.charts() != "a c" {
		t.Errorf("asked about %q", f.charts())
	}
}

func TestNoChartsNeedNoProgram(t *testing.T) {
	f := &fake{}
	if r := lintTree(t, t.TempDir(), f.options(), lint.Options{}, "README.md"); f.started != 0 || len(r.Failures) > 0 {
		t.Errorf("started %d times, %+v", f.started, r)
	}
}

func TestProgramThatFails(t *testing.T) {
	root := tree(t, "Chart.yaml")
	for answer, want := range map[string]string{
		`{"error": "no such version", "code": 2}`: "no such version",
		`no JSON`:        "the helm program gave no answer",
		`{"charts": []}`: "asked about 1 charts and answered about 0",
	} {
		f := &fake{answer: answer}
		if r := lintTree(t, root, f.options(), lint.Options{}, "Chart.yaml"); len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Err, want) {
			t.Errorf("%s: %+v", answer, r.Failures)
		}
	}
	o := Options{Runner: &fake{}, Program: func(context.Context) (string, error) {
		return "", fail.With(fail.Unavailable, errors.New("no compiler"))
	}}
	if r := lintTree(t, root, o, lint.Options{}, "Chart.yaml"); len(r.Failures) != 1 || r.Failures[0].Err != "no compiler" {
		t.Errorf("%+v", r.Failures)
	}
}

func TestRequestHoldsTheOptions(t *testing.T) {
	root := tree(t, "c/Chart.yaml", "v.yaml")
	f := &fake{}
	o := f.options()
	o.Strict, o.KubeVersion, o.Namespace, o.Values, o.Set, o.Thorough, o.OptionalValues = true, "1.30", "n", []string{"v.yaml"}, []string{"a=b"}, true, []string{"x"}
	lintTree(t, root, o, lint.Options{}, "c/Chart.yaml")
	got, err := json.Marshal(f.asked)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"charts":["ROOT/c"],"strict":true,"kubeVersion":"1.30","namespace":"n","values":["ROOT/v.yaml"],"set":["a=b"],"thorough":true,"optionalValues":["x"]}]`
	if strings.ReplaceAll(string(got), root, "ROOT") != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestFindAndChosen(t *testing.T) {
	files := []string{"b/Chart.yaml", "a/charts/c/Chart.yaml", "a/Chart.yaml", "Chart.yaml", "a/myChart.yaml", "a/Chart.yaml"}
	if got, want := Find(files), []string{".", "a", "a/charts/c", "b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for file, want := range map[string]bool{"manifests/a/Chart.yaml": true, "manifests/a/values.yaml": false, "x/manifests/Chart.yaml": false, "manifestsx/Chart.yaml": false} {
		if got := Chosen("manifests")(file); got != want {
			t.Errorf("%s: %t", file, got)
		}
		if got := Chosen()(file); got != (path.Base(file) == "Chart.yaml") {
			t.Errorf("%s without folders: %t", file, got)
		}
	}
}

func TestInputsFollowLinks(t *testing.T) {
	root := tree(t, "c/Chart.yaml", "shared/files/a.yaml")
	for name, to := range map[string]string{"files": "../shared/files", "round": ".", "nowhere": "x", "one.yaml": "../shared/files/a.yaml"} {
		if err := os.Symlink(to, filepath.Join(root, "c", name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Inputs(root, "c")
	want := []string{"c/", "c/Chart.yaml", "c/files/", "c/files/a.yaml", "c/nowhere", "c/one.yaml"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
	if _, err := Inputs(root, "none"); err == nil {
		t.Error("a chart that is not there has inputs")
	}
}

// The version is the one that the program is linked with.
func TestHelmVersion(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "helm.sh/helm/v4 "+HelmVersion+"\n") {
		t.Errorf("go.mod has another Helm than %s", HelmVersion)
	}
}
