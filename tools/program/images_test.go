// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/istio-ecosystem/slipway/tools/buildkit/buildkittest"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

// hub is a registry of this test, and the name of a hub in it.
func hub(t *testing.T, path string) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/" + path
}

// pictures is a repository of images alone: one that runs a program, one that
// does not.
func pictures(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"common/config/catalog.yaml": "variants:\n  default: static\nimages:\n" +
			"- name: plain\n  dockerfile: docker/Dockerfile.plain\n  context: files\n" +
			"- name: runs\n  dockerfile: docker/Dockerfile.runs\n  context: files\n" +
			"- name: bottom\n  dockerfile: docker/Dockerfile.plain\n  context: files\n  base: true\n",
		"docker/Dockerfile.plain": "FROM scratch\nCOPY a /a\n",
		"docker/Dockerfile.runs":  "FROM scratch\nCOPY busybox /busybox\nRUN [\"/busybox\",\"sh\",\"-c\",\"/busybox echo ran > /ran\"]\n",
		"files/a":                 "content of a\n",
		"files/left-out":          "x",
		"files/.dockerignore":     "left-out\n",
	} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The image that runs a program comes from a real BuildKit, the other one is
// made here, and two hubs get the same digests.
func TestBuildKitMakesWhatRuns(t *testing.T) {
	daemon := buildkittest.Start(t)
	dir := pictures(t)
	busybox, err := os.ReadFile(buildkittest.Busybox(t))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "files", "busybox"), string(busybox))
	if err := os.Chmod(filepath.Join(dir, "files", "busybox"), 0o755); err != nil {
		t.Fatal(err)
	}
	a, b := hub(t, "a"), hub(t, "b")
	env := []string{"TAG=1", "HUBS=" + a + " " + b, "BUILDKIT_HOST=" + daemon.Endpoint.Address}
	plan := invoke(t, dir, "n", env, "docker.push")
	if !strings.Contains(plan.stdout, "image     plain (default) from docker/Dockerfile.plain for linux/") ||
		!strings.Contains(plan.stdout, "daemonless: its stages run no program") || !strings.Contains(plan.stdout, "buildkit: docker/Dockerfile.runs:3: RUN") {
		t.Errorf("plan: %+v", plan)
	}
	got := invoke(t, dir, "", env, "docker.push")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	digests := map[string]string{}
	for _, image := range []string{"plain", "runs"} {
		var all []string
		for _, h := range []string{a, b} {
			d, err := crane.Digest(h + "/" + image + ":1")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, d)
		}
		if all[0] != all[1] {
			t.Errorf("%s: %v", image, all)
		}
		digests[image] = all[0]
	}
	again := invoke(t, dir, "", env, "docker.push")
	if strings.Count(again.stdout, "already-there") != 4 {
		t.Errorf("again: %+v", again)
	}
	// HUB and TAG in the builder's environment change nothing, and neither
	// does who builds.
	forced := invoke(t, dir, "", append(env, "ISTIO_DOCKER_BUILDER=buildkit", "OUTPUT=json"), "docker.push")
	if forced.code != 0 || strings.Count(forced.stdout, digests["plain"]) == 0 || strings.Contains(forced.stdout, `"published"`) {
		t.Errorf("forced: %+v", forced)
	}
}

func TestForcedAndImpossible(t *testing.T) {
	dir := pictures(t)
	for _, c := range []struct {
		name string
		env  []string
		code int
		want []string
	}{
		{"crane", []string{"ISTIO_DOCKER_BUILDER=crane"}, fail.Usage, []string{"docker/Dockerfile.runs:3: RUN", "ISTIO_DOCKER_BUILDER"}},
		{"no such socket", []string{"BUILDKIT_HOST=unix:///nonexistent/sock"}, fail.Unavailable, []string{"docker/Dockerfile.runs:3", "BUILDKIT_HOST", "no such socket"}},
		{"nothing there", []string{"ISTIO_DOCKER_BUILDER=docker", "DOCKER_HOST=unix:///nonexistent/sock"}, fail.Unavailable, []string{"DOCKER_HOST", "no such socket"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := invoke(t, dir, "", append(c.env, "TAG=1", "HUB=localhost:1/x"), "docker.runs")
			if got.code != c.code {
				t.Errorf("%+v", got)
			}
			for _, want := range c.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("%q lacks %q", got.stderr, want)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); !os.IsNotExist(err) {
				t.Error("something was built first")
			}
		})
	}
}

// A whole folder as context, without what its ignore file names.
func TestFolderContext(t *testing.T) {
	dir := pictures(t)
	writeFile(t, filepath.Join(dir, "docker/Dockerfile.plain"), "FROM scratch\nCOPY . /all/\n")
	got := invoke(t, dir, "", []string{"TAG=1", "HUB=localhost:1/x"}, "docker.bake")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	var bake bakeFile
	if err := json.Unmarshal([]byte(got.stdout), &bake); err != nil {
		t.Fatal(err)
	}
	target := bake.Target["plain-default"]
	if len(target.Tags) != 1 || target.Tags[0] != "localhost:1/x/plain:1" || target.Attest[0] != "type=provenance,disabled=true" {
		t.Errorf("target %+v", target)
	}
	if _, err := os.Stat(filepath.Join(target.Context, "a")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(target.Context, "left-out")); err == nil {
		t.Error("what the ignore file names was staged")
	}
	if got := bake.Group["default"].Targets; fmt.Sprint(got) != "[plain-default runs-default]" {
		t.Errorf("group default is %v", got)
	}
}

// One platform is a plain manifest; two are one index, with two entries however
// often the same tag is pushed; TAGS adds names.
func TestPlatformsAndTags(t *testing.T) {
	dir, h := pictures(t), hub(t, "x")
	env := []string{"TAG=latest", "HUB=" + h, "DOCKER_TARGETS=plain"}
	manifest := func(tag string) (media string, entries int) {
		t.Helper()
		text, err := crane.Manifest(h + "/plain:" + tag)
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			MediaType string
			Manifests []struct{ Platform struct{ OS string } }
		}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		for _, entry := range m.Manifests {
			if entry.Platform.OS != "linux" {
				t.Errorf("an entry for %q", entry.Platform.OS)
			}
		}
		return m.MediaType, len(m.Manifests)
	}
	if got := invoke(t, dir, "", env, "docker.push"); got.code != 0 || !strings.Contains(got.stderr, "linux/"+runtime.GOARCH) && !strings.Contains(got.stderr, "plain") {
		t.Fatalf("%+v", got)
	}
	if media, entries := manifest("latest"); !strings.HasSuffix(media, "image.manifest.v1+json") || entries != 0 {
		t.Errorf("one platform is %s with %d entries", media, entries)
	}
	both := append(env, "DOCKER_ARCHITECTURES=linux/arm64,linux/amd64", "TAGS=latest 1.0", "SLIPWAY_SBOM=1")
	for range 2 {
		if got := invoke(t, dir, "", both, "docker.push"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
		for _, tag := range []string{"latest", "1.0"} {
			if media, entries := manifest(tag); !strings.HasSuffix(media, "image.index.v1+json") || entries != 2 {
				t.Errorf("%s is %s with %d entries", tag, media, entries)
			}
		}
	}
}

// Three images, of which the registry refuses the second: all are tried, the
// summary names the one and why, and the hub, which has not the whole set, gets
// no tag.
func TestOneImageIsRefused(t *testing.T) {
	dir := pictures(t)
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/second/") && r.Method != http.MethodHead {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	h := strings.TrimPrefix(server.URL, "http://") + "/x"
	catalog := filepath.Join(dir, "common/config/catalog.yaml")
	text := "variants:\n  default: static\nimages:\n"
	for _, name := range []string{"first", "second", "third"} {
		text += "- name: " + name + "\n  dockerfile: docker/Dockerfile.plain\n  context: files\n"
	}
	writeFile(t, catalog, text)
	got := invoke(t, dir, "", []string{"TAG=1", "HUB=" + h}, "docker.push")
	if got.code != fail.Failed || !strings.Contains(got.stdout+got.stderr, h+"/second:1") || !strings.Contains(got.stderr, "403") {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"first", "second", "third"} {
		if !strings.Contains(got.stdout, h+"/"+name+":1") {
			t.Errorf("nothing is said of %s:\n%s", name, got.stdout)
		}
		if _, err := crane.Digest(h + "/" + name + ":1"); err == nil {
			t.Errorf("%s got its tag, though the set is not whole", name)
		}
	}
}

// Bake files describe images too: variables see the settings, and nothing of
// the environment but them.
func TestBakeFile(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		t.Skip("compiles the buildx program: set SLIPWAY_TEST_REAL=1")
	}
	dir, h := pictures(t), hub(t, "baked")
	writeFile(t, filepath.Join(dir, "docker-bake.hcl"), `
variable "HUB" { default = "nowhere" }
variable "TAG" { default = "none" }
variable "SECRET" { default = "none" }
target "default" {
  context    = "files"
  dockerfile = "../docker/Dockerfile.plain"
  target     = "first"
  labels     = { variable = "${SECRET}" }
  tags       = ["${HUB}/one:${TAG}", "${HUB}/one:also"]
}
`)
	writeFile(t, filepath.Join(dir, "docker/Dockerfile.plain"), "FROM scratch AS first\nCOPY a /a\nLABEL variable=file\nFROM scratch\nRUN false\n")
	got := invoke(t, dir, "", []string{"HUB=" + h, "TAG=7", "SECRET=environment"}, "bake.push")
	if got.code != 0 || strings.Count(got.stdout, "published") != 2 {
		t.Fatalf("%+v", got)
	}
	for _, tag := range []string{"7", "also"} {
		config, err := crane.Config(h + "/one:" + tag)
		if err != nil || !strings.Contains(string(config), `"variable":"none"`) {
			t.Errorf("%s: %s (%v)", tag, config, err)
		}
	}
	bad := invoke(t, dir, "", []string{"HUB=" + h, "TAG=7", "BAKE_TARGETS=nope"}, "bake")
	if bad.code != fail.Usage || !strings.Contains(bad.stderr, `"nope"`) || !strings.Contains(bad.stderr, "default") {
		t.Errorf("%+v", bad)
	}
}

func TestSizesTellWhatChanged(t *testing.T) {
	dir := pictures(t)
	env := []string{"TAG=1", "HUB=" + hub(t, "x"), "DOCKER_TARGETS=plain"}
	first := invoke(t, dir, "", env, "docker.sizes", "docker.push")
	if first.code != 0 || !strings.Contains(first.stdout, "(new)") || !strings.Contains(first.stdout, "COPY a /a") {
		t.Fatalf("%+v", first)
	}
	writeFile(t, filepath.Join(dir, "docker/Dockerfile.plain"), "FROM scratch\nCOPY a /a\nCOPY .dockerignore /b\n")
	second := invoke(t, dir, "", env, "docker.sizes")
	if !strings.Contains(second.stdout, "1 layers as before") || !strings.Contains(second.stdout, "\n+ ") {
		t.Errorf("%+v", second)
	}
	third := invoke(t, dir, "", env, "docker.sizes")
	if !strings.Contains(third.stdout, "2 layers as before") {
		t.Errorf("%+v", third)
	}
	tag := invoke(t, dir, "", append(env, "SLIPWAY_SIZES_AGAINST=1"), "docker.sizes")
	if !strings.Contains(tag.stdout, "1 layers as before") {
		t.Errorf("%+v", tag)
	}
}

// With a lock, a base that was pushed anew is not taken until docker.update.
func TestLockedBase(t *testing.T) {
	dir := pictures(t)
	h := hub(t, "bases")
	env := []string{"TAG=1", "HUB=" + h, "DOCKER_LOAD=0"}
	push := func(text string) {
		writeFile(t, filepath.Join(dir, "files/a"), text)
		if got := invoke(t, dir, "", append(env, "DOCKER_TARGETS=bottom"), "docker.push"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	digest := func() string {
		got := invoke(t, dir, "", append(env, "OUTPUT=json", "DOCKER_TARGETS=top"), "docker.sizes")
		var sizes struct{ Images []struct{ Digest string } }
		if err := json.Unmarshal([]byte(got.stdout), &sizes); err != nil || len(sizes.Images) != 1 {
			t.Fatalf("%+v (%v)", got, err)
		}
		return sizes.Images[0].Digest
	}
	push("one\n")
	writeFile(t, filepath.Join(dir, "docker/Dockerfile.top"), "FROM "+h+"/bottom:1\nCOPY .dockerignore /b\n")
	catalog := filepath.Join(dir, "common/config/catalog.yaml")
	text, err := os.ReadFile(catalog)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, catalog, string(text)+"- name: top\n  dockerfile: docker/Dockerfile.top\n  context: files\n")
	locked := invoke(t, dir, "", env, "docker.lock")
	if locked.code != 0 || !strings.Contains(locked.stdout, h+"/bottom:1\tsha256:") {
		t.Fatalf("%+v", locked)
	}
	before := digest()
	push("two\n")
	if after := digest(); after != before {
		t.Error("the lock did not hold")
	}
	updated := invoke(t, dir, "", env, "docker.update")
	if updated.code != 0 || !strings.Contains(updated.stdout, "was sha256:") {
		t.Errorf("%+v", updated)
	}
	if after := digest(); after == before {
		t.Error("the update was not taken")
	}
}

// Twenty runs in one workspace, and a prune in between: nothing is lost, and
// all say the same.
func TestManyRunsAtOnce(t *testing.T) {
	dir := pictures(t)
	env := []string{"TAG=1", "HUB=" + hub(t, "x"), "DOCKER_TARGETS=plain"}
	results := make([]call, 20)
	var group sync.WaitGroup
	for n := range results {
		group.Add(1)
		go func() {
			defer group.Done()
			if n%5 == 4 {
				invoke(t, dir, "", env, "docker.prune")
			}
			results[n] = invoke(t, dir, "", env, "docker.push")
		}()
	}
	group.Wait()
	said := map[string]int{}
	for _, r := range results {
		if r.code != 0 {
			t.Errorf("%+v", r)
		}
		reference, _, _ := strings.Cut(r.stdout, "\t")
		said[reference]++
	}
	if len(said) != 1 {
		t.Errorf("said %v", said)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "out", "images", "tmp", "*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestImagesLimit(t *testing.T) {
	dir := pictures(t)
	env := []string{"TAG=1", "HUB=localhost:1/x", "DOCKER_LOAD=0", "DOCKER_TARGETS=plain", "SLIPWAY_IMAGES_LIMIT=1KB"}
	for n := range 3 {
		writeFile(t, filepath.Join(dir, "files/a"), strings.Repeat(fmt.Sprint(n), 100_000))
		if got := invoke(t, dir, "", env, "docker"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	blobs, _ := filepath.Glob(filepath.Join(dir, "out", "images", "blobs", "sha256", "*"))
	if len(blobs) != 3 { // layer, configuration, manifest
		t.Errorf("%d blobs are left, want those of the last image", len(blobs))
	}
	if got := invoke(t, dir, "", append(env, "SLIPWAY_IMAGES_LIMIT=lots"), "docker"); got.code != fail.Usage || !strings.Contains(got.stderr, "SLIPWAY_IMAGES_LIMIT") {
		t.Errorf("%+v", got)
	}
}
