// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/ui"
)

// program is a whole, small ELF file of the given size for a machine: a header,
// one segment that covers all of it, and noise that does not compress.
func program(machine elf.Machine, size int, seed uint64) []byte {
	var b bytes.Buffer
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	_ = binary.Write(&b, binary.LittleEndian, elf.Header64{
		Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
	})
	_ = binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: 5, Filesz: uint64(size), Memsz: uint64(size), Align: 4096})
	source := rand.NewChaCha8([32]byte{byte(seed)})
	noise := make([]byte, size-b.Len())
	_, _ = source.Read(noise)
	return append(b.Bytes(), noise...)
}

func amd64(size int) []byte { return program(elf.EM_X86_64, size, 1) }

func targz(t testing.TB, entries ...tar.Header) func(bodies ...[]byte) []byte {
	t.Helper()
	return func(bodies ...[]byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(tarball(t, entries, bodies))
		_ = z.Close()
		return b.Bytes()
	}
}

func tarball(t testing.TB, entries []tar.Header, bodies [][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i, h := range entries {
		if i < len(bodies) && h.Size == 0 {
			h.Size = int64(len(bodies[i]))
		}
		h.Mode = 0o755
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if i < len(bodies) {
			_, _ = w.Write(bodies[i])
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// envoyArchive is an archive of the form that Istio publishes.
func envoyArchive(t testing.TB, program []byte) []byte {
	return targz(t, tar.Header{Name: "usr/", Typeflag: tar.TypeDir}, tar.Header{Name: "usr/local/", Typeflag: tar.TypeDir},
		tar.Header{Name: "usr/local/bin/", Typeflag: tar.TypeDir}, tar.Header{Name: "usr/local/bin/envoy"})(nil, nil, nil, program)
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// world is a cache, an output folder and all that is printed.
type world struct {
	t       *testing.T
	dir     string
	options Options
	printed *safeBuffer
	mu      sync.Mutex
	waits   []time.Duration
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), printed: &safeBuffer{}}
	w.options = Options{
		Cache: filepath.Join(w.dir, "cache"), Dir: w.dir,
		Console: ui.New(w.printed, w.printed, ui.Options{Verbose: true}),
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir},
		Retry: Retry{Sleep: func(_ context.Context, d time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.waits = append(w.waits, d)
			return nil
		}},
		Limits: Limits{Idle: 20 * time.Second},
	}
	return w
}

func (w *world) path(elem ...string) string {
	return filepath.Join(append([]string{w.dir}, elem...)...)
}

// ztunnel is a plain program, envoy one in an archive.
func (w *world) ztunnel(url string) Item {
	return Item{
		Source: Source{Name: "ztunnel", Version: "v1", URL: URL(url), Platform: "linux/amd64", Origin: "ISTIO_ZTUNNEL_RELEASE_URL", Ways: []string{"WAY=one", "WAY=two"}},
		Dest:   w.path("out", "release", "ztunnel-v1"), Copies: []string{w.path("out", "release", "ztunnel"), w.path("out", "ztunnel")},
	}
}

func (w *world) envoy(url string) Item {
	return Item{
		Source: Source{Name: "envoy", Version: "v1", URL: URL(url), Platform: "linux/amd64", Origin: "PROXY_REPO_SHA (istio.deps:6)", Member: envoyMember, Ways: []string{"WAY=one"}},
		Dest:   w.path("out", "release", "envoy-v1"), Copies: []string{w.path("out", "envoy")},
	}
}

func (w *world) fetch(item Item) (Fetched, error) {
	return Fetch(w.t.Context(), item, w.options)
}

func (w *world) must(item Item) Fetched {
	w.t.Helper()
	got, err := w.fetch(item)
	if err != nil {
		w.t.Fatalf("fetching: %v\nprinted:\n%s", err, w.printed)
	}
	return got
}

// holds checks content and mode of a file.
func (w *world) holds(path string, want []byte) {
	w.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		w.t.Errorf("%s has sha256 %s (%d bytes), want %s (%d bytes)", path, sum(got), len(got), sum(want), len(want))
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o755 {
		w.t.Errorf("%s has mode %o, want 755", path, info.Mode().Perm())
	}
}

func (w *world) write(path string, content []byte) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// noLitter checks that nothing but whole files, records and locks is left.
func (w *world) noLitter() {
	w.t.Helper()
	_ = filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), tempPrefix) || strings.Contains(d.Name(), ".partial") {
			w.t.Errorf("left behind: %s", path)
		}
		return nil
	})
}

func (w *world) says(texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		if !strings.Contains(w.printed.String(), text) {
			w.t.Errorf("nothing says %q:\n%s", text, w.printed)
		}
	}
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error lacks %q:\n%v", text, err)
		}
	}
}

// server serves one file well, except for the first requests, which faults
// answer one by one.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	content  []byte
	etag     string
	faults   []http.HandlerFunc
	requests []http.Header
	through  func(http.ResponseWriter) http.ResponseWriter // nil: as it is
}

func newServer(t *testing.T, content []byte, faults ...http.HandlerFunc) *server {
	s := &server{content: content, etag: `"one"`, faults: faults}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Header.Clone())
	var fault http.HandlerFunc
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	content, etag := s.content, s.etag
	if s.through != nil {
		w = s.through(w)
	}
	s.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// ranges are the Range headers of all requests.
func (s *server) ranges() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := []string{}
	for _, h := range s.requests {
		got = append(got, h.Get("Range"))
	}
	return got
}

func (s *server) change(content []byte, etag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content, s.etag = content, etag
}

func file(name string) tar.Header { return tar.Header{Name: name} }
