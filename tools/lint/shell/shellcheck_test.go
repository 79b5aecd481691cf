// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package shell_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/shell"
	"github.com/istio-ecosystem/slipway/tools/run"
)

func installed(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	return path
}

// tree writes files, in a folder of its own.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func scripts(t testing.TB, root string) []string {
	t.Helper()
	files, err := lint.WalkAll(t.Context(), root, ".")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return !strings.HasSuffix(f, ".sh") })
}

func ask(t *testing.T, root string, o shell.Options, files ...string) lint.Outcome {
	t.Helper()
	if len(files) == 0 {
		files = scripts(t, root)
	}
	out, err := shell.External(o).Whole(t.Context(), lint.Task{Root: root, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out.Failures {
		t.Error(f)
	}
	return out
}

func texts(found []lint.Finding) []string {
	var lines []string
	for _, f := range found {
		lines = append(lines, f.String())
	}
	slices.Sort(lines)
	return lines
}

// modules is the module cache, or the newest Istio tree in it.
func modules(t testing.TB, all bool) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skipf("asking Go for its module cache: %v", err)
	}
	cache := strings.TrimSpace(string(out))
	if all {
		return cache
	}
	trees, _ := filepath.Glob(filepath.Join(cache, "istio.io", "istio@*"))
	if len(trees) == 0 {
		t.Skip("the module istio.io/istio is not in the module cache")
	}
	return trees[len(trees)-1]
}

// The same findings as one call of the program with all scripts, in the same
// words, however many processes share the work.
func TestParity(t *testing.T) {
	program := installed(t)
	t.Run("istio", func(t *testing.T) {
		root := modules(t, false)
		files := scripts(t, root)
		if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
			files = files[:min(len(files), 12)]
		}
		parity(t, program, root, files)
	})
	t.Run("modules", func(t *testing.T) {
		if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
			t.Skip("set SLIPWAY_TEST_REAL=1 to compare the scripts of the whole module cache")
		}
		root := modules(t, true)
		parity(t, program, root, scripts(t, root))
	})
}

// parity wants what one call with all files finds, to the letter. How much of
// it comes from looking beside the scripts for what they source is told.
func parity(t *testing.T, program, root string, files []string) {
	t.Helper()
	alone := func(options ...string) []string {
		cmd := exec.Command(program, slices.Concat([]string{"-f", "gcc"}, options, []string{"--"}, files)...)
		cmd.Dir = root
		raw, _ := cmd.Output() // it fails when it finds something
		lines := slices.DeleteFunc(strings.Split(string(raw), "\n"), func(l string) bool { return l == "" })
		slices.Sort(lines)
		return lines
	}
	missing := func(from, in []string) (lines []string) {
		for _, l := range from {
			if !slices.Contains(in, l) {
				lines = append(lines, l)
			}
		}
		return lines
	}
	want, plain := alone("-P", "SCRIPTDIR"), alone()
	for _, jobs := range []int{1, 2, 5} {
		start := time.Now()
		out := ask(t, root, shell.Options{Jobs: jobs}, files...)
		took := time.Since(start)
		got := texts(out.Findings)
		if out.Files != len(files) || out.Version == "" {
			t.Errorf("%d files, version %q", out.Files, out.Version)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d jobs: only here %q, only there %q", jobs, missing(got, want), missing(want, got))
		}
		t.Logf("%d jobs: %v, %d scripts, %d findings; without looking beside scripts %d, of which %d are not here, and %d are only here",
			jobs, took.Round(time.Millisecond), len(files), len(got), len(plain), len(missing(plain, got)), len(missing(got, plain)))
	}
}

// A sourced file is sought beside the script that sources it.
func TestC111(t *testing.T) {
	installed(t)
	root := tree(t, map[string]string{"lib/a.sh": "#!/bin/bash\n. env.sh\necho \"$X\"\n", "lib/env.sh": "#!/bin/bash\nexport X=1\n"})
	if out := ask(t, root, shell.Options{Jobs: 4}); len(out.Findings) > 0 {
		t.Error(out.Findings)
	}
}

type recorder struct {
	mu       sync.Mutex
	commands [][]string
}

func (r *recorder) Run(ctx context.Context, c run.Command) error {
	r.mu.Lock()
	r.commands = append(r.commands, c.Args)
	r.mu.Unlock()
	return run.Exec{}.Run(ctx, c)
}

// No step goes through a shell: the result is the same with a sh that fails.
func TestC112(t *testing.T) {
	program := installed(t)
	root := tree(t, map[string]string{"a b.sh": "#!/bin/bash\necho $1\n", "-c.sh": "#!/bin/bash\necho $1\n"})
	before := texts(ask(t, root, shell.Options{}).Findings)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "sh"), []byte("#!/nowhere\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(bin, "shellcheck")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("SHELL", filepath.Join(bin, "sh"))
	r := &recorder{}
	after := texts(ask(t, root, shell.Options{Runner: r}).Findings)
	if len(before) != 2 || !slices.Equal(before, after) {
		t.Errorf("%v, then %v", before, after)
	}
	for _, c := range r.commands {
		if filepath.Base(c[0]) != "shellcheck" {
			t.Errorf("%q", c)
		}
	}
	if before[1] != "a b.sh:2:6: note: Double quote to prevent globbing and word splitting. [SC2086]" {
		t.Errorf("%q", before)
	}
}

func TestMissing(t *testing.T) {
	out := ask(t, tree(t, map[string]string{"a.sh": "x\n"}), shell.Options{Program: "no-such-shellcheck"})
	if !strings.Contains(out.Skipped, "shellcheck is not installed") || out.Files != 0 {
		t.Errorf("%+v", out)
	}
}

type broken struct{ status int }

func (b broken) Run(_ context.Context, c run.Command) error {
	if slices.Contains(c.Args, "--version") {
		_, _ = fmt.Fprint(c.Stdout, "ShellCheck - shell script analysis tool\nversion: 1.2.3\n")
		return nil
	}
	_, _ = fmt.Fprint(c.Stderr, "boom")
	if b.status == 0 {
		return nil
	}
	return &run.Error{Command: "shellcheck", Status: b.status, Err: fmt.Errorf("exit status %d", b.status)}
}

// A tool that breaks is a failure, not a clean tree.
func TestBroken(t *testing.T) {
	root := tree(t, map[string]string{"a.sh": "x\n"})
	for _, status := range []int{0, 1, 2, 4, -1} {
		l := shell.External(shell.Options{Program: os.Args[0], Runner: broken{status}})
		out, err := l.Whole(t.Context(), lint.Task{Root: root, Files: []string{"a.sh"}})
		if err != nil || len(out.Failures) != 1 || out.Version != "1.2.3" {
			t.Errorf("%d: %+v, %v", status, out, err)
		}
	}
	l := shell.External(shell.Options{Program: os.Args[0], Runner: broken{}})
	if out, err := l.Whole(t.Context(), lint.Task{Root: root, Files: []string{"gone.sh"}}); err != nil || len(out.Failures) != 1 || out.Failures[0].File != "gone.sh" {
		t.Errorf("%+v, %v", out, err)
	}
}

// lintTree runs the whole engine, with its memory.
func lintTree(t *testing.T, root, cache string, r run.Runner, since *lint.Changes) lint.Result {
	t.Helper()
	files, err := lint.WalkAll(t.Context(), root, ".")
	if err != nil {
		t.Fatal(err)
	}
	report, err := lint.Run(t.Context(), files, []lint.Linter{shell.External(shell.Options{Runner: r})}, lint.Options{Root: root, Cache: cache, Since: since})
	if err != nil {
		t.Fatal(err)
	}
	return report.Results[0]
}

// What was found is remembered until the script, one that it sources, or the
// configuration changes.
func TestMemory(t *testing.T) {
	installed(t)
	root := tree(t, map[string]string{
		"a.sh": "#!/bin/bash\n. ./lib.sh\necho \"$X\"\n", "lib.sh": "#!/bin/bash\nexport X=1\n", "c.sh": "#!/bin/bash\necho $1\n",
	})
	cache := filepath.Join(t.TempDir(), "cache")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	step := func(what string, since *lint.Changes, cached, findings int) {
		t.Helper()
		got := lintTree(t, root, cache, nil, since)
		if got.Cached != cached || len(got.Findings) != findings || len(got.Failures) > 0 {
			t.Errorf("%s: %d cached of %d, %v, %v", what, got.Cached, got.Files, texts(got.Findings), got.Failures)
		}
	}
	step("first", nil, 0, 1)
	step("again", nil, 3, 1)
	write("lib.sh", "#!/bin/bash\nY=1\n")
	step("what is sourced changed", nil, 1, 2) // Y is not used; $1
	step("since", &lint.Changes{Files: map[string]bool{"lib.sh": true}}, 2, 1)
	step("since another", &lint.Changes{Files: map[string]bool{"c.sh": true}}, 1, 1)
	write(".shellcheckrc", "disable=SC2086,SC2034,SC2154\n")
	step("configuration", nil, 0, 0)
}
