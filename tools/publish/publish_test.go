// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/publish"
	"github.com/istio-ecosystem/slipway/tools/publish/internal/registrytest"
	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

func emptyIndex(testing.TB) v1.ImageIndex { return empty.Index }

func TestTwoHubsHoldTheSame(t *testing.T) {
	a, b := registrytest.New(t), registrytest.New(t)
	s := push(t, a, b)
	r, err := publish.Publish(t.Context(), s.Options)
	if err != nil {
		t.Fatal(err)
	}
	for _, srv := range []*registrytest.Server{a, b} {
		if diff := cmp.Diff(s.all(), s.tagsOf(t, srv)); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
		if got := states(r, srv.Host())[publish.Published]; got != 3 {
			t.Errorf("%d published", got)
		}
		tagsCameLast(t, srv)
	}
	// The names, in full, come before the push; the table after it.
	text := s.err.String()
	for _, it := range s.Items {
		for _, ref := range it.References {
			if i := strings.Index(text, "  "+ref+"  "+it.Digest.String()); i < 0 || i > strings.Index(text, "blob ") {
				t.Errorf("%s is not announced before the push:\n%s", ref, text)
			}
		}
	}
	if !strings.Contains(text, "HUB ") || !strings.Contains(text, a.Host()+"/t ") || s.out.Len() != 0 {
		t.Errorf("no table, or something on stdout:\n%s", text)
	}
	var kept publish.Result
	if got, err := publish.ReadResult(s.ResultFile); err != nil {
		t.Error(err)
	} else {
		kept = *got
	}
	if diff := cmp.Diff(*r, kept); diff != "" {
		t.Errorf("result file (-returned +kept):\n%s", diff)
	}
}

// tagsCameLast checks the order of manifests: children before their index, and
// all that is by digest before any tag.
func tagsCameLast(t *testing.T, srv *registrytest.Server) {
	t.Helper()
	tagged, lastBlob := false, 0
	var puts []string
	for i, r := range srv.Requests() {
		if r.Method != http.MethodPut {
			continue
		}
		switch {
		case strings.HasSuffix(r.Path, "manifests/v1"):
			tagged = true
		case tagged:
			t.Errorf("PUT %s after a tag", r.Path)
		case strings.Contains(r.Path, "/manifests/"):
			puts = append(puts, r.Path)
		default:
			lastBlob = i
		}
	}
	if len(puts) != 5 || lastBlob == 0 {
		t.Errorf("manifests by digest: %q", puts)
	}
}

func TestIndexAfterItsChildren(t *testing.T) {
	a := registrytest.New(t)
	s := push(t, a)
	if _, err := publish.Publish(t.Context(), s.Options); err != nil {
		t.Fatal(err)
	}
	var multi []string
	for _, r := range a.Requests() {
		if r.Method == http.MethodPut && strings.HasPrefix(r.Path, "/v2/t/multi/manifests/sha256:") {
			multi = append(multi, filepath.Base(r.Path))
		}
	}
	if len(multi) != 3 || multi[2] != s.Items[2].Digest.String() {
		t.Errorf("order %q, want the index %s last", multi, s.Items[2].Digest)
	}
}

// Pushing again costs one request for each tag and reads nothing of the
// layout's content.
func TestNothingChanged(t *testing.T) {
	a, b := registrytest.New(t), registrytest.New(t)
	s := push(t, a, b)
	if _, err := publish.Publish(t.Context(), s.Options); err != nil {
		t.Fatal(err)
	}
	a.Forget()
	b.Forget()
	if err := os.RemoveAll(filepath.Join(s.Layout, "blobs")); err != nil {
		t.Fatal(err)
	}
	r, err := publish.Publish(t.Context(), s.Options)
	if err != nil {
		t.Fatal(err)
	}
	for _, srv := range []*registrytest.Server{a, b} {
		if n := len(srv.Requests()); n != 3 || srv.Count("HEAD", "/manifests/v1") != 3 || states(r, srv.Host())[publish.Present] != 3 {
			t.Errorf("%d requests for 3 tags: %+v", n, srv.Requests())
		}
	}
	for _, repo := range r.Repositories {
		if repo.Requests != 1 || repo.Bytes != 0 || repo.Retries != 0 {
			t.Errorf("%+v", repo)
		}
	}
}

// A blob that two repositories of a registry need is sent once.
func TestSharedBlobIsMounted(t *testing.T) {
	a := registrytest.New(t)
	s := push(t, a)
	s.Items = []publish.Item{s.Items[0], {Name: "twin", Digest: s.Items[0].Digest, References: []string{a.Host() + "/t/twin:v1"}}}
	r, err := publish.Publish(t.Context(), s.Options)
	if err != nil {
		t.Fatal(err)
	}
	if up, mounted := a.Count("PUT", "/blobs/"), a.Count("POST", "mount="); up != 4 || mounted != 4 {
		t.Errorf("%d uploads and %d mounts, want 4 and 4", up, mounted)
	}
	if diff := cmp.Diff(s.all(), s.tagsOf(t, a)); diff != "" || len(r.Repositories) != 2 {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestMountFromHint(t *testing.T) {
	a := registrytest.New(t)
	s := push(t, a)
	s.Items = s.Items[:1]
	base := s.Items[0]
	base.Name, base.References = "base", []string{a.Host() + "/other/base:v0"}
	first := s.Options
	first.Items = []publish.Item{base}
	if _, err := publish.Publish(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	a.Forget()
	s.MountFrom = map[string][]string{a.Host(): {"other/base"}, "elsewhere.example": {"x/y"}}
	if _, err := publish.Publish(t.Context(), s.Options); err != nil {
		t.Fatal(err)
	}
	if up, mounted := a.Count("PUT", "/blobs/"), a.Count("POST", "from=other%2Fbase"); up != 0 || mounted != 4 {
		t.Errorf("%d uploads and %d mounts, want 0 and 4", up, mounted)
	}
}

func TestTwoTagsOfOneImage(t *testing.T) {
	a := registrytest.New(t)
	s := push(t, a)
	s.Items = s.Items[:1]
	s.Items[0].References = append(s.Items[0].References, a.Host()+"/t/app:v1-debug", a.Host()+"/t/app:v1")
	r, err := publish.Publish(t.Context(), s.Options)
	if err != nil || len(r.References) != 2 {
		t.Fatalf("%v, %d references, want 2 without the duplicate", err, len(r.References))
	}
	if a.Count("PUT", "/manifests/sha256:") != 1 || a.Count("PUT", "/manifests/v1") != 2 || a.Count("PUT", "/blobs/") != 4 {
		t.Errorf("requests %+v", a.Requests())
	}
}

func TestNoClobber(t *testing.T) {
	a, b := registrytest.New(t), registrytest.New(t)
	s := push(t, a, b)
	s.NoClobber = true
	for range 2 { // absent, then the same digest
		if _, err := publish.Publish(t.Context(), s.Options); err != nil {
			t.Fatal(err)
		}
	}
	before := s.tagsOf(t, b)
	other := push(t, a, b)
	other.NoClobber = true
	other.Items[0].References = other.Items[0].References[1:] // app, to b only
	other.Items[1].References = []string{a.Host() + "/t/fresh:v1"}
	other.Items = other.Items[:2]
	a.Forget()
	b.Forget()
	r, err := publish.Publish(t.Context(), other.Options)
	if fail.Code(err) != fail.Failed || r.References[0].Class != publish.Conflict || r.References[1].State != publish.Untouched {
		t.Errorf("code %d of %v, result %+v", fail.Code(err), err, r.References)
	}
	if m := r.References[0].Message; !strings.Contains(m, before["app"]) || !strings.Contains(m, other.Items[0].Digest.String()) {
		t.Errorf("message %q", m)
	}
	for _, srv := range []*registrytest.Server{a, b} {
		for _, req := range srv.Requests() {
			if req.Method != http.MethodHead {
				t.Errorf("%s %s was sent", req.Method, req.Path)
			}
		}
	}
	if diff := cmp.Diff(before, s.tagsOf(t, b)); diff != "" {
		t.Errorf("tags changed:\n%s", diff)
	}
}

// A registry that refuses to say whether a tag exists does not count as one
// without it.
func TestNoClobberNeedsACertainAnswer(t *testing.T) {
	for _, status := range []int{401, 403, 400} {
		a := registrytest.New(t)
		s := push(t, a)
		s.NoClobber = true
		a.Fail(func(r *http.Request) bool { return r.Method == "HEAD" || r.Method == "GET" }, -1, registrytest.Answer(status, "DENIED"))
		if _, err := publish.Publish(t.Context(), s.Options); fail.Code(err) != fail.Failed || a.Count("PUT", "") != 0 {
			t.Errorf("status %d: code %d, %d PUTs", status, fail.Code(err), a.Count("PUT", ""))
		}
	}
}

// A tag that appears while the blobs go up is not moved either.
func TestNoClobberAsksAgainBeforeTheTag(t *testing.T) {
	a := registrytest.New(t)
	s, other := push(t, a), push(t, a)
	s.Items, other.Items = s.Items[:1], other.Items[:1]
	s.NoClobber = true
	a.Fail(registrytest.On("PUT", "/manifests/sha256:"), 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		other.Retry = quick()
		if _, err := publish.Publish(context.WithoutCancel(r.Context()), other.Options); err != nil {
			t.Error(err)
		}
		next.ServeHTTP(w, r)
	})
	r, err := publish.Publish(t.Context(), s.Options)
	if fail.Code(err) != fail.Failed || r.References[0].Class != publish.Conflict {
		t.Errorf("code %d of %v, result %+v", fail.Code(err), err, r.References)
	}
	if diff := cmp.Diff(other.all(), s.tagsOf(t, a)); diff != "" {
		t.Errorf("tag (-want +got):\n%s", diff)
	}
}

func TestTagsMoveWithoutNoClobber(t *testing.T) {
	a := registrytest.New(t)
	s, other := push(t, a), push(t, a)
	for _, x := range []*trial{s, other} {
		if _, err := publish.Publish(t.Context(), x.Options); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(x.all(), x.tagsOf(t, a)); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
	}
}

// A registry that says yes and keeps nothing is found out, by name.
func TestTagThatDidNotArriveIsNamed(t *testing.T) {
	a := registrytest.New(t)
	s := push(t, a)
	a.Fail(registrytest.On("PUT", "/t/proxy/manifests/v1"), -1, registrytest.Answer(201, ""))
	r, err := publish.Publish(t.Context(), s.Options)
	if fail.Code(err) != fail.Partial || states(r, a.Host())[publish.Published] != 2 {
		t.Errorf("code %d of %v", fail.Code(err), err)
	}
	if text := s.err.String(); !strings.Contains(text, "slipway: error: "+a.Host()+"/t/proxy:v1: reading back tag v1") {
		t.Errorf("output:\n%s", text)
	}
}

func TestInterrupted(t *testing.T) {
	a := registrytest.New(t)
	s := push(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	a.Fail(registrytest.On("PUT", "/blobs/"), 1, func(http.ResponseWriter, *http.Request, http.Handler) { cancel() })
	r, err := publish.Publish(ctx, s.Options)
	if fail.Code(err) != fail.Interrupted || !errors.Is(err, context.Canceled) || a.Count("PUT", "/manifests/v1") != 0 {
		t.Errorf("code %d of %v", fail.Code(err), err)
	}
	if got := states(r, a.Host()); got[publish.Untouched] != 3 {
		t.Errorf("states %v", got)
	}
	if _, err := publish.Resume(t.Context(), s.ResultFile, publish.Options{Keychain: anonymous{}, Retry: quick()}); err != nil {
		t.Errorf("resume: %v", err)
	}
	if diff := cmp.Diff(s.all(), s.tagsOf(t, a)); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestBrokenLayoutSendsNothing(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"blob missing":  os.Remove,
		"blob too long": func(p string) error { return os.WriteFile(p, make([]byte, 1_000_000), 0o600) },
	} {
		a := registrytest.New(t)
		s := push(t, a)
		entries, err := os.ReadDir(filepath.Join(s.Layout, "blobs", "sha256"))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(entries, func(e os.DirEntry) bool { info, _ := e.Info(); return info.Size() > 15_000 })
		if err := spoil(filepath.Join(s.Layout, "blobs", "sha256", entries[i].Name())); err != nil {
			t.Fatal(err)
		}
		_, err = publish.Publish(t.Context(), s.Options)
		if fail.Code(err) != fail.Failed || !strings.Contains(err.Error(), entries[i].Name()) || a.Count("POST", "")+a.Count("PUT", "") != 0 {
			t.Errorf("%s: code %d of %v after %d uploads", name, fail.Code(err), err, a.Count("POST", ""))
		}
	}
}

func TestManifestWithOtherContent(t *testing.T) {
	a := registrytest.New(t)
	s := push(t, a)
	path := filepath.Join(s.Layout, "blobs", "sha256", s.Items[0].Digest.Hex)
	if err := os.WriteFile(path, []byte(`{"schemaVersion":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := publish.Publish(t.Context(), s.Options); err == nil || !strings.Contains(err.Error(), "build the image again") {
		t.Errorf("error %v", err)
	}
}

func TestPlanIsChecked(t *testing.T) {
	dir, items := images(t)
	d1, d2 := items[0].Digest, items[1].Digest
	one := func(ref string) []publish.Item {
		return []publish.Item{{Name: "app", Digest: d1, References: []string{ref}}}
	}
	for _, c := range []struct {
		name   string
		items  []publish.Item
		layout string
		want   string
	}{
		{"nothing", nil, dir, "no images"},
		{"no references", []publish.Item{{Name: "app", Digest: d1}}, dir, "no references"},
		{"no digest", []publish.Item{{Name: "app", References: []string{"h.example/a:1"}}}, dir, "digest"},
		{"scheme", one("http://localhost:5000/t/app:v1"), dir, `use "localhost:5000/t/app:v1"`},
		{"no tag", one("localhost:5000/t/app"), dir, "no tag"},
		{"digest", one("localhost:5000/t/app@" + d1.String()), dir, "digest"},
		{"space", one("localhost:5000/t/app:v1 "), dir, "white space"},
		{"empty", one(""), dir, "empty"},
		{"capitals", one("localhost:5000/T/app:v1"), dir, `"localhost:5000/T/app:v1"`},
		{"bad tag", one("localhost:5000/t/app:v+1"), dir, `"localhost:5000/t/app:v+1"`},
		{"two digests", []publish.Item{
			{Name: "app", Digest: d1, References: []string{"docker.io/t/app:v1"}},
			{Name: "app2", Digest: d2, References: []string{"t/app:v1"}},
		}, dir, "two images"},
		{"no layout", one("localhost:5000/t/app:v1"), filepath.Join(dir, "nowhere"), "nowhere"},
		{"layout not given", one("localhost:5000/t/app:v1"), "", "layout"},
	} {
		_, err := publish.Publish(t.Context(), publish.Options{Layout: c.layout, Items: c.items})
		if fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: code %d of %v, want %q", c.name, fail.Code(err), err, c.want)
		}
	}
	_, err := publish.Publish(t.Context(), publish.Options{Layout: dir, Items: one("h.example/t/app:v1"), MountFrom: map[string][]string{"h.example": {"A B"}}})
	if fail.Code(err) != fail.Usage {
		t.Errorf("bad hint: %v", err)
	}
}

func TestHubs(t *testing.T) {
	dead := "127.0.0.1:1" // nobody listens there
	dir, items := images(t)
	items[0].Name = "ext/authz"
	items[0].References = []string{dead + "/release/ext/authz:v1", dead + "/ext/authz:v1", dead + "/authz:v1"}
	r, err := publish.Publish(t.Context(), publish.Options{Layout: dir, Items: items[:1], Keychain: anonymous{}})
	if fail.Code(err) != fail.Unavailable {
		t.Errorf("code %d of %v", fail.Code(err), err)
	}
	var hubs []string
	for _, ref := range r.References {
		hubs = append(hubs, ref.Hub)
		if ref.Class != registry.Unreachable {
			t.Errorf("%+v", ref)
		}
	}
	if diff := cmp.Diff([]string{dead + "/release", dead, dead}, hubs); diff != "" {
		t.Errorf("hubs (-want +got):\n%s", diff)
	}
}
