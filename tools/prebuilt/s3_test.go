// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// fakeAWS puts an aws on PATH that writes down how it is called, and answers.
func (w *world) fakeAWS(answer string) (log string) {
	log = w.path("aws.log")
	script := "#!/bin/sh\n{ echo \"$@\"; env | grep -E '^(AWS|CF)_' | sort; echo --; } >>" + log + "\n" + answer + "\n"
	w.write(w.path("bin", "aws"), []byte(script))
	w.t.Setenv("PATH", w.path("bin")+":/usr/bin:/bin")
	w.options.Environ = []string{"PATH=" + os.Getenv("PATH")}
	return log
}

func TestS3(t *testing.T) {
	content := amd64(bodySize)
	w := newWorld(t)
	// Each address is good for one request, as one that is valid for a minute
	// may be.
	s := newServer(t, content, cut(content, 1<<20, `"one"`))
	log := w.fakeAWS("echo '" + s.URL + "/z?X-Amz-Signature=hush'$(wc -l <" + w.path("aws.log") + ")")
	w.options.Environ = append(w.options.Environ, `CF_CREDENTIALS={"access_key":"AK","secret_key":"hushSK\n","session_token":"hushST","region":"auto","endpoint":"https://r2.example.com"}`)
	item := w.ztunnel("s3://bucket/ztunnel-v1-amd64")
	w.must(item)
	w.holds(item.Dest, content)

	once := strings.Join([]string{
		"s3 presign s3://bucket/ztunnel-v1-amd64 --expires-in 60 --endpoint-url https://r2.example.com",
		"AWS_ACCESS_KEY_ID=AK", "AWS_ENDPOINT_URL=https://r2.example.com", "AWS_REGION=auto",
		"AWS_SECRET_ACCESS_KEY=hushSK", "AWS_SESSION_TOKEN=hushST", "--", "",
	}, "\n")
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once+once, string(got)); diff != "" {
		t.Errorf("aws was called otherwise, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", "bytes=1048576-"}, s.ranges()); diff != "" {
		t.Error(diff)
	}
	os.Remove(log)
	os.RemoveAll(w.path("bin"))
	told := w.printed.String()
	for path, b := range readAll(t, w.dir) {
		if len(b) < 1<<16 {
			told += path + string(b)
		}
	}
	if strings.Contains(told, "hush") {
		t.Errorf("a secret is told:\n%s", told)
	}
}

func TestS3Faults(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		env    []string
		code   int
		want   []string
	}{
		"aws fails":             {"echo 'Unable to locate credentials' >&2; exit 255", nil, fail.Unavailable, []string{"exit status 255", "Unable to locate credentials", "WAY=one"}},
		"aws says nonsense":     {"echo hello", nil, fail.Unavailable, []string{"did not answer with an https: URL"}},
		"aws offers plain HTTP": {"echo http://example.com/hush?x=hush", nil, fail.Unavailable, []string{"did not answer with an https: URL"}},
		"bad CF_CREDENTIALS":    {"true", []string{"CF_CREDENTIALS=hush"}, fail.Usage, []string{"CF_CREDENTIALS is not a JSON object"}},
		"empty CF_CREDENTIALS":  {"true", []string{`CF_CREDENTIALS={"secret_key":"hush"}`}, fail.Usage, []string{"no access_key"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fakeAWS(c.answer)
			w.options.Environ = append(w.options.Environ, c.env...)
			_, err := w.fetch(w.ztunnel("s3://bucket/z"))
			wantError(t, err, append(c.want, "s3://bucket/z")...)
			if fail.Code(err) != c.code {
				t.Errorf("code %d, want %d", fail.Code(err), c.code)
			}
			if strings.Contains(fmt.Sprint(err, w.printed), "hush") {
				t.Errorf("a secret is told: %v", err)
			}
		})
	}
	t.Run("no aws", func(t *testing.T) {
		w := newWorld(t)
		t.Setenv("PATH", filepath.Join(w.dir, "empty"))
		_, err := w.fetch(w.ztunnel("s3://bucket/z"))
		wantError(t, err, "aws", "install it, or give an https: URL", "WAY=one")
		if fail.Code(err) != fail.Unavailable {
			t.Errorf("code %d", fail.Code(err))
		}
	})
	t.Run("an address that ran out", func(t *testing.T) {
		w := newWorld(t)
		s := newServer(t, nil, answer(http.StatusForbidden))
		w.fakeAWS("echo " + s.URL + "/z?X-Amz-Signature=hush")
		_, err := w.fetch(w.ztunnel("s3://bucket/z"))
		wantError(t, err, "403")
		if strings.Contains(fmt.Sprint(err, w.printed), "hush") {
			t.Errorf("a secret is told: %v", err)
		}
	})
}

func TestAWSEnviron(t *testing.T) {
	const blob = `CF_CREDENTIALS={"access_key":"AK","secret_key":"SK"}`
	for name, c := range map[string]struct{ env, want []string }{
		"nothing":         {[]string{"A=1"}, []string{"A=1"}},
		"empty":           {[]string{"CF_CREDENTIALS="}, []string{}},
		"own access wins": {[]string{"AWS_ACCESS_KEY_ID=me", blob, "AWS_REGION=r"}, []string{"AWS_ACCESS_KEY_ID=me", "AWS_REGION=r"}},
		"empty access":    {[]string{"AWS_ACCESS_KEY_ID=", blob}, []string{"AWS_ACCESS_KEY_ID=AK", "AWS_SECRET_ACCESS_KEY=SK"}},
		"parts missing":   {[]string{"AWS_REGION=r", blob}, []string{"AWS_REGION=r", "AWS_ACCESS_KEY_ID=AK", "AWS_SECRET_ACCESS_KEY=SK"}},
	} {
		got, err := awsEnviron(c.env)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// The real aws signs without the network; the address is that of our server.
func TestRealAWS(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		t.Skip("set SLIPWAY_TEST_REAL=1 to run the real aws command")
	}
	if _, err := exec.LookPath("aws"); err != nil {
		t.Skip("aws is not installed")
	}
	w := newWorld(t)
	content := amd64(5000)
	s := newServer(t, content)
	w.options.Environ = append(run.Environ(os.Environ(), "AWS_ACCESS_KEY_ID="),
		`CF_CREDENTIALS={"access_key":"AK","secret_key":"hush","session_token":"ST","region":"auto","endpoint":"`+s.URL+`"}`)
	item := w.ztunnel("s3://bucket/ztunnel-v1-amd64")
	w.must(item)
	w.holds(item.Dest, content)
	if strings.Contains(w.printed.String(), "hush") || strings.Contains(w.printed.String(), "Signature") {
		t.Errorf("a secret is told:\n%s", w.printed)
	}
}
