// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/toolbin"
)

// fakeStatus makes this program stand in for golangci-lint: it prints what the
// environment says and ends with that status.
const fakeStatus = "FAKE_GOLANGCI_STATUS"

func TestMain(m *testing.M) {
	if status := os.Getenv(fakeStatus); status != "" {
		n, err := strconv.Atoi(status)
		if err != nil {
			os.Exit(99)
		}
		if os.Getenv("FAKE_WAIT") != "" {
			time.Sleep(time.Minute)
		}
		_, _ = os.Stdout.WriteString(os.Getenv("FAKE_STDOUT"))
		_, _ = os.Stderr.WriteString(os.Getenv("FAKE_STDERR"))
		os.Exit(n)
	}
	os.Exit(m.Run())
}

// pinned is the pinned golangci-lint, as a run of lint-go compiles it.
func pinned(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("there is no cache: %v", err)
	}
	tool := toolbin.GolangciLint()
	found, _ := filepath.Glob(filepath.Join(cache, "slipway", "tools", tool.Name, tool.Version, "*", tool.Name))
	for _, path := range found {
		if _, err := builtWith(path); err == nil {
			return path
		}
	}
	t.Skipf("golangci-lint %s is not compiled yet: make lint-go does so", tool.Version)
	return ""
}

const rules = "version: \"2\"\nlinters:\n  default: none\n  enable: [unused]\n"

// testTree is a folder with Go files, and what lint-go does there.
type testTree struct {
	*testing.T
	root string
	o    Options
	fix  bool
	ref  string // LINT_SINCE
	more []lint.Linter
	home string // of the caches

	mu    sync.Mutex
	asked []string // packages that golangci-lint was asked about, with the module's folder before a colon
}

func newTree(t *testing.T, tool string, files map[string]string) *testTree {
	t.Helper()
	tr := &testTree{T: t, root: t.TempDir(), home: t.TempDir()}
	for name, text := range files {
		tr.write(name, text)
	}
	tr.o = Options{Runner: tr, Version: toolbin.GolangciLint().Version, Cache: filepath.Join(tr.home, "golangci"), GoTool: "go",
		Environ: append(os.Environ(), "GOFLAGS=", "GOWORK=", "GOPROXY=off"),
		Tool:    func(context.Context) (string, error) { return tool, nil }}
	if _, ok := files["common/config/.golangci.yml"]; ok {
		tr.o.Config = "common/config/.golangci.yml"
	}
	return tr
}

// fakeTree has a stand-in that prints that and ends so.
func fakeTree(t *testing.T, status int, stdout, stderr string, files map[string]string) *testTree {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tr := newTree(t, self, files)
	tr.o.Environ = append(tr.o.Environ, fmt.Sprintf("%s=%d", fakeStatus, status), "FAKE_STDOUT="+stdout, "FAKE_STDERR="+stderr)
	return tr
}

func (t *testTree) write(name, text string) {
	t.Helper()
	path := filepath.Join(t.root, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (t *testTree) remove(name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(t.root, name)); err != nil {
		t.Fatal(err)
	}
}

// Run notes what golangci-lint is asked about.
func (t *testTree) Run(ctx context.Context, c run.Command) error {
	if len(c.Args) > 1 && c.Args[1] == "run" {
		dir, err := filepath.Rel(t.root, c.Dir)
		if err != nil {
			return err
		}
		t.mu.Lock()
		for _, a := range c.Args {
			if strings.HasPrefix(a, "./") {
				t.asked = append(t.asked, dir+": "+a)
			}
		}
		t.mu.Unlock()
	}
	return run.Exec{}.Run(ctx, c)
}

func (t *testTree) report(ctx context.Context) (lint.Report, error) {
	files, err := lint.Selection{}.Walk(ctx, t.root)
	if err != nil {
		return lint.Report{}, err
	}
	o := lint.Options{Root: t.root, Cache: filepath.Join(t.home, "results.json"), Fix: t.fix}
	if t.ref != "" {
		if o.Since, err = lint.Since(ctx, run.Exec{}, t.root, t.ref); err != nil {
			return lint.Report{}, err
		}
	}
	return lint.Run(ctx, files, append([]lint.Linter{Linter(t.o)}, t.more...), o)
}

// lint runs, and returns the result of lint-go and the packages that were
// asked about.
func (t *testTree) lint() (lint.Result, []string) {
	t.Helper()
	t.asked = nil
	r, err := t.report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(t.asked)
	return r.Results[0], slices.Compact(t.asked)
}

// expect runs and compares findings, as FILE: LINTER, and what was asked.
func (t *testTree) expect(what string, findings, asked []string) lint.Result {
	t.Helper()
	r, got := t.lint()
	if len(r.Failures) > 0 {
		t.Errorf("%s: failures %+v", what, r.Failures)
	}
	var all []string
	for _, f := range r.Findings {
		all = append(all, f.File+": "+f.Rule)
	}
	slices.Sort(all)
	if !slices.Equal(all, findings) {
		t.Errorf("%s: findings %q, want %q", what, all, findings)
	}
	if !slices.Equal(got, asked) {
		t.Errorf("%s: asked %q, want %q", what, got, asked)
	}
	return r
}

func mod(path string, more ...string) string {
	return "module example.com/" + path + "\n\ngo 1.24.0\n" + strings.Join(more, "\n") + "\n"
}

func unused(pkg string) string { return "package " + pkg + "\n\nfunc unused() {}\n" }

// several is a module with packages that need each other.
func several() map[string]string {
	return map[string]string{
		"go.mod":                        mod("m"),
		"common/config/.golangci.yml":   rules,
		"leaf/leaf.go":                  "package leaf\n\nfunc F() {}\n\nfunc unused() {}\n",
		"mid/mid.go":                    "package mid\n\nimport \"example.com/m/leaf\"\n\nfunc G() { leaf.F() }\n",
		"top/top.go":                    "package top\n\nimport \"example.com/m/mid\"\n\nfunc H() { mid.G() }\n\nfunc unused() {}\n",
		"apart/apart.go":                unused("apart"),
		"tested/tested.go":              "package tested\n",
		"tested/tested_test.go":         "package tested_test\n\nimport (\n\t_ \"example.com/m/leaf\"\n\t_ \"example.com/m/tested/testdata/fix\"\n)\n",
		"tested/testdata/fix/fix.go":    unused("fix"),
		"_old/old.go":                   unused("old"),
		"tested/testdata/broken/x.go":   "package",
		"tested/testdata/other/go.mod":  "module",
		"tested/testdata/other/file.go": "package other",
	}
}

var severalFindings = []string{"apart/apart.go: unused", "leaf/leaf.go: unused", "top/top.go: unused"}

func TestFindings(t *testing.T) {
	tr := newTree(t, pinned(t), several())
	r := tr.expect("first", severalFindings, []string{".: ./..."})
	if r.Files != 5 || r.Cached != 0 || r.Version != "golangci-lint "+tr.o.Version {
		t.Errorf("result %+v", r)
	}
	f := r.Findings[0]
	if f.String() != "apart/apart.go:3:6: func unused is unused (unused)" || f.Line != 3 || f.Column != 6 || f.Severity != lint.Error || f.Linter != "go" || !strings.HasSuffix(f.Doc, "#unused") {
		t.Errorf("finding %q: %+v", f, f)
	}
	// The same tree by another name.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(tr.root, link); err != nil {
		t.Fatal(err)
	}
	again := newTree(t, pinned(t), nil)
	again.root, again.o.Config = link, tr.o.Config
	again.expect("through a link", severalFindings, []string{".: ./..."})
	// Whatever names are relative to by the rules.
	tr.write("common/config/.golangci.yml", rules+"run:\n  relative-path-mode: gomod\n")
	tr.expect("names from go.mod", severalFindings, []string{".: ./..."})
	tr.write("common/config/.golangci.yml", rules)
	// Versions before absolute paths print names as seen from the configuration.
	old := newTree(t, pinned(t), nil)
	old.root, old.o.Config, old.o.Version = tr.root, tr.o.Config, "v2.0.2"
	old.expect("an older version", severalFindings, []string{".: ./..."})
}

func TestOnlyWhatChangedIsAsked(t *testing.T) {
	tr := newTree(t, pinned(t), several())
	tr.write("notes.txt", "1")
	// A linter beside this one, for which the memory is written each time.
	tr.more = []lint.Linter{{Name: "notes", Files: lint.Named("*.txt"), Checker: noted{}}}
	tr.expect("first", severalFindings, []string{".: ./..."})
	for i := range 2 {
		tr.write("notes.txt", strings.Repeat("x", i+2))
		if r := tr.expect("unchanged", severalFindings, nil); r.Cached != r.Files || r.Files != 5 {
			t.Errorf("unchanged: %d of %d known", r.Cached, r.Files)
		}
	}
	tr.write("leaf/leaf.go", "package leaf\n\nfunc F() {}\n\nfunc unused2() {}\n")
	if r := tr.expect("leaf", severalFindings, []string{".: ./leaf", ".: ./mid", ".: ./tested", ".: ./top"}); r.Cached != 1 {
		t.Errorf("%d packages known, want the one apart", r.Cached)
	}
	tr.write("top/top_test.go", "package top\n")
	tr.expect("a new file", severalFindings, []string{".: ./top"})
	tr.remove("top/top_test.go")
	tr.write("tested/testdata/fix/fix.go", "package fix\n")
	tr.expect("a package that only a test knows", severalFindings, []string{".: ./tested", ".: ./top"})
	tr.write("apart/apart.go", "package apart\n")
	tr.expect("mended", severalFindings[1:], []string{".: ./apart"})
	tr.write("apart/apart.go", unused("apart"))
	tr.write("apart/data.txt", "not Go")
	tr.expect("broken again", severalFindings, []string{".: ./apart"})
	tr.write("apart/apart_windows.s", "// nothing\n")
	tr.expect("assembly", severalFindings, []string{".: ./apart"})
	tr.write("go.sum", "")
	tr.expect("go.sum", severalFindings, []string{".: ./..."})
	tr.remove("mid")
	r, asked := tr.lint()
	if !slices.Equal(asked, []string{".: ./top"}) || !slices.ContainsFunc(r.Findings, func(f lint.Finding) bool { return f.File == "top/top.go" && f.Rule == "typecheck" }) {
		t.Errorf("a package is gone that another needs: asked %q, findings %+v, failures %+v", asked, r.Findings, r.Failures)
	}
}

type noted struct{}

func (noted) Check(string, []byte) ([]lint.Finding, error) { return nil, nil }

func TestRulesAreForgotten(t *testing.T) {
	tr := newTree(t, pinned(t), several())
	all := []string{".: ./..."}
	tr.expect("first", severalFindings, all)
	tr.write("common/config/.golangci.yml", strings.Replace(rules, "unused", "lll", 1))
	tr.expect("other rules", nil, all)
	tr.write("common/config/.golangci.yml", rules)
	tr.expect("the first rules", severalFindings, all)
	tr.o.Environ = append(tr.o.Environ, "GOFLAGS=-tags=x")
	tr.expect("other tags", severalFindings, all)
	tr.expect("the same tags", severalFindings, nil)
	tr.o.Args = []string{"--tests=false"}
	tr.expect("other arguments", severalFindings, all)
	tr.o.Args = nil
	tr.o.Version = "v2.15.1"
	tr.expect("another version", severalFindings, all)
	// Without a file of rules from the caller, golangci-lint finds its own.
	tr.o.Config = ""
	tr.write(".golangci.yaml", rules)
	tr.expect("its own rules", severalFindings, all)
	tr.expect("its own rules again", severalFindings, nil)
	tr.write(".golangci.yaml", strings.Replace(rules, "unused", "lll", 1))
	tr.expect("its own rules changed", nil, all)
}

// TestNestedModules is golangci-lint's issue 828 (C079).
func TestNestedModules(t *testing.T) {
	for _, config := range []string{"common/config/.golangci.yml", ""} {
		files := map[string]string{"go.mod": mod("m"), "a/a.go": "package a\n", "sub/go.mod": mod("sub"), "sub/leaf/x.go": unused("leaf"), "sub/x.go": unused("sub"), "sub/sub/go.mod": mod("subsub"), "sub/sub/x.go": unused("sub")}
		want := []string{"sub/leaf/x.go: unused", "sub/sub/x.go: unused", "sub/x.go: unused"}
		if config != "" {
			files[config] = rules
		}
		tr := newTree(t, pinned(t), files)
		tr.o.Config = config
		tr.expect("three modules", want, []string{".: ./...", "sub/sub: ./...", "sub: ./..."})
		tr.write("sub/leaf/x.go", unused("leaf")+"\n")
		tr.expect("one changed", want, []string{"sub: ./leaf"})
	}
}

// TestModulesNeedEachOther changes a module on which another depends.
func TestModulesNeedEachOther(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"replace":                 {"go.mod": mod("m", "require example.com/sub v0.0.0", "replace example.com/sub => ./sub"), "sub/go.mod": mod("sub")},
		"replace by another name": {"go.mod": mod("m", "require example.com/sub v0.0.0", "replace example.com/sub => ./sub"), "sub/go.mod": mod("fork")},
		"go.work":                 {"go.mod": mod("m"), "sub/go.mod": mod("sub"), "go.work": "go 1.24.0\n\nuse (\n\t.\n\t./sub\n)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t, pinned(t), files)
			tr.write(".golangci.yml", rules)
			tr.o.Config = ".golangci.yml"
			tr.write("a/a.go", "package a\n\nimport \"example.com/sub/x\"\n\nfunc A() { x.F() }\n")
			tr.write("b/b.go", "package b\n")
			tr.write("sub/x/x.go", "package x\n\nfunc F() {}\n")
			tr.expect("first", nil, []string{".: ./...", "sub: ./..."})
			tr.write("sub/x/x.go", "package x\n\nfunc F(int) {}\n")
			r, asked := tr.lint()
			if !slices.Equal(asked, []string{".: ./a", "sub: ./..."}) || len(r.Findings) != 1 || r.Findings[0].File != "a/a.go" || r.Findings[0].Rule != "typecheck" {
				t.Errorf("asked %q, findings %+v, failures %+v", asked, r.Findings, r.Failures)
			}
		})
	}
}

func TestSince(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	tr := newTree(t, pinned(t), several())
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = tr.root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "first")
	tr.expect("all", severalFindings, []string{".: ./..."})
	tr.ref = "main"
	if r := tr.expect("nothing changed", nil, nil); r.Files != 0 {
		t.Errorf("%d packages judged", r.Files)
	}
	tr.write("mid/mid.go", "package mid\n\nimport \"example.com/m/leaf\"\n\nfunc G() { leaf.F() }\n\nfunc unused() {}\n")
	tr.expect("mid", []string{"mid/mid.go: unused", "top/top.go: unused"}, []string{".: ./mid", ".: ./top"})
	tr.expect("mid again", []string{"mid/mid.go: unused", "top/top.go: unused"}, nil)
	tr.ref = ""
	tr.expect("all again: the part forgot nothing", []string{"apart/apart.go: unused", "leaf/leaf.go: unused", "mid/mid.go: unused", "top/top.go: unused"}, nil)
	tr.ref = "main"
	tr.write("common/config/.golangci.yml", rules+"# other\n")
	tr.expect("the rules changed", []string{"apart/apart.go: unused", "leaf/leaf.go: unused", "mid/mid.go: unused", "top/top.go: unused"}, []string{".: ./..."})
	git("checkout", "-q", ".")
	tr.write("go.sum", "")
	tr.expect("the requirements changed", severalFindings, []string{".: ./..."})
	tr.remove("go.sum")
	tr.remove("mid")
	r, asked := tr.lint()
	if !slices.Equal(asked, []string{".: ./top"}) || !slices.ContainsFunc(r.Findings, func(f lint.Finding) bool { return f.Rule == "typecheck" }) {
		t.Errorf("a package is gone that another needs: asked %q, findings %+v", asked, r.Findings)
	}
}

// TestPackagesOfOtherSystems asks for a package that is not compiled here,
// beside others and alone.
func TestPackagesOfOtherSystems(t *testing.T) {
	files := several()
	files["win/win.go"], files["win2/win.go"] = "//go:build neverset\n\n"+unused("win"), "//go:build neverset\n\n"+unused("win2")
	tr := newTree(t, pinned(t), files)
	tr.expect("first", severalFindings, []string{".: ./..."})
	tr.write("win/win.go", files["win/win.go"]+"\n")
	tr.expect("alone", severalFindings, []string{".: ./win"})
	for i := range 3 { // it depends on chance what golangci-lint says of the others
		tr.write("win/win.go", files["win/win.go"]+strings.Repeat("\n", i+2))
		tr.write("top/top.go", files["top/top.go"]+strings.Repeat("\n", i+1))
		tr.expect("beside one", severalFindings, []string{".: ./top", ".: ./win"})
	}
	tr.write("win/win.go", files["win/win.go"])
	tr.write("win2/win.go", files["win2/win.go"]+"\n")
	tr.write("apart/apart.go", unused("apart")+"\n")
	tr.expect("two beside another", severalFindings, []string{".: ./apart", ".: ./win", ".: ./win2"})
	tr.expect("again", severalFindings, nil)
}

// TestModuleWithoutFiles is golangci-lint's issue 4168 (C080).
func TestModuleWithoutFiles(t *testing.T) {
	tr := newTree(t, pinned(t), map[string]string{"go.mod": mod("m")})
	if r := tr.expect("alone", nil, nil); len(r.Notes) != 1 || r.Notes[0] != "there are no Go files" {
		t.Errorf("notes %q", r.Notes)
	}
	tr.write("sub/go.mod", mod("sub"))
	tr.write("sub/a.go", "package sub\n")
	if r := tr.expect("beside another", nil, []string{"sub: ./..."}); len(r.Notes) != 1 || r.Notes[0] != "the module example.com/m has no Go files" {
		t.Errorf("notes %q", r.Notes)
	}
	// Only files that nothing is compiled from.
	tr = newTree(t, pinned(t), map[string]string{"go.mod": mod("m"), "testdata/a.go": "package a\n", "_x/b.go": "package b\n"})
	tr.expect("none that counts", nil, nil)
	tr = newTree(t, pinned(t), map[string]string{"go.mod": mod("m"), "a.go": "//go:build neverset\n\npackage a\n"})
	tr.expect("for another system", nil, []string{".: ./..."})
	tr = newTree(t, pinned(t), map[string]string{"a.go": "package a\n"})
	if r, _ := tr.lint(); len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Err, "no go.mod") {
		t.Errorf("without go.mod: %+v", r)
	}
	tr = newTree(t, pinned(t), map[string]string{"stray.go": "package a\n", "sub/go.mod": mod("sub"), "sub/a.go": "package sub\n"})
	if r := tr.expect("a file outside", nil, []string{"sub: ./..."}); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "1 Go files are below no go.mod") {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestGeneratedFiles holds the rule of Istio's make files: they alone are no
// reason to look. Beside others they count, since others are compiled with them.
func TestGeneratedFiles(t *testing.T) {
	tr := newTree(t, pinned(t), map[string]string{"go.mod": mod("m"), ".golangci.yml": rules, "a/a.gen.go": unused("a"), "b/b.pb.go": unused("b")})
	tr.o.Config = ".golangci.yml"
	tr.expect("alone", nil, nil)
	tr.write("c/c.go", "package c\n\nfunc C() { d() }\n")
	tr.write("c/d.pb.go", "// Code generated by a test. DO NOT EDIT.\n\npackage c\n\nfunc d() {}\n\nfunc unused() {}\n")
	// Those that do not say that they are generated are judged.
	found := []string{"a/a.gen.go: unused", "b/b.pb.go: unused"}
	tr.expect("beside another", found, []string{".: ./..."})
	tr.write("c/d.pb.go", "// Code generated by a test. DO NOT EDIT.\n\npackage c\n")
	r, asked := tr.lint()
	if !slices.Equal(asked, []string{".: ./c"}) || len(r.Findings) != 3 {
		t.Errorf("asked %q, findings %+v", asked, r.Findings)
	}
}

// TestRunsAtOnce is reviewbot's issue 146 (C081).
func TestRunsAtOnce(t *testing.T) {
	tool := pinned(t)
	tmp := t.TempDir()
	// The lock that golangci-lint takes unless it is told not to: somebody
	// else has it all the time.
	lock, err := os.Create(filepath.Join(tmp, "golangci-lint.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tool, "run", "./...")
	probe := newTree(t, tool, several())
	cmd.Dir, cmd.Env = probe.root, append(probe.o.Environ, "TMPDIR="+tmp, "GOLANGCI_LINT_CACHE="+probe.o.Cache)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "parallel golangci-lint is running") {
		t.Errorf("the lock of this test holds nothing up: %v\n%s", err, out)
	}
	var wg sync.WaitGroup
	trees := []*testTree{newTree(t, tool, several()), newTree(t, tool, several())}
	for _, tr := range trees {
		tr.o.Environ = append(tr.o.Environ, "TMPDIR="+tmp)
		tr.o.Cache = trees[0].o.Cache // both in one cache, too
		wg.Go(func() {
			r, err := tr.report(t.Context())
			if err != nil || len(r.Results[0].Failures) != 0 || len(r.Results[0].Findings) != 3 {
				t.Errorf("a run beside another: %+v, %v", r, err)
			}
		})
	}
	wg.Wait()
}

// TestStatusIsNotTheVerdict has exit codes of all kinds (C081, C083).
func TestStatusIsNotTheVerdict(t *testing.T) {
	issue := `{"Issues":[{"FromLinter":"unused","Text":"a\n b","Severity":"warning","Pos":{"Filename":"a.go","Line":3,"Column":0}}],"Report":{}}` + "\n"
	none := `{"Issues":[],"Report":{}}` + "\n"
	for name, c := range map[string]struct {
		status         int
		stdout, stderr string
		findings       int
		failure        string
	}{
		"clean":                       {0, none, "", 0, ""},
		"findings":                    {1, issue, "", 1, ""},
		"findings with 0":             {0, issue, "", 1, ""},
		"findings with 5":             {5, issue, "", 1, ""},
		"findings with 7":             {7, issue, "", 1, ""},
		"findings with 3":             {3, issue, "", 1, ""},
		"lines before the report":     {1, "level=warning\n{\"a\":1}\n{broken\n" + issue, "", 1, ""},
		"no files":                    {5, "", "no go files to analyze", 0, ""},
		"refused":                     {3, "", "Error: parallel golangci-lint is running\n", 0, "parallel golangci-lint is running"},
		"refused with a report":       {3, none, "parallel golangci-lint is running\n", 0, "exit status 3 and no findings: parallel golangci-lint"},
		"timeout":                     {4, none, "Timeout exceeded", 0, "Timeout exceeded"},
		"1 without findings":          {1, none, "why", 0, "exit status 1 and no findings: why"},
		"unknown status":              {77, "", "what", 0, "(exit status 77): what"},
		"nothing printed":             {0, "", "", 0, "golangci-lint gave no report"},
		"no report":                   {0, "{}\n", "", 0, "golangci-lint gave no report"},
		"half a report":               {2, issue[:40], "panic: x\n", 0, "panic: x"},
		"error in the report":         {7, `{"Issues":[],"Report":{"Error":"typechecking error: pattern ./x: no such directory"}}`, "", 0, "no such directory"},
		"error beside findings":       {1, strings.Replace(issue, `"Report":{}`, `"Report":{"Error":"out of order"}`, 1), "", 1, "out of order"},
		"excluded, but not asked for": {7, `{"Issues":[],"Report":{"Error":"typechecking error: build constraints exclude all Go files in /x"}}`, "", 0, "build constraints"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := fakeTree(t, c.status, c.stdout, c.stderr, map[string]string{"go.mod": mod("m"), "a.go": "package a\n", "other.go": "package a\n"})
			for range 2 { // what failed is not remembered as clean
				r, _ := tr.lint()
				if len(r.Findings) != c.findings {
					t.Errorf("findings %+v, want %d", r.Findings, c.findings)
				}
				if c.findings == 1 && r.Findings[0].String() != "a.go:3: a b (unused)" {
					t.Errorf("finding %q", r.Findings[0])
				}
				switch {
				case c.failure == "" && len(r.Failures) > 0:
					t.Errorf("failures %+v", r.Failures)
				case c.failure != "" && (len(r.Failures) != 1 || r.Failures[0].File != "go.mod" || !strings.Contains(r.Failures[0].Err, c.failure)):
					t.Errorf("failures %+v, want %q", r.Failures, c.failure)
				}
				err := lint.Report{Results: []lint.Result{r}}.Err(false)
				want := fail.OK
				if c.failure != "" {
					want = fail.Unavailable
				} else if c.findings > 0 {
					want = fail.Failed
				}
				if fail.Code(err) != want {
					t.Errorf("code %d of %v, want %d", fail.Code(err), err, want)
				}
			}
		})
	}
}

// TestFileThatDoesNotCompile is nvim-lint's issue 744 (C083).
func TestFileThatDoesNotCompile(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"types":  {"apart/types.go", "package apart\n\nfunc T() { return 1 }\n", "apart/types.go:3:19: too many return values"},
		"syntax": {"apart/syntax.go", "package apart\n\nimport \"fmt\n", "apart/syntax.go:3:8: string literal not terminated (typecheck)"},
		"import": {"apart/import.go", "package apart\n\nimport _ \"example.com/m/gone\"\n", "example.com/m/gone"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t, pinned(t), several())
			tr.write(c.file, c.text)
			for _, want := range [][]string{{".: ./..."}, nil} {
				r, asked := tr.lint()
				if len(r.Failures) != 0 || !slices.Equal(asked, want) {
					t.Errorf("asked %q, failures %+v", asked, r.Failures)
				}
				var text strings.Builder
				for _, f := range r.Findings {
					text.WriteString(f.String() + "\n")
				}
				if !strings.Contains(text.String(), c.want) {
					t.Errorf("findings do not say %q:\n%s", c.want, text.String())
				}
				if err := (lint.Report{Results: []lint.Result{r}}).Err(false); fail.Code(err) != fail.Failed {
					t.Errorf("code %d of %v, want that of findings", fail.Code(err), err)
				}
			}
			// What golangci-lint did not say of the other packages is not
			// taken for clean.
			tr.remove(c.file)
			tr.expect("mended", severalFindings, []string{".: ./..."})
		})
	}
}

// TestTreesAreApart is golangci-lint's issue 6695 (C082).
func TestTreesAreApart(t *testing.T) {
	first := newTree(t, pinned(t), several())
	first.expect("first", severalFindings, []string{".: ./..."})
	first.remove(".")
	files := several()
	for _, f := range []string{"leaf/leaf.go", "top/top.go", "apart/apart.go"} {
		files[f] = strings.Replace(files[f], "func unused() {}", "func unused() {} //nolint:unused // wanted", 1)
	}
	second := newTree(t, pinned(t), files)
	r := second.expect("second", nil, []string{".: ./..."})
	if r.Cached != 0 {
		t.Errorf("%d packages known from another tree", r.Cached)
	}
	// What the process is given.
	var env []string
	third := fakeTree(t, 0, "{\"Report\":{}}\n", "", several())
	third.o.Environ = append(third.o.Environ, "GOLANGCI_LINT_CACHE=/of/all")
	third.o.Runner = runner(func(ctx context.Context, c run.Command) error {
		if len(c.Args) > 1 && c.Args[1] == "run" {
			env = c.Env
		}
		return run.Exec{}.Run(ctx, c)
	})
	third.lint()
	if n := slices.Index(env, "GOLANGCI_LINT_CACHE="+third.o.Cache); n < 0 || slices.Contains(env, "GOLANGCI_LINT_CACHE=/of/all") {
		t.Errorf("the environment has no cache of this tree: %q", env)
	}
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "GOMEMLIMIT=") }) {
		t.Error("memory is not bounded")
	}
}

type runner func(context.Context, run.Command) error

func (r runner) Run(ctx context.Context, c run.Command) error { return r(ctx, c) }

// TestOlderGo is golangci-lint's issue 5641 (C078).
func TestOlderGo(t *testing.T) {
	tr := newTree(t, pinned(t), map[string]string{"go.mod": "module example.com/m\n\ngo 1.99.3\n", "a.go": unused("a"), "sub/go.mod": mod("sub"), "sub/a.go": unused("sub")})
	r, asked := tr.lint()
	if len(r.Failures) != 1 || r.Failures[0].File != "go.mod" || !slices.Equal(asked, []string{"sub: ./..."}) || len(r.Findings) != 1 {
		t.Fatalf("asked %q, result %+v", asked, r)
	}
	built, err := builtWith(pinned(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"compiled with Go " + built, "go.mod wants Go 1.99.3", "install Go 1.99.3 or newer", "remove " + pinned(t)} {
		if !strings.Contains(r.Failures[0].Err, want) {
			t.Errorf("failure %q does not say %q", r.Failures[0].Err, want)
		}
	}
	if err := (lint.Report{Results: []lint.Result{r}}).Err(false); fail.Code(err) != fail.Unavailable {
		t.Errorf("code %d of %v", fail.Code(err), err)
	}
	for _, c := range []struct {
		built, wanted string
		older         bool
	}{{"1.23.4", "1.24.1", true}, {"1.24.0", "1.24.1", false}, {"1.24.1", "1.23", false}, {"1.25rc1", "1.25", false}, {"1.9", "1.10", true}, {"1.26.8", "1.26.9", false}} {
		if got := older(c.built, c.wanted); got != c.older {
			t.Errorf("compiled with %s, wanted %s: older %v", c.built, c.wanted, got)
		}
	}
}

func TestWrongConfiguration(t *testing.T) {
	for name, text := range map[string]string{"syntax": "linters: [\n", "unknown linter": "version: \"2\"\nlinters:\n  enable: [nosuchlinter]\n", "version 1": "linters:\n  enable: [unused]\n"} {
		files := several()
		files["common/config/.golangci.yml"] = text
		tr := newTree(t, pinned(t), files)
		r, _ := tr.lint()
		if len(r.Findings) != 0 || len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Err, "common/config/.golangci.yml") {
			t.Errorf("%s: result %+v", name, r)
		}
		tr.write("common/config/.golangci.yml", rules)
		tr.expect("mended", severalFindings, []string{".: ./..."})
	}
	tr := newTree(t, pinned(t), several())
	tr.o.Config = "gone.yml"
	if r, _ := tr.lint(); len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Err, "gone.yml") {
		t.Errorf("rules that are not there: %+v", r)
	}
}

func TestBrokenModuleIsOneFailure(t *testing.T) {
	tr := newTree(t, pinned(t), several())
	tr.write("sub/go.mod", "module \"\n")
	tr.write("sub/a.go", unused("sub"))
	r, asked := tr.lint()
	if len(r.Failures) != 1 || r.Failures[0].File != "sub/go.mod" || len(r.Findings) != 3 || !slices.Equal(asked, []string{".: ./..."}) {
		t.Errorf("asked %q, result %+v", asked, r)
	}
}

func TestFix(t *testing.T) {
	wrong := "package apart\n\nfunc  F()  {}\n"
	files := map[string]string{"go.mod": mod("m"), ".golangci.yml": "version: \"2\"\nlinters:\n  default: none\nformatters:\n  enable: [gofmt]\n", "apart/apart.go": wrong, "b/b.go": "package b\n"}
	tr := newTree(t, pinned(t), files)
	tr.o.Config = ".golangci.yml"
	found := []string{"apart/apart.go: gofmt"}
	if r := tr.expect("first", found, []string{".: ./..."}); !r.Findings[0].Fixable {
		t.Error("the finding is not said to be fixable")
	}
	tr.fix = true
	tr.expect("mended", nil, []string{".: ./..."})
	if text, err := os.ReadFile(filepath.Join(tr.root, "apart/apart.go")); err != nil || string(text) != "package apart\n\nfunc F() {}\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
	tr.fix = false
	// What was found after mending does not belong to what was there before.
	tr.write("apart/apart.go", wrong)
	tr.write("b/b.go", "package b\n\nfunc B() {}\n")
	r, _ := tr.lint()
	if len(r.Findings) != 1 {
		t.Errorf("the file is as it was first, and findings are %+v", r.Findings)
	}
}

func TestCancelled(t *testing.T) {
	tr := fakeTree(t, 0, "", "", several())
	tr.o.Environ = append(tr.o.Environ, "FAKE_WAIT=1")
	ctx, cancel := context.WithCancel(t.Context())
	tr.o.Runner = runner(func(ctx context.Context, c run.Command) error {
		if len(c.Args) > 1 && c.Args[1] == "run" {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
		return run.Exec{}.Run(ctx, c)
	})
	if _, err := tr.report(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestToolThatCannotBeHad(t *testing.T) {
	tr := newTree(t, "", several())
	tr.o.Tool = func(context.Context) (string, error) { return "", errors.New("compiling golangci-lint: no network") }
	if r, _ := tr.lint(); len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Err, "no network") {
		t.Errorf("result %+v", r)
	}
	tr.o.GoTool = "no-such-go"
	if r, _ := tr.lint(); len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Err, "no-such-go") {
		t.Errorf("result %+v", r)
	}
}

func TestMemoryLimit(t *testing.T) {
	const total = "MemTotal:       16777216 kB\n" // 16 GiB
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known":         {nil, 0},
		"machine":               {map[string]string{"proc/meminfo": "MemFree: 1 kB\n" + total}, 16 << 30},
		"container":             {map[string]string{"proc/meminfo": total, "sys/fs/cgroup/memory.max": "4294967296\n"}, 4 << 30},
		"container without one": {map[string]string{"proc/meminfo": total, "sys/fs/cgroup/memory.max": "max\n"}, 16 << 30},
		"version 1":             {map[string]string{"proc/meminfo": total, "sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n"}, 2 << 30},
		"version 1 without one": {map[string]string{"proc/meminfo": total, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16 << 30},
		"more than there is":    {map[string]string{"proc/meminfo": total, "sys/fs/cgroup/memory.max": "99999999999999\n"}, 16 << 30},
		"a group below": {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/user.slice/job.scope\n", "sys/fs/cgroup/user.slice/job.scope/memory.max": "max\n",
			"sys/fs/cgroup/user.slice/memory.max": "3221225472\n"}, 3 << 30},
		"a group of version 1": {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "5:cpu,memory:/x\n4:memory:/docker/abc\n", "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "1073741824\n"}, 1 << 30},
		"nonsense":             {map[string]string{"proc/meminfo": "MemTotal:\n", "proc/self/cgroup": "x\n", "sys/fs/cgroup/memory.max": "-1\n"}, 0},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(root, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		if c.want > 0 {
			want = strconv.FormatInt(c.want/10*8, 10)
		}
		if got := memoryLimit([]string{"A=b"}, root); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got := memoryLimit([]string{"GOMEMLIMIT=1GiB"}, root); got != "" {
			t.Errorf("%s: %q in the place of what the user set", name, got)
		}
	}
}
