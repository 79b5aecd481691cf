// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfiles_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/dockerfiles"
)

func modules(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skipf("asking Go for its module cache: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func istio(t testing.TB) string {
	t.Helper()
	trees, _ := filepath.Glob(filepath.Join(modules(t), "istio.io", "istio@*"))
	if len(trees) == 0 {
		t.Skip("the module istio.io/istio is not in the module cache")
	}
	return trees[len(trees)-1]
}

// BenchmarkIstio checks all Dockerfiles of Istio.
func BenchmarkIstio(b *testing.B) {
	texts := map[string][]byte{}
	eachDockerfile(b, istio(b), func(name string, text []byte) { texts[name] = text })
	checker := dockerfiles.New(nil)
	for b.Loop() {
		for name, text := range texts {
			if _, err := checker.Check(name, text); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(texts)), "files")
}

func eachDockerfile(t testing.TB, root string, do func(name string, text []byte)) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasPrefix(d.Name(), "Dockerfile") && !strings.HasSuffix(d.Name(), ".Dockerfile") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if ext := filepath.Ext(path); ext == ".dockerignore" || ext == ".md" {
			return nil
		}
		n++
		name, _ := filepath.Rel(root, path)
		do(filepath.ToSlash(name), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Istio's own lint is green with hadolint, so there is nothing to find.
func TestIstio(t *testing.T) {
	root := istio(t)
	text, err := os.ReadFile(filepath.Join(root, "common", "config", ".hadolint.yml"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := dockerfiles.ReadConfig(".hadolint.yml", text)
	if err != nil {
		t.Fatal(err)
	}
	checker := dockerfiles.New(config)
	n := eachDockerfile(t, root, func(name string, text []byte) {
		found, err := checker.Check(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, f := range found {
			if f.Severity == lint.Error {
				t.Error(f)
			} else {
				t.Log(f)
			}
		}
	})
	if n < 20 {
		t.Errorf("%d Dockerfiles are too few", n)
	}
}

// All Dockerfiles of all modules, for a look at what is found.
func TestModules(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		t.Skip("set SLIPWAY_TEST_REAL=1 to check the Dockerfiles of the whole module cache")
	}
	checker, codes := dockerfiles.New(nil), map[string]int{}
	n := eachDockerfile(t, modules(t), func(name string, text []byte) {
		found, err := checker.Check(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, f := range found {
			codes[f.Rule]++
			t.Log(f)
		}
	})
	t.Logf("%d files: %v", n, codes)
}
