// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package equivalence

import (
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/buildkit"
	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/image"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// TestIstioCatalog builds every image that Istio's tools/docker.yaml lists, in
// every variant and for two platforms, from Istio's own Dockerfiles, both
// ways. Programs are stand-ins; files of the tree are the real ones.
func TestIstioCatalog(t *testing.T) {
	dir := istioTree(t)
	c, err := catalog.Load(dir, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.pushIstioBases(t)
	images := slices.DeleteFunc(slices.Clone(c.Images), func(i catalog.Image) bool { return i.Base })
	builds, _, err := catalog.Builds(images, []string{"default", "debug", "distroless"})
	if err != nil || len(builds) < 10 {
		t.Fatalf("%d builds (%v)", len(builds), err)
	}
	compared, runs := 0, 0
	for _, b := range builds {
		for _, arch := range []string{"amd64", "arm64"} {
			t.Run(b.Image.Name+"-"+b.Primary()+"-"+arch, func(t *testing.T) {
				if w.compareIstio(t, dir, b, catalog.Platform{OS: "linux", Arch: arch}) {
					compared++
				} else {
					runs++
				}
			})
		}
	}
	t.Logf("%d images compared; %d run programs and are left to BuildKit", compared, runs)
	if compared < 20 {
		t.Errorf("only %d images were compared", compared)
	}
}

// istioTree is the pinned module, or the test is skipped.
func istioTree(t *testing.T) string {
	t.Helper()
	cache, err := run.Output(t.Context(), run.Exec{}, run.Command{Args: []string{"go", "env", "GOMODCACHE"}})
	if err != nil {
		t.Fatal(err)
	}
	ours, err := catalog.Load("../..", catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, ours.Source.Module+"@"+ours.Source.Version)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the source is not in the module cache: go mod download %s@%s", ours.Source.Module, ours.Source.Version)
	}
	return dir
}

// pushIstioBases pushes an image under the names of Istio's bases.
func (w *world) pushIstioBases(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "Dockerfile")
	write(t, path, []byte("FROM "+w.registry+"/users:1\nENV PATH=/usr/local/bin:/bin\nWORKDIR /home/nonroot\nUSER 65532\n"))
	built, _, err := buildkit.Build(t.Context(), builder.Request{
		Endpoint: w.daemon.Endpoint, Layout: filepath.Join(dir, "layout"), Name: "base", Dockerfile: path, File: "base",
		Platforms: []string{"linux/amd64", "linux/arm64"}, Codec: "gzip-1", Created: created, Progress: "quiet",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"base:v", "distroless:v", "iptables:v", "agentgateway:v"} {
		push(t.Context(), t, filepath.Join(dir, "layout"), built.Descriptor.Digest, w.registry+"/istio/"+name)
	}
}

// compareIstio is false for an image that daemonless building refuses, as it
// has to where a program runs.
func (w *world) compareIstio(t *testing.T, root string, b catalog.Build, p catalog.Platform) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.Image.Dockerfile)))
	if err != nil {
		t.Fatal(err)
	}
	c := &testCase{
		dockerfile: string(text), platform: v1.Platform{OS: p.OS, Architecture: p.Arch},
		args: map[string]string{
			"BASE_VERSION": "v", "ISTIO_BASE_REGISTRY": w.registry + "/istio", "AGENTGATEWAY_IMAGE": w.registry + "/istio/agentgateway:v",
			"proxy_version": "istio-proxy:abc", "istio_version": "1.2.3",
		},
	}
	for name, value := range b.Args() {
		c.args[name] = value
	}
	file, err := dockerfile.Parse(b.Image.Dockerfile, text)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := file.Plan(dockerfile.Options{Args: c.args, Platform: c.platform})
	if err != nil {
		t.Fatal(err)
	}
	if obstacles := plan.Obstacles(); len(obstacles) > 0 {
		if !strings.Contains(string(text), "\nRUN ") || !strings.HasPrefix(obstacles[0].Text, "RUN ") {
			t.Errorf("refused for %v", obstacles)
		}
		return false
	}
	c.context = istioContext(t, root, b.Image, p)
	ours, err := w.daemonless(t.Context(), t.TempDir(), c)
	if err != nil {
		t.Fatalf("daemonless: %v", err)
	}
	theirs, err := w.buildkit(t.Context(), t.TempDir(), c)
	if err != nil {
		t.Fatalf("BuildKit: %v", err)
	}
	if diff := cmp.Diff(theirs.files, ours.files); diff != "" {
		t.Errorf("files (- BuildKit, + daemonless):\n%s", diff)
	}
	if diff := cmp.Diff(theirs.config, ours.config); diff != "" {
		t.Errorf("configuration (- BuildKit, + daemonless):\n%s", diff)
	}
	return true
}

// istioContext has the real files of the tree and stand-ins for programs.
func istioContext(t *testing.T, root string, i catalog.Image, p catalog.Platform) image.Context {
	t.Helper()
	files := image.Context{}
	made := t.TempDir()
	for _, in := range i.Inputs {
		at := in.Staged(p)
		if in.Kind == catalog.FromFile || in.Kind == catalog.FromDir {
			files[at] = filepath.Join(root, filepath.FromSlash(in.PathFor(p)))
			continue
		}
		path := filepath.Join(made, filepath.FromSlash(at))
		write(t, path, program(p.Arch, at))
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		files[at] = path
	}
	return files
}

// program begins like one for the architecture.
func program(arch, text string) []byte {
	head := make([]byte, 20)
	copy(head, elf.ELFMAG)
	head[elf.EI_CLASS], head[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]
	binary.LittleEndian.PutUint16(head[18:], uint16(machine))
	return append(head, text...)
}
