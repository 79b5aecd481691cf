// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/istio-ecosystem/slipway/common/config"
	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/run"
)

const repository = "../.."

// ours is the catalog of this repository.
func ours(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load(repository, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// istioDir is the source of this repository's binaries, a real Istio tree.
func istioDir(t testing.TB) string {
	t.Helper()
	cache, err := run.Output(t.Context(), run.Exec{}, run.Command{Args: []string{"go", "env", "GOMODCACHE"}})
	if err != nil {
		t.Fatal(err)
	}
	source := ours(t).Source
	dir := filepath.Join(cache, source.Module+"@"+source.Version)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the source is not in the module cache: go mod download %s@%s", source.Module, source.Version)
	}
	return dir
}

func istio(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load(istioDir(t), catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What is read from the real tree, whole.
func TestRealIstio(t *testing.T) {
	c := istio(t)
	var got bytes.Buffer
	if err := c.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/istio.golden"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %v", c.Warnings)
	}
	if got := c.Pin("AGENTGATEWAY_IMAGE"); got == "" {
		t.Error("no AGENTGATEWAY_IMAGE")
	}
	for _, b := range c.Binaries {
		if b.Name == "pilot-agent" && !strings.HasPrefix(b.At(), "Makefile.core.mk:") {
			t.Errorf("pilot-agent comes from %s", b.At())
		}
	}
}

// The catalog of this repository must say of binaries and versions what its
// source says.
func TestOursAgreesWithItsSource(t *testing.T) {
	source, own := istio(t), ours(t)
	ignore := cmpopts.IgnoreTypes(catalog.Position{})
	if diff := cmp.Diff(source.Binaries, own.Binaries, ignore); diff != "" {
		t.Errorf("binaries, -source +ours:\n%s", diff)
	}
	if diff := cmp.Diff(source.Releases, own.Releases, ignore); diff != "" {
		t.Errorf("releases, -source +ours:\n%s", diff)
	}
	if diff := cmp.Diff(source.Prebuilts, own.Prebuilts, ignore); diff != "" {
		t.Errorf("prebuilts, -source +ours:\n%s", diff)
	}
	if err := own.CheckSource(os.DirFS(istioDir(t))); err != nil {
		t.Error(err)
	}
	for _, i := range own.Images {
		twin, err := source.Image(i.Name)
		if err != nil || i.Base {
			continue
		}
		if got, want := staged(i), staged(twin); !slices.Equal(got, want) {
			t.Errorf("image %s has %q in its context, in the source %q", i.Name, got, want)
		}
	}
}

func staged(i catalog.Image) (paths []string) {
	for _, in := range i.Inputs {
		paths = append(paths, in.Staged(catalog.Platform{OS: "linux", Arch: "amd64"}))
	}
	slices.Sort(paths)
	return paths
}

func TestCheckSourceSaysWhatIsMissing(t *testing.T) {
	err := ours(t).CheckSource(os.DirFS(t.TempDir()))
	for _, want := range []string{
		`binary istioctl: package "./istioctl/cmd/istioctl" is not in istio.io/istio@v0.0.0-`,
		`image proxyv2: file "tools/packaging/common/envoy_bootstrap.json" cannot be read`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// The embedded catalog is the file, and can be read without the repository.
func TestEmbedded(t *testing.T) {
	c, err := catalog.FromYAML(catalog.File, config.Catalog, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Source, ours(t).Source; got != want {
		t.Errorf("source %+v, want %+v", got, want)
	}
}

// The production images here and in the source must behave the same: the
// instructions after the last FROM, in any order.
func TestDockerfilesBehaveAsIstios(t *testing.T) {
	dir, source, own := istioDir(t), istio(t), ours(t)
	compared := 0
	for _, i := range own.Images {
		if i.Base {
			continue
		}
		twin, err := source.Image(i.Name)
		if err != nil {
			t.Fatal(err)
		}
		got := lastStage(t, filepath.Join(repository, i.Dockerfile))
		want := lastStage(t, filepath.Join(dir, twin.Dockerfile))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("image %s, -source +ours:\n%s", i.Name, diff)
		}
		compared++
	}
	if compared != 5 {
		t.Errorf("%d images compared, want 5", compared)
	}
}

// lastStage is what the last stage does, one instruction a line. Of several
// declarations of one ARG one counts.
func lastStage(t *testing.T, path string) (lines []string) {
	t.Helper()
	for _, n := range nodes(t, path) {
		if strings.EqualFold(n.Value, "from") {
			lines = nil
			continue
		}
		lines = append(lines, strings.ReplaceAll(n.Original, "${TARGETARCH:-amd64}", "${TARGETARCH}"))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func nodes(t *testing.T, path string) []*parser.Node {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return parsed.AST.Children
}

// What is built by default must need no program that runs while it is built,
// and each image but those that need glibc must start from the static base.
func TestOursNeedsNoBuilder(t *testing.T) {
	c := ours(t)
	images, err := c.ImagesFor(nil)
	if err != nil {
		t.Fatal(err)
	}
	static, err := c.Image("static")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range append(images, static) {
		for _, n := range nodes(t, filepath.Join(repository, i.Dockerfile)) {
			if strings.EqualFold(n.Value, "run") {
				t.Errorf("%s:%d: RUN", i.Dockerfile, n.StartLine)
			}
		}
	}
	for name, want := range map[string]string{"pilot": "static", "istioctl": "static", "install-cni": "static", "proxyv2": "distroless", "ztunnel": "distroless"} {
		i, err := c.Image(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := i.Distributions[catalog.Default]; got != want {
			t.Errorf("%s starts from %q, want %q", name, got, want)
		}
		if i.Distributions["static"] != "static" || !slices.Equal(i.Bases, []string{"static"}) {
			t.Errorf("%s: %v, bases %q", name, i.Distributions, i.Bases)
		}
	}
}

func BenchmarkLoadIstio(b *testing.B) {
	dir := istioDir(b)
	for b.Loop() {
		if _, err := catalog.Load(dir, catalog.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadOurs(b *testing.B) {
	for b.Loop() {
		if _, err := catalog.Load(repository, catalog.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
