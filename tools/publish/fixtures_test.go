// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/istio-ecosystem/slipway/tools/publish"
	"github.com/istio-ecosystem/slipway/tools/publish/internal/registrytest"
	"github.com/istio-ecosystem/slipway/tools/publish/registry"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

type anonymous struct{}

func (anonymous) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }

type account struct{ user, password string }

func (a account) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(authn.AuthConfig{Username: a.user, Password: a.password}), nil
}

// images writes a layout with two images ("app", of 3 layers, and "proxy",
// which shares nothing with it) and an index of two platforms ("multi").
func images(t testing.TB) (dir string, items []publish.Item) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "layout")
	l, err := layout.Write(dir, emptyIndex(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app", "proxy"} {
		img, err := random.Image(20_000, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.AppendImage(img); err != nil {
			t.Fatal(err)
		}
		d, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, publish.Item{Name: name, Digest: d})
	}
	idx, err := random.Index(5_000, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AppendIndex(idx); err != nil {
		t.Fatal(err)
	}
	d, err := idx.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return dir, append(items, publish.Item{Name: "multi", Digest: d})
}

// trial is a push under test.
type trial struct {
	publish.Options
	out, err bytes.Buffer
}

// push returns a trial of all images to all hubs under tag v1.
func push(t testing.TB, servers ...*registrytest.Server) *trial {
	t.Helper()
	dir, items := images(t)
	s := &trial{}
	for i := range items {
		for _, srv := range servers {
			items[i].References = append(items[i].References, srv.Host()+"/t/"+items[i].Name+":v1")
		}
	}
	s.Options = publish.Options{
		Layout: dir, Items: items, Keychain: anonymous{}, Retry: quick(),
		ResultFile: filepath.Join(t.TempDir(), "result.json"),
		Console:    ui.New(&s.out, &s.err, ui.Options{Verbose: true}),
	}
	return s
}

// quick is the policy of retries without the waiting.
func quick() registry.Retry {
	var mu sync.Mutex
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return registry.Retry{
		Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		Sleep: func(ctx context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(d)
			return ctx.Err()
		},
	}
}

// tagsOf pulls what each tag of the trial names at a server, whole.
func (s *trial) tagsOf(t testing.TB, srv *registrytest.Server) map[string]string {
	t.Helper()
	tags := map[string]string{}
	for _, it := range s.Items {
		got, err := registrytest.Pull(srv.URL, "t/"+it.Name, "v1")
		if err != nil {
			t.Errorf("%s: %v", it.Name, err)
		}
		if got != "" {
			tags[it.Name] = got
		}
	}
	return tags
}

// all is what tagsOf returns when everything is in place.
func (s *trial) all() map[string]string {
	tags := map[string]string{}
	for _, it := range s.Items {
		tags[it.Name] = it.Digest.String()
	}
	return tags
}

func states(r *publish.Result, hub string) map[publish.State]int {
	n := map[publish.State]int{}
	for _, ref := range r.References {
		if strings.HasPrefix(ref.Reference, hub+"/") {
			n[ref.State]++
		}
	}
	return n
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
