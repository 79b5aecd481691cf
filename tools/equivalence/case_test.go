// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package equivalence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/ulikunitz/xz"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/buildkit"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/image"
)

// testCase is one file of testdata; see its README.
type testCase struct {
	dir        string        // the context
	context    image.Context // in place of dir
	dockerfile string
	ignore     string
	args       map[string]string
	target     string
	platform   v1.Platform
	fails      bool
	message    string
	oursOnly   bool
}

func readCase(t *testing.T, file string) *testCase {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &testCase{dir: t.TempDir(), args: map[string]string{}, platform: v1.Platform{OS: "linux", Architecture: "amd64"}}
	for _, f := range archive.Files {
		write(t, filepath.Join(c.dir, filepath.FromSlash(f.Name)), f.Data)
	}
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok && strings.TrimSpace(line) != "" {
			t.Fatalf("%s: %q is not key: value", file, line)
		}
		c.prepare(t, key, strings.TrimSpace(value))
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	c.dockerfile = string(text)
	for _, name := range dockerfile.IgnoreFiles("Dockerfile") {
		if text, err := os.ReadFile(filepath.Join(c.dir, name)); err == nil {
			c.ignore = string(text)
			break
		}
	}
	return c
}

// files is the build context.
func (c *testCase) files() image.Context {
	if c.context != nil {
		return c.context
	}
	return image.Folder(c.dir)
}

// localize puts the address of the registry of this run into the Dockerfile.
func (c *testCase) localize(t *testing.T, registry string) {
	t.Helper()
	c.dockerfile = strings.ReplaceAll(c.dockerfile, "localhost:5999", registry)
	for name, value := range c.args {
		c.args[name] = strings.ReplaceAll(value, "localhost:5999", registry)
	}
	write(t, filepath.Join(c.dir, "Dockerfile"), []byte(c.dockerfile))
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *testCase) prepare(t *testing.T, key, value string) {
	t.Helper()
	first, rest, _ := strings.Cut(value, " ")
	rest = strings.TrimSpace(rest)
	var err error
	switch key {
	case "", "about", "base":
	case "arg":
		name, v, _ := strings.Cut(value, "=")
		c.args[name] = v
	case "target":
		c.target = value
	case "platform":
		p, parsed := v1.ParsePlatform(value)
		c.platform, err = *p, parsed
	case "fails":
		c.fails, c.message = true, value
	case "ours-only":
		c.oursOnly = value == "yes"
	case "mode":
		var mode uint64
		if mode, err = strconv.ParseUint(first, 8, 32); err == nil {
			err = os.Chmod(filepath.Join(c.dir, rest), fs.FileMode(mode))
		}
	case "symlink":
		path := filepath.Join(c.dir, rest)
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.Symlink(first, path)
		}
	case "dir":
		err = os.MkdirAll(filepath.Join(c.dir, value), 0o755)
	case "archive":
		err = pack(t, filepath.Join(c.dir, first), filepath.Join(c.dir, strings.TrimSpace(strings.TrimPrefix(rest, "from "))))
	default:
		t.Fatalf("unknown key %q", key)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// pack makes an archive of a folder, compressed as its name says.
func pack(t *testing.T, path, folder string) error {
	t.Helper()
	var plain bytes.Buffer
	tw := tar.NewWriter(&plain)
	if err := tw.AddFS(os.DirFS(folder)); err != nil {
		return err
	}
	if err := tw.Close(); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var w io.WriteCloser
	switch filepath.Ext(path) {
	case ".tar":
		_, err = f.Write(plain.Bytes())
		return err
	case ".bz2":
		cmd := exec.CommandContext(t.Context(), "bzip2", "-c")
		cmd.Stdin, cmd.Stdout = &plain, f
		return cmd.Run()
	case ".gz", ".tgz":
		w = gzip.NewWriter(f)
	case ".xz":
		w, err = xz.NewWriter(f)
	case ".zst":
		w, err = zstd.NewWriter(f)
	default:
		t.Fatalf("%s: unknown kind of archive", path)
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(plain.Bytes()); err != nil {
		return err
	}
	return w.Close()
}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// bases are the images that cases start from, as Dockerfiles.
func bases() map[string]string {
	return map[string]string{
		"users": "FROM scratch\n" +
			"COPY <<E /etc/passwd\nroot:x:0:0:root:/root:/bin/sh\napp:x:1338:1339:app:/home/app:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\nE\n" +
			"COPY <<E /etc/group\nroot:x:0:\napp:x:1339:\nextra:x:2000:\nnobody:x:65534:\nE\n" +
			"COPY --chmod=1777 tmp /tmp/\nCOPY run /run/\nCOPY <<E /data/a.txt\nbase a\nE\nCOPY <<E /data/b/c.txt\nbase c\nE\nCOPY links /\n",
		"onbuild":   "FROM scratch\nONBUILD COPY . /onbuild/\nONBUILD ENV FROM_PARENT=1\nONBUILD LABEL x=y\n",
		"shellbase": "FROM localhost:5999/users:1\nSHELL [\"/bin/custom\",\"-e\",\"-c\"]\nENTRYPOINT [\"/e\"]\nCMD [\"c\"]\nENV PATH=/base\nWORKDIR /w\nUSER app\nEXPOSE 80\nVOLUME /v\nLABEL a=b\nSTOPSIGNAL SIGINT\nHEALTHCHECK --interval=5s CMD [\"/h\"]\n",
	}
}

// pushBases lets BuildKit make the base images, for both architectures, and
// pushes them.
func (w *world) pushBases(t *testing.T) {
	t.Helper()
	ctx := t.TempDir()
	for _, dir := range []string{"tmp", "run", "links/var"} {
		if err := os.MkdirAll(filepath.Join(ctx, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"links/var/run": "/run", "links/link": "data"} {
		if err := os.Symlink(target, filepath.Join(ctx, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, base := range []string{"users", "onbuild", "shellbase"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "Dockerfile")
		write(t, path, []byte(strings.ReplaceAll(bases()[base], "localhost:5999", w.registry)))
		built, _, err := buildkit.Build(t.Context(), builder.Request{
			Endpoint: w.daemon.Endpoint, Layout: filepath.Join(dir, "layout"), Name: base, Dockerfile: path, File: base,
			Context: image.Folder(ctx), Platforms: []string{"linux/amd64", "linux/arm64"}, Codec: "gzip-1", Created: created, Progress: "quiet",
		}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		push(t.Context(), t, filepath.Join(dir, "layout"), built.Descriptor.Digest, w.registry+"/"+base+":1")
	}
}

func push(ctx context.Context, t *testing.T, dir string, digest v1.Hash, reference string) {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, inner, remote.WithContext(ctx)); err != nil {
		t.Fatal(err)
	}
}
