// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package equivalence compares what Slipway makes of a Dockerfile by itself
// with what BuildKit makes of it: what a container sees must be the same.
package equivalence

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/moby/buildkit/client"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/buildkit"
	"github.com/istio-ecosystem/slipway/tools/buildkit/buildkittest"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/image"
)

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestCorpus(t *testing.T) {
	w := newWorld(t)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d cases (%v), want at least 60", len(files), err)
	}
	same, both := 0, 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			c := readCase(t, file)
			c.localize(t, w.registry)
			if ours, theirs := w.compare(t, c); ours != nil {
				both++
				if ours.digest == theirs.digest {
					same++
				}
			}
		})
	}
	t.Logf("%d cases; of %d images built both ways, %d have the same digest", len(files), both, same)
	if same == 0 {
		t.Error("no image has the same digest from both builders")
	}
}

// The digest depends on what is built and on nothing else: not on the folder,
// the umask under which files were written, their times, the time zone or the
// number of processors.
func TestDigestDoesNotDependOnTheMachine(t *testing.T) {
	w := newWorld(t)
	text := "FROM " + w.registry + "/users:1\nARG V\nCOPY --chown=app dir /srv/deep/dir\nCOPY a.txt /a\nADD pack.tar /packed/\nWORKDIR /made\nLABEL v=$V\n"
	digests := map[string][]v1.Hash{}
	for n := range 2 {
		c := &testCase{dir: t.TempDir(), dockerfile: text, args: map[string]string{"V": "1"}, platform: v1.Platform{OS: "linux", Architecture: "amd64"}}
		old := syscall.Umask([]int{0o022, 0o077}[n])
		for _, name := range []string{"a.txt", "dir/b.txt", "dir/sub/c.txt"} {
			path := filepath.Join(c.dir, name)
			write(t, path, []byte(name))
			when := time.Now().Add(-time.Duration(n) * 1000 * time.Hour)
			if err := errors.Join(os.Chtimes(path, when, when), os.Chmod(path, []os.FileMode{0o644, 0o600}[n])); err != nil {
				t.Fatal(err)
			}
		}
		syscall.Umask(old)
		if err := os.WriteFile(filepath.Join(c.dir, "pack.tar"), packed(t), 0o600); err != nil {
			t.Fatal(err)
		}
		processors := runtime.GOMAXPROCS([]int{1, 4}[n])
		zone := time.Local
		time.Local = time.FixedZone("x", n*3600)
		for way, build := range map[string]func(context.Context, string, *testCase) (*seen, error){"daemonless": w.daemonless, "BuildKit": w.buildkit} {
			s, err := build(t.Context(), t.TempDir(), c)
			if err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			digests[way] = append(digests[way], s.digest)
		}
		runtime.GOMAXPROCS(processors)
		time.Local = zone
		w.prune(t)
	}
	for way, both := range digests {
		if both[0] != both[1] {
			t.Errorf("%s: %s and %s", way, both[0], both[1])
		}
	}
}

// packed is an archive with one file, of a fixed time.
func packed(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	err := tw.WriteHeader(&tar.Header{Name: "p", Mode: 0o644, Size: 1, ModTime: time.Unix(1, 0)})
	if _, write := tw.Write([]byte("p")); errors.Join(err, write, tw.Close()) != nil {
		t.Fatal(err, write)
	}
	return b.Bytes()
}

// prune lets the builder forget everything.
func (w *world) prune(t *testing.T) {
	t.Helper()
	c, err := client.New(t.Context(), w.daemon.Endpoint.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Prune(t.Context(), nil, client.PruneAll); err != nil {
		t.Fatal(err)
	}
}

// world is a registry with base images, and a builder that knows it.
type world struct {
	registry string
	daemon   *buildkittest.Daemon
}

func newWorld(t *testing.T) *world {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: registry.New(registry.Logger(discardLog())), ReadHeaderTimeout: time.Minute}}
	server.Start()
	t.Cleanup(server.Close)
	w := &world{registry: fmt.Sprintf("localhost:%d", listener.Addr().(*net.TCPAddr).Port)}
	w.daemon = buildkittest.Start(t, w.registry)
	w.pushBases(t)
	return w
}

// compare builds a case both ways, and returns what was made where both should
// have made something.
func (w *world) compare(t *testing.T, c *testCase) (ours, theirs *seen) {
	t.Helper()
	ours, errOurs := w.daemonless(t.Context(), t.TempDir(), c)
	if c.oursOnly {
		if (errOurs != nil) != c.fails {
			t.Fatalf("daemonless: error %v, should fail: %v", errOurs, c.fails)
		}
		return nil, nil
	}
	theirs, errTheirs := w.buildkit(t.Context(), t.TempDir(), c)
	if c.fails {
		if errOurs == nil || errTheirs == nil {
			t.Fatalf("both should fail; daemonless: %v; BuildKit: %v", errOurs, errTheirs)
		}
		if !strings.Contains(errOurs.Error(), c.message) {
			t.Errorf("daemonless says %q, want %q in it", errOurs, c.message)
		}
		return nil, nil
	}
	if errOurs != nil || errTheirs != nil {
		t.Fatalf("daemonless: %v\nBuildKit: %v", errOurs, errTheirs)
	}
	if diff := cmp.Diff(theirs.files, ours.files); diff != "" {
		t.Errorf("files (- BuildKit, + daemonless):\n%s", diff)
	}
	if diff := cmp.Diff(theirs.config, ours.config); diff != "" {
		t.Errorf("configuration (- BuildKit, + daemonless):\n%s", diff)
	}
	return ours, theirs
}

func (w *world) daemonless(ctx context.Context, dir string, c *testCase) (*seen, error) {
	file, err := dockerfile.Parse("Dockerfile", []byte(c.dockerfile))
	if err != nil {
		return nil, err
	}
	plan, err := file.Plan(dockerfile.Options{Args: c.args, Platform: c.platform, BuildPlatform: v1.Platform{OS: "linux", Architecture: "amd64"}, Target: c.target})
	if err != nil {
		return nil, err
	}
	l, err := image.OpenLayout(dir)
	if err != nil {
		return nil, err
	}
	bases := &image.Bases{Layout: l}
	result, err := plan.Evaluate(bases.ConfigOf(ctx))
	if err != nil {
		return nil, err
	}
	codec, err := image.ParseCodec("gzip-1")
	if err != nil {
		return nil, err
	}
	r := image.Request{Name: "ours", File: "Dockerfile", Layout: l, Bases: bases, Created: created, Codec: codec}
	r.Platforms = []image.PlatformInput{{Platform: c.platform, Result: result, Context: c.files()}}
	if c.ignore != "" {
		if r.Platforms[0].Ignore, err = dockerfile.ParseIgnore([]byte(c.ignore)); err != nil {
			return nil, err
		}
	}
	built, err := image.Build(ctx, r)
	if err != nil {
		return nil, err
	}
	return look(dir, built.Descriptor.Digest)
}

func (w *world) buildkit(ctx context.Context, dir string, c *testCase) (*seen, error) {
	path := filepath.Join(dir, "Dockerfile")
	if err := os.WriteFile(path, []byte(c.dockerfile), 0o600); err != nil {
		return nil, err
	}
	built, _, err := buildkit.Build(ctx, builder.Request{
		Endpoint: w.daemon.Endpoint, Layout: filepath.Join(dir, "layout"), Name: "theirs", Dockerfile: path, File: "Dockerfile",
		Context: c.files(), Ignore: c.ignore, Args: c.args, Target: c.target, Platforms: []string{c.platform.String()},
		Codec: "gzip-1", Created: created, Progress: "quiet",
	}, io.Discard)
	if err != nil {
		return nil, err
	}
	return look(filepath.Join(dir, "layout"), built.Descriptor.Digest)
}

// seen is what a container sees of an image, read by other code than ours.
type seen struct {
	digest v1.Hash
	files  map[string]string
	config map[string]any
}

func look(dir string, digest v1.Hash) (*seen, error) {
	path, err := layout.FromPath(dir)
	if err != nil {
		return nil, err
	}
	img, err := path.Image(digest)
	if err != nil {
		return nil, err
	}
	s := &seen{digest: digest, files: map[string]string{}}
	text, err := img.RawConfigFile()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &s.config); err != nil {
		return nil, err
	}
	tidyConfig(s.config)
	r := mutate.Extract(img)
	defer func() { _ = r.Close() }()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, tr); err != nil {
			return nil, err
		}
		name := strings.Trim(filepath.Clean("/"+h.Name), "/")
		line := fmt.Sprintf("%c %04o %d:%d %s", h.Typeflag, h.Mode&0o7777, h.Uid, h.Gid, h.Linkname)
		if h.Typeflag == tar.TypeReg {
			line += fmt.Sprintf("%d %s", h.Size, hex.EncodeToString(sum.Sum(nil))[:12])
		}
		s.files[name] = line
	}
}

// tidyConfig drops what is not seen by a container: layers, and how many of
// them each instruction made.
func tidyConfig(config map[string]any) {
	delete(config, "rootfs")
	var steps []string
	if history, ok := config["history"].([]any); ok {
		for _, h := range history {
			entry := h.(map[string]any)
			steps = append(steps, fmt.Sprint(entry["created_by"], " ", entry["created"], " ", entry["comment"]))
		}
	}
	config["history"] = steps
	inner, _ := config["config"].(map[string]any)
	maps.DeleteFunc(inner, func(_ string, v any) bool {
		switch v := v.(type) {
		case nil:
			return true
		case []any:
			return len(v) == 0
		case map[string]any:
			return len(v) == 0
		}
		return false
	})
	if env, ok := inner["Env"].([]any); ok { // its order has no meaning
		slices.SortFunc(env, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
}
