// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/publish"
	"github.com/istio-ecosystem/slipway/tools/publish/internal/registrytest"
	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

func resume(t *testing.T, s *trial) (*publish.Result, error) {
	t.Helper()
	return publish.Resume(t.Context(), s.ResultFile, publish.Options{Keychain: anonymous{}, Retry: quick()})
}

// Each fault meets hub b in each phase, for good or once; hub a is healthy.
func TestFaultsInBothPhases(t *testing.T) {
	phases := map[string]func(*http.Request) bool{
		"upload": registrytest.On("PUT", "/t/proxy/blobs/"),
		"tag":    registrytest.On("PUT", "/t/proxy/manifests/v1"),
	}
	faults := map[string]struct {
		act    registrytest.Action
		passes bool // worth another try
		class  registry.Class
	}{
		"401":                  {registrytest.Answer(401, "UNAUTHORIZED"), false, registry.Unauthorized},
		"403":                  {registrytest.Answer(403, "DENIED"), false, registry.Denied},
		"404":                  {registrytest.Answer(404, "NAME_UNKNOWN"), false, registry.NotFound},
		"429 with Retry-After": {registrytest.Answer(429, "TOOMANYREQUESTS", "Retry-After", "2"), true, registry.RateLimited},
		"500":                  {registrytest.Answer(500, "UNKNOWN"), true, registry.ServerError},
		"503 without a body":   {registrytest.Answer(503, ""), true, registry.ServerError},
		"reset":                {registrytest.Reset(1000), true, registry.Unreachable},
		"answer lost":          {registrytest.DropAnswer, true, ""},
	}
	for phase, match := range phases {
		for name, f := range faults {
			t.Run(phase+"/"+name+"/once", func(t *testing.T) {
				a, b := registrytest.New(t), registrytest.New(t)
				s := push(t, a, b)
				b.Fail(match, 1, f.act)
				r, err := publish.Publish(t.Context(), s.Options)
				if f.passes != (err == nil) {
					t.Fatalf("error %v, retries wanted: %v", err, f.passes)
				}
				if f.passes {
					inPlace(t, s, a, b)
					return
				}
				unfinished(t, s, a, b, r, err, phase, f.class)
			})
			if f.class == "" {
				continue
			}
			t.Run(phase+"/"+name+"/always", func(t *testing.T) {
				a, b := registrytest.New(t), registrytest.New(t)
				s := push(t, a, b)
				b.Fail(match, -1, f.act)
				r, err := publish.Publish(t.Context(), s.Options)
				unfinished(t, s, a, b, r, err, phase, f.class)
			})
		}
	}
}

func inPlace(t *testing.T, s *trial, servers ...*registrytest.Server) {
	t.Helper()
	for _, srv := range servers {
		if diff := cmp.Diff(s.all(), s.tagsOf(t, srv)); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
	}
}

// unfinished checks a run that failed at hub b only, and that a resume mends
// it by sending what is missing and no more.
func unfinished(t *testing.T, s *trial, a, b *registrytest.Server, r *publish.Result, err error, phase string, class registry.Class) {
	t.Helper()
	if fail.Code(err) != fail.Partial {
		t.Errorf("code %d of %v, want %d", fail.Code(err), err, fail.Partial)
	}
	inPlace(t, s, a)
	broken := s.tagsOf(t, b) // also checks that what is tagged is whole
	if _, ok := broken["proxy"]; ok || (phase == "upload" && len(broken) != 0) {
		t.Errorf("hub b has tags %v", broken)
	}
	for _, ref := range r.References {
		if ref.Reference != b.Host()+"/t/proxy:v1" {
			continue
		}
		if ref.State != publish.Failed || ref.Class != class || !strings.Contains(ref.Message, "/t/proxy") {
			t.Errorf("%+v, want class %s", ref, class)
		}
		if !strings.Contains(s.err.String(), "slipway: error: "+ref.Reference+": ") {
			t.Errorf("%s is not named in:\n%s", ref.Reference, s.err.String())
		}
	}
	sentBefore := b.Count("PUT", "/blobs/")
	b.Heal()
	a.Forget()
	if _, err := resume(t, s); err != nil {
		t.Fatalf("resume: %v", err)
	}
	inPlace(t, s, a, b)
	if n := len(a.Requests()) - a.Count("GET", ""); a.Count("HEAD", "/manifests/v1") != 3 || a.Count("PUT", "") != 0 || n > 3+16 {
		t.Errorf("the healthy hub was asked %d times again", n)
	}
	// 4 + 4 blobs, and 2 platforms of 3: only what failed is sent again.
	if again := b.Count("PUT", "/blobs/") - sentBefore; phase == "tag" && again != 0 {
		t.Errorf("%d blobs were sent again", again)
	}
}

func TestMountRefusedInAPush(t *testing.T) {
	for _, status := range []int{401, 403, 404, 405} {
		a := registrytest.New(t)
		s := push(t, a)
		s.Items[1] = publish.Item{Name: "twin", Digest: s.Items[0].Digest, References: []string{a.Host() + "/t/twin:v1"}}
		a.Fail(registrytest.On("POST", "mount="), -1, registrytest.Answer(status, "DENIED"))
		if _, err := publish.Publish(t.Context(), s.Options); err != nil {
			t.Errorf("status %d: %v", status, err)
		}
		inPlace(t, s, a)
	}
}

// The other hub is complete and tagged; the lost one is resumed.
func TestRegistryVanishesBetweenThePhases(t *testing.T) {
	a, b := registrytest.New(t), registrytest.New(t)
	s := push(t, a, b)
	b.Fail(registrytest.On("PUT", "/manifests/v1"), 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		b.Down()
		registrytest.Reset(0)(w, r, next)
	})
	r, err := publish.Publish(t.Context(), s.Options)
	if fail.Code(err) != fail.Partial || states(r, b.Host())[publish.Failed] != 3 {
		t.Errorf("code %d of %v: %v", fail.Code(err), err, states(r, b.Host()))
	}
	inPlace(t, s, a)
	b.Heal()
	if got := s.tagsOf(t, b); len(got) != 0 {
		t.Errorf("tags at the lost hub: %v", got)
	}
	if _, err := resume(t, s); err != nil {
		t.Error(err)
	}
	inPlace(t, s, a, b)
}

func TestRegistryVanishesDuringTheUpload(t *testing.T) {
	a, b := registrytest.New(t), registrytest.New(t)
	s := push(t, a, b)
	b.Fail(registrytest.On("PUT", "/blobs/"), 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		b.Down()
		registrytest.Reset(100)(w, r, next)
	})
	_, err := publish.Publish(t.Context(), s.Options)
	if fail.Code(err) != fail.Partial {
		t.Errorf("code %d of %v", fail.Code(err), err)
	}
	inPlace(t, s, a)
	b.Heal()
	if _, err := resume(t, s); err != nil {
		t.Error(err)
	}
	inPlace(t, s, a, b)
}

func TestNoRegistryAtAll(t *testing.T) {
	a, b := registrytest.New(t), registrytest.New(t)
	s := push(t, a, b)
	a.Down()
	b.Down()
	r, err := publish.Publish(t.Context(), s.Options)
	if fail.Code(err) != fail.Unavailable {
		t.Errorf("code %d of %v", fail.Code(err), err)
	}
	for _, ref := range r.References {
		if ref.Class != registry.Unreachable {
			t.Errorf("%+v", ref)
		}
	}
}

func TestAllRefuse(t *testing.T) {
	a := registrytest.New(t)
	s := push(t, a)
	a.Fail(registrytest.On("POST", ""), -1, registrytest.Answer(403, "DENIED"))
	if _, err := publish.Publish(t.Context(), s.Options); fail.Code(err) != fail.Failed {
		t.Errorf("code %d of %v", fail.Code(err), err)
	}
	for _, it := range s.Items { // every image was tried and is named
		if !strings.Contains(s.err.String(), "slipway: error: "+it.References[0]) {
			t.Errorf("%s is not named in:\n%s", it.References[0], s.err.String())
		}
	}
}

func TestAllOrNothing(t *testing.T) {
	a, b := registrytest.New(t), registrytest.New(t)
	s := push(t, a, b)
	s.AllOrNothing = true
	b.Fail(registrytest.On("PUT", "/t/proxy/blobs/"), -1, registrytest.Answer(403, "DENIED"))
	r, err := publish.Publish(t.Context(), s.Options)
	if fail.Code(err) != fail.Failed || states(r, a.Host())[publish.Uploaded] != 3 {
		t.Errorf("code %d of %v: %v", fail.Code(err), err, states(r, a.Host()))
	}
	if a.Count("PUT", "/manifests/v1")+b.Count("PUT", "/manifests/v1") != 0 {
		t.Error("a tag was put")
	}
	// The wish is kept in the result file.
	if _, err := resume(t, s); fail.Code(err) != fail.Failed || a.Count("PUT", "/manifests/v1") != 0 {
		t.Errorf("resume while it lasts: code %d of %v", fail.Code(err), err)
	}
	b.Heal()
	if _, err := resume(t, s); err != nil {
		t.Error(err)
	}
	inPlace(t, s, a, b)
}

func TestResumeDoesNotUndoOthers(t *testing.T) {
	a, b := registrytest.New(t), registrytest.New(t)
	s, other := push(t, a, b), push(t, a)
	b.Fail(registrytest.On("PUT", "/t/proxy/manifests/v1"), -1, registrytest.Answer(403, "DENIED"))
	if _, err := publish.Publish(t.Context(), s.Options); fail.Code(err) != fail.Partial {
		t.Fatal(err)
	}
	if _, err := publish.Publish(t.Context(), other.Options); err != nil {
		t.Fatal(err)
	}
	b.Heal()
	r, err := resume(t, s)
	if fail.Code(err) != fail.Partial || r.References[0].Class != publish.Conflict || !strings.Contains(r.References[0].Message, "somebody else") {
		t.Errorf("code %d of %v: %+v", fail.Code(err), err, r.References[0])
	}
	inPlace(t, other, a)
}

func TestResumeNeedsAResult(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"absent": "", "torn": `{"version":1,"ref`, "newer": `{"version":9}`} {
		path := filepath.Join(dir, name)
		if content != "" {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := publish.Resume(t.Context(), path, publish.Options{}); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: code %d of %v", name, fail.Code(err), err)
		}
	}
}

func TestResultThatCannotBeKept(t *testing.T) {
	a := registrytest.New(t)
	s := push(t, a)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.ResultFile = filepath.Join(file, "result.json")
	if _, err := publish.Publish(t.Context(), s.Options); err == nil || len(a.Requests()) != 0 || !strings.Contains(err.Error(), s.ResultFile) {
		t.Errorf("%v after %d requests", err, len(a.Requests()))
	}
}

// No output holds a secret, however hard the registry tries: it sends back
// what it was sent, and signed addresses, in headers and texts.
func TestSecretsStaySecret(t *testing.T) {
	const password = "correct-horse-battery"
	a := registrytest.New(t)
	tokens := &registrytest.Tokens{User: "robot", Password: password}
	signed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(signed.Close)
	echo := func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":"you sent %s to https://u:%s@x.example/?X-Amz-Signature=signed-secret","detail":{"token":%q}}]}`,
			r.Header.Get("Authorization"), password, strings.Join(tokens.Issued(), " "))
	}
	a.Fail(registrytest.On("PUT", "/t/app/blobs/"), -1, echo)
	a.Fail(registrytest.On("POST", "/t/proxy/blobs/"), -1, registrytest.Answer(202, "", "Location", signed.URL+"/x?sig=signed-secret"))
	a.Fail(registrytest.On("POST", "/t/multi/blobs/"), -1, registrytest.Answer(202, "", "Location", "http://127.0.0.1:1/x?_state=signed-secret"))
	tokens.Protect(a)
	s := push(t, a)
	s.Keychain = account{"robot", password}
	_, err := publish.Publish(t.Context(), s.Options)
	if err == nil || len(tokens.Issued()) == 0 {
		t.Fatalf("%v, tokens %v: nothing was tested", err, tokens.Issued())
	}
	all := map[string]string{"error": err.Error(), "stdout": s.out.String(), "stderr": s.err.String(), "result file": readFile(t, s.ResultFile)}
	for where, text := range all {
		for _, secret := range append(tokens.Issued(), password, "signed-secret", "Basic ", "cm9ib3Q6") {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q:\n%s", where, secret, text)
			}
		}
	}
	if !strings.Contains(all["stderr"], "you sent Bearer ***") {
		t.Errorf("the registry's own words are missing:\n%s", all["stderr"])
	}
}
