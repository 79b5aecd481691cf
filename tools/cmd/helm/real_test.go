// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

// realCharts are the charts of Istio and of Helm's own tests in the module
// cache: the latter are broken in many ways.
func realCharts(t *testing.T) []string {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skipf("asking Go for its module cache: %v", err)
	}
	root := strings.TrimSpace(string(cache))
	trees, _ := filepath.Glob(filepath.Join(root, "istio.io", "istio@*"))
	if len(trees) == 0 {
		t.Skip("the module istio.io/istio is not in the module cache")
	}
	var dirs []string
	for _, tree := range []string{trees[len(trees)-1], filepath.Join(root, "helm.sh", "helm", "v4@"+charts.HelmVersion)} {
		_ = filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "Chart.yaml" {
				dirs = append(dirs, filepath.Dir(name))
			}
			return nil
		})
	}
	return dirs
}

// The verdict and every message are those of the command helm lint, of the same
// version, on charts that are in order and on charts that are not.
func TestSameAsHelm(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_REAL") == "" {
		t.Skip("set SLIPWAY_TEST_REAL=1 to compile Helm's command and compare with it")
	}
	dirs := realCharts(t)
	bin := t.TempDir()
	theirs := helmCommand(t, bin)
	ours := filepath.Join(bin, "ours")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", ours, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, strict := range []bool{false, true} {
		results := process(t, ours, charts.Request{Charts: dirs, Strict: strict})
		failed := 0
		for i, dir := range dirs {
			args := []string{"lint", dir}
			if strict {
				args = append(args, "--strict")
			}
			out, err := exec.Command(theirs, args...).Output()
			if r := results[i]; r.Failed != (err != nil) || !slices.Equal(printed(r), sorted(string(out))) {
				t.Errorf("%s, strict %t: failed %t, Helm %v\n%s\nHelm:\n%s", dir, strict, r.Failed, err, strings.Join(printed(r), "\n"), out)
			}
			if err != nil {
				failed++
			}
		}
		t.Logf("strict %t: %d charts, %d failed", strict, len(dirs), failed)
	}
}

// helmCommand is the helm of PATH if it is of the same version, else one that
// is compiled into the folder.
func helmCommand(t *testing.T, bin string) string {
	t.Helper()
	if path, err := exec.LookPath("helm"); err == nil {
		about, err := exec.Command("go", "version", "-m", path).Output()
		if err == nil && strings.Contains(string(about), "helm.sh/helm/v4\t"+charts.HelmVersion) {
			return path
		}
	}
	install := exec.Command("go", "install", "-trimpath", "helm.sh/helm/v4/cmd/helm@"+charts.HelmVersion)
	install.Env, install.Dir = append(os.Environ(), "GOBIN="+bin), bin
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("compiling Helm's command: %v\n%s", err, out)
	}
	return filepath.Join(bin, "helm")
}

// process asks the built program.
func process(t *testing.T, program string, r charts.Request) []charts.Result {
	t.Helper()
	question, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "lint")
	cmd.Stdin = bytes.NewReader(question)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var response charts.Response
	if err := json.Unmarshal(out, &response); err != nil || response.Error != "" {
		t.Fatal(err, response.Error)
	}
	return response.Charts
}

// printed is what helm lint prints about a result, line by line, sorted: some
// of its messages, and names in one of them, come in random order.
func printed(r charts.Result) []string {
	var b strings.Builder
	if len(r.Messages) == 0 {
		for _, e := range r.Errors {
			fmt.Fprintf(&b, "Error %s\n", e)
		}
	}
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "[%s] %s: %s\n", m.Severity, m.Path, m.Text)
	}
	return sorted(b.String())
}

func sorted(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "==> Linting") && !strings.Contains(line, "chart(s) linted") {
			if head, names, ok := strings.Cut(line, "is missing these dependencies: "); ok {
				all := strings.Split(names, ",")
				slices.Sort(all)
				line = head + strings.Join(all, ",")
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}
