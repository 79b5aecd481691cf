// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package licenses is lint-licenses: each module that a tree is built from has
// a licence that is known and not restricted. Texts are recognised by
// google/licensecheck; categories and exceptions are those of the repository's
// license-lint.yml.
package licenses

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/licensecheck"
	"golang.org/x/sync/errgroup"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Options are those of one run.
type Options struct {
	Runner     run.Runner
	Go         string // the go command
	Environ    []string
	Config     Config
	ConfigFile string // from the root of the tree, for findings
}

// Module is a module with its licences.
type Module struct {
	Path, Version string
	Dir           string
	Files         []File // in the order of their names
}

// File is a licence file of a module.
type File struct {
	Name     string // from the module's folder
	Licences []string
	Covered  float64 // per cent of the text that was recognised
	text     []byte
}

// known is how much of a text has to be recognised; pkg.go.dev asks for the
// same.
const known = 75

// Linter returns the linter. It looks at a tree only if that has a go.mod.
func Linter(o Options) lint.Linter {
	return lint.Linter{
		Name:  "licenses",
		Files: func(file string) bool { return file == "go.mod" || file == "go.sum" || file == o.ConfigFile },
		Rules: fmt.Sprintf("1 %v", o.Config),
		Whole: func(ctx context.Context, t lint.Task) (lint.Outcome, error) {
			if !slices.Contains(t.Files, "go.mod") {
				return lint.Outcome{Notes: []string{"there is no go.mod"}}, nil
			}
			return t.Memory.Remember("all", t.Files, func() (lint.Outcome, error) {
				modules, err := Modules(ctx, t.Root, o)
				if err != nil {
					return lint.Outcome{}, err
				}
				return lint.Outcome{Findings: o.judge(t.Root, modules), Files: len(modules)}, nil
			})
		},
	}
}

// Modules lists the modules whose packages the tree is built and tested with,
// and reads their licences. Those are the modules of go list -m all whose
// content go.sum has a checksum of; one that is not on this machine is
// downloaded.
func Modules(ctx context.Context, root string, o Options) ([]Module, error) {
	modules, err := list(ctx, root, o)
	if err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range modules {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return modules[i].read(o.Config.Files[modules[i].Path])
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return modules, nil
}

// read finds the licence files of a module and what they say.
func (m *Module) read(named []string) error {
	names := named
	if names == nil {
		err := filepath.WalkDir(m.Dir, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
				return filepath.SkipDir
			}
			if d.Type().IsRegular() && licenceName(d.Name()) {
				rel, err := filepath.Rel(m.Dir, file)
				names = append(names, filepath.ToSlash(rel))
				return err
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("looking for licenses of %s: %w", m.Path, err)
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(m.Dir, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("reading the license of %s: %w", m.Path, err)
		}
		m.Files = append(m.Files, scan(name, text))
	}
	m.dropPointers()
	return nil
}

// licenceName tells a licence file by its name; source files that deal with
// licences are none.
func licenceName(name string) bool {
	base := strings.ToLower(name)
	switch path.Ext(base) {
	case ".go", ".py", ".js", ".ts", ".sh", ".json", ".yaml", ".yml", ".html", ".tmpl", ".c", ".h", ".proto", ".xml", ".csv", ".svg", ".png", ".lre",
		".docs": // of documentation, which is not linked
		return false
	}
	for _, stem := range []string{"license", "licence", "copying", "unlicense", "mit-license"} {
		if rest, ok := strings.CutPrefix(base, stem); ok && (rest == "" || strings.ContainsAny(rest[:1], ".-_s")) {
			return true
		}
	}
	return base == "aplv2" || base == "gplv2" || base == "gplv3" || base == "lgplv3"
}

func scan(name string, text []byte) File {
	cover := licensecheck.Scan(text)
	f := File{Name: name, Covered: cover.Percent, text: text}
	for _, m := range cover.Match {
		if !m.IsURL && !slices.Contains(f.Licences, m.ID) {
			f.Licences = append(f.Licences, m.ID)
		}
	}
	if f.Covered < known {
		f.Licences = nil
	}
	return f
}

// dropPointers leaves out a short file that only says where the licences are,
// when they are there.
func (m *Module) dropPointers() {
	const short = 2000
	m.Files = slices.DeleteFunc(m.Files, func(f File) bool {
		if f.Licences != nil || len(f.text) > short {
			return false
		}
		return slices.ContainsFunc(m.Files, func(other File) bool {
			return other.Licences != nil && path.Dir(other.Name) == path.Dir(f.Name) && strings.Contains(string(f.text), path.Base(other.Name))
		})
	})
}

// judge returns what is wrong with the modules, one line each, and several
// licences as a warning.
func (o Options) judge(root string, modules []Module) []lint.Finding {
	lines := requireLines(root)
	var found []lint.Finding
	for _, m := range modules {
		if slices.Contains(o.Config.Allowed, m.Path) {
			continue
		}
		add := func(severity lint.Severity, rule, format string, args ...any) {
			text := fmt.Sprintf(format, args...)
			f := lint.Finding{File: "go.mod", Line: lines[m.Path], Rule: rule, Message: m.Path + "@" + m.Version + ": " + text, Severity: severity}
			f.Text = strings.ToUpper(string(severity)) + ": " + f.Message
			found = append(found, f)
		}
		if len(m.Files) == 0 {
			add(lint.Error, "unlicensed", "it has no license file: look it up, and list the module in allowlisted_modules of %s", o.ConfigFile)
		}
		for _, f := range m.Files {
			if f.Licences == nil {
				add(lint.Error, "unrecognized", "the text of %s is no license that is known (%.0f %%): look at it, and list the module in allowlisted_modules of %s", f.Name, f.Covered, o.ConfigFile)
			}
			for _, id := range f.Licences {
				switch o.Config.Category(id) {
				case Restricted:
					add(lint.Error, "restricted", "%s in %s is restricted", id, f.Name)
				case Unrecognised:
					add(lint.Error, "unrecognized", "%s in %s is in none of the categories of %s", id, f.Name, o.ConfigFile)
				case Unrestricted, Reciprocal:
				}
			}
		}
		if several := m.atTop(); len(several) > 1 && o.Config.Files[m.Path] == nil {
			add(lint.Warning, "several", "it has several licenses: %s; name those that hold in license_files of %s", strings.Join(several, ", "), o.ConfigFile)
		}
	}
	return found
}

// atTop are the licence files in the module's own folder that say different
// things.
func (m Module) atTop() []string {
	var names []string
	seen := map[string]bool{}
	for _, f := range m.Files {
		key := strings.Join(f.Licences, " ")
		if path.Dir(f.Name) == "." && key != "" && !seen[key] {
			seen[key] = true
			names = append(names, f.Name+" ("+strings.Join(f.Licences, ", ")+")")
		}
	}
	return names
}

// requireLines are the lines of go.mod on which modules are required.
func requireLines(root string) map[string]int {
	lines := map[string]int{}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return lines
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(words) > 1 && lines[words[0]] == 0 {
			lines[words[0]] = n
		}
	}
	return lines
}
