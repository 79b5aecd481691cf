// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"context"
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/repo"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/version"
)

const stampLine = "1.32-dev|0123456789abcdef0123456789abcdef01234567|Clean|1.31.0-7-g0123456|registry.istio.io/release|linux|amd64"

func TestBuildOneGoBuildPerTagSet(t *testing.T) {
	tagged := Package{Name: "tagged", Path: "example.com/mesh/cmd/ctl", Tags: []string{"agent"}}
	w := newWorld(t, mesh(), ctl, agent, tagged, echo)
	report := w.build()
	if _, builds := w.ran.take(); len(builds) != 2 {
		t.Errorf("go build ran %d times, want once per tag set:\n%s", len(builds), strings.Join(builds, "\n"))
	}
	for name, want := range map[string]string{
		"ctl":    "util\n" + stampLine + "\nno note\nstandard",
		"tagged": "util\n" + stampLine + "\nno note\nagent",
		"agent":  stampLine,
		"echo":   "hello",
	} {
		if diff := cmp.Diff(want, w.run(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var got []string
	for _, b := range report.Binaries {
		got = append(got, b.Name)
		sum, _, err := scan(t.Context(), b.Path, nil)
		must(t, err)
		if b.SHA256 != sum || b.Size == 0 || b.Fresh || b.Stamped != (b.Name != "echo") || len(b.Leaks) > 0 {
			t.Errorf("%+v, sum of the file is %s", b, sum)
		}
	}
	if diff := cmp.Diff([]string{"ctl", "agent", "tagged", "echo"}, got); diff != "" {
		t.Errorf("order of the report:\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(w.OutDir, recordDir, stagePrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("stages are left: %q %v", left, err)
	}
}

func TestPackagesOfOneNameDoNotMeet(t *testing.T) {
	w := newWorld(t, mesh(), ctl, Package{Name: "other", Path: "./cmd/other/ctl"})
	w.build()
	if got := w.run("other"); got != "the other" {
		t.Errorf("other says %q", got)
	}
	if got := w.run("ctl"); !strings.HasPrefix(got, "util") {
		t.Errorf("ctl says %q", got)
	}
}

func TestOutputBase(t *testing.T) {
	r := Request{Source: Source{Module: "example.com/x/v2"}, Platform: Platform{OS: "linux"}}
	for p, want := range map[string]string{".": "x", "./cmd/a": "a", "./cmd/a/v3": "a", "sigs.k8s.io/kind": "kind", "./v2ray": "v2ray"} {
		if got := r.outputBase(p); got != want {
			t.Errorf("outputBase(%q) = %q, want %q", p, got, want)
		}
	}
}

// The root package takes its name from the module, and the major version is
// none.
func TestRootPackage(t *testing.T) {
	w := newWorld(t, files{"go.mod": "module example.com/tool/v2\n\ngo 1.24\n", "main.go": "package main\n\nfunc main() { println(\"root\") }\n"},
		Package{Name: "root", Path: "."})
	w.build()
	if got := w.run("root"); got != "root" {
		t.Errorf("it says %q", got)
	}
}

func TestPlatforms(t *testing.T) {
	for _, tt := range []struct {
		platform, file string
	}{
		{"linux/amd64", "ctl"}, {"linux/arm64", "ctl"}, {"linux/arm/v7", "ctl"}, {"darwin/arm64", "ctl"}, {"windows/amd64", "ctl.exe"},
	} {
		t.Run(tt.platform, func(t *testing.T) {
			w := newWorld(t, mesh(), ctl)
			var err error
			w.Platform, err = ParsePlatform(tt.platform)
			must(t, err)
			// What is set for another build must not reach this one.
			w.Env = append(w.Env, "GOOS=plan9", "GOARCH=386", "GOARM=5")
			report := w.build()
			if got := filepath.Base(report.Binaries[0].Path); got != tt.file {
				t.Errorf("the file is %q", got)
			}
			if !report.Binaries[0].Stamped {
				t.Error("the stamps were not seen")
			}
			info, err := buildinfo.ReadFile(report.Binaries[0].Path)
			must(t, err)
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			if settings["GOOS"] != w.Platform.OS || settings["GOARCH"] != w.Platform.Arch || settings["CGO_ENABLED"] != "0" {
				t.Errorf("built with %v", settings)
			}
			if w.Platform.Arch == "arm" && !strings.HasPrefix(settings["GOARM"], "7") {
				t.Errorf("GOARM is %q", settings["GOARM"])
			}
			// A second look sees the platform in the file, and one for another
			// platform is refused.
			for _, other := range []Platform{{OS: "linux", Arch: "s390x"}, {OS: "darwin", Arch: "amd64"}, {OS: "windows", Arch: "arm64"}} {
				if checkMachine(report.Binaries[0].Path, other, false) == nil {
					t.Errorf("it passes as a program for %s", other)
				}
			}
		})
	}
}

func TestParsePlatform(t *testing.T) {
	for _, bad := range []string{"", "linux", "linux/", "/amd64", "linux/arm64/v7", "linux/amd64/v9", "linux/s390x/z", "a/b/c/d", "Linux/amd64", "linux/../x"} {
		if p, err := ParsePlatform(bad); err == nil || fail.Code(err) != fail.Usage {
			t.Errorf("ParsePlatform(%q) = %v, %v", bad, p, err)
		}
	}
	for platform, want := range map[string]string{
		"linux/arm": "GOARM=7", "linux/arm/v6": "GOARM=6", "linux/arm64/v8": "GOARM64=v8.0", "linux/amd64": "GOAMD64=v1", "linux/amd64/v3": "GOAMD64=v3",
	} {
		p, err := ParsePlatform(platform)
		must(t, err)
		if env := p.environ(nil); !slices.Contains(env, want) || p.String() != platform {
			t.Errorf("%s gives %v", p, env)
		}
	}
	if env := (Platform{OS: "linux", Arch: "amd64"}).environ([]string{"GOAMD64=v2"}); !slices.Contains(env, "GOAMD64=v2") {
		t.Errorf("the user's level is lost: %v", env)
	}
}

func TestReleaseNames(t *testing.T) {
	w := newWorld(t, mesh(), Package{Name: "ctl", Path: "./cmd/ctl", Output: "ctl-linux-amd64"})
	if got := w.build().Binaries[0]; filepath.Base(got.Path) != "ctl-linux-amd64" || got.Name != "ctl" {
		t.Errorf("%+v", got)
	}
}

// C021
func TestPackagesForAnotherSystem(t *testing.T) {
	for _, tt := range []struct {
		name string
		pkg  Package
		says string
	}{
		{"by its files", cni, "linux only"},
		{"by the list", Package{Name: "ctl2", Path: "./cmd/ctl", OS: []string{"linux"}}, "it is for linux only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, mesh(), tt.pkg, echo)
			w.Platform = Platform{OS: "darwin", Arch: "arm64"}
			report := w.build()
			if len(report.Binaries) != 1 || !cmp.Equal(report.Skipped, []string{tt.pkg.Name}) {
				t.Errorf("%+v", report)
			}
			if got := w.screen.String(); !strings.Contains(got, tt.pkg.Name+" is left out of darwin/arm64") || !strings.Contains(got, tt.says) {
				t.Errorf("the screen says:\n%s", got)
			}
			w.Packages[0].Named = true
			if err := w.fails(); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("asked for by name: %v", err)
			}
		})
	}
}

func TestRefusedBeforeAnythingIsMade(t *testing.T) {
	tests := []struct {
		name   string
		change func(w *world)
		says   string
	}{
		{"no output folder", func(w *world) { w.OutDir = "" }, `output folder is ""`},
		{"relative output folder", func(w *world) { w.OutDir = "out" }, `output folder is "out"`},
		{"root as output folder", func(w *world) { w.OutDir = "/" }, `output folder is "/"`},
		{"no source", func(w *world) { w.Source.Dir = "" }, `source folder is ""`},
		{"wrong repository", func(w *world) { w.Packages[0].Path = "./pilot/cmd/pilot-agent" }, "is this the right repository?"},
		{"library", func(w *world) { w.Packages[0].Path = "./pkg/library" }, "not main"},
		{"no name", func(w *world) { w.Packages[0].Name = "" }, "both are needed"},
		{"name with a slash", func(w *world) { w.Packages[0].Output = "../x" }, "not a file name"},
		{"pattern", func(w *world) { w.Packages[0].Path = "./..." }, "not the path of one package"},
		{"flag as a path", func(w *world) { w.Packages[0].Path = "-x" }, "not the path of one package"},
		{"two of one file", func(w *world) { w.Packages = append(w.Packages, Package{Name: "b", Path: "./cmd/echo", Output: "ctl"}) }, "would also be the file of ctl"},
		{"no tag set has files", func(w *world) {
			w.put("cmd/none/a.go", "//go:build never\n\npackage main\n")
			w.Packages[0].Path = "./cmd/none"
		}, "holds no Go file"},
		{"platform", func(w *world) { w.Platform.Arch = "" }, "write os/arch"},
		{"open quote", func(w *world) { w.GoBuildFlags = []string{"-ldflags=-X 'a"} }, "has no end"},
		{"-o", func(w *world) { w.GoBuildFlags = []string{"-o", "x"} }, "-o cannot be set"},
		{"-n", func(w *world) { w.GoBuildFlags = []string{"-n"} }, "would build nothing"},
		{"a package among flags", func(w *world) { w.GoBuildFlags = []string{"./cmd/echo"} }, "is not a flag"},
		{"flag without value", func(w *world) { w.GoBuildFlags = []string{"-tags"} }, "needs a value"},
		{"-o in GOFLAGS", func(w *world) { w.Env = append(w.Env, "GOFLAGS=-o=x") }, "reading GOFLAGS"},
		{"both quotes", func(w *world) { w.LDFlags = []string{"-X", `main.note=a 'b' "c"`} }, "use one kind"},
		{"folder in the way", func(w *world) { must(w.t, os.MkdirAll(filepath.Join(w.OutDir, "ctl"), 0o755)) }, "there is a folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, mesh(), ctl)
			tt.change(w)
			err := w.fails()
			if fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("code %d: %v", fail.Code(err), err)
			}
			if n, _ := w.ran.take(); n != 0 {
				t.Errorf("%d programs were started", n)
			}
		})
	}
}

func TestCompilerErrorsArePassedOnAndOldBinariesStay(t *testing.T) {
	w := newWorld(t, mesh(), ctl, echo)
	w.build()
	before := w.run("ctl")
	w.put("pkg/util/u.go", "package util\n\nfunc Name() int { return \"x\" }\n")
	w.put("cmd/echo/text.txt", "new\n")
	err := w.fails()
	if !strings.Contains(err.Error(), "building ctl, echo for "+host().String()) || fail.Code(err) != fail.Failed {
		t.Errorf("code %d: %v", fail.Code(err), err)
	}
	if got := w.screen.String(); !strings.Contains(got, "["+host().String()+"] ") || !strings.Contains(got, "u.go:3:26") {
		t.Errorf("the compiler's words are not on the screen:\n%s", got)
	}
	if w.run("ctl") != before || w.run("echo") != "hello" {
		t.Error("an old binary was touched")
	}
	left, err := filepath.Glob(filepath.Join(w.OutDir, recordDir, stagePrefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("stages are left: %q %v", left, err)
	}
}

func TestNoGoCommand(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	w.GoBinary = "go-that-is-not-there"
	if err := w.fails(); fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "https://go.dev/dl/") || !strings.Contains(err.Error(), `"go-that-is-not-there"`) {
		t.Errorf("code %d: %v", fail.Code(err), err)
	}
}

func TestGoTooOld(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	w.put("go.mod", "module example.com/mesh\n\ngo 1.999.0\n")
	w.fails()
	if got := w.screen.String(); !strings.Contains(got, "requires go >= 1.999.0") {
		t.Errorf("Go's own words are lost:\n%s", got)
	}
}

func TestUnknownPlatform(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	w.Platform = Platform{OS: "linux", Arch: "z80"}
	if err := w.fails(); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "go tool dist list") {
		t.Errorf("code %d: %v", fail.Code(err), err)
	}
}

func TestModulesThatCannotBeFetched(t *testing.T) {
	tree := mesh()
	tree["go.mod"] = "module example.com/mesh\n\ngo 1.24\n\nrequire example.org/nowhere v1.0.0\n"
	tree["go.sum"] = "example.org/nowhere v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nexample.org/nowhere v1.0.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	tree["cmd/ctl/dep.go"] = "package main\n\nimport _ \"example.org/nowhere\"\n"
	w := newWorld(t, tree, ctl)
	if err := w.fails(); fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "GOPROXY") {
		t.Errorf("code %d: %v\n%s", fail.Code(err), err, w.screen)
	}
}

// C023 and C027: the user's flags and the stamps are one -ldflags, whatever
// the values hold.
func TestLinkerFlagsAndStampsAreJoined(t *testing.T) {
	for _, note := range []string{"a b", `say "hi"`, "it's", "a=b=c $(x) `y` \\ ; ünï  cödé"} {
		w := newWorld(t, mesh(), ctl)
		w.LDFlags = []string{"-X", "main.note=" + note}
		w.build()
		if diff := cmp.Diff("util\n"+stampLine+"\n"+note+"\nstandard", w.run("ctl")); diff != "" {
			t.Errorf("%q:\n%s", note, diff)
		}
	}
}

func TestFlagsOfTheUserAreJoinedWhereverTheyStand(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, w *world)
		want   string // note and flavour
	}{
		{"GOFLAGS tags", func(_ *testing.T, w *world) { w.Env = append(w.Env, "GOFLAGS=-tags=agent") }, "no note\nagent"},
		{"GOFLAGS ldflags", func(_ *testing.T, w *world) { w.Env = append(w.Env, `GOFLAGS='-ldflags=-X main.note=goflags'`) }, "goflags\nstandard"},
		{"go env -w", func(t *testing.T, w *world) {
			must(t, os.WriteFile(lookup(w.Env, "GOENV"), []byte("GOFLAGS=-tags=agent\n"), 0o600))
		}, "no note\nagent"},
		{"GOBUILDFLAGS", func(t *testing.T, w *world) {
			var err error
			w.GoBuildFlags, err = SplitWords("GOBUILDFLAGS", `-tags agent -ldflags "-X 'main.note=of two words'"`)
			must(t, err)
		}, "of two words\nagent"},
		{"LDFLAGS wins", func(t *testing.T, w *world) {
			w.GoBuildFlags = []string{"-ldflags=-X main.note=first"}
			var err error
			w.LDFlags, err = version.Split("LDFLAGS", "-X main.note=second")
			must(t, err)
		}, "second\nstandard"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, mesh(), ctl)
			tt.change(t, w)
			w.build()
			if diff := cmp.Diff("util\n"+stampLine+"\n"+tt.want, w.run("ctl")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// C023: a binary that would call itself unknown does not leave the stage.
func TestLostStampsAreAnError(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(w *world)
	}{
		{"another variable", func(w *world) {
			w.put("pkg/version/version.go", strings.ReplaceAll(mesh()["pkg/version/version.go"], "buildVersion", "builtVersion"))
		}},
		{"a constant", func(w *world) {
			text := strings.ReplaceAll(mesh()["pkg/version/version.go"], `buildVersion     = "unknown"`, "")
			w.put("pkg/version/version.go", text+"\nconst buildVersion = \"unknown\"\n")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, mesh(), ctl)
			tt.spoil(w)
			err := w.fails()
			if !strings.Contains(err.Error(), "did not reach the binary") || !strings.Contains(err.Error(), "buildVersion") {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(filepath.Join(w.OutDir, "ctl")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the binary is there: %v", err)
			}
		})
	}
	t.Run("a program that only names the package", func(t *testing.T) {
		w := newWorld(t, mesh(), echo)
		w.put("cmd/echo/text.txt", versionPackage+".buildVersion\n")
		if b := w.build().Binaries[0]; b.Stamped {
			t.Errorf("%+v", b)
		}
	})
	t.Run("set by the user", func(t *testing.T) {
		w := newWorld(t, mesh(), ctl)
		w.LDFlags = []string{"-X", versionPackage + ".buildVersion=mine", "-X=" + versionPackage + ".buildHub=hub"}
		w.build()
		if got := w.run("ctl"); !strings.Contains(got, "mine|0123") || !strings.Contains(got, "|hub|") {
			t.Errorf("it says %q", got)
		}
	})
}

// C032: neither the folders, nor the user, nor the machine are in the binary.
func TestNothingOfTheMachineIsInTheBinary(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	name, err := os.Hostname()
	must(t, err)
	w.Env = append(w.Env, "USER=someone-who-builds", "LOGNAME=someone-who-builds", "HOSTNAME=box-that-builds")
	patterns := []string{w.dir, "someone", "box-that-builds", lookup(w.Env, "GOMODCACHE")}
	if len(name) > 8 {
		patterns = append(patterns, name)
	}
	report := w.build()
	_, found, err := scan(t.Context(), report.Binaries[0].Path, patterns)
	must(t, err)
	for p, has := range found {
		if has {
			t.Errorf("the binary holds %q", p)
		}
	}
	w.put("pkg/util/u.go", "package util\n\nfunc Name() string { return \""+w.dir+"\" }\n")
	report = w.build()
	if !slices.Contains(report.Binaries[0].Leaks, w.dir) || !strings.Contains(w.screen.String(), "of this machine") {
		t.Errorf("a leak is not told: %+v", report.Binaries[0])
	}
}

func TestDebugBuild(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	release := w.build().Binaries[0]
	w.Debug = true
	debug := w.build().Binaries[0]
	if debug.Size <= release.Size {
		t.Errorf("debug has %d bytes, release %d", debug.Size, release.Size)
	}
	info, err := buildinfo.ReadFile(debug.Path)
	must(t, err)
	if text := info.String(); !strings.Contains(text, "-gcflags=\"all=-N -l\"") || strings.Contains(text, "-trimpath=true") || strings.Contains(text, "-s -w") || !strings.Contains(text, "-extldflags -static") {
		t.Errorf("built with:\n%s", text)
	}
	if got := w.run("ctl"); !strings.Contains(got, stampLine) {
		t.Errorf("it says %q", got)
	}
}

func TestStripped(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	w.Dynamic = true // keeps -s -w and the stamps
	w.build()
	if out, err := exec.Command("go", "tool", "nm", filepath.Join(w.OutDir, "ctl")).CombinedOutput(); err == nil && strings.Contains(string(out), "main.main") {
		t.Error("the symbol table is there")
	}
	if got := w.run("ctl"); !strings.Contains(got, stampLine) {
		t.Errorf("it says %q", got)
	}
}

func TestStaticIsChecked(t *testing.T) {
	if host().OS != "linux" {
		t.Skip("the check is about ELF files")
	}
	w := newWorld(t, mesh(), echo)
	w.build()
	path := filepath.Join(w.OutDir, "echo")
	must(t, checkMachine(path, host(), true))
	w.GoBuildFlags = []string{"-buildmode=pie"} // asked for: passes
	w.build()
	if err := checkMachine(path, host(), true); err == nil || !strings.Contains(err.Error(), "dynamic loader") {
		t.Errorf("a program with a loader counts as static: %v", err)
	}
}

func TestTruncatedAndForeignFilesAreNoPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, text := range []string{"", "\x7fELF", "#!/bin/sh\n", "MZ", "\xcf\xfa\xed\xfe"} {
		must(t, os.WriteFile(path, []byte(text), 0o755))
		for _, p := range []Platform{{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "windows", Arch: "amd64"}} {
			if err := checkMachine(path, p, true); err == nil {
				t.Errorf("%q passes for %s", text, p)
			}
		}
	}
}

// C024
func TestWorktreeOfABareRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w := newWorld(t, mesh(), ctl)
	bare := filepath.Join(t.TempDir(), "r.git")
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x"},
		{"clone", "--quiet", "--bare", ".", bare}, {"--git-dir", bare, "worktree", "add", "--quiet", w.dir + "-wt"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = w.dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	source, err := Checkout(w.dir + "-wt")
	must(t, err)
	w.Source = source
	w.build()
	if got := w.run("ctl"); !strings.Contains(got, stampLine) {
		t.Errorf("it says %q", got)
	}
}

func TestInterrupted(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ctx, w.Request); fail.Code(err) != fail.Interrupted {
		t.Errorf("code %d: %v", fail.Code(err), err)
	}
}

func TestScan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	text := strings.Repeat("a", scanStep-3) + "needle" + strings.Repeat("b", 2*scanStep) + "end"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	sum, found, err := scan(t.Context(), path, []string{"needle", "bend", "ab", "absent"})
	must(t, err)
	out, err := exec.Command("sha256sum", path).Output()
	if err == nil && !strings.HasPrefix(string(out), sum) {
		t.Errorf("sum %s, sha256sum says %s", sum, out)
	}
	if diff := cmp.Diff(map[string]bool{"needle": true, "bend": true, "ab": false, "absent": false}, found); diff != "" {
		t.Error(diff)
	}
}

// C022, C025, C031: what the stamps are made from, up to the running program.
func TestStampsOfACheckout(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	w := newWorld(t, mesh(), ctl)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir = w.dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "-m", "x")
	git("tag", "1.32.0")
	git("checkout", "--quiet", "--detach")
	head := git("rev-parse", "HEAD")
	in := version.Input{Package: versionPackage, Version: "1.32-dev", Hub: "h", OS: "linux", Arch: "amd64"}
	stamps := func(checkout *repo.Checkout) {
		facts, err := checkout.Facts(t.Context())
		w.Stamps, _ = version.FromCheckout(in, facts, err)
		w.build()
	}
	checkout := repo.Open(run.Exec{}, w.dir, repo.Options{Ignore: []string{"out"}})
	stamps(checkout)
	want := "1.32-dev|" + head + "|Clean|1.32.0|h|linux|amd64"
	if got := strings.Split(w.run("ctl"), "\n")[1]; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	w.put("pkg/util/u.go", "package util\n\nfunc Name() string { return \"generated\" }\n") // by a step of the build
	stamps(checkout)
	if got := strings.Split(w.run("ctl"), "\n"); got[0] != "generated" || got[1] != want {
		t.Errorf("after a step wrote into the tree it says %q", got)
	}
	stamps(repo.Open(run.Exec{}, w.dir, repo.Options{}))
	if got := strings.Split(w.run("ctl"), "\n")[1]; got != strings.Replace(want, head+"|Clean", head+"-dirty|Modified", 1) {
		t.Errorf("the next process says %q", got)
	}
	must(t, os.RemoveAll(filepath.Join(w.dir, ".git")))
	stamps(repo.Open(run.Exec{}, w.dir, repo.Options{})) // without git: built all the same
	if got := strings.Split(w.run("ctl"), "\n")[1]; got != "1.32-dev|unknown|Modified||h|linux|amd64" {
		t.Errorf("without git it says %q", got)
	}
}

// C029: the place of a checkout is not in the binary, so two of them give the
// same bytes.
func TestReproducible(t *testing.T) {
	a, b := newWorld(t, mesh(), ctl), newWorld(t, mesh(), ctl)
	b.Env = append(b.Env, "USER=another", "HOME="+t.TempDir())
	if x, y := a.build().Binaries[0], b.build().Binaries[0]; x.SHA256 != y.SHA256 || a.dir == b.dir {
		t.Errorf("%s and %s", x.SHA256, y.SHA256)
	}
}
