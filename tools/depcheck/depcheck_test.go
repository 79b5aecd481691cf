// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package depcheck holds the arrows between our packages: a table of what each
// may import, and a list of what nothing may link.
package depcheck

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/istio-ecosystem/slipway/"

// base packages may be imported by all; they know nothing of builds.
var base = []string{"tools/fail", "tools/ui", "tools/run", "tools/repo", "tools/version"}

// allowed lists what each package may import beyond the base packages that
// stand before it. A package that is not listed is an error: decide first
// where it belongs.
var allowed = map[string][]string{
	"tools/fail":              {},
	"tools/ui":                {"tools/fail"},
	"tools/run":               {"tools/fail"},
	"tools/repo":              {"tools/fail", "tools/run"},
	"tools/version":           {"tools/fail", "tools/repo", "tools/run"},
	"tools/graph":             {"tools/fail", "tools/ui"},
	"tools/goal":              {"tools/fail", "tools/ui", "tools/graph", "tools/goal/makeflags"},
	"tools/goal/makeflags":    {"tools/fail"},
	"tools/settings":          append([]string{"tools/settings/makevars"}, base...),
	"tools/settings/makevars": base,
	"tools/catalog":           base,
	"tools/compile":           base,
	"tools/prebuilt":          base,
	"tools/dockerfile":        base,
	"tools/rootfs":            base,
	"tools/image":             append([]string{"tools/dockerfile"}, base...),
	"tools/attest":            append([]string{"tools/image"}, base...),
	"tools/builder":           append([]string{"tools/image"}, base...),
	"tools/buildkit":          append([]string{"tools/builder", "tools/dockerfile", "tools/image", "tools/toolbin"}, base...),
	"tools/publish":           base,
	"tools/toolbin":           base,
	"tools/bench":             base,
	"tools/lint":              base,
	"tools/lint/markdown":     {"tools/fail", "tools/lint"},
	"tools/lint/python":       {"tools/fail", "tools/lint"},
	"tools/lint/yaml":         {"tools/fail", "tools/lint"},
	"tools/lint/links":        {"tools/fail", "tools/lint"},
	"tools/lint/dockerfiles":  {"tools/fail", "tools/lint", "tools/lint/shell", "tools/dockerfile"},
	"tools/lint/shell":        {"tools/fail", "tools/lint", "tools/run"},
	"tools/lint/charts":       {"tools/fail", "tools/lint", "tools/run"},
	"tools/lint/golang":       {"tools/fail", "tools/lint", "tools/run"},
	"tools/lint/gosource":     {"tools/fail", "tools/lint"},
	"tools/lint/banner":       {"tools/fail", "tools/lint"},
	"tools/lint/licenses":     {"tools/fail", "tools/lint", "tools/run"},
	"tools/bench/lintset":     append([]string{"tools/bench", "tools/lint", "tools/lint/yaml"}, base...),
	"tools/bench/imageset":    append([]string{"tools/bench"}, base...),
	"common/config":           {},
}

// top packages wire the others with plain values.
var top = []string{"tools/program", "tools/cmd/buildkit", "tools/cmd/buildx", "tools/cmd/helm", "magefiles"}

// readSources reads what go list reads, so that the test's own cached result
// ends when a source changes.
func readSources(t *testing.T) {
	t.Helper()
	for _, root := range []string{"..", "../../common", "../../magefiles"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				_, err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestArrowsPointDown(t *testing.T) {
	readSources(t)
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"tools/...", module+"common/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(fields[0], module)
		if slices.Contains(top, pkg) || strings.HasPrefix(pkg, "tools/program/") || !hasCode(fields) {
			continue
		}
		may, known := allowed[owner(pkg)]
		if !known {
			t.Errorf("%s is not in the table of this test", pkg)
			continue
		}
		for _, imp := range fields[1:] {
			dep, ours := strings.CutPrefix(imp, module)
			if ours && !slices.Contains(may, dep) && owner(dep) != owner(pkg) && !slices.Contains(may, owner(dep)) {
				t.Errorf("%s imports %s", pkg, dep)
			}
		}
	}
}

// hasCode is false for folders that only hold tests.
func hasCode(fields []string) bool { return len(fields) > 1 }

// owner is the package itself or the one above, for a sub-package of a domain
// package that has no row of its own.
func owner(pkg string) string {
	for p := pkg; strings.Count(p, "/") >= 1; p = p[:strings.LastIndex(p, "/")] {
		if _, ok := allowed[p]; ok {
			return p
		}
	}
	return pkg
}

// What costs minutes of build, or milliseconds of every start, or brings
// conditions of licence that we do not want in our binary.
var heavy = []string{
	"github.com/docker/buildx", "k8s.io/client-go", "github.com/golangci/golangci-lint",
	"github.com/docker/docker/", "github.com/moby/moby/",
}

func TestNothingHeavyIsLinked(t *testing.T) {
	readSources(t)
	out, err := exec.Command("go", "list", "-deps", module+"tools/program").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	for _, dep := range deps {
		for _, h := range heavy {
			if strings.HasPrefix(dep, h) {
				t.Errorf("the program links %s: see `go mod why %s`", dep, dep)
			}
		}
		if strings.HasPrefix(dep, "github.com/magefile/") {
			t.Errorf("the program links %s: Mage is the front only", dep)
		}
	}
	if len(deps) > 400 {
		t.Errorf("the program links %d packages, more than the 400 that keep its first build short", len(deps))
	}
}
