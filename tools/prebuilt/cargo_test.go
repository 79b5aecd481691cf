// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// fakeCargo puts a cargo on PATH that says it built whatever lies at
// REPO/built, and writes down how it is called.
func (w *world) fakeCargo(extra string) {
	w.write(w.path("ztunnel", "Cargo.toml"), []byte("[package]\n"))
	w.write(w.path("bin", "cargo"), []byte(`#!/bin/sh
echo "$PWD $*" >>"`+w.path("cargo.log")+`"
echo "   Compiling ztunnel" >&2
echo 'a line of a build script'
echo '{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"ztunnel"},"executable":null}'
echo '{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"other"},"executable":"/no/such"}'
echo '{"reason":"compiler-artifact","target":{"kind":["custom-build"],"name":"ztunnel"},"executable":"/no/such"}'
echo '{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"ztunnel"},"executable":"'"$PWD"'/built"}'
echo '{"reason":"build-finished","success":true}'
`+extra+"\n"))
	w.t.Setenv("PATH", w.path("bin")+":/usr/bin:/bin")
	w.options.Environ = []string{"PATH=" + os.Getenv("PATH")}
}

func (w *world) cargoBuild() CargoBuild {
	return CargoBuild{
		Repo: w.path("ztunnel"), Origin: "BUILD_ZTUNNEL", Profile: "release", Target: "x86_64-unknown-linux-musl", Platform: "linux/amd64",
		Places: w.ztunnel("").Copies,
	}
}

// First run with a build wanted, then without, then with again: each time the
// places hold what is wanted.
func TestBuildAndDownloadTakeTurns(t *testing.T) {
	w := newWorld(t)
	built, pinned := program(elf.EM_X86_64, 4000, 8), amd64(3000)
	s := newServer(t, pinned)
	item := w.ztunnel(s.URL + "/z")
	w.fakeCargo("")
	w.write(w.path("ztunnel", "built"), built)
	build := w.cargoBuild()
	for turn, want := range []From{FromCargo, FromPlace, FromDownload, FromCargo, FromPlace, FromPlace} {
		binary := built
		var got Fetched
		var err error
		if turn == 2 || turn == 5 {
			binary = pinned
			got, err = w.fetch(item)
		} else {
			got, err = BuildZtunnel(t.Context(), build, w.options)
		}
		if err != nil || got.From != want || got.SHA256 != sum(binary) {
			t.Errorf("turn %d: %+v, %v; want from %q", turn, got, err, want)
		}
		for _, path := range build.Places {
			w.holds(path, binary)
		}
		if turn < 2 {
			if _, err := os.Stat(item.Dest); err == nil {
				t.Error("a local build goes by the name of a version")
			}
		}
	}
	w.holds(item.Dest, pinned)
	if n := len(s.ranges()); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
	if strings.Contains(w.printed.String(), "replaced") {
		t.Errorf("our own files are called foreign:\n%s", w.printed)
	}
	log, _ := os.ReadFile(w.path("cargo.log"))
	line := w.path("ztunnel") + " build --profile release --target x86_64-unknown-linux-musl --message-format json-render-diagnostics\n"
	if diff := cmp.Diff(strings.Repeat(line, 4), string(log)); diff != "" {
		t.Errorf("cargo was called otherwise:\n%s", diff)
	}

	// A rebuilt program replaces the one before.
	rebuilt := program(elf.EM_X86_64, 4000, 9)
	w.write(w.path("ztunnel", "built"), rebuilt)
	if got, err := BuildZtunnel(t.Context(), build, w.options); err != nil || got.From != FromCargo {
		t.Errorf("%+v, %v", got, err)
	}
	for _, path := range build.Places {
		w.holds(path, rebuilt)
	}
	w.says("[ztunnel]    Compiling ztunnel")
}

func TestBuildFaults(t *testing.T) {
	t.Run("no checkout", func(t *testing.T) {
		w := newWorld(t)
		w.fakeCargo("")
		os.RemoveAll(w.path("ztunnel"))
		_, err := BuildZtunnel(t.Context(), w.cargoBuild(), w.options)
		wantError(t, err, "BUILD_ZTUNNEL", w.path("ztunnel"), "BUILD_ZTUNNEL_REPO", "unset")
		if fail.Code(err) != fail.Usage || fail.Code(w.cargoBuild().Check()) != fail.Usage {
			t.Errorf("code %d", fail.Code(err))
		}
		if _, err := os.Stat(w.path("cargo.log")); err == nil {
			t.Error("cargo was run")
		}
	})
	t.Run("no cargo", func(t *testing.T) {
		w := newWorld(t)
		w.fakeCargo("")
		t.Setenv("PATH", w.path("empty"))
		_, err := BuildZtunnel(t.Context(), w.cargoBuild(), w.options)
		wantError(t, err, "cargo", "https://rustup.rs", "unset BUILD_ZTUNNEL")
		if fail.Code(err) != fail.Unavailable {
			t.Errorf("code %d", fail.Code(err))
		}
	})
	t.Run("cargo fails", func(t *testing.T) {
		w := newWorld(t)
		w.fakeCargo("echo 'error[E0425]' >&2; exit 101")
		w.write(w.path("out", "ztunnel"), []byte("old"))
		_, err := BuildZtunnel(t.Context(), w.cargoBuild(), w.options)
		wantError(t, err, "exit status 101", "cargo build --profile release", w.path("ztunnel"))
		w.says("[ztunnel] error[E0425]")
		if got, _ := os.ReadFile(w.path("out", "ztunnel")); string(got) != "old" {
			t.Error("the old program is gone")
		}
	})
	t.Run("not a ztunnel", func(t *testing.T) {
		w := newWorld(t)
		w.fakeCargo("")
		w.write(w.path("bin", "cargo"), []byte("#!/bin/sh\necho '{\"reason\":\"build-finished\"}'\n"))
		_, err := BuildZtunnel(t.Context(), w.cargoBuild(), w.options)
		wantError(t, err, "no program called ztunnel")
	})
	for name, content := range map[string][]byte{
		"linux/arm64":         program(elf.EM_AARCH64, 3000, 1),
		"a program for macOS": append([]byte("\xcf\xfa\xed\xfe"), make([]byte, 600)...),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fakeCargo("")
			w.write(w.path("ztunnel", "built"), content)
			_, err := BuildZtunnel(t.Context(), w.cargoBuild(), w.options)
			wantError(t, err, name, "linux/amd64", "BUILD_ZTUNNEL_TARGET=x86_64-unknown-linux-musl")
			if _, err := os.Stat(w.path("out", "ztunnel")); err == nil {
				t.Error("it was placed")
			}
			if _, err := os.Stat(w.path("ztunnel", "built")); err != nil {
				t.Error("the checkout was touched")
			}
		})
	}
}

func TestRealCargo(t *testing.T) {
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		t.Skip("cargo is not installed")
	}
	if runtime.GOOS != "linux" {
		t.Skip("a program for Linux is only built without a cross compiler on Linux")
	}
	w := newWorld(t)
	w.options.Environ = append(os.Environ(), "CARGO_NET_OFFLINE=true")
	w.write(w.path("ztunnel", "Cargo.toml"), []byte("[package]\nname = \"ztunnel\"\nversion = \"0.0.1\"\nedition = \"2021\"\n"))
	// As in the real one, a configuration moves the output.
	w.write(w.path("ztunnel", ".cargo", "config.toml"), []byte("[build]\ntarget-dir = \"out/rust\"\n"))
	w.write(w.path("ztunnel", "src", "main.rs"), []byte("fn main() { println!(\"one\"); }\n"))
	build := w.cargoBuild()
	build.Profile, build.Target, build.Platform = "dev", "", "linux/"+runtime.GOARCH
	for _, want := range []struct {
		from   From
		prints string
	}{{FromCargo, "one"}, {FromPlace, "one"}, {FromCargo, "two"}} {
		if want.prints == "two" {
			w.write(w.path("ztunnel", "src", "main.rs"), []byte("fn main() { println!(\"two\"); }\n"))
		}
		got, err := BuildZtunnel(t.Context(), build, w.options)
		if err != nil {
			t.Fatalf("%s: %v\n%s", cargo, err, w.printed)
		}
		out, err := exec.Command(w.path("out", "ztunnel")).Output()
		if err != nil || strings.TrimSpace(string(out)) != want.prints || got.From != want.from {
			t.Errorf("from %q, it prints %q, %v; want %q, %q", got.From, out, err, want.from, want.prints)
		}
	}
	if _, err := os.Stat(filepath.Join(build.Repo, "out", "rust", "debug", "ztunnel")); err != nil {
		t.Error(err)
	}
}
