// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

const (
	proxied        = "example.com/Proxied/mesh"
	proxiedVersion = "v0.0.0-20260102030405-0123456789ab"
	proxiedCommit  = "0123456789abcdef0123456789abcdef01234567"
)

// proxy is a module proxy on loopback that holds one module, and answers the
// first requests for its archive with "busy".
type proxy struct {
	*httptest.Server
	busy     atomic.Int64
	requests atomic.Int64
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	tree := files{"go.mod": "module " + proxied + "\n\ngo 1.24\n", "main.go": "package main\n\nfunc main() { println(\"proxied\") }\n"}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"go.mod", "main.go"} {
		w, err := z.Create(path.Join(proxied+"@"+proxiedVersion, name))
		must(t, err)
		_, err = w.Write([]byte(tree[name]))
		must(t, err)
	}
	must(t, z.Close())
	p := &proxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		prefix := "/" + escape(proxied) + "/@v/" + proxiedVersion
		if p.busy.Add(-1) >= 0 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		switch r.URL.Path {
		case prefix + ".info":
			fmt.Fprintf(w, `{"Version":%q,"Time":"2026-01-02T03:04:05Z","Origin":{"VCS":"git","URL":"https://example.com","Hash":%q}}`, proxiedVersion, proxiedCommit)
		case prefix + ".mod":
			fmt.Fprint(w, tree["go.mod"])
		case prefix + ".zip":
			_, _ = w.Write(archive.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// goWorld points the Go command of this process to caches of its own.
func goWorld(t *testing.T, proxy string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, value := range map[string]string{
		"GOMODCACHE": filepath.Join(base, "mod"), "GOPROXY": proxy, "GONOSUMDB": "*", "GOFLAGS": "-modcacherw",
		"GOENV": filepath.Join(base, "env"), "GOPRIVATE": "", "GONOPROXY": "", "GOSUMDB": "off", "GOTOOLCHAIN": "local",
	} {
		t.Setenv(name, value)
	}
	return base
}

func TestResolve(t *testing.T) {
	p := newProxy(t)
	base := goWorld(t, p.URL)
	ran := &recorder{}
	got, err := Resolve(t.Context(), ran, proxied, proxiedVersion)
	must(t, err)
	want := Source{
		Dir: filepath.Join(base, "mod", "example.com", "!proxied", "mesh@"+proxiedVersion), Module: proxied, Version: proxiedVersion,
		Commit: proxiedCommit, Sum: got.Sum, InModuleCache: true,
	}
	if diff := cmp.Diff(want, got); diff != "" || !strings.HasPrefix(got.Sum, "h1:") {
		t.Errorf("source (-want +got):\n%s", diff)
	}
	ran.take()
	again, err := Resolve(t.Context(), ran, proxied, proxiedVersion)
	must(t, err)
	if n, _ := ran.take(); n != 0 {
		t.Errorf("%d programs were started for a module that is there", n)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("the short way gives another source:\n%s", diff)
	}
	// GOMODCACHE from the file of go env -w, and from GOPATH.
	t.Setenv("GOMODCACHE", "")
	must(t, os.WriteFile(filepath.Join(base, "env"), []byte("GOMODCACHE="+filepath.Join(base, "mod")+"\n"), 0o600))
	if s, ok := cached(proxied, proxiedVersion); !ok || s.Dir != want.Dir {
		t.Errorf("go env -w: %+v %t", s, ok)
	}
}

func TestResolveTakesNoHalfUnpackedModule(t *testing.T) {
	p := newProxy(t)
	base := goWorld(t, p.URL)
	source, err := Resolve(t.Context(), run.Exec{}, proxied, proxiedVersion)
	must(t, err)
	meta := filepath.Join(base, "mod", "cache", "download", escape(proxied), "@v", proxiedVersion)
	must(t, os.WriteFile(meta+".partial", nil, 0o600))
	if _, ok := cached(proxied, proxiedVersion); ok {
		t.Error("a module that is being unpacked counts as there")
	}
	if got, err := Resolve(t.Context(), run.Exec{}, proxied, proxiedVersion); err != nil || got.Dir != source.Dir {
		t.Errorf("Go does not mend it: %+v %v", got, err)
	}
	must(t, os.RemoveAll(source.Dir))
	if _, ok := cached(proxied, proxiedVersion); ok {
		t.Error("a module without its folder counts as there")
	}
}

func TestResolveTriesAgainWhenTheProxyIsBusy(t *testing.T) {
	p := newProxy(t)
	goWorld(t, p.URL)
	p.busy.Store(1)
	if _, err := Resolve(t.Context(), run.Exec{}, proxied, proxiedVersion); err != nil {
		t.Fatal(err)
	}
	if p.requests.Load() < 2 {
		t.Error("there was no second request")
	}
}

func TestResolveErrors(t *testing.T) {
	p := newProxy(t)
	closed := newProxy(t)
	closed.Close()
	for _, tt := range []struct {
		name, proxy, module, version string
		code                         int
		says                         string
	}{
		{"nobody answers", closed.URL, proxied, proxiedVersion, fail.Unavailable, "set GOPROXY"},
		{"proxy is off", "off", proxied, proxiedVersion, fail.Unavailable, "build in a checkout"},
		{"no such version", p.URL, proxied, "v9.9.9", fail.Usage, "see whether the module has this version"},
		{"no version", p.URL, proxied, "", fail.Usage, "both are needed"},
		{"no module", p.URL, "", "v1.0.0", fail.Usage, "both are needed"},
		{"a flag", p.URL, "-x", "v1.0.0", fail.Usage, "both are needed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			goWorld(t, tt.proxy)
			_, err := Resolve(t.Context(), run.Exec{}, tt.module, tt.version)
			if err == nil || fail.Code(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("code %d: %v", fail.Code(err), err)
			}
		})
	}
	t.Run("no go", func(t *testing.T) {
		goWorld(t, p.URL)
		t.Setenv("PATH", t.TempDir())
		_, err := Resolve(t.Context(), run.Exec{}, proxied, proxiedVersion)
		if fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "https://go.dev/dl/") {
			t.Errorf("code %d: %v", fail.Code(err), err)
		}
	})
}

// A module from the cache is built where it lies, which nobody may write to.
func TestBuildFromTheModuleCache(t *testing.T) {
	p := newProxy(t)
	goWorld(t, p.URL)
	t.Setenv("GOFLAGS", "-mod=mod") // for the user's own module
	source, err := Resolve(t.Context(), run.Exec{}, proxied, proxiedVersion)
	must(t, err)
	t.Cleanup(func() { _ = exec.Command("go", "clean", "-modcache").Run() })
	r := Request{Source: source, Platform: host(), Packages: []Package{{Name: "mesh", Path: "."}}, OutDir: filepath.Join(t.TempDir(), "out")}
	report, err := Build(t.Context(), r)
	must(t, err)
	out, err := exec.Command(report.Binaries[0].Path).CombinedOutput()
	must(t, err)
	if string(out) != "proxied\n" {
		t.Errorf("it says %q", out)
	}
	if _, err := os.Stat(filepath.Join(source.Dir, "out")); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was written into the cache")
	}
}

func TestCheckout(t *testing.T) {
	for text, want := range map[string]string{
		"module example.com/a\n": "example.com/a", "// c\n\nmodule \"example.com/b\"\n": "example.com/b", "module  example.com/c // c\n": "example.com/c",
	} {
		dir := t.TempDir()
		files{"go.mod": text}.write(t, dir)
		if s, err := Checkout(dir); err != nil || s.Module != want || s.Dir != dir || s.InModuleCache {
			t.Errorf("%q: %+v %v", text, s, err)
		}
	}
	dir := t.TempDir()
	if _, err := Checkout(dir); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "make -C") {
		t.Errorf("no go.mod: %v", err)
	}
	files{"go.mod": "go 1.24\n"}.write(t, dir)
	if _, err := Checkout(dir); fail.Code(err) != fail.Usage {
		t.Errorf("no module line: %v", err)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		said  string
		calls int
	}{
		{"read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer", 2},
		{"go: a@v1: Get \"https://p/a\": net/http: TLS handshake timeout", 2},
		{"go: downloading a v1\nx.go:1:2: a@v1: reading https://p/a.zip: 503 Service Unavailable\n", 2},
		{"undefined: x", 1},
		{"x.go:9:1: syntax error: unexpected EOF, expecting }", 1},
		{"verifying a@v1: checksum mismatch", 1},
		{"go: a@v1: Get \"https://p/a\": dial tcp 127.0.0.1:1: connect: connection refused", 1},
	} {
		calls := 0
		err := retry(t.Context(), func() (string, error) {
			if calls++; calls == 1 {
				return tt.said, errors.New("x")
			}
			return "", nil
		})
		if calls != tt.calls || (err == nil) != (calls == 2) {
			t.Errorf("%q: %d calls, %v", tt.said, calls, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_ = retry(ctx, func() (string, error) { calls++; cancel(); return "read tcp: i/o timeout", errors.New("x") })
	if calls != 1 {
		t.Errorf("%d calls after the end of the context", calls)
	}
}

func TestRoots(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	files{
		"ws/a/go.mod":  "module a\n\ngo 1.24\n\nreplace x => ../../x\n\nreplace y => example.com/y v1.0.0\n",
		"ws/b/go.mod":  "module b\n\ngo 1.24\n\nreplace z => " + base + "/z\n",
		"ws/a/x.go":    "package a\n",
		"ws/go.work.x": "",
	}.write(t, base)
	dir := filepath.Join(base, "ws", "a")
	r := Request{Source: Source{Dir: dir, Module: "a"}, Env: testEnv(base), Platform: host(), Runner: run.Exec{}, GoBinary: "go"}
	got, err := r.roots(t.Context())
	must(t, err)
	if diff := cmp.Diff([]string{dir, base + "/x"}, got); diff != "" {
		t.Errorf("alone:\n%s", diff)
	}
	files{"go.work": "go 1.24\n\nuse (\n\t./a\n\t./b\n)\n\nreplace w => ../w\n"}.write(t, base+"/ws")
	got, err = r.roots(t.Context())
	must(t, err)
	if diff := cmp.Diff([]string{base + "/w", dir, base + "/ws/b", base + "/x", base + "/z"}, got); diff != "" {
		t.Errorf("in a workspace:\n%s", diff)
	}
	r.Env = append(r.Env, "GOWORK=off")
	if got, err = r.roots(t.Context()); err != nil || slices.Contains(got, base+"/z") {
		t.Errorf("GOWORK=off: %q %v", got, err)
	}
}

// A module that go build itself has to fetch is fetched again when the proxy is
// busy.
func TestBuildTriesAgainWhenTheProxyIsBusy(t *testing.T) {
	p := newProxy(t)
	goWorld(t, p.URL)
	tree := files{
		"go.mod":  "module example.com/user\n\ngo 1.24\n\nrequire " + proxied + " " + proxiedVersion + "\n",
		"main.go": "package main\n\nfunc main() {}\n",
	}
	dir := t.TempDir()
	tree.write(t, dir)
	fetch := exec.Command("go", "mod", "download", "all") // for go.sum
	fetch.Dir, fetch.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod -modcacherw")
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("GOMODCACHE", filepath.Join(t.TempDir(), "mod")) // empty again
	p.busy.Store(1)
	var screen bytes.Buffer
	source, err := Checkout(dir)
	must(t, err)
	_, err = Build(t.Context(), Request{
		Source: source, Platform: host(), OutDir: filepath.Join(dir, "out"), Packages: []Package{{Name: "mesh", Path: proxied}},
		Console: ui.New(&screen, &screen, ui.Options{}),
	})
	if err != nil || !strings.Contains(screen.String(), "attempt 2 of 5") {
		t.Errorf("%v\n%s", err, &screen)
	}
}
