// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/goal"
)

// call is one run of the whole program in a repository.
type call struct {
	code           int
	stdout, stderr string
}

func invoke(t *testing.T, dir, makeFlags string, env []string, goals ...string) call {
	t.Helper()
	var out, errs bytes.Buffer
	base := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	for _, name := range []string{"GOMODCACHE", "GOCACHE", "GOPROXY", "GOPATH"} {
		if v := os.Getenv(name); v != "" {
			base = append(base, name+"="+v)
		}
	}
	code := Main(t.Context(), Invocation{Goals: goals, MakeFlags: makeFlags, Environ: append(base, env...), Dir: dir, Stdout: &out, Stderr: &errs})
	return call{code, out.String(), errs.String()}
}

// repository is a small one with a catalog: one program of its own, two
// images.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/tiny\n\ngo 1.21\n",
		"VERSION": "2.0\n",
		"cmd/hello/main.go": `package main

import (
	"fmt"

	"example.com/tiny/version"
)

func main() { fmt.Println("hello", version.Version()) }
`,
		"version/version.go":       "package version\n\nvar buildVersion = \"unknown\"\n\nfunc Version() string { return buildVersion }\n",
		"docker/Dockerfile.hello":  "ARG BASE_DISTRIBUTION=static\nFROM static AS static\nFROM registry.invalid/base AS debug\nFROM ${BASE_DISTRIBUTION}\nARG TARGETARCH\nCOPY ${TARGETARCH}/hello /hello\nENTRYPOINT [\"/hello\"]\n",
		"docker/Dockerfile.static": "FROM scratch\nCOPY <<E /etc/static\nyes\nE\n",
		"docker/Dockerfile.run":    "FROM scratch\nRUN true\n",
		"common/config/catalog.yaml": `variants:
  default: static
  debug: debug
binaries:
- name: hello
  package: ./cmd/hello
  groups: [build, build-linux]
images:
- name: static
  dockerfile: docker/Dockerfile.static
  base: true
- name: hello
  dockerfile: docker/Dockerfile.hello
  inputs:
  - binary: hello
- name: runs
  dockerfile: docker/Dockerfile.run
contexts:
  static: static
`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestGoalNamesAreUniqueAndDocumented(t *testing.T) {
	registry, err := goal.NewRegistry(goals())
	if err != nil {
		t.Fatal(err)
	}
	// The goals of Istio's make surface that people and CI type.
	for _, name := range strings.Fields(`default init depend build build-linux build-cni istioctl pilot-discovery client server extauthz pilot-agent
		istio-cni install-cni istioctl-linux-amd64 istioctl-linux-armv7 istioctl-linux-arm64 istioctl-osx istioctl-osx-arm64 istioctl-win.exe istioctl-all
		istioctl.completion istioctl-install istioctl-install-container clean coverage test racetest binaries-test benchtest report-benchtest
		test.integration.pilot.kube test.integration-fuzz.x.kube test.integration.pilot.kube.presubmit test.integration.kube check-go-tag
		docker docker.all dockerx docker.save dockerx.save docker.push dockerx.push dockerx.pushx push docker.pilot dockerx.docker.pilot push.docker.pilot
		tar.docker.pilot bookinfo.build bookinfo.push precommit format fmt gen gen-check go-gen proto refresh-goldens update-golden gen-addons update-crds
		copy-templates lint lint-helm-global lint-dockerfiles lint-scripts lint-yaml lint-helm lint-copyright-banner fix-copyright-banner lint-go lint-python
		lint-markdown lint-links lint-sass lint-typescript lint-licenses lint-all tidy-go mod-download-go format-go format-python dump-licenses
		dump-licenses-csv mirror-licenses update-common check-clean-repo tidy-docker deb deb/fpm rpm/fpm show.env show.goenv show.HUB help shell`) {
		if _, ok := registry.Find(name); !ok {
			t.Errorf("there is no goal %s", name)
		}
	}
}

// Mage reads the alias map as text, and checks neither side.
func TestAliasesAreGoals(t *testing.T) {
	text, err := os.ReadFile("../../magefiles/aliases.go")
	if err != nil {
		t.Fatal(err)
	}
	registry, err := goal.NewRegistry(goals())
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\t"([^"]+)":`).FindAllStringSubmatch(string(text), -1)
	if len(names) < 15 {
		t.Errorf("%d aliases read, want all of them", len(names))
	}
	for _, m := range names {
		if _, ok := registry.Find(m[1]); !ok {
			t.Errorf("alias %q is no goal", m[1])
		}
	}
}

func TestUnknownGoals(t *testing.T) {
	dir := repository(t)
	got := invoke(t, dir, "", []string{"TAG=1"}, "clean", "biuld", "lint-gp")
	if got.code != fail.Usage || !strings.Contains(got.stderr, `"biuld"; did you mean build`) || !strings.Contains(got.stderr, `"lint-gp"; did you mean lint-go`) {
		t.Errorf("%+v", got)
	}
}

func TestDryRunTouchesNothing(t *testing.T) {
	dir := repository(t)
	got := invoke(t, dir, "n", []string{"TAG=1", "HUB=localhost:5000/x"}, "push.docker.hello", "clean", "test")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{
		"compile   linux/", "image     static (default)", "image     hello (default) from docker/Dockerfile.hello",
		"push    localhost:5000/x/hello:1", "run       rm -rf ", "run       go test ./...",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("plan lacks %q:\n%s", want, got.stdout)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); !os.IsNotExist(err) {
		t.Errorf("out exists: %v", err)
	}
}

func TestBuildAndImage(t *testing.T) {
	dir := repository(t)
	env := []string{"TAG=1", "HUB=localhost:5000/x", "DOCKER_LOAD=0", "DOCKER_TARGETS=docker.hello"}
	first := invoke(t, dir, "", env, "docker", "tar.docker.hello")
	if first.code != 0 {
		t.Fatalf("%+v", first)
	}
	archives, _ := filepath.Glob(filepath.Join(dir, "out", "linux_*", "release", "docker", "hello*.tar.gz"))
	if len(archives) != 1 || !strings.Contains(first.stdout, archives[0]) {
		t.Errorf("archives %v, printed %q", archives, first.stdout)
	}
	second := invoke(t, dir, "", env, "docker")
	if second.code != 0 || !strings.Contains(second.stderr, " 0 of ") || strings.Contains(second.stderr, "compiled") {
		t.Errorf("second run: %+v", second)
	}
	if got := invoke(t, dir, "", env, "clean"); got.code != 0 {
		t.Errorf("clean: %+v", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out", "linux_*")); len(left) > 0 {
		t.Errorf("clean left %v", left)
	}
}

// A binary as a goal by its name, by its path, and in both spellings of the
// target platform.
func TestBinaryGoals(t *testing.T) {
	dir := repository(t)
	for _, c := range []struct {
		flags string
		env   []string
		goal  string
		want  string
	}{
		{"", nil, "build", "out/" + host() + "/hello"},
		{" -- TARGET_OS=windows TARGET_ARCH=arm64", nil, "build", "out/windows_arm64/hello.exe"},
		{"", []string{"TARGET_OS=windows", "TARGET_ARCH=amd64"}, "build", "out/windows_amd64/hello.exe"},
	} {
		got := invoke(t, dir, c.flags, append(c.env, "TAG=1", "ISTIO_ENVOY_LINUX_RELEASE_PATH=/nonexistent"), c.goal)
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(c.want))); err != nil || got.code != 0 {
			t.Errorf("%s %s %v: %v\n%+v", c.flags, c.goal, c.env, err, got)
		}
	}
	out, err := exec.Command(filepath.Join(dir, "out", host(), "hello")).Output()
	if err != nil || string(out) != "hello unknown\n" {
		t.Errorf("the binary says %q, %v", out, err)
	}
}

func host() string {
	out, _ := exec.Command("go", "env", "GOHOSTOS", "GOHOSTARCH").Output()
	return strings.Join(strings.Fields(string(out)), "_")
}

// Mistakes are found before anything is compiled.
func TestMistakesComeFirst(t *testing.T) {
	dir := repository(t)
	for _, c := range []struct {
		name  string
		env   []string
		goals []string
		want  []string
	}{
		{"tag", []string{"TAG=feature/x"}, []string{"docker.hello"}, []string{"TAG=feature-x"}},
		{"hub", []string{"TAG=1", "HUB=Reg/X"}, []string{"push.docker.hello"}, []string{"lower case"}},
		{"platform", []string{"TAG=1", "DOCKER_ARCHITECTURES=linux/amd46"}, []string{"docker.hello"}, []string{"DOCKER_ARCHITECTURES", "environment", "linux/amd64"}},
		{"image", []string{"TAG=1"}, []string{"docker.helo"}, []string{"helo", "hello"}},
		{"target list", []string{"TAG=1", "DOCKER_TARGETS=docker.x docker.y"}, []string{"docker"}, []string{"DOCKER_TARGETS", "environment", "x", "y"}},
		{"empty target list", []string{"TAG=1", "DOCKER_TARGETS= "}, []string{"docker"}, []string{"DOCKER_TARGETS"}},
		{"variant", []string{"TAG=1", "DOCKER_BUILD_VARIANTS=debgu"}, []string{"docker.hello"}, []string{"DOCKER_BUILD_VARIANTS", "debug"}},
		{"empty variants", []string{"TAG=1", "DOCKER_BUILD_VARIANTS="}, []string{"docker.hello"}, []string{"DOCKER_BUILD_VARIANTS"}},
		{"RUN", []string{"TAG=1", "ISTIO_DOCKER_BUILDER=crane"}, []string{"docker.runs"}, []string{"docker/Dockerfile.run:2", "RUN true", "ISTIO_DOCKER_BUILDER"}},
		{"official hub", []string{"TAG=1"}, []string{"push.docker.hello"}, []string{"pushing to official registry only supported in CI"}},
		{"codec", []string{"TAG=1", "SLIPWAY_CODEC=lz4"}, []string{"docker.hello"}, []string{"lz4", "zstd"}},
		{"builder", []string{"TAG=1", "ISTIO_DOCKER_BUILDER=magic"}, []string{"docker.hello"}, []string{"ISTIO_DOCKER_BUILDER", "magic"}},
		{"load of two platforms", []string{"TAG=1", "DOCKER_LOAD=1", "DOCKER_ARCHITECTURES=linux/amd64,linux/arm64"}, []string{"docker.hello"}, []string{"one platform"}},
		{"no tag", nil, []string{"docker.hello"}, []string{"TAG cannot be empty"}},
		{"target system", []string{"TAG=1", "TARGET_OS=linus"}, []string{"build"}, []string{"TARGET_OS", "linus"}},
		{"flags", []string{"TAG=1", "GOBUILDFLAGS='"}, []string{"test"}, []string{"GOBUILDFLAGS"}},
		{"clean of the repository", []string{"TAG=1", "TARGET_OUT=."}, []string{"clean"}, []string{"TARGET_OUT", "not removed"}},
		{"no push to resume", []string{"TAG=1"}, []string{"docker.resume"}, []string{"no push to resume"}},
		{"goal of another make file", []string{"TAG=1"}, []string{"gen"}, []string{"Makefile.core.mk", dir}},
		{"form of output", []string{"TAG=1", "OUTPUT=yaml"}, []string{"help"}, []string{"OUTPUT", "yaml"}},
		{"plan of nothing", []string{"TAG=1"}, []string{"plan"}, []string{"GOALS"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := invoke(t, dir, "", c.env, c.goals...)
			if got.code != fail.Usage {
				t.Errorf("code %d, want %d\n%s", got.code, fail.Usage, got.stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("error lacks %q:\n%s", want, got.stderr)
				}
			}
			if built, _ := filepath.Glob(filepath.Join(dir, "out", "linux_*")); len(built) > 0 {
				t.Errorf("something was built first: %v", built)
			}
		})
	}
}

func TestSettingsAsJSON(t *testing.T) {
	dir := repository(t)
	got := invoke(t, dir, "s -- OUTPUT=json HUB=$$(USER)/x", []string{"TAG=1", "USER=dev", "HUB=expanded-by-make"}, "settings")
	var all map[string]struct{ Value, Origin string }
	if err := json.Unmarshal([]byte(got.stdout), &all); err != nil || got.code != 0 {
		t.Fatalf("%v\n%+v", err, got)
	}
	if v := all["HUB"]; v.Value != "dev/x" || v.Origin != "command line" {
		t.Errorf("HUB %+v", v)
	}
	if v := all["VERSION"]; v.Value != "2.0-dev" {
		t.Errorf("VERSION %+v", v)
	}
}

func TestShowAndHelp(t *testing.T) {
	dir := repository(t)
	if got := invoke(t, dir, "n", []string{"TAG=1"}, "show.TAG"); got.stdout != "run       print show.TAG\n" {
		t.Errorf("make -n show.TAG: %+v", got)
	}
	if got := invoke(t, dir, "", []string{"TAG=1", "HUB=a b"}, "show.HUB", "show.NOPE"); got.stdout != "HUB => a b\nNOPE => \n" || got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := invoke(t, dir, "", nil, "help"); got.code != 0 || !strings.Contains(got.stdout, "docker.push") {
		t.Errorf("%+v", got)
	}
}

func TestPlanAsJSON(t *testing.T) {
	dir := repository(t)
	got := invoke(t, dir, "", []string{"TAG=1", "HUBS=a.example/x b.example/y", "OUTPUT=json", "GOALS=docker.push test", "DOCKER_TARGETS=hello"}, "plan")
	var plan Plan
	if err := json.Unmarshal([]byte(got.stdout), &plan); err != nil || got.code != 0 {
		t.Fatalf("%v\n%+v", err, got)
	}
	if len(plan.Images) != 2 || !slices.Equal(plan.Images[1].References, []string{"a.example/x/hello:1", "b.example/y/hello:1"}) || len(plan.Commands) != 1 {
		t.Errorf("plan %+v", plan)
	}
}

// The flags of make that change what happens.
func TestMakeFlags(t *testing.T) {
	dir := repository(t)
	if got := invoke(t, dir, "t", []string{"TAG=1"}, "build"); got.code != fail.Usage {
		t.Errorf("-t: %+v", got)
	}
	if got := invoke(t, dir, "q", []string{"TAG=1"}, "build"); got.code != fail.Failed {
		t.Errorf("-q: %+v", got)
	}
	for flags, want := range map[string]int{"": 0, "k": 1} {
		got := invoke(t, dir, flags, []string{"TAG=1", "T=-badflag"}, "test", "show.TAG")
		if got.code != fail.Failed || strings.Count(got.stdout, "TAG => 1") != want {
			t.Errorf("flags %q: %+v", flags, got)
		}
	}
}

// A goal that the repository's own make file defines gets the settled
// settings.
func TestHandedOver(t *testing.T) {
	dir := repository(t)
	text := "gen:\n\t@echo HUB=$$HUB TAG=$$TAG PULL_POLICY=$$PULL_POLICY X=$(X)\n"
	if err := os.WriteFile(filepath.Join(dir, coreMakefile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := invoke(t, dir, " -- X=a\\ b", []string{"TAG=latest"}, "gen")
	if want := "HUB=istio TAG=latest PULL_POLICY=Always X=a b\n"; got.code != 0 || got.stdout != want {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func TestNoRepository(t *testing.T) {
	got := invoke(t, t.TempDir(), "", []string{"TAG=1"}, "build")
	if got.code != fail.Usage || !strings.Contains(got.stderr, "common/config/catalog.yaml") {
		t.Errorf("%+v", got)
	}
}
