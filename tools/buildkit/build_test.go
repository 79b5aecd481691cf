// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/moby/buildkit/client"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/buildkit"
	"github.com/istio-ecosystem/slipway/tools/buildkit/buildkittest"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/image"
)

// world is a builder, a layout, and files to build from.
type world struct {
	t      *testing.T
	daemon *buildkittest.Daemon
	dir    string
	files  image.Context
}

func newWorld(t *testing.T, registries ...string) *world {
	t.Helper()
	w := &world{t: t, daemon: buildkittest.Start(t, registries...), dir: t.TempDir()}
	w.files = image.Context{"busybox": buildkittest.Busybox(t)}
	return w
}

func (w *world) write(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, "files", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) request(text string) builder.Request {
	w.t.Helper()
	return builder.Request{
		Endpoint: w.daemon.Endpoint, Layout: filepath.Join(w.dir, "layout"), Name: "test", File: "docker/Dockerfile.test",
		Dockerfile: w.write("Dockerfile", text), Context: w.files, Platforms: []string{"linux/amd64"},
		Codec: "gzip-1", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Progress: "quiet",
	}
}

func (w *world) mustBuild(r builder.Request) *image.Built {
	w.t.Helper()
	built, _, err := buildkit.Build(w.t.Context(), r, io.Discard)
	if err != nil {
		w.t.Fatal(err)
	}
	return built
}

// content reads a file of an image, by other code than ours.
func (w *world) content(r builder.Request, built *image.Built, file string) string {
	w.t.Helper()
	path, err := layout.FromPath(r.Layout)
	if err != nil {
		w.t.Fatal(err)
	}
	digest := built.Platforms[0].Descriptor.Digest
	img, err := path.Image(digest)
	if len(built.Platforms) > 1 {
		index, errIndex := layout.ImageIndexFromPath(r.Layout)
		if errIndex == nil {
			index, errIndex = index.ImageIndex(built.Descriptor.Digest)
		}
		if errIndex == nil {
			img, err = index.Image(digest)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		w.t.Error(err)
	}
	tr := tar.NewReader(mutate.Extract(img))
	for {
		h, err := tr.Next()
		if err != nil {
			w.t.Fatalf("looking for %s: %v", file, err)
		}
		if strings.Trim(h.Name, "/") == file {
			if !h.ModTime.Equal(time.Unix(0, 0)) {
				w.t.Errorf("%s is dated %s", file, h.ModTime)
			}
			text, err := io.ReadAll(tr)
			if err != nil {
				w.t.Fatal(err)
			}
			return string(text)
		}
	}
}

// prune drops everything that the builder remembers.
func (w *world) prune() {
	w.t.Helper()
	c, err := client.New(w.t.Context(), w.daemon.Endpoint.Address)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Prune(w.t.Context(), nil, client.PruneAll); err != nil {
		w.t.Fatal(err)
	}
}

const sh = `RUN ["/busybox","sh","-c","`

func TestRun(t *testing.T) {
	w := newWorld(t)
	r := w.request("FROM scratch AS tools\nCOPY busybox /busybox\n" + sh + `/busybox mkdir /made && /busybox echo from tools > /made/a"]` + "\n" +
		"FROM tools\nARG WHO\n" + sh + `/busybox echo $WHO $(/busybox cat /made/a) > /made/b"]` + "\nCMD [\"/busybox\"]\n")
	r.Args = map[string]string{"WHO": "me"}
	r.Labels = map[string]string{"title": "test"}
	built := w.mustBuild(r)
	if got := w.content(r, built, "made/b"); got != "me from tools\n" {
		t.Errorf("the file holds %q", got)
	}
	if len(built.Platforms[0].Layers) != 3 {
		t.Errorf("%d layers, want 3", len(built.Platforms[0].Layers))
	}
}

// A secret is there while RUN runs and nowhere later, and no error shows it.
func TestSecret(t *testing.T) {
	w := newWorld(t)
	r := w.request("FROM scratch\nCOPY busybox /busybox\nRUN --mount=type=secret,id=token [\"/busybox\",\"sh\",\"-c\",\"/busybox wc -c < /run/secrets/token > /size\"]\n")
	r.Secrets = []string{"id=token,src=" + w.write("token", "hush-hush")}
	built := w.mustBuild(r)
	if got := strings.TrimSpace(w.content(r, built, "size")); got != "9" {
		t.Errorf("the secret has %q bytes", got)
	}
	for _, bad := range []string{"src=" + r.Secrets[0][len("id=token,src="):], "id=x,src=/nonexistent", "id=x,colour=red"} {
		r.Secrets = []string{bad}
		if _, _, err := buildkit.Build(t.Context(), r, io.Discard); fail.Code(err) != fail.Usage || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Two builds give one digest, whatever the builder remembers and whenever the
// files were written; what was built before is not sent again.
func TestReproducible(t *testing.T) {
	w := newWorld(t)
	w.files["a"] = w.write("a", "content")
	r := w.request("FROM scratch\nCOPY busybox /busybox\nCOPY a /some/where/deep/a\n" + sh + `/busybox touch /now && /busybox mkdir /later"]` + "\n")
	first := w.mustBuild(r)
	w.prune()
	now := time.Now()
	if err := os.Chtimes(w.files["a"], now, now); err != nil {
		t.Fatal(err)
	}
	r.Layout = filepath.Join(w.dir, "another")
	second := w.mustBuild(r)
	if first.Descriptor.Digest != second.Descriptor.Digest {
		t.Errorf("digests %s and %s", first.Descriptor.Digest, second.Descriptor.Digest)
	}
	again := w.mustBuild(r)
	for _, l := range again.Platforms[0].Layers {
		if l.Fresh {
			t.Errorf("layer of %s was sent again", l.CreatedBy)
		}
	}
}

// A change that leaves size and time of a file alone is still a change.
func TestChangeIsSeen(t *testing.T) {
	w := newWorld(t)
	path := w.write("a", "one")
	w.files["a"] = path
	r := w.request("FROM scratch\nCOPY a /a\n")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	w.mustBuild(r)
	w.write("a", "two")
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if got := w.content(r, w.mustBuild(r), "a"); got != "two" {
		t.Errorf("the image has %q", got)
	}
}

// An image of our layout stands for a name in FROM.
func TestNamedContext(t *testing.T) {
	w := newWorld(t)
	base := w.request("FROM scratch\nCOPY busybox /busybox\n")
	base.Name = "static"
	built := w.mustBuild(base)
	r := w.request("FROM static\n" + sh + `/busybox echo yes > /ran"]` + "\n")
	r.Contexts = map[string]string{"static": built.Descriptor.Digest.String()}
	child := w.mustBuild(r)
	if got := w.content(r, child, "ran"); got != "yes\n" {
		t.Errorf("the file holds %q", got)
	}
	if child.Platforms[0].Layers[0].Digest != built.Platforms[0].Layers[0].Digest {
		t.Error("the layer of the base is not the same")
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name, text string
		want       []string
		code       int
	}{
		{"RUN fails", "FROM scratch\nCOPY busybox /busybox\nRUN [\"/busybox\",\"false\"]\n", []string{"docker/Dockerfile.test:3", "exit code: 1"}, fail.Failed},
		{"syntax", "FROM scratch\nCOPPY a b\n", []string{"docker/Dockerfile.test:2", "COPPY"}, fail.Failed},
		{"missing file", "FROM scratch\nCOPY nope /x\n", []string{"docker/Dockerfile.test:2", "nope"}, fail.Failed},
		{"no base", "FROM localhost:1/none:1\nRUN x\n", []string{"docker/Dockerfile.test:1", "localhost:1"}, fail.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := buildkit.Build(t.Context(), w.request(c.text), io.Discard)
			if err == nil || fail.Code(err) != c.code {
				t.Fatalf("error %v (code %d), want code %d", err, fail.Code(err), c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

// What BuildKit only warns of makes an image that says what it is not.
func TestWrongPlatformIsRefused(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	w := newWorld(t, host)
	ref, err := name.ParseReference(host + "/amd64only:1")
	if err != nil {
		t.Fatal(err)
	}
	img, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config.OS, config.Architecture = "linux", "amd64"
	if img, err = mutate.ConfigFile(img, config); err == nil {
		err = remote.Write(ref, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.files["f"] = w.write("f", "f")
	r := w.request("FROM " + ref.Name() + "\nCOPY f /f\n")
	r.Platforms = []string{"linux/arm64"}
	_, warnings, err := buildkit.Build(t.Context(), r, io.Discard)
	if fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "linux/amd64") || !strings.Contains(err.Error(), "docker/Dockerfile.test:1") {
		t.Errorf("base: %v (warnings %q)", err, warnings)
	}
	r = w.request("FROM scratch\nCOPY busybox /busybox\n")
	r.Platforms = []string{"linux/arm64"}
	_, _, err = buildkit.Build(t.Context(), r, io.Discard)
	if fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "EM_X86_64") {
		t.Errorf("program: %v", err)
	}
}

func TestTwoPlatforms(t *testing.T) {
	w := newWorld(t)
	w.files["amd64/f"], w.files["arm64/f"] = w.write("1", "for amd64"), w.write("2", "for arm64")
	r := w.request("FROM scratch\nARG TARGETARCH\nCOPY ${TARGETARCH}/f /f\n")
	r.Platforms = []string{"linux/arm64", "linux/amd64"}
	built := w.mustBuild(r)
	if len(built.Platforms) != 2 || built.Platforms[0].Platform.Architecture != "arm64" || !built.Descriptor.MediaType.IsIndex() {
		t.Fatalf("built %+v", built)
	}
	if got := w.content(r, built, "f"); got != "for arm64" {
		t.Errorf("the image has %q", got)
	}
}

// Steps that a cache in a registry knows are not run again on a builder that
// knows nothing.
func TestRegistryCache(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	w := newWorld(t, host)
	r := w.request("FROM scratch\nCOPY busybox /busybox\n" + sh + `/busybox dd if=/dev/urandom of=/random bs=1 count=20"]` + "\n")
	r.CacheTo = []string{"type=registry,ref=" + host + "/cache:1,mode=max"}
	first := w.mustBuild(r)
	w.prune()
	r.CacheTo, r.CacheFrom = nil, []string{host + "/cache:1"}
	if second := w.mustBuild(r); second.Descriptor.Digest != first.Descriptor.Digest {
		t.Error("the random file was made again")
	}
	r.NoCache = true
	if third := w.mustBuild(r); third.Descriptor.Digest == first.Descriptor.Digest {
		t.Error("no-cache took the random file from the cache")
	}
	r.CacheFrom = []string{"type=registry,ref"}
	if _, _, err := buildkit.Build(t.Context(), r, io.Discard); fail.Code(err) != fail.Usage {
		t.Errorf("a cache without a value: %v", err)
	}
}

// A builder that goes away is said to have gone, and the layout stays sound.
func TestBuilderGoesAway(t *testing.T) {
	w := newWorld(t)
	started := w.write("started", "")
	_ = started
	r := w.request("FROM scratch\nCOPY busybox /busybox\nRUN [\"/busybox\",\"sleep\",\"60\"]\n")
	r.Progress = "plain"
	out, in := io.Pipe()
	go func() {
		text := make([]byte, 4096)
		seen := ""
		for {
			n, err := out.Read(text)
			if seen += string(text[:n]); strings.Contains(seen, "[2/2] RUN") && seen != "" {
				w.daemon.Kill()
				seen = ""
			}
			if err != nil {
				return
			}
		}
	}()
	_, _, err := buildkit.Build(t.Context(), r, in)
	_ = in.Close()
	if fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "went away") {
		t.Fatalf("error %v (code %d)", err, fail.Code(err))
	}
	left, _ := filepath.Glob(filepath.Join(r.Layout, "tmp", "*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	_, _, err = buildkit.Build(t.Context(), r, io.Discard)
	if fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "does not answer") || !strings.Contains(err.Error(), "BUILDKIT_HOST") {
		t.Errorf("a builder that is not there: %v", err)
	}
}

// A layout on a full disk is an error that says so; nothing that is broken gets
// a name, and with room again the same build goes through.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	small := filepath.Join(w.dir, "small")
	if err := os.MkdirAll(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small file system: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", small).Run() })
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(i * i >> 3 * 7919)
	}
	w.files["f"] = w.write("f", string(content)+fmt.Sprint(time.Now().UnixNano()))
	r := w.request("FROM scratch\nCOPY f /f\nCOPY busybox /busybox\n")
	r.Codec, r.Layout = "none", small
	_, _, err := buildkit.Build(t.Context(), r, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(small, "index.json")); err == nil {
		t.Error("the layout names an image")
	}
	r.Layout = filepath.Join(w.dir, "large")
	w.mustBuild(r)
}

func TestCancel(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _, err := buildkit.Build(ctx, w.request("FROM scratch\nCOPY busybox /busybox\nRUN [\"/busybox\",\"sleep\",\"60\"]\n"), io.Discard)
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// The BuildKit inside of a Docker engine with its older image store.
func TestDockerEngine(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		t.Skip("starts dockerd: set SLIPWAY_TEST_REAL=1")
	}
	w := &world{t: t, dir: t.TempDir(), files: image.Context{"busybox": buildkittest.Busybox(t)}}
	w.daemon = &buildkittest.Daemon{Endpoint: builder.Endpoint{Kind: builder.Docker, Address: startDocker(t), Origin: "test"}}
	r := w.request("FROM scratch\nCOPY busybox /busybox\n" + sh + `/busybox echo ran > /ran"]` + "\n")
	r.Network = "host"
	built := w.mustBuild(r)
	if got := fmt.Sprint(len(built.Platforms[0].Layers)); got != "2" {
		t.Errorf("%s layers", got)
	}
	r.Platforms = []string{"linux/amd64", "linux/arm64"}
	if _, _, err := buildkit.Build(t.Context(), r, io.Discard); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "one platform") {
		t.Errorf("two platforms: %v", err)
	}
}

func startDocker(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("dockerd")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs dockerd, and root")
	}
	dir, err := os.MkdirTemp("", "dockerd-")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "sock")
	cmd := exec.Command(program, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "-p", filepath.Join(dir, "pid"),
		"-H", "unix://"+socket, "--iptables=false", "--bridge=none")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			return "unix://" + socket
		}
	}
	t.Fatal("dockerd does not start")
	return ""
}
