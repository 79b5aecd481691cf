// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package gosource holds two checks of Go sources that Istio's lint makes
// beside golangci-lint: tests that are skipped without a reason that can be
// followed up (testlinter), and environment variables that are read past the
// registry of Istio's env package (envvarlinter).
package gosource

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// Skips returns the linter of tests that always skip: the issue that explains
// why has to be named. A skip under a condition explains itself.
func Skips() lint.Linter {
	return lint.Linter{Name: "tests", Files: lint.Named("*_test.go"), Checker: skips{}, Rules: "1"}
}

// EnvVars returns the linter of os.Getenv and os.LookupEnv in the folders dirs;
// tests may do so.
func EnvVars(dirs ...string) lint.Linter {
	chosen := lint.Named("*.go", "!*_test.go")
	return lint.Linter{Name: "env-vars", Checker: envVars{}, Rules: "1", Files: func(file string) bool {
		for _, d := range dirs {
			if strings.HasPrefix(file, d+"/") && chosen(file) {
				return true
			}
		}
		return false
	}}
}

type skips struct{}

var issue = regexp.MustCompile(`https://github\.com/[^/\s]+/[^/\s]+/issues/[0-9]+`)

// Check implements lint.Checker.
func (skips) Check(file string, text []byte) ([]lint.Finding, error) {
	if !bytes.Contains(text, []byte(".Skip")) {
		return nil, nil
	}
	fset, parsed, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	var found []lint.Finding
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		for _, statement := range fn.Body.List {
			name, call := method(statement)
			if call == nil || name != "Skip" && name != "Skipf" && name != "SkipNow" || named(call) {
				continue
			}
			at := fset.Position(call.Pos())
			found = append(found, lint.Finding{
				File: file, Line: at.Line, Column: at.Column, Rule: "skip-by-issue", Severity: lint.Error,
				Message: fn.Name.Name + " always skips: give the address of the GitHub issue that says why, as t.Skip(\"https://github.com/OWNER/REPOSITORY/issues/NUMBER\")",
			})
		}
	}
	return found, nil
}

// method is the name and the call of a statement such as t.Skip().
func method(s ast.Stmt) (string, *ast.CallExpr) {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return "", nil
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return "", nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", nil
	}
	if _, ok := sel.X.(*ast.Ident); !ok {
		return "", nil
	}
	return sel.Sel.Name, call
}

func named(call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		if l, ok := arg.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil && issue.MatchString(text) {
				return true
			}
		}
	}
	return false
}

type envVars struct{}

// Check implements lint.Checker.
func (envVars) Check(file string, text []byte) ([]lint.Finding, error) {
	if !bytes.Contains(text, []byte("Getenv")) && !bytes.Contains(text, []byte("LookupEnv")) {
		return nil, nil
	}
	fset, parsed, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	pkg := importName(parsed, "os")
	if pkg == "" {
		return nil, nil
	}
	var found []lint.Finding
	ast.Inspect(parsed, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Getenv" && sel.Sel.Name != "LookupEnv" {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == pkg {
			at := fset.Position(sel.Pos())
			found = append(found, lint.Finding{
				File: file, Line: at.Line, Column: at.Column, Rule: "no-os-env", Severity: lint.Error,
				Message: fmt.Sprintf("os.%s reads a variable that no list of variables shows: register it with istio.io/istio/pkg/env", sel.Sel.Name),
			})
		}
		return true
	})
	return found, nil
}

// importName is the name under which a file knows a package; empty if it does
// not import it.
func importName(f *ast.File, name string) string {
	for _, i := range f.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && p == name {
			if i.Name != nil {
				return i.Name.Name
			}
			return path.Base(p)
		}
	}
	return ""
}

func parse(file string, text []byte) (*token.FileSet, *ast.File, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, fmt.Errorf("reading Go: %w", err)
	}
	return fset, parsed, nil
}
