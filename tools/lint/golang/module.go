// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/sync/errgroup"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// module is a Go module of the tree.
type module struct {
	Dir      string // from the root of the tree
	Path     string // of the module
	Go       string // its go line
	Files    []string
	Packages map[string]*pkg // by folder, from the root of the tree
	rules    []string        // go.mod, go.sum and go.work files that its packages depend on
}

// pkg is a folder with Go files.
type pkg struct {
	Files   []string
	Imports []string // folders of packages of the same module
}

func (m *module) name() string {
	if m.Dir == "." {
		return "the module " + m.Path
	}
	return "the module " + m.Path + " in " + m.Dir
}

// rel is a folder as seen from the module's.
func (m *module) rel(dir string) string {
	if m.Dir == "." {
		return dir
	}
	return strings.TrimPrefix(strings.TrimPrefix(dir, m.Dir), "/")
}

func (m *module) dirs() []string {
	dirs := make([]string, 0, len(m.Packages))
	for d := range m.Packages {
		dirs = append(dirs, d)
	}
	slices.Sort(dirs)
	return dirs
}

// findModules shares the files among the modules whose go.mod is among them.
// Folders that the go command does not look into are left out: testdata, and
// those that begin with a dot or an underscore.
func findModules(root string, files []string) ([]*module, error) {
	byDir := map[string]*module{}
	var all []*module
	var errs []error
	for _, f := range files {
		if path.Base(f) != "go.mod" || unseen(path.Dir(f)) {
			continue
		}
		m := &module{Dir: path.Dir(f), Packages: map[string]*pkg{}}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f)))
		if err == nil {
			var parsed *modfile.File
			if parsed, err = modfile.ParseLax(f, text, nil); err == nil && parsed.Module != nil {
				m.Path = parsed.Module.Mod.Path
			}
			if err == nil && parsed.Go != nil {
				m.Go = parsed.Go.Version
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("reading %s: %w", f, err))
			continue
		}
		byDir[m.Dir] = m
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, errors.Join(append(errs, errors.New("there are Go files, but no go.mod"))...)
	}
	for _, f := range files {
		m := owner(byDir, f)
		if m == nil || unseen(path.Dir(m.rel(f))) {
			continue
		}
		m.add(f)
	}
	return all, errors.Join(errs...)
}

func owner(byDir map[string]*module, file string) *module {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if m := byDir[dir]; m != nil {
			return m
		}
		if dir == "." {
			return nil
		}
	}
}

func (m *module) add(file string) {
	switch dir := path.Dir(file); path.Ext(file) {
	case ".mod", ".sum", ".work":
		m.rules = append(m.rules, file)
	case ".go":
		p := m.Packages[dir]
		if p == nil {
			p = &pkg{}
			m.Packages[dir] = p
		}
		p.Files = append(p.Files, file)
	default:
		if p := m.Packages[dir]; p != nil {
			p.Files = append(p.Files, file)
		}
	}
}

// unseen tells that the go command passes a folder over.
func unseen(dir string) bool {
	for part := range strings.SplitSeq(dir, "/") {
		if part == "testdata" || part == "vendor" || part != "." && (strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_")) {
			return true
		}
	}
	return false
}

// readImports learns which package needs which. Files for other systems count
// too: more may be looked at than has to be, never less. A file that does not
// parse imports nothing here; golangci-lint will say so.
func (m *module) readImports(root string) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range m.Packages {
		g.Go(func() error {
			seen := map[string]bool{}
			for _, f := range p.Files {
				if path.Ext(f) != ".go" {
					continue
				}
				parsed, _ := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(f)), nil, parser.ImportsOnly)
				if parsed == nil {
					continue
				}
				for _, i := range parsed.Imports {
					if dir, ok := m.folder(i.Path.Value); ok && m.Packages[dir] != nil && !seen[dir] {
						seen[dir] = true
						p.Imports = append(p.Imports, dir)
					}
				}
			}
			slices.Sort(p.Imports)
			return nil
		})
	}
	return g.Wait()
}

// folder is that of a package of this module, from its quoted import path.
func (m *module) folder(quoted string) (string, bool) {
	name, err := strconv.Unquote(quoted)
	if err != nil || m.Path == "" {
		return "", false
	}
	if name == m.Path {
		return m.Dir, true
	}
	rest, ok := strings.CutPrefix(name, m.Path+"/")
	return path.Join(m.Dir, rest), ok
}

// reach is a package with all that it imports in this module, tests included.
// Tests may import in a circle, so a plain walk it is.
func (m *module) reach(dir string) []string {
	seen := map[string]bool{dir: true}
	list := []string{dir}
	for i := 0; i < len(list); i++ {
		for _, next := range m.Packages[list[i]].Imports {
			if !seen[next] {
				seen[next] = true
				list = append(list, next)
			}
		}
	}
	slices.Sort(list)
	return list
}

// touched tells that a package, or one that it imports, changed; so did all
// when the module's requirements did.
func (m *module) touched(dir string, c *lint.Changes) bool {
	if c.Any(m.rules) {
		return true
	}
	changed := map[string]bool{}
	for f := range c.Files {
		changed[path.Dir(f)] = true
	}
	for _, f := range c.Deleted {
		changed[path.Dir(f)] = true
	}
	return slices.ContainsFunc(m.reach(dir), func(d string) bool { return changed[d] })
}
