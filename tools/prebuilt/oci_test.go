// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"archive/tar"
	"debug/elf"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// hub is a registry on loopback; broken, when set, may answer in its place.
type hub struct {
	host   string
	broken atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	blobs  atomic.Int64
}

func newHub(t *testing.T) *hub {
	h := &hub{}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := h.broken.Load(); f != nil && (*f)(w, r) {
			return
		}
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			h.blobs.Add(1)
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	h.host = strings.TrimPrefix(s.URL, "http://")
	return h
}

func (h *hub) push(t *testing.T, ref string, what remote.Taggable) string {
	t.Helper()
	r, err := name.ParseReference(h.host + "/" + ref)
	if err != nil {
		t.Fatal(err)
	}
	switch what := what.(type) {
	case v1.ImageIndex:
		err = remote.WriteIndex(r, what)
	case v1.Image:
		err = remote.Write(r, what)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := remote.Head(r)
	if err != nil {
		t.Fatal(err)
	}
	return d.Digest.String()
}

// artifact is what `oras push` makes: each file a layer with its name.
func artifact(t *testing.T, files ...struct {
	title string
	body  []byte
}) v1.Image {
	t.Helper()
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for _, f := range files {
		var err error
		image, err = mutate.Append(image, mutate.Addendum{
			Layer:       static.NewLayer(f.body, "application/octet-stream"),
			Annotations: map[string]string{titleAnnotation: f.title},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return image
}

type titled = struct {
	title string
	body  []byte
}

// image has one layer for each archive, the first at the bottom.
func image(t *testing.T, archives ...[]byte) v1.Image {
	t.Helper()
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for _, a := range archives {
		var err error
		img, err = mutate.AppendLayers(img, static.NewLayer(a, types.OCILayer))
		if err != nil {
			t.Fatal(err)
		}
	}
	return img
}

func TestOCI(t *testing.T) {
	h := newHub(t)
	binary := amd64(40 << 10)
	other := program(elf.EM_AARCH64, 3000, 2)
	base := targz(t, file("etc/passwd"), file("usr/lib/libc.so"))([]byte("root"), other)
	top := targz(t, file("usr/local/bin/ztunnel"))(binary)
	digest := h.push(t, "plain:1", artifact(t, titled{"ztunnel", binary}))
	h.push(t, "untitled:1", image(t, binary))
	h.push(t, "many:1", artifact(t, titled{"README.md", []byte("hi")}, titled{"bin/ztunnel", binary}, titled{"ztunnel.sig", []byte("s")}))
	h.push(t, "unnamed:1", artifact(t, titled{"README.md", []byte("hi")}, titled{"program", binary}, titled{"LICENSE", []byte("l")}))
	h.push(t, "archive:1", artifact(t, titled{"z.tar.gz", top}))
	h.push(t, "image:1", image(t, base, top, targz(t, tar.Header{Name: "tmp/", Typeflag: tar.TypeDir})(nil)))
	h.push(t, "replaced:1", image(t, targz(t, file("usr/local/bin/ztunnel"))(other), top))
	h.push(t, "twice:1", image(t, targz(t, file("usr/local/bin/ztunnel"), file("opt/ztunnel"))(binary, other)))
	h.push(t, "index:1", mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: image(t, targz(t, file("bin/ztunnel"))(other)), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}}},
		mutate.IndexAddendum{Add: image(t, targz(t, file("bin/ztunnel"))(binary)), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}}))
	h.push(t, "arm:1", mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: image(t, top), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}}}))

	for name, c := range map[string]struct {
		ref      string
		verified bool
		want     []string // none: success
	}{
		"one file":              {"plain:1", false, nil},
		"by digest":             {"plain@" + digest, true, nil},
		"without a title":       {"untitled:1", false, nil},
		"one of many":           {"many:1", false, nil},
		"one of unknown names":  {"unnamed:1", false, nil},
		"an archive":            {"archive:1", false, nil},
		"an image":              {"image:1", false, nil},
		"an image, with a path": {"image:1#/usr/local/bin/ztunnel", false, nil},
		"the upper layer wins":  {"replaced:1", false, nil},
		"an index":              {"index:1", false, nil},
		"two, with a path":      {"twice:1#usr/local/bin/ztunnel", false, nil},
		"two":                   {"twice:1", false, []string{"both match"}},
		"not there":             {"image:1#bin/ztunnel", false, []string{"none of its 3 layers", "bin/ztunnel"}},
		"another platform":      {"arm:1", false, []string{"linux/amd64", "WAY=one"}},
		"no such tag":           {"plain:2", false, []string{"MANIFEST_UNKNOWN", "WAY=one"}},
		"no such digest":        {"plain@sha256:" + strings.Repeat("0", 64), true, []string{"MANIFEST_UNKNOWN"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			item := w.ztunnel("oci://" + h.host + "/" + c.ref)
			got, err := w.fetch(item)
			if c.want != nil {
				wantError(t, err, append(c.want, "oci://"+h.host)...)
				if len(w.waits) != 0 {
					t.Errorf("tried again: %v", w.waits)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w.holds(item.Dest, binary)
			if got.Verified != c.verified || strings.Contains(w.printed.String(), "nothing says") == c.verified {
				t.Errorf("verified %v:\n%s", got.Verified, w.printed)
			}
			w.noLitter()
			blobs := h.blobs.Load()
			os.RemoveAll(w.path("out"))
			if got := w.must(item); got.From != FromCache || h.blobs.Load() != blobs {
				t.Errorf("second time from %q", got.From)
			}
		})
	}
}

// An archive of Envoy has a pattern, so its layer is found by our name.
func TestOCIArchiveAmongOthers(t *testing.T) {
	h := newHub(t)
	binary := amd64(5000)
	h.push(t, "proxy:1", artifact(t, titled{"README.md", []byte("hi")}, titled{"envoy.tar.gz", envoyArchive(t, binary)}, titled{"notes", []byte("n")}))
	w := newWorld(t)
	item := w.envoy("oci://" + h.host + "/proxy:1")
	w.must(item)
	w.holds(item.Dest, binary)
}

func TestOCIFaults(t *testing.T) {
	binary := amd64(bodySize)
	for name, c := range map[string]struct {
		broken func(n int, w http.ResponseWriter, r *http.Request) bool // n counts requests for blobs
		waits  int
		code   int
	}{
		"503 for the manifest": {func() func(int, http.ResponseWriter, *http.Request) bool {
			done := false
			return func(_ int, w http.ResponseWriter, r *http.Request) bool {
				if done || !strings.Contains(r.URL.Path, "/manifests/") {
					return false
				}
				done = true
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}
		}(), 1, fail.OK},
		"a layer cut short": {func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n != 1 || !strings.Contains(r.URL.Path, "/blobs/") {
				return false
			}
			cut(binary, 1<<20, "")(w, r)
			return true
		}, 1, fail.OK},
		"a layer altered on the way": {func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n != 1 || !strings.Contains(r.URL.Path, "/blobs/") {
				return false
			}
			_, _ = w.Write(flip(binary, 5000))
			return true
		}, 1, fail.OK},
		"no access": {func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		}, 0, fail.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.push(t, "z:1", artifact(t, titled{"ztunnel", binary}))
			n := 0
			f := func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, "/blobs/") {
					n++
				}
				return c.broken(n, w, r)
			}
			h.broken.Store(&f)
			w := newWorld(t)
			item := w.ztunnel("oci://" + h.host + "/z:1")
			_, err := w.fetch(item)
			if fail.Code(err) != c.code || len(w.waits) != c.waits {
				t.Fatalf("code %d, waits %v: %v\n%s", fail.Code(err), w.waits, err, w.printed)
			}
			if err == nil {
				w.holds(item.Dest, binary)
			}
			w.noLitter()
		})
	}
}

// The OCI client would speak plain HTTP to private networks.
func TestOCIPlainHTTPOnlyHere(t *testing.T) {
	w := newWorld(t)
	asked := 0
	w.options.Client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		asked++
		if r.URL.Scheme == "http" {
			t.Errorf("asked %s", r.URL)
		}
		return nil, errPlainHTTP
	})}
	_, err := w.fetch(w.ztunnel("oci://10.1.2.3:5000/z:1"))
	wantError(t, err, "plain HTTP")
	if asked == 0 {
		t.Error("nothing was asked")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
