// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

// istioLike is a catalog in which the default variant is the debug build, as
// in Istio, with an image that does not vary and one without distroless form.
func istioLike() *catalog.Catalog {
	stages := map[string]string{"default": "debug", "debug": "debug", "distroless": "distroless"}
	return &catalog.Catalog{
		Origin:   "tools/docker.yaml",
		Variants: []catalog.Variant{{Name: "default"}, {Name: "debug"}, {Name: "distroless"}, {Name: "fips"}},
		Binaries: []catalog.Binary{
			{Name: "pilot-agent", Groups: []catalog.Group{catalog.GroupBuild, catalog.GroupLinux}},
			{Name: "install-cni", Groups: []catalog.Group{catalog.GroupLinux}},
		},
		Releases:  []catalog.Release{{Name: "istioctl-osx"}},
		Prebuilts: []catalog.Prebuilt{{Name: "envoy", Pin: "PROXY_REPO_SHA"}},
		Pins:      []catalog.Pin{{Name: "PROXY_REPO_SHA", Version: "aaa"}},
		Images: []catalog.Image{
			{Name: "proxyv2", Distributions: stages, Dockerfile: "Dockerfile.proxyv2"},
			{Name: "pilot", Distributions: stages, Dockerfile: "Dockerfile.pilot"},
			{Name: "base", Base: true},
			{Name: "app_vm", Variants: []string{"default", "debug"}, Args: map[string]string{"VM_IMAGE_NAME": "debian"}},
			{Name: "app"},
		},
	}
}

func names(images []catalog.Image) string {
	var list []string
	for _, i := range images {
		list = append(list, i.Name)
	}
	return strings.Join(list, " ")
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestImagesFor(t *testing.T) {
	for name, c := range map[string]struct {
		targets []string
		want    string
		err     string
	}{
		"not set":       {nil, "app app_vm pilot proxyv2", ""},
		"with prefix":   {[]string{"docker.proxyv2", "pilot"}, "proxyv2 pilot", ""},
		"twice, blanks": {[]string{"", "pilot", " ", "docker.pilot"}, "pilot", ""},
		"a base":        {[]string{"docker.base"}, "base", ""},
		"empty": {[]string{}, "", "no targets specified: the list of images is set but empty; unset it for all images, or name some: " +
			"app app_vm base pilot proxyv2"},
		"blank":   {[]string{" ", "docker."}, "", "no targets specified: the list of images is set but empty; unset it for all images, or name some: app app_vm base pilot proxyv2"},
		"unknown": {[]string{"pilto", "app", "docker.zzz"}, "", `unknown image "pilto" (did you mean "pilot"?), "zzz"; tools/docker.yaml has: app app_vm base pilot proxyv2`},
		"case":    {[]string{"PILOT"}, "", `unknown image "PILOT" (did you mean "pilot"?); tools/docker.yaml has: app app_vm base pilot proxyv2`},
	} {
		got, err := istioLike().ImagesFor(c.targets)
		if names(got) != c.want || errorText(err) != c.err {
			t.Errorf("%s: %q, error %v", name, names(got), err)
		}
		if err != nil && fail.Code(err) != fail.Usage {
			t.Errorf("%s: exit code %d", name, fail.Code(err))
		}
	}
}

func TestLookups(t *testing.T) {
	c := istioLike()
	if b, err := c.Binary("pilot-agent"); err != nil || b.Name != "pilot-agent" {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := c.Binary("pilot-agnt"); errorText(err) != `unknown binary "pilot-agnt" (did you mean "pilot-agent"?); tools/docker.yaml has: install-cni pilot-agent` {
		t.Error(err)
	}
	if _, err := c.Release("istioctl-oxs"); !strings.Contains(errorText(err), `unknown release binary "istioctl-oxs" (did you mean "istioctl-osx"?)`) {
		t.Error(err)
	}
	if _, err := (&catalog.Catalog{Origin: "c.yaml"}).Image("a"); errorText(err) != `unknown image "a": c.yaml holds none` {
		t.Error(err)
	}
	if p, err := c.Prebuilt("envoy"); err != nil || c.Pin(p.Pin) != "aaa" || c.Pin("OTHER") != "" {
		t.Errorf("%+v, %v", p, err)
	}
	if i, err := c.Image("pilot"); err != nil || i.Name != "pilot" {
		t.Errorf("%+v, %v", i, err)
	}
	if got, err := c.BinariesNamed([]string{"install-cni", "pilot-agent", "install-cni"}); err != nil || len(got) != 2 || got[0].Name != "install-cni" {
		t.Errorf("%+v, %v", got, err)
	}
	if got := c.BinariesOf(catalog.GroupLinux); len(got) != 2 {
		t.Errorf("linux: %+v", got)
	}
	if got := c.BinariesOf(catalog.GroupBuild); len(got) != 1 || got[0].Name != "pilot-agent" {
		t.Errorf("build: %+v", got)
	}
}

func TestVariantsFor(t *testing.T) {
	for name, c := range map[string]struct {
		list     []string
		untagged bool
		want     string
		err      string
	}{
		"not set":           {nil, false, "default", ""},
		"order kept":        {[]string{"distroless", "debug"}, false, "distroless debug", ""},
		"twice":             {[]string{"debug", "default", "debug"}, false, "debug default", ""},
		"release":           {[]string{"distroless", "debug"}, true, "debug default distroless", ""},
		"untagged, not set": {nil, true, "default", ""},
		"empty":             {[]string{}, false, "", "no variant is named: the list is set but empty; unset it for the default variant, or name some of: debug default distroless fips"},
		"blank":             {[]string{" "}, true, "", "no variant is named: the list is set but empty; unset it for the default variant, or name some of: debug default distroless fips"},
		"unknown":           {[]string{"distrolss", "default", "x"}, false, "", `unknown variant "distrolss" (did you mean "distroless"?), "x"; tools/docker.yaml has: debug default distroless fips`},
	} {
		got, err := istioLike().VariantsFor(c.list, c.untagged)
		if strings.Join(got, " ") != c.want || errorText(err) != c.err {
			t.Errorf("%s: %q, error %v", name, got, err)
		}
	}
	list := []string{"distroless", "", "debug"}
	if _, err := istioLike().VariantsFor(list, true); err != nil || list[0] != "distroless" {
		t.Errorf("the caller's list was changed: %q, %v", list, err)
	}
}

func TestBuilds(t *testing.T) {
	c := istioLike()
	for name, test := range map[string]struct {
		targets  []string
		variants []string
		want     []string // image: variants, stage
		skipped  []string
		err      string
	}{
		"default": {[]string{"pilot"}, []string{"default"}, []string{"pilot: default, debug"}, nil, ""},
		"default and debug are one": {
			[]string{"pilot"}, []string{"debug", "default", "distroless"},
			[]string{"pilot: debug default, debug", "pilot: distroless, distroless"}, nil, "",
		},
		"same in all": {[]string{"app"}, []string{"debug", "distroless", "fips"}, []string{"app: debug distroless fips, "}, nil, ""},
		"not made as": {
			[]string{"app_vm", "pilot"}, []string{"default", "distroless"},
			[]string{"app_vm: default, ", "pilot: default, debug", "pilot: distroless, distroless"},
			[]string{"image app_vm is not made in the variant distroless: it is made as default, debug only"}, "",
		},
		"nothing left": {
			[]string{"app_vm"}, []string{"distroless"}, nil,
			[]string{"image app_vm is not made in the variant distroless: it is made as default, debug only"},
			"image app_vm is not made in the variant distroless: it is made as default, debug only",
		},
		"no stage": {
			[]string{"pilot"}, []string{"fips"}, nil,
			[]string{"image pilot is not made in the variant fips: Dockerfile.pilot has no stage for it, only for debug, default, distroless"},
			"image pilot is not made in the variant fips: Dockerfile.pilot has no stage for it, only for debug, default, distroless",
		},
	} {
		images, err := c.ImagesFor(test.targets)
		if err != nil {
			t.Fatal(err)
		}
		builds, skipped, err := catalog.Builds(images, test.variants)
		var got, left []string
		for _, b := range builds {
			got = append(got, b.Image.Name+": "+strings.Join(b.Variants, " ")+", "+b.Distribution)
		}
		for _, s := range skipped {
			left = append(left, s.String())
		}
		if !slices.Equal(got, test.want) || !slices.Equal(left, test.skipped) || errorText(err) != test.err {
			t.Errorf("%s: %q, skipped %q, error %v", name, got, left, err)
		}
	}
}

func TestBuildArgs(t *testing.T) {
	c := istioLike()
	builds, _, err := catalog.Builds(c.Images, []string{"default"})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range builds {
		want := map[string]string{}
		switch b.Image.Name {
		case "pilot", "proxyv2":
			want["BASE_DISTRIBUTION"] = "debug"
		case "app_vm":
			want["VM_IMAGE_NAME"] = "debian"
		}
		if diff := cmp.Diff(want, b.Args()); diff != "" {
			t.Errorf("%s: %s", b.Image.Name, diff)
		}
		b.Args()["X"] = "y"
	}
	if len(c.Images[3].Args) != 1 {
		t.Errorf("the catalog was changed: %v", c.Images[3].Args)
	}
}

func TestTagFor(t *testing.T) {
	for _, c := range []struct{ tag, variant, arch, want, archive string }{
		{"main", "default", "", "main", "app.tar.gz"},
		{"main", "distroless", "", "main-distroless", "app-distroless.tar.gz"},
		{"main", "debug", "amd64", "main-debug", "app-debug.tar.gz"},
		{"main", "default", "amd64", "main", "app.tar.gz"},
		{"main", "default", "arm64", "main-arm64", "app-arm64.tar.gz"},
		{"main", "debug", "arm64", "main-debug-arm64", "app-debug-arm64.tar.gz"},
	} {
		if got := catalog.TagFor(c.tag, c.variant, c.arch); got != c.want {
			t.Errorf("%+v: tag %q", c, got)
		}
		if got := catalog.ArchiveName("app", c.variant, c.arch); got != c.archive {
			t.Errorf("%+v: archive %q", c, got)
		}
	}
}

func TestReferences(t *testing.T) {
	got, err := catalog.References([]string{"a.example/t/", "localhost:5000", "a.example/t"}, "app", []string{"v1", "latest"}, []string{"debug", "default"})
	want := []string{
		"a.example/t/app:v1-debug", "a.example/t/app:v1", "a.example/t/app:latest-debug", "a.example/t/app:latest",
		"localhost:5000/app:v1-debug", "localhost:5000/app:v1", "localhost:5000/app:latest-debug", "localhost:5000/app:latest",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	long := strings.Repeat("x", 120)
	if _, err := catalog.References([]string{"h"}, "app", []string{long}, []string{"default", "distroless"}); errorText(err) !=
		`tag "`+long+`-distroless" of image app has 131 characters and a registry takes 128: shorten TAG by 3` {
		t.Errorf("long tag: %v", err)
	}
}

func TestNameFindsOneNameForTwoBuilds(t *testing.T) {
	c := istioLike()
	builds, _, err := catalog.Builds(c.Images[:1], []string{"default", "distroless"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := catalog.Name(builds, []string{"h"}, []string{"v1"}); err != nil || !slices.Equal(got[1], []string{"h/proxyv2:v1-distroless"}) {
		t.Errorf("%q, %v", got, err)
	}
	_, err = catalog.Name(builds, []string{"h"}, []string{"v1", "v1-distroless"})
	if errorText(err) != `h/proxyv2:v1-distroless would be both the default and the distroless variant of proxyv2: change one of the tags "v1", "v1-distroless"` {
		t.Errorf("clash: %v", err)
	}
}

func TestStaged(t *testing.T) {
	arm := catalog.Platform{OS: "linux", Arch: "arm64"}
	for _, c := range []struct {
		in   catalog.Input
		want string
	}{
		{catalog.Input{Kind: catalog.FromBinary, Name: "pilot-agent"}, "arm64/pilot-agent"},
		{catalog.Input{Kind: catalog.FromPrebuilt, Name: "envoy"}, "arm64/envoy"},
		{catalog.Input{Kind: catalog.FromPackage, Name: "istio-sidecar.deb"}, "arm64/istio-sidecar.deb"},
		{catalog.Input{Kind: catalog.FromOutput, Path: "sub/made"}, "arm64/made"},
		{catalog.Input{Kind: catalog.FromFile, Path: "tools/x/a.json"}, "a.json"},
		{catalog.Input{Kind: catalog.FromDir, Path: "tests/certs"}, "certs"},
		{catalog.Input{Kind: catalog.FromGenerated, Name: "rootfs"}, "rootfs"},
		{catalog.Input{Kind: catalog.FromFile, Path: "bin/x-${TARGET_OS}-${TARGET_ARCH}"}, "x-linux-arm64"},
	} {
		if got := c.in.Staged(arm); got != c.want {
			t.Errorf("%+v: %q", c.in, got)
		}
	}
}

func TestJSON(t *testing.T) {
	c := istioLike()
	c.Releases[0].Platform = catalog.Platform{OS: "linux", Arch: "arm", Variant: "v7"}
	c.Warnings = []catalog.Problem{{Position: catalog.Position{File: "f", Line: 3}, Message: "a <b>"}}
	var b bytes.Buffer
	if err := c.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Releases []struct{ Platform string }
		Warnings []struct {
			File, Message string
			Line          int
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Releases[0].Platform != "linux/arm/v7" || got.Warnings[0].Line != 3 || !strings.Contains(b.String(), "a <b>") {
		t.Errorf("%s", b.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, fs.ErrClosed }

func TestWriteErrors(t *testing.T) {
	for name, write := range map[string]func() error{
		"text": func() error { return istioLike().WriteText(brokenWriter{}) },
		"JSON": func() error { return istioLike().WriteJSON(brokenWriter{}) },
	} {
		if err := write(); err == nil || !strings.HasPrefix(err.Error(), "writing the catalog") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDetect(t *testing.T) {
	ours := map[string]string{catalog.File: "images: []\n"}
	istio := map[string]string{"go.mod": "module istio.io/istio\n", "tools/docker.yaml": "images: []\n", "pilot/cmd/x": ""}
	fork := map[string]string{"go.mod": "module example.com/fork // renamed\n", "tools/docker.yaml": "images: []\n", "pilot/cmd/x": ""}
	both := map[string]string{"go.mod": "module istio.io/istio\n", "tools/docker.yaml": "images: []\n", "pilot/cmd/x": "", catalog.File: "images: []\n"}
	for name, c := range map[string]struct {
		files map[string]string
		kind  catalog.Kind
		text  string // the reason, or the error after the folder
	}{
		"ours":          {ours, catalog.YAML, "it has common/config/catalog.yaml"},
		"Istio":         {istio, catalog.Istio, "its module is istio.io/istio"},
		"fork":          {fork, catalog.Istio, "its module example.com/fork has Istio's tools/docker.yaml and pilot/cmd"},
		"both":          {both, catalog.YAML, "it has common/config/catalog.yaml"},
		"empty":         {nil, "", " is no repository that can be built: it has no common/config/catalog.yaml, and for an Istio tree it lacks go.mod and tools/docker.yaml and pilot/cmd; start in the root of a checkout (make -C, mage -w), or write common/config/catalog.yaml"},
		"nearly":        {map[string]string{"go.mod": "module istio.io/istio\n", "pilot/cmd/x": ""}, "", " is no repository that can be built: it has no common/config/catalog.yaml, and for an Istio tree it lacks tools/docker.yaml; start in the root of a checkout (make -C, mage -w), or write common/config/catalog.yaml"},
		"broken go.mod": {map[string]string{"go.mod": "go 1.26\n", "tools/docker.yaml": "", "pilot/cmd/x": ""}, "", "finding the module: go.mod has no module line"},
	} {
		dir := t.TempDir()
		for file, content := range c.files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		kind, reason, err := catalog.Detect(dir)
		if err != nil {
			reason = strings.TrimPrefix(err.Error(), `"`+dir+`"`)
			if fail.Code(err) != fail.Usage {
				t.Errorf("%s: exit code %d", name, fail.Code(err))
			}
		}
		if kind != c.kind || reason != c.text {
			t.Errorf("%s: %q, %q", name, kind, reason)
		}
	}
}

func TestDetectWithoutAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"":                "the repository folder is an empty string",
		" ":               "the repository folder is an empty string",
		file:              "not a folder",
		file + "-missing": "no such file or directory",
	} {
		if _, _, err := catalog.Detect(dir); err == nil || !strings.Contains(err.Error(), want) || fail.Code(err) != fail.Usage {
			t.Errorf("%q: %v", dir, err)
		}
		if _, err := catalog.Load(dir, catalog.Options{}); err == nil {
			t.Errorf("%q was loaded", dir)
		}
	}
}
