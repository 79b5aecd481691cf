// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

const (
	proxySHA   = "0a12a02f0db52f6d229ec0fbe0f2091e1c02098b"
	ztunnelSHA = "44beaefcd456ab46f98b297023ff0a382e69bb03"
)

func input(arch, localOS string, settings map[string]string) Input {
	return Input{
		Lookup: func(name string) string { return settings[name] },
		Pins: map[string]Pin{
			"PROXY_REPO_SHA":   {proxySHA, "PROXY_REPO_SHA (istio.deps:4)"},
			"ZTUNNEL_REPO_SHA": {ztunnelSHA, "ZTUNNEL_REPO_SHA (istio.deps:11)"},
		},
		Root: "/r", TargetOut: "/r/out/" + localOS + "_" + arch, TargetOutLinux: "/r/out/linux_" + arch,
		Arch: arch, LocalOS: localOS,
	}
}

// Each line: what differs, and then what each program is, as
// NAME URL <ORIGIN> DEST [COPIES] named.
func TestEnvoy(t *testing.T) {
	const blob = "https://blob.istio.io/istio-build/proxy/"
	for name, c := range map[string]struct {
		arch, os string
		set      map[string]string
		want     []string
	}{
		"defaults": {"amd64", "linux", nil, []string{
			"envoy " + blob + "envoy-alpha-" + proxySHA + ".tar.gz <PROXY_REPO_SHA (istio.deps:4)> /r/out/linux_amd64/release/envoy-" + proxySHA + " [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy]"}},
		"arm64 on a Mac": {"arm64", "darwin", nil, []string{
			"envoy " + blob + "envoy-alpha-" + proxySHA + "-arm64.tar.gz <PROXY_REPO_SHA (istio.deps:4)> /r/out/linux_arm64/release/envoy-" + proxySHA + " [/r/out/linux_arm64/release/envoy /r/out/darwin_arm64/envoy /r/out/linux_arm64/envoy]"}},
		"PROXY_REPO_SHA": {"amd64", "linux", map[string]string{"PROXY_REPO_SHA": "p"}, []string{
			"envoy " + blob + "envoy-alpha-p.tar.gz <PROXY_REPO_SHA> /r/out/linux_amd64/release/envoy-p [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy]"}},
		"ISTIO_ENVOY_VERSION wins": {"amd64", "linux", map[string]string{"PROXY_REPO_SHA": "p", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy " + blob + "envoy-alpha-v.tar.gz <ISTIO_ENVOY_VERSION> /r/out/linux_amd64/release/envoy-v [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy]"}},
		"ISTIO_ENVOY_BASE_URL": {"amd64", "linux", map[string]string{"ISTIO_ENVOY_BASE_URL": "https://m.example/p/", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy https://m.example/p/envoy-alpha-v.tar.gz <ISTIO_ENVOY_BASE_URL and ISTIO_ENVOY_VERSION> /r/out/linux_amd64/release/envoy-v [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy]"}},
		"a bucket": {"amd64", "linux", map[string]string{"ISTIO_ENVOY_BASE_URL": "s3://b/p", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy s3://b/p/envoy-alpha-v.tar.gz <ISTIO_ENVOY_BASE_URL and ISTIO_ENVOY_VERSION> /r/out/linux_amd64/release/envoy-v [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy]"}},
		"ISTIO_ENVOY_RELEASE_URL": {"amd64", "linux", map[string]string{"ISTIO_ENVOY_RELEASE_URL": "file:/e.tgz", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy file:/e.tgz <ISTIO_ENVOY_RELEASE_URL> /r/out/linux_amd64/release/envoy-v [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy]"}},
		"ISTIO_ENVOY_LINUX_RELEASE_URL wins": {"arm64", "linux", map[string]string{"ISTIO_ENVOY_LINUX_RELEASE_URL": "https://x/l", "ISTIO_ENVOY_RELEASE_URL": "https://x/n", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy https://x/l <ISTIO_ENVOY_LINUX_RELEASE_URL> /r/out/linux_arm64/release/envoy-v [/r/out/linux_arm64/release/envoy /r/out/linux_arm64/envoy]"}},
		"ISTIO_ENVOY_LINUX_VERSION does not name the release": {"amd64", "linux", map[string]string{"ISTIO_ENVOY_LINUX_VERSION": "l", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy " + blob + "envoy-alpha-v.tar.gz <ISTIO_ENVOY_VERSION> /r/out/linux_amd64/release/envoy-v [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy]"}},
		"SIDECAR": {"amd64", "linux", map[string]string{"SIDECAR": "proxy", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy " + blob + "envoy-alpha-v.tar.gz <ISTIO_ENVOY_VERSION> /r/out/linux_amd64/release/proxy-v [/r/out/linux_amd64/release/proxy /r/out/linux_amd64/proxy]"}},
		"ISTIO_ENVOY_LINUX_RELEASE_DIR": {"amd64", "linux", map[string]string{"ISTIO_ENVOY_LINUX_RELEASE_DIR": "/d", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy " + blob + "envoy-alpha-v.tar.gz <ISTIO_ENVOY_VERSION> /d/envoy-v [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy] named"}},
		"ISTIO_ENVOY_LINUX_RELEASE_NAME": {"amd64", "linux", map[string]string{"ISTIO_ENVOY_LINUX_RELEASE_NAME": "envoy", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy " + blob + "envoy-alpha-v.tar.gz <ISTIO_ENVOY_VERSION> /r/out/linux_amd64/release/envoy [/r/out/linux_amd64/envoy] named"}},
		"ISTIO_ENVOY_LINUX_RELEASE_PATH wins": {"amd64", "linux", map[string]string{"ISTIO_ENVOY_LINUX_RELEASE_PATH": "mine/e", "ISTIO_ENVOY_LINUX_RELEASE_DIR": "/d", "ISTIO_ENVOY_LINUX_RELEASE_NAME": "n", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy " + blob + "envoy-alpha-v.tar.gz <ISTIO_ENVOY_VERSION> /r/mine/e [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy] named"}},
		"the suffix cannot be set": {"arm64", "linux", map[string]string{"ISTIO_ENVOY_ARCH_SUFFIX": "-x", "ISTIO_ENVOY_VERSION": "v"}, []string{
			"envoy " + blob + "envoy-alpha-v-arm64.tar.gz <ISTIO_ENVOY_VERSION> /r/out/linux_arm64/release/envoy-v [/r/out/linux_arm64/release/envoy /r/out/linux_arm64/envoy]"}},
		"DEBUG_IMAGE": {"arm64", "linux", map[string]string{"DEBUG_IMAGE": "1", "ISTIO_ENVOY_VERSION": "v", "ISTIO_ENVOY_LINUX_VERSION": "l", "SIDECAR": "proxy"}, []string{
			"envoy-debug " + blob + "envoy-debug-v-arm64.tar.gz <ISTIO_ENVOY_VERSION> /r/out/linux_arm64/debug/envoy-debug-l [/r/out/linux_arm64/debug/proxy]",
			"envoy " + blob + "envoy-alpha-v-arm64.tar.gz <ISTIO_ENVOY_VERSION> /r/out/linux_arm64/release/proxy-v [/r/out/linux_arm64/release/proxy /r/out/linux_arm64/proxy]"}},
		"all of the debug settings": {"amd64", "linux", map[string]string{"DEBUG_IMAGE": "0", "ISTIO_ENVOY_VERSION": "v", "ISTIO_ENVOY_DEBUG_URL": "https://x/n", "ISTIO_ENVOY_LINUX_DEBUG_URL": "https://x/l", "ISTIO_ENVOY_LINUX_DEBUG_DIR": "/d", "ISTIO_ENVOY_LINUX_DEBUG_NAME": "n"}, []string{
			"envoy-debug https://x/l <ISTIO_ENVOY_LINUX_DEBUG_URL> /d/n [/r/out/linux_amd64/debug/envoy] named",
			"envoy " + blob + "envoy-alpha-v.tar.gz <ISTIO_ENVOY_VERSION> /r/out/linux_amd64/release/envoy-v [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy]"}},
		"ISTIO_ENVOY_DEBUG_URL and PATH": {"amd64", "linux", map[string]string{"DEBUG_IMAGE": "x", "ISTIO_ENVOY_VERSION": "v", "ISTIO_ENVOY_DEBUG_URL": "https://x/n", "ISTIO_ENVOY_LINUX_DEBUG_PATH": "/p/q"}, []string{
			"envoy-debug https://x/n <ISTIO_ENVOY_DEBUG_URL> /p/q [/r/out/linux_amd64/debug/envoy] named",
			"envoy " + blob + "envoy-alpha-v.tar.gz <ISTIO_ENVOY_VERSION> /r/out/linux_amd64/release/envoy-v [/r/out/linux_amd64/release/envoy /r/out/linux_amd64/envoy]"}},
	} {
		t.Run(name, func(t *testing.T) {
			items, err := Envoy(input(c.arch, c.os, c.set))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, shown(items...)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, it := range items {
				if it.Member != envoyMember || it.Platform != "linux/"+c.arch || it.check() != nil {
					t.Errorf("%+v: %v", it, it.check())
				}
			}
		})
	}
}

func shown(items ...Item) []string {
	var got []string
	for _, it := range items {
		s := it.Name + " " + string(it.URL) + " <" + it.Origin + "> " + it.Dest + " [" + strings.Join(it.Copies, " ") + "]"
		if it.Named {
			s += " named"
		}
		got = append(got, s)
	}
	return got
}

func TestZtunnel(t *testing.T) {
	const blob = "https://blob.istio.io/istio-build/ztunnel/"
	copies := " [/r/out/linux_amd64/release/ztunnel /r/out/linux_amd64/ztunnel]"
	for name, c := range map[string]struct {
		set  map[string]string
		want string
	}{
		"defaults":                           {nil, blob + "ztunnel-" + ztunnelSHA + "-amd64 <ZTUNNEL_REPO_SHA (istio.deps:11)> /r/out/linux_amd64/release/ztunnel-" + ztunnelSHA + copies},
		"ZTUNNEL_REPO_SHA":                   {map[string]string{"ZTUNNEL_REPO_SHA": "p"}, blob + "ztunnel-p-amd64 <ZTUNNEL_REPO_SHA> /r/out/linux_amd64/release/ztunnel-p" + copies},
		"ISTIO_ZTUNNEL_VERSION wins":         {map[string]string{"ZTUNNEL_REPO_SHA": "p", "ISTIO_ZTUNNEL_VERSION": "v"}, blob + "ztunnel-v-amd64 <ISTIO_ZTUNNEL_VERSION> /r/out/linux_amd64/release/ztunnel-v" + copies},
		"ISTIO_ZTUNNEL_BASE_URL":             {map[string]string{"ISTIO_ZTUNNEL_BASE_URL": "/mirror", "ISTIO_ZTUNNEL_VERSION": "v"}, "/mirror/ztunnel-v-amd64 <ISTIO_ZTUNNEL_BASE_URL and ISTIO_ZTUNNEL_VERSION> /r/out/linux_amd64/release/ztunnel-v" + copies},
		"ISTIO_ZTUNNEL_RELEASE_URL":          {map[string]string{"ISTIO_ZTUNNEL_RELEASE_URL": "oci://h.example/zt:1", "ISTIO_ZTUNNEL_VERSION": "v"}, "oci://h.example/zt:1 <ISTIO_ZTUNNEL_RELEASE_URL> /r/out/linux_amd64/release/ztunnel-v" + copies},
		"ISTIO_ZTUNNEL_LINUX_RELEASE_NAME":   {map[string]string{"ISTIO_ZTUNNEL_LINUX_RELEASE_NAME": "n", "ISTIO_ZTUNNEL_VERSION": "v"}, blob + "ztunnel-v-amd64 <ISTIO_ZTUNNEL_VERSION> /r/out/linux_amd64/release/n" + copies + " named"},
		"ISTIO_ZTUNNEL_LINUX_RELEASE_DIR":    {map[string]string{"ISTIO_ZTUNNEL_LINUX_RELEASE_DIR": "/d", "ISTIO_ZTUNNEL_VERSION": "v"}, blob + "ztunnel-v-amd64 <ISTIO_ZTUNNEL_VERSION> /d/ztunnel-v" + copies + " named"},
		"ISTIO_ZTUNNEL_LINUX_RELEASE_PATH":   {map[string]string{"ISTIO_ZTUNNEL_LINUX_RELEASE_PATH": "/p/q", "ISTIO_ZTUNNEL_LINUX_RELEASE_DIR": "/d", "ISTIO_ZTUNNEL_VERSION": "v"}, blob + "ztunnel-v-amd64 <ISTIO_ZTUNNEL_VERSION> /p/q" + copies + " named"},
		"ISTIO_ZTUNNEL_LINUX_DEBUG_DIR":      {map[string]string{"ISTIO_ZTUNNEL_LINUX_DEBUG_DIR": "/d", "ISTIO_ZTUNNEL_VERSION": "v"}, blob + "ztunnel-v-amd64 <ISTIO_ZTUNNEL_VERSION> /r/out/linux_amd64/release/ztunnel-v" + copies},
		"DEBUG_IMAGE and SIDECAR mean Envoy": {map[string]string{"DEBUG_IMAGE": "1", "SIDECAR": "x", "ISTIO_ZTUNNEL_VERSION": "v"}, blob + "ztunnel-v-amd64 <ISTIO_ZTUNNEL_VERSION> /r/out/linux_amd64/release/ztunnel-v" + copies},
	} {
		item, err := Ztunnel(input("amd64", "linux", c.set))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ztunnel " + c.want}, shown(item)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if item.Member != "" || item.check() != nil {
			t.Errorf("%s: %+v", name, item)
		}
	}
	item, err := Ztunnel(input("arm64", "darwin", nil))
	want := "ztunnel " + blob + "ztunnel-" + ztunnelSHA + "-arm64 <ZTUNNEL_REPO_SHA (istio.deps:11)> /r/out/linux_arm64/release/ztunnel-" + ztunnelSHA + " [/r/out/linux_arm64/release/ztunnel /r/out/linux_arm64/ztunnel]"
	if diff := cmp.Diff([]string{want}, shown(item)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestZtunnelBuild(t *testing.T) {
	places := []string{"/r/out/linux_amd64/release/ztunnel", "/r/out/linux_amd64/ztunnel"}
	for name, c := range map[string]struct {
		set  map[string]string
		want CargoBuild
		on   bool
	}{
		"nothing":                 {nil, CargoBuild{}, false},
		"only a profile":          {map[string]string{"BUILD_ZTUNNEL_PROFILE": "release"}, CargoBuild{}, false},
		"BUILD_ZTUNNEL":           {map[string]string{"BUILD_ZTUNNEL": "1"}, CargoBuild{Repo: "/ztunnel", Origin: "BUILD_ZTUNNEL", Profile: "dev", Platform: "linux/amd64", Places: places}, true},
		"BUILD_ZTUNNEL=0":         {map[string]string{"BUILD_ZTUNNEL": "0"}, CargoBuild{Repo: "/ztunnel", Origin: "BUILD_ZTUNNEL", Profile: "dev", Platform: "linux/amd64", Places: places}, true},
		"BUILD_ZTUNNEL_REPO wins": {map[string]string{"BUILD_ZTUNNEL": "1", "BUILD_ZTUNNEL_REPO": "z"}, CargoBuild{Repo: "/r/z", Origin: "BUILD_ZTUNNEL_REPO", Profile: "dev", Platform: "linux/amd64", Places: places}, true},
		"profile and target": {map[string]string{"BUILD_ZTUNNEL_REPO": "/z", "BUILD_ZTUNNEL_PROFILE": "release", "BUILD_ZTUNNEL_TARGET": "x86_64-unknown-linux-musl"},
			CargoBuild{Repo: "/z", Origin: "BUILD_ZTUNNEL_REPO", Profile: "release", Target: "x86_64-unknown-linux-musl", Platform: "linux/amd64", Places: places}, true},
	} {
		got, on, err := ZtunnelBuild(input("amd64", "linux", c.set))
		if diff := cmp.Diff(c.want, got); err != nil || on != c.on || diff != "" {
			t.Errorf("%s: %v, %v\n%s", name, on, err, diff)
		}
	}
}

func TestInputThatCannotBeMeant(t *testing.T) {
	for name, c := range map[string]struct {
		set    map[string]string
		change func(*Input)
		want   []string
	}{
		"no pin":             {nil, func(in *Input) { in.Pins = nil }, []string{"no version", "istio.deps"}},
		"a version of paths": {map[string]string{"PROXY_REPO_SHA": "../x", "ZTUNNEL_REPO_SHA": "../x"}, func(*Input) {}, []string{`"../x"`, "_REPO_SHA"}},
		"a version of words": {map[string]string{"ISTIO_ENVOY_VERSION": "a b", "ISTIO_ZTUNNEL_VERSION": "a b"}, func(*Input) {}, []string{`"a b"`, "_VERSION"}},
		"no architecture":    {nil, func(in *Input) { in.Arch = "" }, []string{"TARGET_ARCH"}},
		"a platform":         {nil, func(in *Input) { in.Arch = "linux/amd64" }, []string{"TARGET_ARCH", "linux/amd64"}},
		"no output":          {nil, func(in *Input) { in.TargetOut = "" }, []string{"TARGET_OUT"}},
		"a relative output":  {nil, func(in *Input) { in.TargetOutLinux = "out" }, []string{"TARGET_OUT_LINUX", `"out"`}},
	} {
		in := input("amd64", "linux", c.set)
		c.change(&in)
		t.Run(name, func(t *testing.T) {
			_, err := Envoy(in)
			wantError(t, err, c.want...)
			_, zerr := Ztunnel(in)
			wantError(t, zerr, c.want...)
			if fail.Code(err) != fail.Usage || fail.Code(zerr) != fail.Usage {
				t.Errorf("codes %d, %d", fail.Code(err), fail.Code(zerr))
			}
		})
	}
	for _, sidecar := range []string{"a/b", "..", "."} {
		_, err := Envoy(input("amd64", "linux", map[string]string{"SIDECAR": sidecar}))
		wantError(t, err, "SIDECAR")
	}
	// A version that is used nowhere need not be there.
	in := input("amd64", "linux", map[string]string{"ISTIO_ENVOY_RELEASE_URL": "/e", "ISTIO_ENVOY_LINUX_RELEASE_NAME": "n"})
	in.Pins = nil
	if _, err := Envoy(in); err != nil {
		t.Error(err)
	}
}

func TestParseDeps(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("testdata", "istio.deps"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseDeps("istio.deps", content)
	want := map[string]Pin{
		"PROXY_REPO_SHA":     {proxySHA, "PROXY_REPO_SHA (istio.deps:2)"},
		"ZTUNNEL_REPO_SHA":   {ztunnelSHA, "ZTUNNEL_REPO_SHA (istio.deps:9)"},
		"AGENTGATEWAY_IMAGE": {"v1.0.1", "AGENTGATEWAY_IMAGE (istio.deps:16)"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"nothing":      {"", []string{"f: it is not a JSON list"}},
		"an object":    {`{"name":"x"}`, []string{"f: it is not a JSON list"}},
		"not JSON":     {"[\n {\n  oops }]", []string{"f:2:", "invalid character 'o'"}},
		"wrong types":  {"[\n\n{\"name\": 1}]", []string{"f:3:", "name"}},
		"no name":      {`[{"lastStableSHA":"x"}]`, []string{"f:1:", "no name"}},
		"no version":   {"[{\"name\":\"A\",\"lastStableSHA\":\"x\"},\n{\"name\":\"B\"}]", []string{"f:2:", `"B"`}},
		"twice":        {"[{\"name\":\"A\",\"lastStableSHA\":\"x\"}\n,\n{\"name\":\"A\",\"lastStableSHA\":\"y\"}]", []string{"f:3:", `"A"`, "twice"}},
		"no end":       {`[{"name":"A","lastStableSHA":"x"}`, []string{"f:1:"}},
		"more after":   {"[]\n[]", []string{"f:", "more after"}},
		"a merge mark": {"[\n<<<<<<< HEAD\n]", []string{"f:2:"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseDeps("f", []byte(c.content))
			wantError(t, err, c.want...)
			if fail.Code(err) != fail.Usage {
				t.Errorf("code %d", fail.Code(err))
			}
		})
	}
}
