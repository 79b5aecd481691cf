// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

func TestLockIsWritten(t *testing.T) {
	w := newWorld(t)
	binary, archive := amd64(3000), envoyArchive(t, amd64(4000))
	zs, es := newServer(t, binary), newServer(t, archive)
	lock := w.lock("")
	w.options.Lock, w.options.UpdateLock = lock, true
	z, e := w.ztunnel(zs.URL+"/z"), w.envoy(es.URL+"/e")
	local := w.ztunnel(w.path("local"))
	local.Dest, local.Copies = w.path("other", "l"), nil
	w.write(w.path("local"), binary)
	var wait sync.WaitGroup
	for _, item := range []Item{z, e, local} {
		wait.Go(func() {
			if _, err := Fetch(t.Context(), item, w.options); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if err := lock.Save(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(w.printed.String(), "nothing says") {
		t.Errorf("what is being pinned is called unpinned:\n%s", w.printed)
	}
	got, _ := os.ReadFile(w.path("prebuilt.lock"))
	want := []Entry{{zs.URL + "/z", sum(binary), 3000}, {es.URL + "/e", sum(archive), int64(len(archive))}}
	if want[0].URL > want[1].URL {
		want[0], want[1] = want[1], want[0]
	}
	text := lockHeader + "version: 1\nfiles:\n"
	for _, e := range want {
		text += "  - url: " + e.URL + "\n    sha256: " + e.SHA256 + "\n    size: " + strconv.FormatInt(e.Size, 10) + "\n"
	}
	if diff := cmp.Diff(text, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// Read back, it verifies, and nothing is written without a change.
	lock = w.lock("")
	if diff := cmp.Diff(want, lock.Entries()); diff != "" {
		t.Error(diff)
	}
	os.RemoveAll(w.path("out"))
	os.RemoveAll(w.path("cache"))
	if got := w.must(z); !got.Verified {
		t.Errorf("not verified: %+v", got)
	}
	os.Remove(w.path("prebuilt.lock"))
	if err := lock.Save(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.path("prebuilt.lock")); err == nil {
		t.Error("an unchanged lock was written")
	}
	lock.Retain([]URL{URL("http://me:secret@" + strings.TrimPrefix(es.URL, "http://") + "/e")})
	if got := lock.Entries(); len(got) != 1 || got[0].URL != es.URL+"/e" {
		t.Errorf("retained %v", got)
	}
	if err := lock.Save(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.path("prebuilt.lock")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(w.path(ownDir)); err == nil {
		t.Error("a folder of ours stands beside the lock")
	}
}

// A lock can be filled from what is in place, without the network.
func TestLockFromWhatIsInPlace(t *testing.T) {
	w := newWorld(t)
	archive := envoyArchive(t, amd64(4000))
	s := newServer(t, archive)
	item := w.envoy(s.URL + "/e")
	w.must(item)
	w.lock("")
	w.options.UpdateLock, w.options.Offline = true, true
	w.must(item)
	if diff := cmp.Diff([]Entry{{s.URL + "/e", sum(archive), int64(len(archive))}}, w.options.Lock.Entries()); diff != "" {
		t.Error(diff)
	}
}

func TestReadLock(t *testing.T) {
	good := strings.Repeat("a", 64)
	for name, c := range map[string]struct {
		content string
		want    []string // of the error; none: success
	}{
		"YAML":            {"version: 1\nfiles:\n- {url: u, sha256: " + good + "}\n", nil},
		"JSON":            {`{"version":1,"files":[{"url":"u","sha256":"` + good + `","size":7}]}`, nil},
		"no files":        {"version: 1\n", nil},
		"empty":           {"", []string{"EOF"}},
		"no YAML":         {"{", []string{"yaml"}},
		"unknown key":     {"version: 1\nfile: []\n", []string{"line 2", "file"}},
		"unknown version": {"version: 2\n", []string{"version is 2"}},
		"unknown entry":   {"version: 1\nfiles:\n- {url: u, sha265: " + good + "}\n", []string{":3:", "sha265"}},
		"no url":          {"version: 1\nfiles:\n- {sha256: " + good + "}\n", []string{":3:", "no url"}},
		"short sha256":    {"version: 1\nfiles:\n- {url: u, sha256: abc}\n", []string{":3:", `"u"`, `"abc"`}},
		"upper case":      {"version: 1\nfiles:\n- {url: u, sha256: " + strings.ToUpper(good) + "}\n", []string{"lower-case"}},
		"negative size":   {"version: 1\nfiles:\n- {url: u, sha256: " + good + ", size: -1}\n", []string{"-1"}},
		"twice":           {"version: 1\nfiles:\n- {url: u, sha256: " + good + "}\n- {url: u, sha256: " + good + "}\n", []string{":4:", "twice"}},
	} {
		path := t.TempDir() + "/prebuilt.lock"
		os.WriteFile(path, []byte(c.content), 0o600)
		_, err := ReadLock(path)
		if c.want == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			wantError(t, err, append(c.want, path)...)
			if fail.Code(err) != fail.Usage {
				t.Errorf("code %d", fail.Code(err))
			}
		})
	}
	var none *Lock
	if _, ok := none.Find("u"); ok || none.Path() != "" || none.Entries() != nil {
		t.Error("a nil lock knows something")
	}
}
