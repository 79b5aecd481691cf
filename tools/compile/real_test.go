// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/ui"
	"github.com/istio-ecosystem/slipway/tools/version"
)

const (
	istioModule  = "istio.io/istio"
	istioVersion = "v0.0.0-20260827124520-eed52ebb66ad"
)

// istio is what `make build build-cni` makes, from the module as it is
// published.
func istio(t testing.TB) Request {
	t.Helper()
	if os.Getenv("SLIPWAY_TEST_REAL") == "" {
		t.Skip("set SLIPWAY_TEST_REAL=1 to compile Istio itself")
	}
	source, err := Resolve(t.Context(), run.Exec{}, istioModule, istioVersion)
	must(t, err)
	standard := []string{"vtprotobuf", "disable_pgv"}
	agentTags := []string{"agent", "disable_pgv", "grpcnotrace", "retrynotrace"}
	r := Request{
		Source: source, Platform: host(), OutDir: t.TempDir(), Console: ui.New(os.Stderr, os.Stderr, ui.Options{Verbose: true}),
		Stamps: version.FromModule(version.Input{Version: "1.32-dev", Hub: "localhost:5000/istio", OS: host().OS, Arch: host().Arch}, source.Version, source.Commit),
	}
	for _, p := range []Package{
		{Path: "./istioctl/cmd/istioctl", Tags: standard}, {Path: "./pilot/cmd/pilot-discovery", Tags: standard},
		{Path: "./pkg/test/echo/cmd/client", Tags: standard}, {Path: "./pkg/test/echo/cmd/server", Tags: standard},
		{Path: "./samples/extauthz/cmd/extauthz", Tags: standard}, {Path: "./pilot/cmd/pilot-agent", Tags: agentTags},
		{Path: "./cni/cmd/istio-cni", Tags: agentTags}, {Path: "./cni/cmd/install-cni", Tags: agentTags},
	} {
		p.Name = filepath.Base(p.Path)
		r.Packages = append(r.Packages, p)
	}
	return r
}

func TestIstio(t *testing.T) {
	r := istio(t)
	r.Packages = []Package{r.Packages[5], r.Packages[7]} // pilot-agent and install-cni
	for _, arch := range []string{"amd64", "arm64"} {
		r.Platform = Platform{OS: "linux", Arch: arch}
		r.OutDir = filepath.Join(t.TempDir(), "linux_"+arch)
		r.Stamps = r.Stamps.For("linux", arch)
		report, err := Build(t.Context(), r)
		must(t, err)
		for _, b := range report.Binaries {
			t.Logf("%s for %s: %d bytes, stamped %t, %s", b.Name, r.Platform, b.Size, b.Stamped, report.Duration)
			if len(b.Leaks) > 0 {
				t.Errorf("%s holds %q", b.Name, b.Leaks)
			}
		}
		if r.Platform != host() {
			continue
		}
		out, err := exec.Command(filepath.Join(r.OutDir, "pilot-agent"), "version", "-o", "json").Output()
		must(t, err)
		var said struct{ ClientVersion map[string]string }
		must(t, json.Unmarshal(out, &said))
		for key, want := range map[string]string{"version": "1.32-dev", "revision": "eed52ebb66ad", "status": "Clean", "tag": istioVersion} {
			if got := said.ClientVersion[key]; got != want {
				t.Errorf("%s is %q, want %q", key, got, want)
			}
		}
	}
}

// TestIstioNothingChanged compares, in one run, a build of all eight binaries
// after which nothing changed with what `go build` takes for the same list.
func TestIstioNothingChanged(t *testing.T) {
	r := istio(t)
	first, err := Build(t.Context(), r)
	must(t, err)
	t.Logf("first build: %s", first.Duration)
	for _, b := range first.Binaries {
		t.Logf("%s: %d bytes, stamped %t", b.Name, b.Size, b.Stamped)
	}
	best := time.Hour
	for range 5 {
		again, err := Build(t.Context(), r)
		must(t, err)
		for _, b := range again.Binaries {
			if !b.Fresh {
				t.Errorf("%s is not fresh", b.Name)
			}
		}
		best = min(best, again.Duration)
	}
	t.Logf("nothing changed: %s", best)
	t.Logf("go build of the same list: %s", plainGoBuild(t, r))
}

// plainGoBuild is what a script does: two go builds into the folder that holds
// the binaries already.
func plainGoBuild(t *testing.T, r Request) time.Duration {
	t.Helper()
	must(t, r.check())
	units, _, err := r.plan(userFlags{})
	must(t, err)
	best := time.Hour
	for range 2 {
		begun := time.Now()
		for _, batch := range batches(units) {
			var paths []string
			for _, u := range batch {
				paths = append(paths, u.path)
			}
			cmd := exec.Command("go", r.arguments(batch[0].flags, r.OutDir+"/", paths)[1:]...)
			cmd.Dir, cmd.Env = r.Source.Dir, r.environ()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
			}
		}
		best = min(best, time.Since(begun))
	}
	return best
}

// TestIstioCheckout does the same in a checkout, whose files anybody may edit.
func TestIstioCheckout(t *testing.T) {
	r := istio(t)
	dir := filepath.Join(t.TempDir(), "istio")
	must(t, os.CopyFS(dir, os.DirFS(r.Source.Dir)))
	source, err := Checkout(dir)
	must(t, err)
	r.Source, r.OutDir, r.Outputs = source, filepath.Join(dir, "out", "linux_amd64"), []string{filepath.Join(dir, "out")}
	r.Packages = r.Packages[5:]
	first, err := Build(t.Context(), r)
	must(t, err)
	again, err := Build(t.Context(), r)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("changed\n"), 0o644))
	edited, err := Build(t.Context(), r)
	must(t, err)
	for _, b := range append(again.Binaries, edited.Binaries...) {
		if !b.Fresh {
			t.Errorf("%s was made again", b.Name)
		}
	}
	t.Logf("first %s, nothing changed %s, a file changed that is in no binary %s", first.Duration, again.Duration, edited.Duration)
}

func BenchmarkScan(b *testing.B) {
	path := os.Getenv("SLIPWAY_BENCH_BINARY")
	if path == "" {
		var err error
		path, err = os.Executable()
		must(b, err)
	}
	info, err := os.Stat(path)
	must(b, err)
	b.SetBytes(info.Size())
	patterns := []string{"0123456789abcdef01234567", "1.32-dev-absent", "/home/someone/go/pkg/mod", "/home/someone", "registry.example.com/x", versionPackage + ".x"}
	for b.Loop() {
		if _, _, err := scan(b.Context(), path, patterns); err != nil {
			b.Fatal(err)
		}
	}
}

// TestIstioForWindows is the check that Istio's CI makes with
// `TARGET_OS=windows make build-cni`.
func TestIstioForWindows(t *testing.T) {
	r := istio(t)
	r.Platform = Platform{OS: "windows", Arch: "amd64"}
	r.Stamps = r.Stamps.For("windows", "amd64")
	r.Packages = r.Packages[6:]
	report, err := Build(t.Context(), r)
	must(t, err)
	for _, b := range report.Binaries {
		if !strings.HasSuffix(b.Path, ".exe") || !b.Stamped {
			t.Errorf("%+v", b)
		}
	}
}
