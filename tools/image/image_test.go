// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/klauspost/compress/gzip"

	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/image"
)

var amd64 = v1.Platform{OS: "linux", Architecture: "amd64"}

// world is a layout and a folder with files to copy.
type world struct {
	t      *testing.T
	layout *image.Layout
	bases  *image.Bases
	files  string
	codec  string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	l, err := image.OpenLayout(filepath.Join(t.TempDir(), "images"))
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, layout: l, bases: &image.Bases{Layout: l}, files: t.TempDir(), codec: "gzip-1"}
}

// write makes a file whose times are long past, so that caches may trust it.
func (w *world) write(name, content string, mode os.FileMode) string {
	w.t.Helper()
	path := filepath.Join(w.files, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) request(text string, ctx image.Context, platforms ...v1.Platform) (image.Request, error) {
	w.t.Helper()
	if len(platforms) == 0 {
		platforms = []v1.Platform{amd64}
	}
	codec, err := image.ParseCodec(w.codec)
	if err != nil {
		return image.Request{}, err
	}
	r := image.Request{Name: "test", File: "Dockerfile", Layout: w.layout, Bases: w.bases, Created: time.Unix(1700000000, 0), Codec: codec, Jobs: 2}
	for _, p := range platforms {
		f, err := dockerfile.Parse("Dockerfile", []byte(text))
		if err != nil {
			return r, err
		}
		plan, err := f.Plan(dockerfile.Options{Platform: p})
		if err != nil {
			return r, err
		}
		result, err := plan.Evaluate(w.bases.ConfigOf(w.t.Context()))
		if err != nil {
			return r, err
		}
		r.Platforms = append(r.Platforms, image.PlatformInput{Platform: p, Result: result, Context: ctx})
	}
	return r, nil
}

func (w *world) build(text string, ctx image.Context, platforms ...v1.Platform) (*image.Built, error) {
	r, err := w.request(text, ctx, platforms...)
	if err != nil {
		return nil, err
	}
	return image.Build(w.t.Context(), r)
}

func (w *world) mustBuild(text string, ctx image.Context, platforms ...v1.Platform) *image.Built {
	w.t.Helper()
	b, err := w.build(text, ctx, platforms...)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// listing reads an image with another library, as "mode uid:gid path content".
func (w *world) listing(b *image.Built) []string {
	w.t.Helper()
	path, err := layout.FromPath(w.layout.Dir())
	if err != nil {
		w.t.Fatal(err)
	}
	img, err := path.Image(b.Platforms[0].Descriptor.Digest)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		w.t.Errorf("the image is not valid: %v", err)
	}
	flat := mutate.Extract(img)
	defer func() { _ = flat.Close() }()
	var list []string
	for tr := tar.NewReader(flat); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.t.Fatal(err)
		}
		content, _ := io.ReadAll(tr)
		line := fmt.Sprintf("%04o %d:%d /%s", h.Mode, h.Uid, h.Gid, strings.TrimSuffix(h.Name, "/"))
		switch h.Typeflag {
		case tar.TypeDir:
			line += "/"
		case tar.TypeSymlink:
			line += " -> " + h.Linkname
		default:
			line += " " + string(content)
		}
		list = append(list, line)
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(strings.Fields(a)[2], strings.Fields(b)[2]) })
	return list
}

func TestCopy(t *testing.T) {
	w := newWorld(t)
	ctx := image.Context{
		"a":        w.write("a", "A", 0o600),
		"run":      w.write("run", "R", 0o711),
		"x/b.txt":  w.write("b", "B", 0o640),
		"dir":      filepath.Dir(w.write("dir/one", "1", 0o600)),
		"dir2/two": w.write("two", "2", 0o644),
		"passwd":   w.write("passwd", "root:x:0:0::/:\nweb:x:33:34::/:\n", 0o644),
		"group":    w.write("group", "web:x:34:\nadm:x:4:\n", 0o644),
	}
	w.write("dir/sub/deep", "D", 0o755)
	if err := os.Symlink("one", filepath.Join(w.files, "dir", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.files, "links"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/data", filepath.Join(w.files, "links", "l")); err != nil {
		t.Fatal(err)
	}
	ctx["links"] = filepath.Join(w.files, "links")
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"modes and parents", "COPY a /etc/app/a\nCOPY run /bin/", []string{"0755 0:0 /bin/", "0755 0:0 /bin/run R", "0755 0:0 /etc/", "0755 0:0 /etc/app/", "0644 0:0 /etc/app/a A"}},
		{"folder content", "COPY dir /d", []string{"0755 0:0 /d/", "0777 0:0 /d/link -> one", "0644 0:0 /d/one 1", "0755 0:0 /d/sub/", "0755 0:0 /d/sub/deep D"}},
		{"folder made of entries", "COPY dir2 /d/", []string{"0755 0:0 /d/", "0644 0:0 /d/two 2"}},
		{"several and a pattern", "COPY a x/*.txt /d/", []string{"0755 0:0 /d/", "0644 0:0 /d/a A", "0644 0:0 /d/b.txt B"}},
		{"file into a folder that is there", "WORKDIR /d\nCOPY a /d", []string{"0755 0:0 /d/", "0644 0:0 /d/a A"}},
		{"later copy replaces", "COPY a /f\nCOPY run /f", []string{"0755 0:0 /f R"}},
		{"relative to WORKDIR", "WORKDIR /w\nCOPY a .\nCOPY run sub/r", []string{"0755 0:0 /w/", "0644 0:0 /w/a A", "0755 0:0 /w/sub/", "0755 0:0 /w/sub/r R"}},
		{"owner by number, also of parents", "COPY --chown=1:2 a /d/a", []string{"0755 1:2 /d/", "0644 1:2 /d/a A"}},
		{"owner by name", "COPY passwd group /etc/\nCOPY --chown=web a /a\nCOPY --chown=5:adm a /b\nCOPY --chown=7 a /c",
			[]string{"0644 33:34 /a A", "0644 5:4 /b A", "0644 7:7 /c A", "0755 0:0 /etc/", "0644 0:0 /etc/group web:x:34:\nadm:x:4:\n", "0644 0:0 /etc/passwd root:x:0:0::/:\nweb:x:33:34::/:\n"}},
		{"chmod goes to folders below, not to the target", "WORKDIR /t\nCOPY --chmod=1777 dir /t", []string{"0755 0:0 /t/", "0777 0:0 /t/link -> one", "1777 0:0 /t/one 1", "1777 0:0 /t/sub/", "1777 0:0 /t/sub/deep D"}},
		{"heredoc", "COPY <<E /etc/conf\nhello\nE", []string{"0755 0:0 /etc/", "0644 0:0 /etc/conf hello\n"}},
		{"parents", "COPY --parents x/b.txt /p/", []string{"0755 0:0 /p/", "0755 0:0 /p/x/", "0644 0:0 /p/x/b.txt B"}},
		{"exclude", "COPY --exclude=**/deep --exclude=link dir /d/", []string{"0755 0:0 /d/", "0644 0:0 /d/one 1", "0755 0:0 /d/sub/"}},
		{"from a stage, through a link", "COPY --from=s /l/one /one", []string{"0600 0:0 /one 1"}},
		{"folder of a stage", "COPY --from=s /data/ /copy/", []string{"0755 0:0 /copy/", "0600 0:0 /copy/one 1"}},
		{"through a link in the image", "COPY --from=s / /\nCOPY run /l/run", []string{"0600 0:0 /data/", "0600 0:0 /data/one 1", "0755 0:0 /data/run R", "0777 0:0 /l -> /data"}},
		{"WORKDIR belongs to USER", "USER 9:8\nWORKDIR /home/u", []string{"0755 9:8 /home/", "0755 9:8 /home/u/"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			got := w.listing(w.mustBuild("FROM scratch AS s\nCOPY --chmod=0600 dir/one /data/one\nCOPY links/ /\nFROM scratch\n"+c.text, ctx))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestCopyRefuses(t *testing.T) {
	w := newWorld(t)
	ctx := image.Context{"amd64/istioctl": w.write("istioctl", "x", 0o755), "f": w.write("f", "F", 0o644)}
	for _, c := range []struct{ name, text, want string }{
		{"missing, near", "COPY istioctl /x", `building test: Dockerfile:2: COPY istioctl /x # buildkit: "istioctl" is not in the build context; "amd64/istioctl" is`},
		{"missing", "COPY nope /x", `"nope" is not in the build context, which has amd64/istioctl, f`},
		{"file in the way", "COPY f /a\nCOPY f /a/b", `"/a" is in the way: it is no folder`},
		{"WORKDIR on a file", "COPY f /a\nWORKDIR /a", `"/a" is in the way: it is no folder`},
		{"unknown owner", "COPY --chown=nobody f /a", `--chown=nobody: looking "nobody" up: the image has no /etc/passwd`},
		{"no mode", "COPY --chmod=9999 f /a", "--chmod=9999: use an octal number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			if _, err := w.build("FROM scratch\n"+c.text, ctx); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// The same input gives the same digest, whatever the paths, times, umask and
// order of files are.
func TestReproducible(t *testing.T) {
	var want v1.Hash
	for i, umask := range []int{0o022, 0o077} {
		old := syscall.Umask(umask)
		w := newWorld(t)
		ctx := image.Context{"a": w.write("a", "same", os.FileMode(0o666&^umask)), "d": filepath.Dir(w.write("d/x", "1", 0o600))}
		w.write("d/y", "2", 0o711)
		syscall.Umask(old)
		b := w.mustBuild("FROM scratch\nCOPY a /a\nCOPY d /d\nENV A=1\nLABEL x=y", ctx, amd64, v1.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"})
		if i == 0 {
			want = b.Descriptor.Digest
		} else if b.Descriptor.Digest != want {
			t.Errorf("umask %o gives %s, want %s", umask, b.Descriptor.Digest, want)
		}
	}
}

func gunzip(f *os.File) (io.ReadCloser, error) {
	z, err := gzip.NewReader(f)
	return struct {
		io.Reader
		io.Closer
	}{z, f}, err
}

func fresh(b *image.Built) (n int) {
	for _, p := range b.Platforms {
		for _, l := range p.Layers {
			if l.Fresh {
				n++
			}
		}
	}
	return n
}

// Each kind of change is noticed, and only what changed is made anew.
func TestCache(t *testing.T) {
	w := newWorld(t)
	a, b := w.write("a", "first", 0o644), w.write("b", "other", 0o644)
	ctx := image.Context{"a": a, "b": b}
	const text = "FROM scratch\nCOPY a /a\nCOPY b /b"
	time.Sleep(60 * time.Millisecond) // so that the files count as settled
	first := w.mustBuild(text, ctx)
	if fresh(first) != 2 {
		t.Errorf("first build made %d layers, want 2", fresh(first))
	}
	for _, change := range []struct {
		name  string
		do    func()
		text  string
		fresh int
		same  bool
	}{
		{"nothing", func() {}, text, 0, true},
		{"touched", func() { _ = os.Chtimes(a, time.Unix(5, 0), time.Unix(5, 0)) }, text, 0, true},
		{"mode that does not show", func() { _ = os.Chmod(a, 0o600) }, text, 0, true},
		{"content, with size and time kept", func() {
			info, _ := os.Stat(a)
			_ = os.WriteFile(a, []byte("FIRST"), 0o600)
			_ = os.Chtimes(a, info.ModTime(), info.ModTime())
		}, text, 1, false},
		{"executable", func() { _ = os.Chmod(b, 0o755) }, text, 1, false},
		{"another target", func() {}, "FROM scratch\nCOPY a /a\nCOPY b /c", 1, false},
		{"only configuration", func() {}, text + "\nENV X=1", 0, false},
	} {
		change.do()
		time.Sleep(60 * time.Millisecond)
		before := first.Descriptor.Digest
		next := w.mustBuild(change.text, ctx)
		if fresh(next) != change.fresh || (next.Descriptor.Digest == before) != change.same {
			t.Errorf("%s: %d layers made, want %d; same image: %v, want %v", change.name, fresh(next), change.fresh, next.Descriptor.Digest == before, change.same)
		}
		if change.text == text {
			first = next
		}
	}
}

// A blob that is gone or cut short is made again.
func TestLostBlob(t *testing.T) {
	w := newWorld(t)
	ctx := image.Context{"a": w.write("a", "content", 0o644)}
	time.Sleep(60 * time.Millisecond)
	b := w.mustBuild("FROM scratch\nCOPY a /a", ctx)
	blob := filepath.Join(w.layout.Dir(), "blobs", "sha256", b.Platforms[0].Layers[0].Digest.Hex)
	if err := os.Truncate(blob, 3); err != nil {
		t.Fatal(err)
	}
	if again := w.mustBuild("FROM scratch\nCOPY a /a", ctx); fresh(again) != 1 || again.Descriptor.Digest != b.Descriptor.Digest {
		t.Errorf("%d layers made, digest %s, want 1 and %s", fresh(again), again.Descriptor.Digest, b.Descriptor.Digest)
	}
	w.listing(b)
}

func TestBaseFromRegistry(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	base, err := random.Image(1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	config, _ := base.ConfigFile()
	config.OS, config.Architecture, config.Config.Env = "linux", "amd64", []string{"A=1"}
	if base, err = mutate.ConfigFile(base, config); err != nil {
		t.Fatal(err)
	}
	ref, _ := name.ParseReference(host + "/team/base:1")
	if err := remote.Write(ref, base); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	ctx := image.Context{"a": w.write("a", "A", 0o644)}
	text := "FROM " + ref.Name() + "\nCOPY a /a\nENV B=$A"
	b := w.mustBuild(text, ctx)
	if n := len(b.Platforms[0].Layers); n != 3 {
		t.Errorf("%d layers, want 3", n)
	}
	if list := w.listing(b); !slices.Contains(list, "0644 0:0 /a A") {
		t.Errorf("listing %v", list)
	}
	_, err = w.build(text, ctx, v1.Platform{OS: "linux", Architecture: "arm64"})
	if want := "has linux/amd64, wanted linux/arm64"; err == nil || !strings.Contains(err.Error(), want) || fail.Code(err) != fail.Usage {
		t.Errorf("wrong platform: %v", err)
	}
	_, err = w.build("FROM "+host+"/team/none:1", ctx)
	if fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "ISTIO_BASE_REGISTRY") {
		t.Errorf("missing base: %v (code %d)", err, fail.Code(err))
	}
}

func TestNamedBase(t *testing.T) {
	w := newWorld(t)
	static := w.mustBuild("FROM scratch\nCOPY <<E /etc/x\nhi\nE\nENV S=1", nil)
	w.bases.Named = func(name string) (v1.Descriptor, bool) { return static.Descriptor, name == "static" }
	b := w.mustBuild("FROM static\nCOPY <<E /etc/y\nho\nE", nil)
	if diff := cmp.Diff([]string{"0755 0:0 /etc/", "0644 0:0 /etc/x hi\n", "0644 0:0 /etc/y ho\n"}, w.listing(b)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A program for another machine is refused by name.
func TestMachine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil || !bytes.HasPrefix(content, []byte("\x7fELF")) {
		t.Skip("this test's own program is no ELF file")
	}
	w := newWorld(t)
	ctx := image.Context{"prog": self}
	_, err = w.build("FROM scratch\nCOPY prog /prog", ctx, v1.Platform{OS: "linux", Architecture: "s390x"})
	if err == nil || !strings.Contains(err.Error(), "but the image is for linux/s390x") || !strings.Contains(err.Error(), "Dockerfile:2") || fail.Code(err) != fail.Usage {
		t.Errorf("error %v", err)
	}
}

func TestArchive(t *testing.T) {
	w := newWorld(t)
	b := w.mustBuild("FROM scratch\nCOPY a /a\nCMD [\"/a\"]", image.Context{"a": w.write("a", "A", 0o755)})
	path := filepath.Join(t.TempDir(), "sub", "test.tar.gz")
	names := []string{"localhost:5000/x/test:1", "istio/test:2"}
	if err := w.layout.Save(t.Context(), path, b.Platforms[0].Descriptor, names); err != nil {
		t.Fatal(err)
	}
	opener := func() (io.ReadCloser, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		return gunzip(f)
	}
	manifest, err := tarball.LoadManifest(opener)
	if err != nil || !slices.Equal(manifest[0].RepoTags, names) {
		t.Fatalf("manifest %+v, error %v", manifest, err)
	}
	img, err := tarball.Image(opener, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	if skopeo, err := exec.LookPath("skopeo"); err == nil {
		out, err := exec.Command(skopeo, "inspect", "oci:"+w.layout.Dir()+":test").CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"amd64"`) {
			t.Errorf("skopeo reads the layout: %v\n%s", err, out)
		}
		// skopeo 1.9 stumbles over any compressed archive, so it gets a plain one.
		plain := filepath.Join(t.TempDir(), "plain.tar")
		f, err := os.Create(plain)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.layout.Archive(t.Context(), f, b.Platforms[0].Descriptor, names[:1]), f.Close()); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(skopeo, "inspect", "docker-archive:"+plain).CombinedOutput(); err != nil {
			t.Errorf("skopeo reads the archive: %v\n%s", err, out)
		}
	}
}

// A full disk leaves no blob under its final name, and the old index.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).Run(); err != nil {
		t.Skip("mounting a small file system needs root")
	}
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	w := newWorld(t)
	l, err := image.OpenLayout(filepath.Join(dir, "images"))
	if err != nil {
		t.Fatal(err)
	}
	w.layout, w.bases = l, &image.Bases{Layout: l}
	w.mustBuild("FROM scratch\nCOPY a /a", image.Context{"a": w.write("a", "A", 0o644)})
	index, _ := os.ReadFile(filepath.Join(l.Dir(), "index.json"))
	w.codec = "none"
	_, err = w.build("FROM scratch\nCOPY big /big", image.Context{"big": w.write("big", strings.Repeat("x", 4<<20), 0o644)})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), l.Dir()) {
		t.Errorf("error %v, want no space left, with the path", err)
	}
	after, _ := os.ReadFile(filepath.Join(l.Dir(), "index.json"))
	left, _ := filepath.Glob(filepath.Join(l.Dir(), "tmp", "*"))
	if !bytes.Equal(index, after) || len(left) > 0 {
		t.Errorf("index changed: %v; left behind: %v", !bytes.Equal(index, after), left)
	}
	blobs, _ := filepath.Glob(filepath.Join(l.Dir(), "blobs", "sha256", "*"))
	for _, b := range blobs {
		if info, _ := os.Stat(b); info.Size() > 100<<10 {
			t.Errorf("%s is there with %d bytes", b, info.Size())
		}
	}
}

func TestReadOnlyLayout(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := image.OpenLayout(filepath.Join(dir, "images")); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
}

func TestParseCodec(t *testing.T) {
	for text, want := range map[string]string{"gzip": "gzip-6", "gzip-1": "gzip-1", "zstd": "zstd", "none": "none"} {
		if c, err := image.ParseCodec(text); err != nil || c.String() != want {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
	for _, text := range []string{"", "gzip-0", "gzip-10", "lz4", "zstd-1"} {
		if _, err := image.ParseCodec(text); fail.Code(err) != fail.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A base with entries for an unknown platform, as attestations of other
// builders have, is read for the platforms that it has.
func TestBaseWithAttestations(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	img, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config.OS, config.Architecture = "linux", "amd64"
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	other, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: other, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}},
		mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &amd64}})
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/base:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	built := w.mustBuild("FROM "+ref.Name()+"\nCOPY a /a", image.Context{"a": w.write("a", "A", 0o644)})
	if n := len(built.Platforms[0].Layers); n != 2 {
		t.Errorf("%d layers, want 2", n)
	}
	_, err = w.build("FROM "+ref.Name()+"\nCOPY a /a", image.Context{"a": w.write("a", "A", 0o644)}, v1.Platform{OS: "linux", Architecture: "arm64"})
	if err == nil || !strings.Contains(err.Error(), "has linux/amd64, wanted linux/arm64") {
		t.Errorf("error %v", err)
	}
}
