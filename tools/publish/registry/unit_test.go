// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:5000": true, "LOCALHOST:5000": true,
		"127.0.0.1": true, "127.0.0.1:5000": true, "127.9.8.7:1": true,
		"::1": true, "[::1]": true, "[::1]:5000": true,
		"127.0.0.1.evil.example": false, "127.0.0.1.evil.example:5000": false,
		"[2001:db8::1]:5000": false, "2001:db8::1": false, "::1.example": false,
		"localhost.evil.example:5000": false, "evil.localhost": false, "notlocalhost:5000": false,
		"registry.corp.local": false, "10.0.0.1:5000": false, "192.168.1.1": false, "128.0.0.1": false, "": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("IsLoopback(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestParseChallenge(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		want    *transport.Challenge
	}{
		"none":  {nil, nil},
		"basic": {[]string{`Basic realm="r"`}, &transport.Challenge{Scheme: "Basic", Parameters: map[string]string{"realm": "r"}}},
		"bearer with commas in a value": {
			[]string{`Bearer realm="https://a.example/t",service="s",scope="repository:a/b:pull,push"`},
			&transport.Challenge{Scheme: "Bearer", Parameters: map[string]string{"realm": "https://a.example/t", "service": "s", "scope": "repository:a/b:pull,push"}},
		},
		"bearer wins over basic, in one line": {
			[]string{`Basic realm="x", Bearer realm="https://a/t"`},
			&transport.Challenge{Scheme: "Bearer", Parameters: map[string]string{"realm": "https://a/t"}},
		},
		"bearer wins over basic, in two lines": {
			[]string{`Negotiate`, `Basic realm="x"`, `bearer REALM = "https://a/t" , service=s`},
			&transport.Challenge{Scheme: "bearer", Parameters: map[string]string{"realm": "https://a/t", "service": "s"}},
		},
		"escaped quote":      {[]string{`Basic realm="a \"b\" c"`}, &transport.Challenge{Scheme: "Basic", Parameters: map[string]string{"realm": `a "b" c`}}},
		"bearer, no realm":   {[]string{`Bearer service="s"`}, nil},
		"only what we lack":  {[]string{`Negotiate, NTLM`}, nil},
		"garbage ends":       {[]string{`"=,="`}, nil},
		"unterminated quote": {[]string{`Basic realm="abc`}, &transport.Challenge{Scheme: "Basic", Parameters: map[string]string{"realm": "abc"}}},
	} {
		if diff := cmp.Diff(c.want, parseChallenge(http.Header{"Www-Authenticate": c.headers})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzParseChallenge(f *testing.F) {
	f.Add(`Bearer realm="https://a.example/t",service="s"`)
	f.Add(`Basic realm="a\`)
	f.Fuzz(func(_ *testing.T, line string) { splitChallenges(line) }) // it must end
}

func TestClean(t *testing.T) {
	s := &secrets{}
	s.add("hunter2-password", "abc") // the second is too short to hide
	s.addConfig(&authn.AuthConfig{Username: "me", Password: "pa55word"})
	for in, want := range map[string]string{
		"denied for hunter2-password!":          "denied for ***!",
		"abc":                                   "abc",
		"Authorization: Basic bWU6cGE1NXdvcmQ=": "Authorization: Basic ***",
		"echo bWU6cGE1NXdvcmQ= pa55word":        "echo *** ***",
		`Put "https://s3.example/b?X-Amz-Signature=f00&x=1": EOF`:    `Put "https://s3.example/b": EOF`,
		"https://me:pw@reg.example/v2/ failed":                       "https://reg.example/v2/ failed",
		"/v2/a/blobs/uploads/1?_state=SIGNEDSTATE&digest=sha256:aa":  "/v2/a/blobs/uploads/1?_state=***&digest=sha256:aa",
		"got bearer eyJhbGciOiJSUzI1NiJ9.e30.sig":                    "got bearer ***",
		"two\nlines\x1b[31m\tand colour":                             "two lines [31m and colour",
		"the basic plan":                                             "the basic plan",
		"redirect to https://cdn.example/x#frag-token and on we go.": "redirect to https://cdn.example/x and on we go.",
	} {
		if got := s.clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := s.clean(strings.Repeat("é", 1000)); len(got) > longestMessage+len("…") || !strings.HasSuffix(got, "é…") {
		t.Errorf("a long text is %d bytes, ending in %q", len(got), got[len(got)-8:])
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, " 7 ": 7 * time.Second, "-3": 0, "soon": 0,
		"Fri, 02 Jan 2026 03:04:35 GMT":        30 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT":        0,
		"99999999999":                          1 << 30 * time.Second,
		"999999999999999999999999999999999999": 0,
		"Friday, 02-Jan-26 03:04:15 GMT":       10 * time.Second,
		"Fri Jan  2 03:04:06 2026":             time.Second,
	} {
		if got := retryAfter(http.Header{"Retry-After": {in}}, now); got != want {
			t.Errorf("Retry-After %q: %s, want %s", in, got, want)
		}
	}
}

func TestPauseGrowsWithJitterAndIsBounded(t *testing.T) {
	for _, random := range []float64{0, 0.5, 0.999} {
		p := Retry{Base: time.Second, Max: 8 * time.Second, MaxRetryAfter: 20 * time.Second, Random: func() float64 { return random }}.withDefaults()
		for attempt, full := range []time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second, 5: 8 * time.Second, 63: 8 * time.Second} {
			if full == 0 {
				continue
			}
			if got := p.pause(attempt, 0); got > full || got < full/2 {
				t.Errorf("random %v: pause after attempt %d is %s, want %s to %s", random, attempt, got, full/2, full)
			}
		}
		if got := p.pause(1, 5*time.Second); got != 5*time.Second {
			t.Errorf("pause with Retry-After 5 s: %s", got)
		}
		if got := p.pause(1, time.Hour); got != 20*time.Second {
			t.Errorf("pause with Retry-After 1 h: %s, want the cap", got)
		}
	}
}

func TestCovered(t *testing.T) {
	ours := []string{"repository:a/b:pull,push", "repository:base:pull"}
	for asked, want := range map[string]bool{
		"repository:a/b:pull": true, "repository:a/b:push,pull": true, "repository:base:pull": true,
		"repository:base:push": false, "repository:a/b:delete": false, "repository:a:pull": false, "odd": false,
	} {
		if got := covered(ours, asked); got != want {
			t.Errorf("covered(%q) = %v, want %v", asked, got, want)
		}
	}
}
