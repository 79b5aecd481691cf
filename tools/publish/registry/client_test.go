// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/istio-ecosystem/slipway/tools/publish/internal/registrytest"
	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

// clock is a clock that only sleeping moves.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *clock) retry() registry.Retry {
	c.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return registry.Retry{
		Now:    func() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now },
		Random: func() float64 { return 0 },
		Sleep: func(ctx context.Context, d time.Duration) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.now = c.now.Add(d)
			c.slept = append(c.slept, d)
			return ctx.Err()
		},
	}
}

func (c *clock) pauses() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.slept)
}

type anonymous struct{}

func (anonymous) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }

type account struct{ user, password string }

func (a account) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(authn.AuthConfig{Username: a.user, Password: a.password}), nil
}

func newClient(c *clock, change ...func(*registry.Options)) *registry.Client {
	o := registry.Options{Keychain: anonymous{}, Retry: c.retry()}
	for _, f := range change {
		f(&o)
	}
	return registry.New(o)
}

func repository(t *testing.T, s *registrytest.Server, repo string) name.Repository {
	t.Helper()
	r, err := name.NewRepository(s.Host() + "/" + repo)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// makeBlob writes n random bytes to a file.
func makeBlob(t testing.TB, n int) registry.Blob {
	t.Helper()
	content := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 7))
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	d, size, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return registry.Blob{Digest: d, Size: size, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

func asError(t *testing.T, err error) *registry.Error {
	t.Helper()
	var e *registry.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *registry.Error", err, err)
	}
	return e
}

func TestPutBlobOnceThenPresent(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	c, repo := newClient(k), repository(t, s, "a/app")
	for _, size := range []int{0, 1, 100_000} {
		b := makeBlob(t, size)
		for _, want := range []registry.How{registry.Uploaded, registry.Present} {
			how, err := c.PutBlob(t.Context(), repo, b, nil)
			if err != nil || how != want {
				t.Errorf("%d bytes: %s, %v; want %s", size, how, err, want)
			}
		}
		if !s.Store.Has("a/app", b.Digest.String()) {
			t.Errorf("%d bytes: not in the registry", size)
		}
	}
	if got, want := s.Count("PUT", "")+s.Count("PATCH", ""), 3; got != want {
		t.Errorf("%d uploads, want %d", got, want)
	}
	if got := c.Stats(repo).Snapshot(); got.Bytes != 100_001 || got.Retries != 0 || got.Requests != int64(len(s.Requests())) {
		t.Errorf("counts %+v for %d requests", got, len(s.Requests()))
	}
}

func TestMount(t *testing.T) {
	for _, status := range []int{0, 401, 403, 404, 405, 400, 500} {
		s, k := registrytest.New(t), &clock{}
		c := newClient(k)
		base, app := repository(t, s, "a/base"), repository(t, s, "a/app")
		b := makeBlob(t, 50_000)
		if _, err := c.PutBlob(t.Context(), base, b, nil); err != nil {
			t.Fatal(err)
		}
		if status != 0 {
			s.Fail(registrytest.On("POST", "mount="), -1, registrytest.Answer(status, "DENIED"))
		}
		s.Forget()
		how, err := c.PutBlob(t.Context(), app, b, []name.Repository{base})
		want, puts := registry.Uploaded, 1
		if status == 0 {
			want, puts = registry.Mounted, 0
		}
		if err != nil || how != want || s.Count("PUT", "") != puts {
			t.Errorf("status %d: %s, %v, %d uploads; want %s", status, how, err, s.Count("PUT", ""), want)
		}
		if s.Count("POST", "mount=") != 1 || !s.Store.Has("a/app", b.Digest.String()) {
			t.Errorf("status %d: %d mounts tried", status, s.Count("POST", "mount="))
		}
	}
}

func TestMountStaysInsideOneRegistry(t *testing.T) {
	a, b, k := registrytest.New(t), registrytest.New(t), &clock{}
	c, blob := newClient(k), makeBlob(t, 1000)
	from := repository(t, a, "x/base")
	if _, err := c.PutBlob(t.Context(), from, blob, nil); err != nil {
		t.Fatal(err)
	}
	how, err := c.PutBlob(t.Context(), repository(t, b, "x/app"), blob, []name.Repository{from})
	if err != nil || how != registry.Uploaded || b.Count("POST", "mount=") != 0 {
		t.Errorf("%s, %v, %d mounts asked of the other registry", how, err, b.Count("POST", "mount="))
	}
}

// A refused mount that opened an upload is used, not thrown away.
func TestMountMissUsesItsSession(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	c, b := newClient(k), makeBlob(t, 1000)
	how, err := c.PutBlob(t.Context(), repository(t, s, "a/app"), b, []name.Repository{repository(t, s, "a/empty")})
	if err != nil || how != registry.Uploaded || s.Count("POST", "") != 1 {
		t.Errorf("%s, %v, %d POSTs; want one", how, err, s.Count("POST", ""))
	}
}

func TestMountTokenHasBothScopes(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	tokens := &registrytest.Tokens{User: "me", Password: "secret-password", Seconds: 300}
	tokens.Protect(s)
	c := newClient(k, func(o *registry.Options) { o.Keychain = account{"me", "secret-password"} })
	base, app, b := repository(t, s, "a/base"), repository(t, s, "a/app"), makeBlob(t, 1000)
	if _, err := c.PutBlob(t.Context(), base, b, nil); err != nil {
		t.Fatal(err)
	}
	if how, err := c.PutBlob(t.Context(), app, b, []name.Repository{base}); err != nil || how != registry.Mounted {
		t.Fatalf("%s, %v", how, err)
	}
	want := [][]string{
		{"repository:a/base:pull,push"},
		{"repository:a/app:pull,push"},
		{"repository:a/app:pull,push", "repository:a/base:pull"},
	}
	if diff := cmp.Diff(want, tokens.Asked()); diff != "" {
		t.Errorf("scopes asked for (-want +got):\n%s", diff)
	}
}

// Where the account may not read the source, the mount is no reason to fail.
func TestMountTokenRefused(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	tokens := &registrytest.Tokens{User: "me", Password: "secret-password", Grant: func(scope string) string {
		return strings.TrimPrefix(scope, "repository:a/base:pull")
	}}
	tokens.Protect(s)
	c := newClient(k, func(o *registry.Options) { o.Keychain = account{"me", "secret-password"} })
	how, err := c.PutBlob(t.Context(), repository(t, s, "a/app"), makeBlob(t, 10), []name.Repository{repository(t, s, "a/base")})
	if err != nil || how != registry.Uploaded {
		t.Errorf("%s, %v", how, err)
	}
}

func TestTransientFailuresAreRetried(t *testing.T) {
	sec := time.Second
	for name, f := range map[string]struct {
		match  func(*http.Request) bool
		times  int
		act    registrytest.Action
		pauses []time.Duration
	}{
		"429 with seconds":       {registrytest.On("PUT", "digest="), 1, registrytest.Answer(429, "TOOMANYREQUESTS", "Retry-After", "2"), []time.Duration{2 * sec}},
		"429 with a date":        {registrytest.On("POST", ""), 1, registrytest.Answer(429, "", "Retry-After", "Thu, 01 Jan 2026 00:00:40 GMT"), []time.Duration{40 * sec}},
		"429 that asks too much": {registrytest.On("HEAD", ""), 1, registrytest.Answer(429, "", "Retry-After", "3600"), []time.Duration{60 * sec}},
		"429 three times":        {registrytest.On("PUT", ""), 3, registrytest.Answer(429, "TOOMANYREQUESTS"), []time.Duration{sec / 2, sec, 2 * sec}},
		"400 TOOMANYREQUESTS":    {registrytest.On("POST", ""), 1, registrytest.Answer(400, "TOOMANYREQUESTS"), []time.Duration{sec / 2}},
		"403 TOOMANYREQUESTS":    {registrytest.On("PUT", ""), 1, registrytest.Answer(403, "TOOMANYREQUESTS"), []time.Duration{sec / 2}},
		"503 twice":              {registrytest.On("PUT", ""), 2, registrytest.Answer(503, ""), []time.Duration{sec / 2, sec}},
		"503 with Retry-After":   {registrytest.On("PUT", ""), 1, registrytest.Answer(503, "", "Retry-After", "9"), []time.Duration{9 * sec}},
		"500":                    {registrytest.On("HEAD", ""), 1, registrytest.Answer(500, "UNKNOWN"), []time.Duration{sec / 2}},
		"502, 504 and other 5xx": {registrytest.On("PUT", ""), 1, registrytest.Answer(522, ""), []time.Duration{sec / 2}},
		"408":                    {registrytest.On("POST", ""), 1, registrytest.Answer(408, ""), []time.Duration{sec / 2}},
		"reset before the body":  {registrytest.On("PUT", ""), 1, registrytest.Reset(0), []time.Duration{sec / 2}},
		"reset inside the body":  {registrytest.On("PUT", ""), 2, registrytest.Reset(100_000), []time.Duration{sec / 2, sec}},
		// net/http itself repeats a request without a body on a used connection.
		"reset of a HEAD":         {registrytest.On("HEAD", ""), 2, registrytest.Reset(0), []time.Duration{sec / 2}},
		"session forgotten":       {registrytest.On("PUT", ""), 1, registrytest.Answer(404, "BLOB_UPLOAD_UNKNOWN"), []time.Duration{sec / 2}},
		"digest wrong on its way": {registrytest.On("PUT", ""), 1, registrytest.Answer(400, "DIGEST_INVALID"), []time.Duration{sec / 2}},
		"answer lost, work done":  {registrytest.On("PUT", ""), 1, registrytest.DropAnswer, []time.Duration{sec / 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s, k := registrytest.New(t), &clock{}
			c, repo, b := newClient(k), repository(t, s, "a/app"), makeBlob(t, 300_000)
			// The scheme is known by then, as in any run: its first request is
			// for a tag.
			if _, _, err := c.TagDigest(t.Context(), repo.Tag("v1")); err != nil {
				t.Fatal(err)
			}
			s.Fail(f.match, f.times, f.act)
			how, err := c.PutBlob(t.Context(), repo, b, nil)
			if err != nil || how != registry.Uploaded || !s.Store.Has("a/app", b.Digest.String()) {
				t.Fatalf("%s, %v", how, err)
			}
			if diff := cmp.Diff(f.pauses, k.pauses()); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
			if got := c.Stats(repo).Snapshot().Retries; got != int64(len(f.pauses)) {
				t.Errorf("%d retries counted, want %d", got, len(f.pauses))
			}
		})
	}
}

func TestFinalFailuresAreNotRetried(t *testing.T) {
	for name, f := range map[string]struct {
		match  func(*http.Request) bool
		status int
		code   string
		class  registry.Class
		want   []string
	}{
		"404 NAME_UNKNOWN": {registrytest.On("POST", ""), 404, "NAME_UNKNOWN", registry.NotFound, []string{"status 404", "NAME_UNKNOWN: the registry says no", "/a/app", "create the repository"}},
		"401":              {registrytest.On("POST", ""), 401, "UNAUTHORIZED", registry.Unauthorized, []string{"status 401", "no credentials", "docker login 127.0.0.1:"}},
		"403":              {registrytest.On("PUT", ""), 403, "DENIED", registry.Denied, []string{"status 403", "DENIED: the registry says no", "may push to a/app"}},
		"403 on the HEAD":  {registrytest.On("", ""), 403, "DENIED", registry.Denied, []string{"status 403", "DENIED: the registry says no"}},
		"400":              {registrytest.On("PUT", ""), 400, "NAME_INVALID", registry.Rejected, []string{"status 400", "NAME_INVALID"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, k := registrytest.New(t), &clock{}
			match := f.match
			if name == "403 on the HEAD" {
				match = func(*http.Request) bool { return true }
			}
			s.Fail(match, -1, registrytest.Answer(f.status, f.code))
			_, err := newClient(k).PutBlob(t.Context(), repository(t, s, "a/app"), makeBlob(t, 10), nil)
			e := asError(t, err)
			if e.Class != f.class || e.Status != f.status || len(k.pauses()) != 0 {
				t.Errorf("class %s, status %d, pauses %v", e.Class, e.Status, k.pauses())
			}
			for _, want := range f.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	s.Fail(registrytest.On("POST", ""), -1, registrytest.Answer(503, "UNAVAILABLE"))
	c, repo := newClient(k), repository(t, s, "a/app")
	_, err := c.PutBlob(t.Context(), repo, makeBlob(t, 10), nil)
	e := asError(t, err)
	if e.Class != registry.ServerError || e.Attempts != 6 || len(k.pauses()) != 5 {
		t.Errorf("class %s after %d attempts and pauses %v", e.Class, e.Attempts, k.pauses())
	}
	if !strings.Contains(err.Error(), "tried 6 times") {
		t.Errorf("error %q", err)
	}
	// A rate limit that stays: the sum of pauses is bounded, too.
	s2, k2 := registrytest.New(t), &clock{}
	s2.Fail(registrytest.On("HEAD", ""), -1, registrytest.Answer(429, "", "Retry-After", "60"))
	_, err = newClient(k2).PutBlob(t.Context(), repository(t, s2, "a/app"), makeBlob(t, 10), nil)
	var sum time.Duration
	for _, p := range k2.pauses() {
		sum += p
	}
	if asError(t, err).Class != registry.RateLimited || sum > 3*time.Minute || sum < 2*time.Minute {
		t.Errorf("%v after pauses of %s", err, sum)
	}
}

// A registry that is gone is given up once, not once for each blob.
func TestDeadRegistryIsGivenUpOnce(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	c, repo := newClient(k), repository(t, s, "a/app")
	if _, _, err := c.TagDigest(t.Context(), repo.Tag("v1")); err != nil {
		t.Fatal(err)
	}
	s.Down()
	for i := range 3 {
		_, err := c.PutBlob(t.Context(), repo, makeBlob(t, 10+i), nil)
		if e := asError(t, err); e.Class != registry.Unreachable {
			t.Errorf("class %s", e.Class)
		}
	}
	if got := len(k.pauses()); got != 5 {
		t.Errorf("%d pauses for three blobs, want 5", got)
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	_ = l.Close()
	k := &clock{}
	repo, err := name.NewRepository(host + "/a/app")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = newClient(k).TagDigest(t.Context(), repo.Tag("v1"))
	if e := asError(t, err); e.Class != registry.Unreachable || len(k.pauses()) != 0 || !strings.Contains(err.Error(), "is the registry "+host+" running") {
		t.Errorf("%v (class %s) after pauses %v", err, e.Class, k.pauses())
	}
}

// A rate limit holds back every request to that registry, not only the one
// that met it, and no other registry.
func TestRateLimitHoldsTheWholeRegistry(t *testing.T) {
	limited, free := registrytest.New(t), registrytest.New(t)
	limited.Fail(registrytest.On("HEAD", "/first/"), 1, registrytest.Answer(429, "", "Retry-After", "10"))
	asleep, wake := make(chan time.Duration, 10), make(chan struct{})
	now := time.Now()
	c := newClient(&clock{}, func(o *registry.Options) {
		o.Retry.Now = func() time.Time { return now }
		o.Retry.Sleep = func(_ context.Context, d time.Duration) error { asleep <- d; <-wake; return nil }
	})
	var wg sync.WaitGroup
	ask := func(s *registrytest.Server, repo string) {
		if _, _, err := c.TagDigest(t.Context(), repository(t, s, repo).Tag("v1")); err != nil {
			t.Error(err)
		}
	}
	wg.Go(func() { ask(limited, "a/first") })
	if d := <-asleep; d != 10*time.Second {
		t.Errorf("the first waits for %s", d)
	}
	ask(free, "a/second") // does not sleep, or this would not return
	wg.Go(func() { ask(limited, "a/second") })
	select {
	case d := <-asleep:
		if d != 10*time.Second || limited.Count("HEAD", "/second/") != 0 {
			t.Errorf("the second waits for %s; it was sent %d times", d, limited.Count("HEAD", "/second/"))
		}
	case <-time.After(10 * time.Second):
		t.Error("the second does not wait")
	}
	close(wake)
	wg.Wait()
}

func TestStalledUploadIsRetried(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	c := newClient(k, func(o *registry.Options) { o.Stall = 700 * time.Millisecond })
	repo, b := repository(t, s, "a/app"), makeBlob(t, 30_000_000)
	s.Fail(registrytest.On("PUT", ""), 1, s.Hang)
	how, err := c.PutBlob(t.Context(), repo, b, nil)
	if err != nil || how != registry.Uploaded || len(k.pauses()) != 1 {
		t.Errorf("%s, %v, pauses %v", how, err, k.pauses())
	}
}

func TestCancel(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	s.Fail(registrytest.On("PUT", ""), -1, s.Hang)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := newClient(k).PutBlob(ctx, repository(t, s, "a/app"), makeBlob(t, 10), nil)
	if e := asError(t, err); e.Class != registry.Interrupted || !errors.Is(err, context.Canceled) || len(k.pauses()) != 0 {
		t.Errorf("%v (class %s), pauses %v", err, e.Class, k.pauses())
	}
}

func TestLargeBlobGoesInChunks(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	s.Fail(func(r *http.Request) bool { return r.ContentLength > 16<<20 }, -1, registrytest.Answer(413, ""))
	c, b := newClient(k), makeBlob(t, 33<<20)
	how, err := c.PutBlob(t.Context(), repository(t, s, "a/app"), b, nil)
	if err != nil || how != registry.Uploaded || !s.Store.Has("a/app", b.Digest.String()) || s.Count("PATCH", "") != 3 {
		t.Errorf("%s, %v, %d chunks", how, err, s.Count("PATCH", ""))
	}
}

func TestFaultsOfTheLayoutAreNamed(t *testing.T) {
	for name, spoil := range map[string]struct {
		with func(*registry.Blob)
		want string
	}{
		"other content": {func(b *registry.Blob) {
			b.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(make([]byte, b.Size))), nil }
		}, "build the image again"},
		"too short": {func(b *registry.Blob) {
			b.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(make([]byte, b.Size/2))), nil }
		}, "50 bytes"},
		"gone": {func(b *registry.Blob) { b.Open = func() (io.ReadCloser, error) { return os.Open("/no/such/blob") } }, "no such file"},
	} {
		s, k := registrytest.New(t), &clock{}
		b := makeBlob(t, 100)
		spoil.with(&b)
		_, err := newClient(k).PutBlob(t.Context(), repository(t, s, "a/app"), b, nil)
		if e := asError(t, err); e.Class != registry.Local || len(k.pauses()) != 0 || !strings.Contains(err.Error(), spoil.want) {
			t.Errorf("%s: %v (class %s), pauses %v", name, err, e.Class, k.pauses())
		}
	}
}

func TestMemoryDoesNotGrowWithTheBlob(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	s.Fail(registrytest.On("PUT", ""), 1, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
	})
	const size = 256 << 20
	b := registry.Blob{Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("a", 64)}, Size: size, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(zeros{}, size)), nil
	}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := newClient(k).PutBlob(t.Context(), repository(t, s, "a/app"), b, nil); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes allocated for a blob of %d", used, size)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func manifest(body string) registry.Manifest {
	d, _, _ := v1.SHA256(strings.NewReader(body))
	return registry.Manifest{Digest: d, MediaType: types.OCIManifestSchema1, Body: []byte(body)}
}

func TestTags(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	c, repo, m := newClient(k), repository(t, s, "a/app"), manifest(`{"schemaVersion":2}`)
	tag := repo.Tag("v1")
	if _, found, err := c.TagDigest(t.Context(), tag); found || err != nil {
		t.Errorf("unknown repository: %v, %v", found, err)
	}
	if err := c.PutManifest(t.Context(), repo, m, "v1"); err != nil {
		t.Fatal(err)
	}
	if _, found, err := c.TagDigest(t.Context(), repo.Tag("other")); found || err != nil {
		t.Errorf("unknown tag: %v, %v", found, err)
	}
	s.Forget()
	if d, found, err := c.TagDigest(t.Context(), tag); d != m.Digest || !found || err != nil || len(s.Requests()) != 1 {
		t.Errorf("%s, %v, %v by %d requests", d, found, err, len(s.Requests()))
	}
	// Registries without the digest header, and without HEAD, cost a GET more.
	for _, act := range []registrytest.Action{registrytest.Answer(200, ""), registrytest.Answer(405, "UNSUPPORTED")} {
		s.Fail(registrytest.On("HEAD", ""), 1, act)
		if d, found, err := c.TagDigest(t.Context(), tag); d != m.Digest || !found || err != nil {
			t.Errorf("by GET: %s, %v, %v", d, found, err)
		}
	}
	if err := c.VerifyTag(t.Context(), tag, m.Digest); err != nil {
		t.Error(err)
	}
	other := manifest(`{"schemaVersion":2,"annotations":{}}`)
	err := c.VerifyTag(t.Context(), tag, other.Digest)
	if err == nil || !strings.Contains(err.Error(), m.Digest.String()) || !strings.Contains(err.Error(), "another job") {
		t.Errorf("moved tag: %v", err)
	}
}

// What a registry took may take a moment to be seen.
func TestVerifyWaitsForASlowRegistry(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	c, repo, m := newClient(k), repository(t, s, "a/app"), manifest(`{}`)
	if err := c.PutManifest(t.Context(), repo, m, "v1"); err != nil {
		t.Fatal(err)
	}
	s.Fail(registrytest.On("GET", "manifests/v1"), 2, registrytest.Answer(404, "MANIFEST_UNKNOWN"))
	if err := c.VerifyTag(t.Context(), repo.Tag("v1"), m.Digest); err != nil || len(k.pauses()) != 2 {
		t.Errorf("%v after pauses %v", err, k.pauses())
	}
}

func TestStoredUnderAnotherDigest(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	s.Fail(registrytest.On("PUT", "manifests"), 1, registrytest.Body([]byte(`{"other":1}`)))
	err := newClient(k).PutManifest(t.Context(), repository(t, s, "a/app"), manifest(`{}`), "v1")
	if err == nil || !strings.Contains(err.Error(), "the registry stored sha256:") {
		t.Errorf("error %v", err)
	}
}

// The number of requests in flight is bounded for a host and in all.
func TestBoundedConcurrency(t *testing.T) {
	k := &clock{}
	var mu sync.Mutex
	inFlight, most := map[string]int{}, map[string]int{}
	slow := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		for _, key := range []string{r.Host, "all"} {
			inFlight[key]++
			most[key] = max(most[key], inFlight[key])
		}
		mu.Unlock()
		time.Sleep(3 * time.Millisecond)
		next.ServeHTTP(w, r)
		mu.Lock()
		inFlight[r.Host]--
		inFlight["all"]--
		mu.Unlock()
	}
	c := newClient(k, func(o *registry.Options) { o.Jobs, o.PerHost = 5, 3 })
	var wg sync.WaitGroup
	for range 3 {
		s := registrytest.New(t)
		s.Fail(func(*http.Request) bool { return true }, -1, slow)
		for i := range 12 {
			wg.Go(func() { _, _, _ = c.TagDigest(t.Context(), repository(t, s, fmt.Sprintf("a/app%d", i)).Tag("v1")) })
		}
	}
	wg.Wait()
	for key, n := range most {
		limit := 3
		if key == "all" {
			limit = 5
		}
		if n > limit || n < 2 {
			t.Errorf("%s: up to %d requests at once, want 2 to %d", key, n, limit)
		}
	}
}
