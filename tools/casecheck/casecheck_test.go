// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package casecheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTableNamesTests reads the rows of CASES.md: case, requirement, and
// "package: Test, Test; package: Test".
func TestTableNamesTests(t *testing.T) {
	text, err := os.ReadFile("../CASES.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "C") {
			continue
		}
		id := strings.TrimSpace(cells[1])
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		for _, part := range strings.Split(cells[3], ";") {
			folder, names, ok := strings.Cut(strings.TrimSpace(part), ": ")
			if !ok {
				t.Errorf("%s: %q names no test of a package", id, part)
			}
			for _, name := range strings.Split(names, ", ") {
				if !tests(t, folder)[name] {
					t.Errorf("%s: package %s has no %s", id, folder, name)
				}
			}
		}
	}
	for _, area := range [][2]int{{33, 65}, {78, 126}} { // images, pushes and registries; linters
		for n := area[0]; n <= area[1]; n++ {
			if id := fmt.Sprintf("C%03d", n); !seen[id] {
				t.Errorf("%s is missing", id)
			}
		}
	}
}

// tests are the names of all test functions of a package.
func tests(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("package %s has no tests (%v)", folder, err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
