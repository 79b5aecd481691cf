// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/istio-ecosystem/slipway/tools/publish/internal/registrytest"
	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

// dialTo is a transport for which every name is the server s.
func dialTo(s *registrytest.Server) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
}

func repoAt(t *testing.T, host string) name.Repository {
	t.Helper()
	r, err := name.NewRepository(host + "/a/app")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestScheme(t *testing.T) {
	for _, c := range []struct {
		host     string
		insecure []string
		tls      bool
		want     registry.Class // "": it works
	}{
		{"localhost:5000", nil, true, ""},
		{"localhost:5000", nil, false, ""},
		{"127.1.2.3:5000", nil, false, ""},
		{"[::1]:5000", nil, false, ""},
		{"registry.corp.local", nil, true, ""},
		{"registry.corp.local", nil, false, registry.Protocol},
		{"registry.corp.local", []string{"registry.corp.local"}, false, ""},
		{"registry.corp.local", []string{"registry.corp.local"}, true, ""},
		{"registry.corp.local:5000", []string{"registry.corp.local"}, false, registry.Protocol},
		{"127.0.0.1.evil.example", nil, false, registry.Protocol},
		{"evil.localhost:5000", nil, false, registry.Protocol},
		{"[2001:db8::1]:5000", nil, false, registry.Protocol},
		{"10.1.2.3:5000", nil, false, registry.Protocol},
	} {
		t.Run(fmt.Sprintf("%s insecure=%v tls=%v", c.host, c.insecure, c.tls), func(t *testing.T) {
			s := registrytest.New(t)
			if c.tls {
				s = registrytest.NewTLS(t)
			}
			k := &clock{}
			client := newClient(k, func(o *registry.Options) { o.Transport, o.Insecure = dialTo(s), c.insecure })
			_, _, err := client.TagDigest(t.Context(), repoAt(t, c.host).Tag("v1"))
			if c.want == "" {
				if err != nil || len(s.Requests()) != 1 {
					t.Errorf("%v after %d requests, want one", err, len(s.Requests()))
				}
				return
			}
			if e := asError(t, err); e.Class != c.want || len(s.Requests()) != 0 || len(k.pauses()) != 0 || !strings.Contains(err.Error(), "insecure") {
				t.Errorf("%v (class %s) after %d requests in plain HTTP", err, e.Class, len(s.Requests()))
			}
		})
	}
}

// A certificate that is not trusted is shown as such, at loopback too, and
// never answered with plain HTTP.
func TestCertificate(t *testing.T) {
	s, k := registrytest.NewTLS(t), &clock{}
	_, _, err := newClient(k).TagDigest(t.Context(), repository(t, s, "a/app").Tag("v1"))
	if e := asError(t, err); e.Class != registry.Certificate || len(s.Requests()) != 0 || len(k.pauses()) != 0 {
		t.Errorf("%v (class %s), %d requests", err, e.Class, len(s.Requests()))
	}
	if !strings.Contains(err.Error(), "certificate") || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
		t.Errorf("error %q", err)
	}
	trusting := newClient(&clock{}, func(o *registry.Options) { o.Transport = s.Client().Transport })
	if _, _, err := trusting.TagDigest(t.Context(), repository(t, s, "a/app").Tag("v1")); err != nil {
		t.Errorf("with the CA: %v", err)
	}
}

// Some servers hang up on a TLS greeting instead of answering it.
func TestServerThatHangsUpOnTLS(t *testing.T) {
	s := registrytest.New(t)
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	go func() {
		for {
			conn, err := front.Accept()
			if err != nil {
				return
			}
			go hangUpOnTLS(conn, s.Listener.Addr().String())
		}
	}()
	_, found, err := newClient(&clock{}).TagDigest(t.Context(), repoAt(t, front.Addr().String()).Tag("v1"))
	if found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

func hangUpOnTLS(conn net.Conn, backend string) {
	defer func() { _ = conn.Close() }()
	first := make([]byte, 1)
	if n, _ := conn.Read(first); n == 0 || first[0] == 22 { // a handshake record
		return
	}
	to, err := net.Dial("tcp", backend)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	_, _ = to.Write(first)
	go func() { _, _ = conn.(*net.TCPConn).WriteTo(to) }()
	_, _ = to.(*net.TCPConn).WriteTo(conn)
}

func TestTokensAreReusedAndRenewed(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	tokens := &registrytest.Tokens{User: "me", Password: "secret-password", Seconds: 120}
	tokens.Protect(s)
	c := newClient(k, func(o *registry.Options) { o.Keychain = account{"me", "secret-password"} })
	repo := repository(t, s, "a/app")
	ask := func() {
		t.Helper()
		if _, _, err := c.TagDigest(t.Context(), repo.Tag("v1")); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	ask()
	if got := len(tokens.Asked()); got != 1 {
		t.Errorf("%d tokens for two requests, want one", got)
	}
	k.mu.Lock()
	k.now = k.now.Add(110 * 1e9) // 110 s: near the end
	k.mu.Unlock()
	s.Forget()
	ask()
	if got := len(tokens.Asked()); got != 2 || s.Count("HEAD", "") != 1 {
		t.Errorf("%d tokens and %d requests near the end of the first; want it renewed before it is refused", got, s.Count("HEAD", ""))
	}
	tokens.Revoke()
	ask()
	if got := len(tokens.Asked()); got != 3 {
		t.Errorf("%d tokens after the second was revoked, want 3", got)
	}
}

func TestWrongPasswordIsNotRepeated(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	(&registrytest.Tokens{User: "me", Password: "right-password"}).Protect(s)
	c := newClient(k, func(o *registry.Options) { o.Keychain = account{"me", "wrong-password"} })
	_, err := c.PutBlob(t.Context(), repository(t, s, "a/app"), makeBlob(t, 1), nil)
	e := asError(t, err)
	if e.Class != registry.Unauthorized || e.Status != 401 || len(k.pauses()) != 0 {
		t.Errorf("%v (class %s), pauses %v", err, e.Class, k.pauses())
	}
	if text := err.Error(); strings.Contains(text, "wrong-password") || !strings.Contains(text, "docker login "+s.Host()) || !strings.Contains(text, "/a/app") {
		t.Errorf("error %q", text)
	}
}

func TestBasicLogin(t *testing.T) {
	for password, want := range map[string]registry.Class{"right-password": "", "wrong-password": registry.Unauthorized} {
		s, k := registrytest.New(t), &clock{}
		s.Fail(func(r *http.Request) bool { _, p, _ := r.BasicAuth(); return p != "right-password" }, -1,
			registrytest.Answer(401, "UNAUTHORIZED", "WWW-Authenticate", `Basic realm="here"`))
		c := newClient(k, func(o *registry.Options) { o.Keychain = account{"me", password} })
		_, err := c.PutBlob(t.Context(), repository(t, s, "a/app"), makeBlob(t, 1), nil)
		if want == "" && err != nil {
			t.Errorf("%s: %v", password, err)
		}
		if want != "" && asError(t, err).Class != want {
			t.Errorf("%s: %v", password, err)
		}
	}
}

// A token server that limits its rate is waited for.
func TestTokenServerRateLimit(t *testing.T) {
	s, k := registrytest.New(t), &clock{}
	s.Fail(registrytest.On("GET", "/token?"), 1, registrytest.Answer(429, "TOOMANYREQUESTS", "Retry-After", "7"))
	(&registrytest.Tokens{User: "me", Password: "secret-password"}).Protect(s)
	c := newClient(k, func(o *registry.Options) { o.Keychain = account{"me", "secret-password"} })
	if _, _, err := c.TagDigest(t.Context(), repository(t, s, "a/app").Tag("v1")); err != nil {
		t.Fatal(err)
	}
	if p := k.pauses(); len(p) == 0 || p[0].Seconds() != 7 {
		t.Errorf("pauses %v, want 7 s", p)
	}
}

// Upload addresses and redirects may lead to other hosts, which must not see
// what belongs to the registry.
func TestCredentialsStayAtTheRegistry(t *testing.T) {
	s, storage := registrytest.New(t), registrytest.New(t)
	tokens := &registrytest.Tokens{User: "me", Password: "secret-password"}
	storage.Fail(func(*http.Request) bool { return true }, -1, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
	})
	s.Fail(registrytest.On("POST", "uploads"), 1, registrytest.Answer(202, "", "Location", storage.URL+"/put?sig=abc"))
	s.Fail(registrytest.On("POST", "uploads"), 1, registrytest.Answer(202, "", "Location", "/v2/a/app/blobs/uploads/x"))
	s.Fail(registrytest.On("PUT", "uploads/x"), 1, registrytest.Answer(307, "", "Location", storage.URL+"/put2"))
	tokens.Protect(s)
	c := newClient(&clock{}, func(o *registry.Options) { o.Keychain = account{"me", "secret-password"} })
	if _, err := c.PutBlob(t.Context(), repository(t, s, "a/app"), makeBlob(t, 1000), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutBlob(t.Context(), repository(t, s, "a/app"), makeBlob(t, 2000), nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range storage.Requests() {
		got = append(got, fmt.Sprintf("%s %s?%s %d", r.Method, r.Path, strings.Split(r.Query, "&")[0], r.Bytes))
		if r.Authorization != "" {
			t.Errorf("the storage host got %q", r.Authorization)
		}
	}
	if len(got) != 2 || got[0] != "PUT /put?sig=abc 1000" || got[1] != "PUT /put2? 2000" {
		t.Errorf("requests to the storage host: %q", got)
	}
}

func TestLocationForms(t *testing.T) {
	for name, location := range map[string]func(s *registrytest.Server) string{
		"relative":              func(*registrytest.Server) string { return "/v2/a/app/blobs/uploads/77" },
		"absolute":              func(s *registrytest.Server) string { return s.URL + "/v2/a/app/blobs/uploads/77" },
		"with a state":          func(*registrytest.Server) string { return "/v2/a/app/blobs/uploads/77?_state=a%2Fb%3D&x" },
		"scheme of the outside": func(s *registrytest.Server) string { return "https://" + s.Host() + "/v2/a/app/blobs/uploads/77" },
		"relative to the path":  func(*registrytest.Server) string { return "77" },
	} {
		s := registrytest.New(t)
		s.Fail(registrytest.On("POST", ""), 1, registrytest.Answer(202, "", "Location", location(s)))
		b := makeBlob(t, 10)
		_, err := newClient(&clock{}).PutBlob(t.Context(), repository(t, s, "a/app"), b, nil)
		if err != nil || !s.Store.Has("a/app", b.Digest.String()) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "with a state" && s.Count("PUT", "_state=a%2Fb%3D&x&digest="+url.QueryEscape(b.Digest.String())) != 1 {
			t.Errorf("%s: the query changed: %+v", name, s.Requests())
		}
	}
	s := registrytest.New(t)
	s.Fail(registrytest.On("POST", ""), -1, registrytest.Answer(202, ""))
	_, err := newClient(&clock{}).PutBlob(t.Context(), repository(t, s, "a/app"), makeBlob(t, 10), nil)
	if err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("no Location: %v", err)
	}
}

// dockerConfig puts a docker configuration and programs into place.
func dockerConfig(t *testing.T, content string, programs map[string]string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("REGISTRY_AUTH_FILE", "")
	t.Setenv("DOCKER_AUTH_CONFIG", "")
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
}

func TestDockerConfig(t *testing.T) {
	auth := base64.StdEncoding.EncodeToString([]byte("me:pw"))
	helper := map[string]string{"docker-credential-fake": "#!/bin/sh\ncat >/dev/null\necho '{\"ServerURL\":\"x\",\"Username\":\"me\",\"Secret\":\"pw\"}'\n"}
	failing := map[string]string{"docker-credential-fake": "#!/bin/sh\ncat >/dev/null\necho 'the vault is locked'; exit 1\n"}
	for _, c := range []struct {
		name, host, config string
		programs           map[string]string
		want               string // user, or "" for anonymous
		wantErr            string
	}{
		{"nothing", "reg.example", `{}`, nil, "", ""},
		{"plain", "reg.example", `{"auths":{"reg.example":{"auth":"` + auth + `"}}}`, nil, "me", ""},
		{"with a port", "reg.example:5000", `{"auths":{"reg.example":{"auth":"` + auth + `"}}}`, nil, "", ""},
		{"other host", "reg.example", `{"auths":{"other.example":{"auth":"` + auth + `"}}}`, nil, "", ""},
		{"hub, old key", "docker.io", `{"auths":{"https://index.docker.io/v1/":{"auth":"` + auth + `"}}}`, nil, "me", ""},
		{"hub, index.docker.io", "docker.io", `{"auths":{"index.docker.io":{"auth":"` + auth + `"}}}`, nil, "me", ""},
		{"hub, docker.io", "index.docker.io", `{"auths":{"docker.io":{"auth":"` + auth + `"}}}`, nil, "me", ""},
		{"hub, none", "docker.io", `{"auths":{"reg.example":{"auth":"` + auth + `"}}}`, nil, "", ""},
		{"helper", "reg.example", `{"credHelpers":{"reg.example":"fake"}}`, helper, "me", ""},
		{"helper beside empty auths", "reg.example", `{"auths":{"reg.example":{}},"credHelpers":{"reg.example":"fake"}}`, helper, "me", ""},
		{"store", "reg.example", `{"credsStore":"fake"}`, helper, "me", ""},
		{"missing helper", "reg.example", `{"credHelpers":{"reg.example":"nope"}}`, nil, "", "credential helper docker-credential-nope not found on PATH, for reg.example"},
		{"missing helper of the hub", "docker.io", `{"credsStore":"nope"}`, nil, "", "docker-credential-nope not found on PATH, for docker.io"},
		{"failing helper", "reg.example", `{"credHelpers":{"reg.example":"fake"}}`, failing, "", "the vault is locked"},
		{"helper of another host", "reg.example", `{"credHelpers":{"other.example":"nope"}}`, nil, "", ""},
		{"not JSON", "reg.example", `{`, nil, "", "config.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dockerConfig(t, c.config, c.programs)
			reg, err := name.NewRegistry(c.host)
			if err != nil {
				t.Fatal(err)
			}
			a, err := registry.DockerConfig{}.Resolve(reg)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Fatalf("error %v, want %q in it", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := authn.Authorization(t.Context(), a)
			if err != nil || cfg.Username != c.want {
				t.Errorf("user %q, %v; want %q", cfg.Username, err, c.want)
			}
		})
	}
}

// A registry that asks for nothing runs no helper; one that asks stops with
// the helper's name and without a retry.
func TestHelperRunsOnDemandOnly(t *testing.T) {
	s := registrytest.New(t)
	dockerConfig(t, `{"credHelpers":{"`+s.Host()+`":"nope"}}`, nil)
	docker := func(o *registry.Options) { o.Keychain = nil }
	if _, _, err := newClient(&clock{}, docker).TagDigest(t.Context(), repository(t, s, "a/app").Tag("v1")); err != nil {
		t.Errorf("a registry without login: %v", err)
	}
	(&registrytest.Tokens{User: "me", Password: "secret-password"}).Protect(s)
	k := &clock{}
	_, _, err := newClient(k, docker).TagDigest(t.Context(), repository(t, s, "a/app").Tag("v1"))
	if e := asError(t, err); e.Class != registry.Unauthorized || len(k.pauses()) != 0 ||
		!strings.Contains(err.Error(), "docker-credential-nope") || !strings.Contains(err.Error(), s.Host()) {
		t.Errorf("%v (class %s)", err, e.Class)
	}
}
