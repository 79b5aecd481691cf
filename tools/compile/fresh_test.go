// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/repo"
)

// settle waits until files written before show any later change.
func settle() { time.Sleep(2 * repo.Tick) }

// freshWorld is a world with a sibling module that a replace directive names,
// everything built once, and the shortcut seen to work.
func freshWorld(t *testing.T, more ...Package) *world {
	t.Helper()
	tree := mesh()
	tree["go.mod"] += "\nrequire example.com/sibling v1.0.0\n\nreplace example.com/sibling => ../sibling\n"
	tree["../sibling/go.mod"] = "module example.com/sibling\n\ngo 1.24\n"
	tree["../sibling/s.go"] = "package sibling\n\nconst Name = \"sibling\"\n"
	tree["cmd/ctl/sibling.go"] = "package main\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/sibling\"\n)\n\n//go:embed text.txt\nvar text string\n\nvar _ = sibling.Name\n"
	tree["cmd/ctl/text.txt"] = "hello\n"
	w := newWorld(t, tree, append([]Package{ctl}, more...)...)
	w.build()
	w.ran.take()
	w.wantFresh("after the first build")
	return w
}

func (w *world) wantFresh(when string) {
	w.t.Helper()
	report := w.build()
	if n, _ := w.ran.take(); n != 0 {
		w.t.Fatalf("%s: %d programs were started though nothing changed\n%s", when, n, w.screen)
	}
	for _, b := range report.Binaries {
		if !b.Fresh {
			w.t.Fatalf("%s: %s is not fresh\n%s", when, b.Name, w.screen)
		}
	}
}

// change is one step away from a state in which nothing is to be done.
type change struct {
	name string
	do   func(t *testing.T, w *world)
}

// Each input by itself must make a build, and the next call none again. The
// changes of a group follow each other in one world: each starts from a state
// that was just seen to be fresh.
func TestEachInputIsWatched(t *testing.T) {
	edit := func(name, text string) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { w.put(name, text) }
	}
	env := func(entry string) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { w.Env = append(w.Env, entry) }
	}
	groups := map[string][]change{
		"sources": {
			{"a file of the program", edit("cmd/ctl/main.go", strings.Replace(mesh()["cmd/ctl/main.go"], "no note", "a note", 1))},
			{"a file of a library", edit("pkg/util/u.go", "package util\n\nfunc Name() string { return \"new\" }\n")},
			{"a file that git ignores", edit("pkg/util/ignored.go", "package util\n\nconst Ignored = 1\n")},
			{"an embedded file", edit("cmd/ctl/text.txt", "other\n")},
			{"a new file", edit("cmd/ctl/new.go", "package main\n\nvar _ = 1\n")},
			{"same size and time", func(t *testing.T, w *world) {
				path := filepath.Join(w.dir, "pkg/util/u.go")
				info, err := os.Stat(path)
				must(t, err)
				w.put("pkg/util/u.go", strings.Replace(mesh()["pkg/util/u.go"], `"util"`, `"litu"`, 1))
				must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
			}},
			{"the sibling module", edit("../sibling/s.go", "package sibling\n\nconst Name = \"other\"\n")},
			{"go.mod", edit("go.mod", "module example.com/mesh\n\ngo 1.25\n\nrequire example.com/sibling v1.0.0\n\nreplace example.com/sibling => ../sibling\n")},
			{"go.sum", edit("go.sum", "\n")},
			{"a vendor folder", func(_ *testing.T, w *world) {
				w.put("vendor/modules.txt", "# example.com/sibling v1.0.0 => ../sibling\n## explicit; go 1.24\nexample.com/sibling\n# example.com/sibling => ../sibling\n")
				w.put("vendor/example.com/sibling/s.go", "package sibling\n\nconst Name = \"vendored\"\n")
			}},
			{"a go.work above", edit("../go.work", "go 1.25\n\nuse (\n\t./mesh\n\t./sibling\n)\n")},
			{"a removed file", func(t *testing.T, w *world) { must(t, os.Remove(filepath.Join(w.dir, "cmd/ctl/sibling.go"))) }},
		},
		"environment": {
			{"GOFLAGS", env("GOFLAGS=-tags=extra")},
			{"GOEXPERIMENT", env("GOEXPERIMENT=loopvar")},
			{"GOAMD64", func(_ *testing.T, w *world) {
				w.Env = append(w.Env, "GOAMD64=v2", "GOARM64=v8.1")
			}},
			{"go env -w", func(t *testing.T, w *world) {
				must(t, os.WriteFile(lookup(w.Env, "GOENV"), []byte("GOFLAGS=-tags=extra\n"), 0o600))
			}},
			{"the Go command", func(t *testing.T, w *world) { w.GoBinary = copyOfGo(t) }},
		},
		"settings": {
			{"a variant", func(_ *testing.T, w *world) {
				w.Platform.Variant = map[string]string{"amd64": "v2", "arm64": "v8.1"}[w.Platform.Arch]
			}},
			{"tags", func(_ *testing.T, w *world) {
				for i := range w.Packages {
					w.Packages[i].Tags = []string{"extra"}
				}
			}},
			{"STATIC", func(_ *testing.T, w *world) { w.Dynamic = true }},
			{"LDFLAGS", func(_ *testing.T, w *world) { w.LDFlags = []string{"-X", "main.note=x"} }},
			{"GCFLAGS", func(_ *testing.T, w *world) { w.GCFlags = "-l" }},
			{"GOBUILDFLAGS", func(_ *testing.T, w *world) { w.GoBuildFlags = []string{"-trimpath=false"} }},
			{"a stamp", func(_ *testing.T, w *world) {
				w.Stamps = slices.Clone(w.Stamps)
				w.Stamps[0].Value = "1.33-dev"
			}},
			{"no stamps", func(_ *testing.T, w *world) { w.Stamps = nil }},
			{"DEBUG", func(_ *testing.T, w *world) { w.Debug = true }},
			{"the package", func(_ *testing.T, w *world) {
				w.Packages[0].Path = "./cmd/other/ctl"
			}},
		},
		"outputs": {
			{"a removed binary", func(t *testing.T, w *world) { must(t, os.Remove(filepath.Join(w.OutDir, "ctl"))) }},
			{"a truncated binary", func(t *testing.T, w *world) { must(t, os.Truncate(filepath.Join(w.OutDir, "ctl"), 1000)) }},
			{"an altered binary", func(t *testing.T, w *world) { alter(t, filepath.Join(w.OutDir, "ctl")) }},
			{"a binary that cannot be run", func(t *testing.T, w *world) { must(t, os.Chmod(filepath.Join(w.OutDir, "ctl"), 0o644)) }},
			{"a spoiled record", func(t *testing.T, w *world) {
				must(t, os.WriteFile(filepath.Join(w.OutDir, recordDir, "ctl.json"), []byte("{"), 0o600))
			}},
			{"a record of another format", func(t *testing.T, w *world) {
				path := filepath.Join(w.OutDir, recordDir, "ctl.json")
				var rec record
				raw, err := os.ReadFile(path)
				must(t, err)
				must(t, json.Unmarshal(raw, &rec))
				rec.Format++
				raw, err = json.Marshal(rec)
				must(t, err)
				must(t, os.WriteFile(path, raw, 0o600))
			}},
			{"make -B", func(_ *testing.T, w *world) { w.Always = true }},
		},
	}
	for group, changes := range groups {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			w := freshWorld(t)
			for _, c := range changes {
				t.Run(c.name, func(t *testing.T) {
					w.t = t
					c.do(t, w)
					settle()
					w.build()
					if _, builds := w.ran.take(); len(builds) == 0 {
						t.Fatalf("nothing was built\n%s", w.screen)
					}
					w.Always = false
					w.wantFresh("after the change was built")
				})
			}
		})
	}
}

// alter changes a byte in the middle and hides it behind the old time.
func alter(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("ALTERED!"), info.Size()/2)
	must(t, err)
	must(t, f.Close())
	must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
}

// copyOfGo is the same Go at another place, as an update would leave it.
func copyOfGo(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	must(t, err)
	old := strings.TrimSpace(string(out))
	root := filepath.Join(t.TempDir(), "go")
	must(t, os.MkdirAll(filepath.Join(root, "bin"), 0o755))
	for _, name := range []string{"VERSION", "go.env", "src", "pkg", "lib"} {
		must(t, os.Symlink(filepath.Join(old, name), filepath.Join(root, name)))
	}
	raw, err := os.ReadFile(filepath.Join(old, "bin", "go"))
	must(t, err)
	path := filepath.Join(root, "bin", "go")
	must(t, os.WriteFile(path, raw, 0o755))
	return path
}

// What is no input must not cost a build.
func TestOtherThingsDoNotRebuild(t *testing.T) {
	t.Parallel()
	w := freshWorld(t)
	for _, c := range []change{
		{"another output", func(_ *testing.T, w *world) { w.put("out/other/thing", "x") }},
		{"git", func(_ *testing.T, w *world) { w.put(".git/index", "x") }},
		{"variables that are not for Go", func(_ *testing.T, w *world) {
			w.Env = append(w.Env, "GOOGLE_APPLICATION_CREDENTIALS=x", "EDITOR=vi", "GOMAXPROCS=1", "GOOS=windows")
		}},
		{"another package beside it", func(_ *testing.T, w *world) {
			w.Packages = append(w.Packages, echo)
			w.build()
			w.ran.take()
			w.Packages = w.Packages[:1]
		}},
		{"an import path for the same package", func(_ *testing.T, w *world) { w.Packages[0].Path = "example.com/mesh/cmd/ctl" }},
		{"VERBOSE and jobs", func(_ *testing.T, w *world) { w.Verbose, w.Jobs = true, 1 }},
		{"a touched binary", func(t *testing.T, w *world) {
			must(t, os.Chtimes(filepath.Join(w.OutDir, "ctl"), time.Now(), time.Unix(1600000000, 0)))
		}},
		{"a linked binary", func(t *testing.T, w *world) {
			must(t, os.Link(filepath.Join(w.OutDir, "ctl"), filepath.Join(w.OutDir, "ctl-link")))
		}},
		{"a copied output folder", func(t *testing.T, w *world) {
			old := w.OutDir + "-old"
			must(t, os.Rename(w.OutDir, old))
			must(t, os.CopyFS(w.OutDir, os.DirFS(old)))
			must(t, os.Chmod(filepath.Join(w.OutDir, "ctl"), 0o755))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			c.do(t, w)
			settle()
			w.wantFresh("though that is no input")
		})
	}
}

// Inputs that cannot be watched are left to Go each time.
func TestUnwatchedInputsAreNeverRecorded(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, w *world)
	}{
		{"overlay", func(_ *testing.T, w *world) {
			w.put("../overlay.json", "{}")
			w.GoBuildFlags = []string{"-overlay", filepath.Join(w.dir, "../overlay.json")}
		}},
		{"modfile in GOFLAGS", func(_ *testing.T, w *world) {
			w.put("../other.mod", mesh()["go.mod"]+"\nrequire example.com/sibling v1.0.0\n\nreplace example.com/sibling => ../sibling\n")
			w.Env = append(w.Env, "GOFLAGS=-modfile="+filepath.Join(w.dir, "../other.mod"))
		}},
		{"GOTOOLCHAIN", func(_ *testing.T, w *world) { w.Env = append(w.Env, "GOTOOLCHAIN=local+path") }},
		{"a link that leaves", func(t *testing.T, w *world) {
			must(t, os.Symlink(t.TempDir(), filepath.Join(w.dir, "elsewhere")))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := freshWorld(t)
			tt.change(t, w)
			settle()
			for range 2 {
				report := w.build()
				if _, builds := w.ran.take(); len(builds) == 0 {
					t.Fatalf("nothing was built: %+v", report)
				}
			}
			if !strings.Contains(w.screen.String(), "will be built again next time") {
				t.Errorf("nobody says why:\n%s", w.screen)
			}
		})
	}
}

// A wrapper that chooses a Go is asked each time which.
func TestWrapperOfGo(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	real, err := exec.LookPath("go")
	must(t, err)
	w.GoBinary = filepath.Join(t.TempDir(), "go")
	must(t, os.WriteFile(w.GoBinary, []byte("#!/bin/sh\nexec "+real+" \"$@\"\n"), 0o755))
	w.build()
	w.ran.take()
	report := w.build()
	all, builds := w.ran.take()
	if !report.Binaries[0].Fresh || all != 1 || len(builds) != 0 {
		t.Errorf("%+v after %d programs\n%s", report, all, w.screen)
	}
}

// A build that fails leaves the shortcut for what was there.
func TestAfterAFailureTheOldStateIsFresh(t *testing.T) {
	w := freshWorld(t)
	path := filepath.Join(w.dir, "pkg/util/broken.go")
	w.put("pkg/util/broken.go", "package broken\n")
	w.fails()
	must(t, os.Remove(path))
	w.ran.take()
	w.wantFresh("after the broken file is gone")
}

// Sources that change while they are compiled are built again.
func TestChangeDuringTheBuild(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	w.Runner = &meddler{recorder: w.ran, during: func() { w.put("pkg/util/more.go", "package util\n") }}
	w.build()
	w.Runner = w.ran
	w.ran.take()
	settle()
	w.build()
	if _, builds := w.ran.take(); len(builds) != 1 {
		t.Errorf("built %d times", len(builds))
	}
	w.wantFresh("after the sources came to rest")
}

// Edits right before the build, within one tick of the clock, are safe too.
func TestEditRightBeforeTheBuild(t *testing.T) {
	w := newWorld(t, mesh(), echo)
	for i := range 8 {
		text := strings.Repeat("x", 3) + string(rune('a'+i))
		w.put("cmd/echo/text.txt", text)
		w.build()
		if got := w.run("echo"); got != text {
			t.Fatalf("edit %d: it says %q, want %q", i, got, text)
		}
	}
}

// An edit right before a build costs that build alone.
func TestEditRightBeforeTheBuildIsRecorded(t *testing.T) {
	w := newWorld(t, mesh(), echo)
	w.put("cmd/echo/text.txt", "new")
	w.build()
	w.ran.take()
	w.wantFresh("right after it")
}

// While somebody writes, nothing is recorded. On a busy machine the writer may
// come to rest just when the sources are looked at; then it is tried again.
func TestSourcesThatNeverRest(t *testing.T) {
	for range 20 {
		w := newWorld(t, mesh(), echo)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					_ = os.WriteFile(filepath.Join(w.dir, "notes.txt"), []byte("x"), 0o600)
				}
			}
		}()
		w.build()
		close(stop)
		<-done
		if !strings.Contains(w.screen.String(), "the sources are being written to") {
			continue
		}
		if _, err := os.Stat(filepath.Join(w.OutDir, recordDir, "echo.json")); err == nil {
			t.Error("there is a record")
		}
		return
	}
	t.Error("no build noticed that the sources were being written to")
}

// Go is spared the linking of what did not change.
func TestUnchangedBinariesAreNotLinkedAgain(t *testing.T) {
	w := freshWorld(t, echo)
	before, err := os.Stat(filepath.Join(w.OutDir, "ctl"))
	must(t, err)
	w.put("cmd/echo/text.txt", "other\n")
	w.put("README.md", "docs\n")
	report := w.build()
	after, err := os.Stat(filepath.Join(w.OutDir, "ctl"))
	must(t, err)
	if !os.SameFile(before, after) {
		t.Error("ctl was linked again")
	}
	var fresh []bool
	for _, b := range report.Binaries {
		fresh = append(fresh, b.Fresh)
	}
	if diff := cmp.Diff([]bool{true, false}, fresh); diff != "" {
		t.Error(diff)
	}
	if got := w.run("echo"); got != "other" {
		t.Errorf("echo says %q", got)
	}
}

// An altered binary must not be taken for a good one by Go, which only looks
// at the id in its header.
func TestAlteredBinaryIsMadeAnew(t *testing.T) {
	w := freshWorld(t)
	good := w.build().Binaries[0]
	alter(t, good.Path)
	made := w.build().Binaries[0]
	sum, _, err := scan(t.Context(), good.Path, nil)
	must(t, err)
	if made.Fresh || sum != good.SHA256 {
		t.Errorf("%+v, the file has %s", made, sum)
	}
}

func TestModuleCacheSourceIsNotWalked(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	w.Source.InModuleCache, w.Source.Version, w.Source.Sum = true, "v1.0.0", "h1:x"
	w.Env = append(w.Env, "GOFLAGS=-mod=mod") // meant for another module
	w.build()
	w.ran.take()
	w.wantFresh("in the module cache")
	w.Source.Version = "v1.0.1"
	w.build()
	if _, builds := w.ran.take(); len(builds) != 1 {
		t.Error("another version was not built")
	}
}

func TestCgoIsLeftToGo(t *testing.T) {
	r := Request{CGO: true}
	if r.unwatchable(userFlags{}) == "" {
		t.Error("a cgo build counts as watched")
	}
	for _, word := range []string{"-linkmode=external", "-extld=gcc", "--extld"} {
		r := Request{LDFlags: []string{word}}
		if r.unwatchable(userFlags{}) == "" {
			t.Errorf("%s counts as watched", word)
		}
	}
	if why := (Request{LDFlags: []string{"-extldflags", "-static", "-X", "a.b=c"}}).unwatchable(userFlags{}); why != "" {
		t.Errorf("plain flags: %s", why)
	}
}

func BenchmarkNothingChanged(b *testing.B) {
	w := newWorld(b, mesh(), ctl, agent, echo)
	w.build()
	w.ran.take()
	for b.Loop() {
		w.build()
	}
	if n, _ := w.ran.take(); n != 0 {
		b.Fatalf("%d programs were started", n)
	}
}
