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

// tree is all Go modules of a tree. A package of one may import one of another,
// by a replace line or by go.work, so they are looked at together.
type tree struct {
	modules  []*module
	packages map[string]*pkg     // of all modules, by folder
	paths    map[string][]string // folders of modules, by the path they are imported by
	above    []string            // go.work and configuration of golangci-lint: they count below their folder
	strays   int                 // Go files of no module
}

// module is a Go module of the tree.
type module struct {
	Dir   string // from the root of the tree
	Path  string // of the module
	Go    string // its go line
	err   error  // why its go.mod could not be read
	asked []string
	rules []string // files that all its packages depend on: go.mod, go.sum, go.work, configuration
}

// pkg is a folder with Go files.
type pkg struct {
	Files   []string
	Imports []string // folders that it imports; one may be gone
	module  *module
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

// readTree shares the files among the modules whose go.mod is among them.
func readTree(root string, files []string) (*tree, error) {
	t := &tree{packages: map[string]*pkg{}, paths: map[string][]string{}}
	byDir := map[string]*module{}
	for _, f := range files {
		if path.Base(f) == "go.mod" && !unseen(path.Dir(f)) {
			m := t.readModule(root, f)
			byDir[m.Dir] = m
			t.modules = append(t.modules, m)
		}
	}
	if len(t.modules) == 0 {
		return nil, errors.New("there are Go files, but no go.mod")
	}
	for _, f := range files {
		m := owner(byDir, f)
		switch base := path.Base(f); {
		case base == "go.work" || strings.HasPrefix(base, ".golangci."):
			t.above = append(t.above, f)
		case m == nil && path.Ext(f) == ".go" && !unseen(path.Dir(f)):
			t.strays++
		case m != nil:
			t.add(m, f)
		}
	}
	for dir, p := range t.packages {
		if !slices.ContainsFunc(p.Files, func(f string) bool { return path.Ext(f) == ".go" }) {
			delete(t.packages, dir) // C alone is no package
			continue
		}
		if !unseen(p.module.rel(dir)) {
			p.module.asked = append(p.module.asked, dir)
		}
	}
	for _, m := range t.modules {
		slices.Sort(m.asked)
		for _, f := range t.above {
			if within(m.Dir, path.Dir(f)) {
				m.rules = append(m.rules, f)
			}
		}
	}
	return t, t.readImports(root)
}

// readModule reads a go.mod. One that cannot be read is a module all the same:
// its files are nobody else's.
func (t *tree) readModule(root, file string) *module {
	m := &module{Dir: path.Dir(file)}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		m.err = fmt.Errorf("reading: %w", err)
		return m
	}
	parsed, err := modfile.Parse(file, text, nil)
	if err != nil { // a directive of a Go that is newer than this program
		parsed, err = modfile.ParseLax(file, text, nil)
	}
	if err != nil {
		m.err = fmt.Errorf("reading: %w", err)
		return m
	}
	if parsed.Module != nil {
		m.Path = parsed.Module.Mod.Path
		t.paths[m.Path] = append(t.paths[m.Path], m.Dir)
	}
	if parsed.Go != nil {
		m.Go = parsed.Go.Version
	}
	for _, r := range parsed.Replace {
		if modfile.IsDirectoryPath(r.New.Path) && !path.IsAbs(r.New.Path) {
			t.paths[r.Old.Path] = append(t.paths[r.Old.Path], path.Join(m.Dir, r.New.Path))
		}
	}
	return m
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

// within tells that a folder is another, or lies below it.
func within(dir, top string) bool {
	return top == "." || dir == top || strings.HasPrefix(dir, top+"/")
}

func (t *tree) add(m *module, file string) {
	dir := path.Dir(file)
	if base := path.Base(file); base == "go.mod" || base == "go.sum" {
		if dir == m.Dir {
			m.rules = append(m.rules, file)
		}
		return
	}
	p := t.packages[dir]
	if p == nil {
		p = &pkg{module: m}
		t.packages[dir] = p
	}
	p.Files = append(p.Files, file)
}

// unseen tells that the go command passes a folder over. What lies there can
// still be imported by its name.
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
func (t *tree) readImports(root string) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range t.packages {
		g.Go(func() error {
			for _, f := range p.Files {
				if path.Ext(f) != ".go" {
					continue
				}
				parsed, _ := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(f)), nil, parser.ImportsOnly)
				if parsed == nil {
					continue
				}
				for _, i := range parsed.Imports {
					p.Imports = append(p.Imports, t.folders(i.Path.Value)...)
				}
			}
			slices.Sort(p.Imports)
			p.Imports = slices.Compact(p.Imports)
			return nil
		})
	}
	return g.Wait()
}

// folders are those where a package may lie, from its quoted import path.
func (t *tree) folders(quoted string) []string {
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return nil
	}
	var dirs []string
	for top := name; top != "." && top != "/"; top = path.Dir(top) {
		for _, dir := range t.paths[top] {
			dirs = append(dirs, path.Join(dir, strings.TrimPrefix(name, top)))
		}
	}
	return dirs
}

// reach is a package with all that it imports in this tree, tests included.
// Tests may import in a circle, so a plain walk it is. A folder that is gone is
// in it too.
func (t *tree) reach(dir string) []string {
	seen := map[string]bool{dir: true}
	list := []string{dir}
	for i := 0; i < len(list); i++ {
		p := t.packages[list[i]]
		if p == nil {
			continue
		}
		for _, next := range p.Imports {
			if !seen[next] {
				seen[next] = true
				list = append(list, next)
			}
		}
	}
	slices.Sort(list)
	return list
}

// rules are the files that all packages of a module, and of those from which
// the folders are, depend on.
func (t *tree) rules(m *module, dirs []string) []string {
	modules := map[*module]bool{m: true}
	for _, d := range dirs {
		if p := t.packages[d]; p != nil {
			modules[p.module] = true
		}
	}
	var rules []string
	for m := range modules {
		rules = append(rules, m.rules...)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// changed are the folders in which something is not as it was.
func changed(c *lint.Changes) map[string]bool {
	dirs := map[string]bool{}
	for f := range c.Files {
		dirs[path.Dir(f)] = true
	}
	for _, f := range c.Deleted {
		dirs[path.Dir(f)] = true
	}
	return dirs
}

// touched tells that a package, or one that it imports, changed; so did all
// when the module's requirements did.
func (t *tree) touched(m *module, dir string, c *lint.Changes, changed map[string]bool) bool {
	reach := t.reach(dir)
	return c.Any(t.rules(m, reach)) || slices.ContainsFunc(reach, func(d string) bool { return changed[d] })
}
