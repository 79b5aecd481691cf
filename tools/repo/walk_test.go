// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/run"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func tree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	write(t, dir+"/go.mod", "module x\n")
	write(t, dir+"/a/a.go", "package a\n")
	write(t, dir+"/a/b/b.go", "package b\n")
	write(t, dir+"/out/bin", "12")
	write(t, dir+"/.git/index", "12")
	return dir
}

func walk(t *testing.T, dir string) Snapshot {
	t.Helper()
	s, err := Walk(t.Context(), []string{dir}, []string{dir + "/out"})
	must(t, err)
	return s
}

func TestWalkSeesEachChange(t *testing.T) {
	changes := map[string]func(t *testing.T, dir string){
		"written":     func(t *testing.T, d string) { write(t, d+"/a/b/b.go", "package c\n") },
		"added":       func(t *testing.T, d string) { write(t, d+"/a/new.go", "") },
		"removed":     func(t *testing.T, d string) { must(t, os.Remove(d+"/a/a.go")) },
		"renamed":     func(t *testing.T, d string) { must(t, os.Rename(d+"/a/a.go", d+"/a/z.go")) },
		"mode":        func(t *testing.T, d string) { must(t, os.Chmod(d+"/a/a.go", 0o755)) },
		"new folder":  func(t *testing.T, d string) { must(t, os.Mkdir(d+"/a/c", 0o755)) },
		"link":        func(t *testing.T, d string) { must(t, os.Symlink("a.go", d+"/a/l.go")) },
		"root file":   func(t *testing.T, d string) { write(t, d+"/go.sum", "") },
		"hidden file": func(t *testing.T, d string) { write(t, d+"/.hidden/x", "") },
		"same size and old time": func(t *testing.T, d string) {
			info, err := os.Stat(d + "/a/a.go")
			must(t, err)
			write(t, d+"/a/a.go", "package z\n")
			must(t, os.Chtimes(d+"/a/a.go", info.ModTime(), info.ModTime()))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			dir := tree(t)
			before := walk(t, dir)
			time.Sleep(Tick)
			if again := walk(t, dir); !cmp.Equal(before, again) {
				t.Fatalf("nothing changed: %s", cmp.Diff(before, again))
			}
			change(t, dir)
			if after := walk(t, dir); after.Key == before.Key {
				t.Error("not seen")
			}
		})
	}
}

func TestWalkLeavesOutputsAndGitAlone(t *testing.T) {
	dir := tree(t)
	before := walk(t, dir)
	write(t, dir+"/out/bin", "changed")
	write(t, dir+"/.git/index", "changed")
	if after := walk(t, dir); after.Key != before.Key || after.Files != 3 {
		t.Errorf("key changed: %t, %d files", after.Key != before.Key, after.Files)
	}
}

func TestWalkFollowsLinksToFiles(t *testing.T) {
	dir := tree(t)
	outside := filepath.Join(t.TempDir(), "x.go")
	write(t, outside, "package a\n")
	must(t, os.Symlink(outside, dir+"/a/x.go"))
	before := walk(t, dir)
	write(t, outside, "package a // longer\n")
	if walk(t, dir).Key == before.Key {
		t.Error("a change behind a link is not seen")
	}
	must(t, os.Remove(outside))
	walk(t, dir) // a dangling link is no error
}

func TestWalkNamesLinksThatLeave(t *testing.T) {
	dir := tree(t)
	must(t, os.Symlink("b", dir+"/a/inside"))
	if s := walk(t, dir); len(s.Loose) != 0 {
		t.Errorf("loose: %q", s.Loose)
	}
	must(t, os.Symlink(t.TempDir(), dir+"/a/outside"))
	s := walk(t, dir)
	if diff := cmp.Diff([]string{dir + "/a/outside"}, s.Loose); diff != "" {
		t.Error(diff)
	}
	if s.Settled(time.Now().Add(time.Hour)) {
		t.Error("a snapshot with loose ends counts as settled")
	}
}

func TestSettled(t *testing.T) {
	dir := tree(t)
	if begun := time.Now(); walk(t, dir).Settled(begun) {
		t.Error("files were written within the tick")
	}
	time.Sleep(2 * Tick)
	if begun := time.Now(); !walk(t, dir).Settled(begun) {
		t.Error("files are older than the tick")
	}
	must(t, os.Chtimes(dir+"/go.mod", time.Now(), time.Now().Add(24*time.Hour)))
	time.Sleep(2 * Tick)
	if begun := time.Now(); !walk(t, dir).Settled(begun) {
		t.Error("a time in the future keeps the tree unsettled for ever")
	}
}

func TestWalkErrors(t *testing.T) {
	if _, err := Walk(t.Context(), []string{filepath.Join(t.TempDir(), "none")}, nil); err == nil {
		t.Error("a missing root is no error")
	}
}

func TestContentKey(t *testing.T) {
	key := func(dir string) string {
		t.Helper()
		k, err := read(t, dir, Options{}).ContentKey(t.Context())
		must(t, err)
		return k
	}
	dir := newRepo(t)
	clean := key(dir)
	clone := filepath.Join(t.TempDir(), "clone")
	gitIn(t, dir, "clone", "--quiet", dir, clone)
	if key(clone) != clean {
		t.Error("a clone of a clean tree has another key")
	}
	must(t, os.Chtimes(dir+"/a.txt", time.Unix(1, 0), time.Unix(1, 0)))
	if key(dir) != clean {
		t.Error("touching a file changed the key")
	}
	seen := map[string]string{clean: "clean"}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"written", func() { write(t, dir+"/a.txt", "b\n") }},
		{"written again", func() { write(t, dir+"/a.txt", "c\n") }},
		{"renamed", func() { gitIn(t, dir, "checkout", "--quiet", "a.txt"); gitIn(t, dir, "mv", "a.txt", "b.txt") }},
		{"old name is back", func() { write(t, dir+"/a.txt", "a\n") }},
		{"new file", func() { write(t, dir+"/c.txt", "c\n") }},
		{"executable", func() { must(t, os.Chmod(dir+"/c.txt", 0o755)) }},
		{"link", func() { must(t, os.Symlink("c.txt", dir+"/l")) }},
		{"nested repository", func() {
			gitIn(t, dir, "clone", "--quiet", clone, "nested")
			gitIn(t, dir+"/nested", "checkout", "--quiet", "--detach")
		}},
		{"written in it", func() { write(t, dir+"/nested/a.txt", "n\n") }},
	} {
		step.do()
		k := key(dir)
		if other, ok := seen[k]; ok {
			t.Errorf("%q has the key of %q", step.name, other)
		}
		seen[k] = step.name
	}
}

// BenchmarkWalk and BenchmarkFacts run on the tree named by SLIPWAY_BENCH_TREE,
// else on the one these files lie in.
func BenchmarkWalk(b *testing.B) {
	dir := benchTree(b)
	for b.Loop() {
		s, err := Walk(b.Context(), []string{dir}, []string{filepath.Join(dir, "out")})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.Files), "files")
	}
}

func BenchmarkFacts(b *testing.B) {
	dir := benchTree(b)
	for b.Loop() {
		if _, err := Read(b.Context(), run.Exec{}, dir, Options{}); err != nil {
			b.Skip(err)
		}
	}
}

func benchTree(b *testing.B) string {
	b.Helper()
	if dir := os.Getenv("SLIPWAY_BENCH_TREE"); dir != "" {
		return dir
	}
	dir, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	return dir
}
