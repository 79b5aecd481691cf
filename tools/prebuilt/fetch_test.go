// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

func TestFetchArchive(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	w := newWorld(t)
	binary := amd64(100 << 10)
	archive := envoyArchive(t, binary)
	s := newServer(t, archive)
	item := w.envoy(s.URL + "/envoy-alpha-v1.tar.gz")

	got := w.must(item)
	want := Fetched{Path: item.Dest, SHA256: sum(binary), Size: int64(len(binary)), From: FromDownload, Download: sum(archive)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, path := range append(item.Copies, item.Dest) {
		w.holds(path, binary)
	}
	w.noLitter()
	w.says("nothing says which checksum", sum(archive), "mage prebuilt:lock")

	if got := w.must(item); got.From != FromPlace || got.SHA256 != sum(binary) || got.Download != sum(archive) {
		t.Errorf("second time: %+v", got)
	}
	if n := len(s.ranges()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestFetchProgram(t *testing.T) {
	w := newWorld(t)
	binary := amd64(5000)
	s := newServer(t, binary)
	item := w.ztunnel(s.URL + "/ztunnel-v1-amd64")
	item.SHA256 = sum(binary)
	got := w.must(item)
	if !got.Verified {
		t.Errorf("not verified: %+v", got)
	}
	for _, path := range append(item.Copies, item.Dest) {
		w.holds(path, binary)
	}
	if strings.Contains(w.printed.String(), "nothing says") {
		t.Errorf("a pinned program is called unverified:\n%s", w.printed)
	}
}

// Where the program is found again, by what happened since it was placed.
func TestWhatIsUsedAgain(t *testing.T) {
	binary := amd64(3000)
	altered := bytes.Clone(binary)
	altered[2000] ^= 1
	for name, c := range map[string]struct {
		happens  func(w *world, it *Item)
		want     From
		requests int
		says     string
	}{
		"nothing":   {func(*world, *Item) {}, FromPlace, 0, ""},
		"truncated": {func(_ *world, it *Item) { os.Truncate(it.Dest, 1000) }, FromCache, 0, "replaced"},
		"altered":   {func(w *world, it *Item) { w.write(it.Dest, altered) }, FromCache, 0, "replaced"},
		"altered, and its time set back": {func(w *world, it *Item) {
			info, _ := os.Stat(it.Dest)
			w.write(it.Dest, altered)
			os.Chtimes(it.Dest, info.ModTime(), info.ModTime())
		}, FromCache, 0, "replaced"},
		"touched":        {func(_ *world, it *Item) { os.Chtimes(it.Dest, time.Now(), time.Now()) }, FromPlace, 0, ""},
		"not executable": {func(_ *world, it *Item) { os.Chmod(it.Dest, 0o600) }, FromPlace, 0, ""},
		"removed":        {func(_ *world, it *Item) { os.Remove(it.Dest) }, FromCache, 0, ""},
		"out removed":    {func(w *world, _ *Item) { os.RemoveAll(w.path("out")) }, FromCache, 0, ""},
		"record removed": {func(_ *world, it *Item) { os.Remove(recordPath(it.Dest)) }, FromCache, 0, "replaced"},
		"record damaged": {func(w *world, it *Item) { w.write(recordPath(it.Dest), []byte(`{"format":`)) }, FromCache, 0, "replaced"},
		"copy removed":   {func(_ *world, it *Item) { os.Remove(it.Copies[1]) }, FromPlace, 0, ""},
		"copy altered":   {func(w *world, it *Item) { w.write(it.Copies[1], altered) }, FromPlace, 0, "replaced"},
		"copy truncated": {func(_ *world, it *Item) { os.Truncate(it.Copies[0], 10) }, FromPlace, 0, "replaced"},
		"copy not executable": {func(_ *world, it *Item) {
			os.Chmod(it.Copies[0], 0o644)
		}, FromPlace, 0, ""},
		"out and cache removed": {func(w *world, _ *Item) {
			os.RemoveAll(w.path("out"))
			os.RemoveAll(w.path("cache"))
		}, FromDownload, 1, ""},
		"cache removed": {func(w *world, _ *Item) { os.RemoveAll(w.path("cache")) }, FromPlace, 0, ""},
		"cache truncated": {func(w *world, it *Item) {
			os.RemoveAll(w.path("out"))
			os.Truncate(w.job(*it).blobPath(), 10)
		}, FromDownload, 1, ""},
		"cache altered": {func(w *world, it *Item) {
			os.RemoveAll(w.path("out"))
			w.write(w.job(*it).blobPath(), altered)
		}, FromDownload, 1, ""},
		"another URL":      {func(_ *world, it *Item) { it.URL += "-mirror" }, FromDownload, 1, ""},
		"another checksum": {func(_ *world, it *Item) { it.SHA256 = sum(binary) }, FromPlace, 0, ""},
		"a symbolic link in its place": {func(w *world, it *Item) {
			w.write(w.path("other"), altered)
			os.Remove(it.Dest)
			os.Symlink(w.path("other"), it.Dest)
		}, FromCache, 0, "replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := newServer(t, binary)
			item := w.ztunnel(s.URL + "/ztunnel")
			w.must(item)
			w.printed.b.Reset()
			c.happens(w, &item)

			if foreseen, err := Look(t.Context(), item, w.options); err != nil || foreseen != c.want {
				t.Errorf("Look says %q, %v; want %q", foreseen, err, c.want)
			}
			if got := w.must(item); got.From != c.want {
				t.Errorf("from %q, want %q", got.From, c.want)
			}
			for _, path := range append(item.Copies, item.Dest) {
				w.holds(path, binary)
			}
			if n := len(s.ranges()) - 1; n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if replaced := strings.Contains(w.printed.String(), "replaced"); replaced != (c.says != "") {
				t.Errorf("printed:\n%s", w.printed)
			}
			if got := w.must(item); got.From != FromPlace {
				t.Errorf("next time from %q", got.From)
			}
			w.noLitter()
		})
	}
}

func (w *world) job(item Item) *job {
	w.t.Helper()
	j, err := newJob(item, w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// A file that an older tool, or an interrupted one, left without a record.
func TestFileWithoutRecord(t *testing.T) {
	binary := amd64(3000)
	s := newServer(t, binary)
	t.Run("is not trusted", func(t *testing.T) {
		w := newWorld(t)
		item := w.ztunnel(s.URL + "/z")
		w.write(item.Dest, binary[:1500])
		if got := w.must(item); got.From != FromDownload {
			t.Errorf("from %q", got.From)
		}
		w.holds(item.Dest, binary)
		w.says("replaced " + item.Dest)
	})
	t.Run("is taken when it is the pinned one", func(t *testing.T) {
		w := newWorld(t)
		w.options.Offline = true
		item := w.ztunnel(s.URL + "/z")
		item.SHA256 = sum(binary)
		w.write(item.Dest, binary)
		if got := w.must(item); got.From != FromPlace || !got.Verified {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("belongs to the user at a path of theirs", func(t *testing.T) {
		w := newWorld(t)
		w.options.Offline = true
		item := w.ztunnel(s.URL + "/z")
		item.Named, item.Dest = true, w.path("mine", "ztunnel")
		theirs := program(elf.EM_X86_64, 900, 9)
		w.write(item.Dest, theirs)
		for range 2 {
			if got := w.must(item); got.From != FromUser || got.SHA256 != sum(theirs) || got.Verified {
				t.Errorf("got %+v", got)
			}
		}
		w.holds(item.Copies[1], theirs)
		if entries, _ := os.ReadDir(filepath.Dir(item.Dest)); len(entries) != 1 {
			t.Errorf("something was written beside the user's file: %v", entries)
		}
		w.write(item.Dest, theirs[:500])
		_, err := w.fetch(item)
		wantError(t, err, item.Dest, "truncated")
		if fail.Code(err) != fail.Usage {
			t.Errorf("code %d", fail.Code(err))
		}
	})
	t.Run("is fetched to a path of the user that is empty", func(t *testing.T) {
		w := newWorld(t)
		item := w.ztunnel(s.URL + "/z")
		item.Named, item.Dest = true, w.path("mine", "ztunnel")
		w.must(item)
		os.Truncate(item.Dest, 100)
		w.must(item)
		w.holds(item.Dest, binary)
	})
}

func TestWrongContent(t *testing.T) {
	binary, other := amd64(3000), program(elf.EM_X86_64, 2900, 7)
	t.Run("of a Source with a checksum", func(t *testing.T) {
		w := newWorld(t)
		s := newServer(t, other)
		item := w.ztunnel(s.URL + "/ztunnel")
		item.SHA256 = sum(binary)
		w.write(item.Copies[1], []byte("old"))
		_, err := w.fetch(item)
		wantError(t, err, "fetching ztunnel v1 from "+s.URL+"/ztunnel, given by ISTIO_ZTUNNEL_RELEASE_URL: ", sum(binary), sum(other), "2900 bytes", "deleted")
		if fail.Code(err) != fail.Failed {
			t.Errorf("code %d: it must not pass for something that is missing", fail.Code(err))
		}
		if _, err := os.Stat(item.Dest); err == nil {
			t.Error("it was placed")
		}
		if got, _ := os.ReadFile(item.Copies[1]); string(got) != "old" {
			t.Error("a copy was touched")
		}
		w.noLitter()
		if _, err := os.Stat(w.job(item).blobPath()); err == nil {
			t.Error("it was kept")
		}
	})
	t.Run("of a URL in the lock", func(t *testing.T) {
		w := newWorld(t)
		s := newServer(t, other)
		item := w.ztunnel(s.URL + "/ztunnel")
		w.lock("version: 1\nfiles:\n- url: " + s.URL + "/ztunnel\n  sha256: " + sum(binary) + "\n")
		_, err := w.fetch(item)
		wantError(t, err, sum(binary), sum(other), w.path("prebuilt.lock"))
		w.options.UpdateLock = true
		_, err = w.fetch(item)
		wantError(t, err, w.path("prebuilt.lock"))
	})
	t.Run("of a URL that was seen before", func(t *testing.T) {
		w := newWorld(t)
		s := newServer(t, binary)
		item := w.ztunnel(s.URL + "/ztunnel")
		w.must(item)
		s.change(other, `"two"`)
		os.RemoveAll(w.path("out"))
		os.Remove(w.job(item).blobPath())
		_, err := w.fetch(item)
		known := w.job(item).keyPath() + ".json"
		wantError(t, err, sum(binary), sum(other), "if the new one is right, remove "+known)
		os.Remove(known)
		w.must(item)
		w.holds(item.Dest, other)
	})
	t.Run("in place since the lock changed", func(t *testing.T) {
		w := newWorld(t)
		s := newServer(t, binary)
		item := w.ztunnel(s.URL + "/ztunnel")
		w.must(item)
		item.SHA256 = sum(other)
		_, err := w.fetch(item)
		wantError(t, err, sum(other))
		s.change(other, `"two"`)
		w.must(item)
		w.holds(item.Copies[0], other)
	})
}

func (w *world) lock(content string) *Lock {
	w.t.Helper()
	if content != "" {
		w.write(w.path("prebuilt.lock"), []byte(content))
	}
	l, err := ReadLock(w.path("prebuilt.lock"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.options.Lock = l
	return l
}

func TestWrongMachine(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		want    []string
	}{
		"another processor": {program(elf.EM_AARCH64, 3000, 1), []string{"linux/arm64", "linux/amd64"}},
		"cut short":         {amd64(3000)[:2000], []string{"truncated ELF", "2000 bytes"}},
		"header only":       {amd64(3000)[:40], []string{"truncated ELF"}},
		"for macOS":         {append([]byte("\xcf\xfa\xed\xfe"), make([]byte, 600)...), []string{"macOS"}},
		"for Windows":       {append([]byte("MZ"), make([]byte, 600)...), []string{"Windows"}},
		"a script":          {[]byte("#!/bin/sh\nexit 0\n"), []string{"a script"}},
		"an HTML page":      {[]byte("\n<!DOCTYPE html><html><title>Login</title>"), []string{"an HTML page"}},
		"XML":               {[]byte("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"), []string{"XML", "AccessDenied"}},
		"JSON":              {[]byte(`{"error":"no"}`), []string{"JSON", "no"}},
		"text":              {[]byte("not found"), []string{`"not found"`}},
		"nothing":           {nil, []string{"an empty file"}},
		"Git LFS":           {[]byte("version https://git-lfs.github.com/spec/v1\n"), []string{"Git LFS pointer"}},
		"a zip archive":     {[]byte("PK\x03\x04aaaa"), []string{"zip"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := newServer(t, c.content)
			for _, url := range []string{s.URL + "/z", w.path("local")} {
				w.write(w.path("local"), c.content)
				item := w.ztunnel(url)
				_, err := w.fetch(item)
				wantError(t, err, c.want...)
				if _, err := os.Stat(item.Dest); err == nil {
					t.Errorf("%s: it was placed", url)
				}
				w.noLitter()
			}
			if n := len(s.ranges()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
			// It is not offered again from the cache.
			s.change(amd64(3000), `"good"`)
			w.must(w.ztunnel(s.URL + "/z"))
		})
	}
}

func TestFileSources(t *testing.T) {
	binary := amd64(3000)
	for name, url := range map[string]func(dir string) string{
		"plain path":         func(d string) string { return d + "/my dir/z 100%.bin" },
		"relative path":      func(string) string { return "./my dir/z 100%.bin" },
		"file:/path":         func(d string) string { return "file:" + d + "/my dir/z 100%.bin" },
		"file:///path":       func(d string) string { return "file://" + d + "/my dir/z 100%.bin" },
		"file://localhost":   func(d string) string { return "file://localhost" + d + "/my%20dir/z%20100%25.bin" },
		"encoded":            func(d string) string { return "FILE://" + d + "/my%20dir/z%20100%25.bin" },
		"relative with file": func(string) string { return "file:my dir/z 100%.bin" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write(w.path("my dir", "z 100%.bin"), binary)
			w.options.Offline = true
			item := w.ztunnel(url(w.dir))
			if got := w.must(item); got.From != FromFile {
				t.Errorf("from %q", got.From)
			}
			w.holds(item.Dest, binary)
			if got := w.must(item); got.From != FromPlace {
				t.Errorf("second time from %q", got.From)
			}
			// A file of the user may change under its name.
			changed := program(elf.EM_X86_64, 3000, 5)
			w.write(w.path("my dir", "z 100%.bin"), changed)
			if got := w.must(item); got.From != FromFile {
				t.Errorf("after a change from %q", got.From)
			}
			w.holds(item.Copies[0], changed)
			if _, err := os.Stat(w.path("cache")); err == nil {
				t.Error("a local file was put into the cache")
			}
		})
	}
	t.Run("a program in place of an archive", func(t *testing.T) {
		w := newWorld(t)
		w.write(w.path("envoy"), binary)
		item := w.envoy(w.path("envoy"))
		w.must(item)
		w.holds(item.Dest, binary)
	})
	t.Run("an archive in place of a program", func(t *testing.T) {
		w := newWorld(t)
		w.write(w.path("z.tar.gz"), targz(t, file("README"), file("bin/ztunnel"))([]byte("hi"), binary))
		item := w.ztunnel(w.path("z.tar.gz"))
		w.must(item)
		w.holds(item.Dest, binary)
	})
	t.Run("missing", func(t *testing.T) {
		w := newWorld(t)
		_, err := w.fetch(w.ztunnel("file:/no/such/file"))
		wantError(t, err, `"/no/such/file"`, "ISTIO_ZTUNNEL_RELEASE_URL")
		if fail.Code(err) != fail.Usage {
			t.Errorf("code %d", fail.Code(err))
		}
		_, err = w.fetch(w.ztunnel(w.dir))
		wantError(t, err, "not a regular file")
	})
	t.Run("with a checksum", func(t *testing.T) {
		w := newWorld(t)
		w.write(w.path("z"), binary)
		item := w.ztunnel(w.path("z"))
		item.SHA256 = strings.Repeat("0", 64)
		_, err := w.fetch(item)
		wantError(t, err, sum(binary), item.SHA256)
		if _, err := os.Stat(w.path("z")); err != nil {
			t.Error("the user's file was deleted")
		}
		item.SHA256 = sum(binary)
		if got := w.must(item); !got.Verified {
			t.Error("not verified")
		}
	})
}

func TestOffline(t *testing.T) {
	w := newWorld(t)
	s := newServer(t, amd64(3000))
	w.options.Offline = true
	_, err := w.fetch(w.ztunnel(s.URL + "/ztunnel-v1-amd64"))
	wantError(t, err, "ztunnel v1", s.URL+"/ztunnel-v1-amd64", "ISTIO_ZTUNNEL_RELEASE_URL", "WAY=one", "WAY=two", "network is switched off")
	if fail.Code(err) != fail.Unavailable {
		t.Errorf("code %d, want %d", fail.Code(err), fail.Unavailable)
	}
	w.options.Offline = false
	w.must(w.ztunnel(s.URL + "/z"))
	w.options.Offline = true
	os.RemoveAll(w.path("out"))
	if got := w.must(w.ztunnel(s.URL + "/z")); got.From != FromCache {
		t.Errorf("from %q", got.From)
	}
}

func TestNobodyListens(t *testing.T) {
	w := newWorld(t)
	s := newServer(t, nil)
	s.Close()
	_, err := w.fetch(w.ztunnel(s.URL + "/z"))
	wantError(t, err, "connection refused", "tried 5 times", "WAY=one")
	if fail.Code(err) != fail.Unavailable {
		t.Errorf("code %d", fail.Code(err))
	}
	if strings.Count(err.Error(), s.URL) != 1 {
		t.Errorf("the address is not there once:\n%v", err)
	}
	if len(w.waits) != 4 || w.waits[3] < 4*time.Second {
		t.Errorf("waits %v", w.waits)
	}
}

func TestUsage(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Item, *Options)
		want   []string
	}{
		"no URL":         {func(it *Item, _ *Options) { it.URL = "" }, []string{"a URL"}},
		"no place":       {func(it *Item, _ *Options) { it.Dest = "" }, []string{"destination"}},
		"bad checksum":   {func(it *Item, _ *Options) { it.SHA256 = "ABC" }, []string{`"ABC"`, "64"}},
		"bad scheme":     {func(it *Item, _ *Options) { it.URL = "gs://bucket/z" }, []string{`"gs"`, "https:", "ISTIO_ZTUNNEL_RELEASE_URL"}},
		"bad reference":  {func(it *Item, _ *Options) { it.URL = "oci://example.com/Z" }, []string{"oci:"}},
		"bad pattern":    {func(it *Item, _ *Options) { it.Member = "[" }, []string{`"["`}},
		"other system":   {func(it *Item, _ *Options) { it.Platform = "darwin/arm64" }, []string{"darwin/arm64"}},
		"no cache":       {func(_ *Item, o *Options) { o.Cache = "" }, []string{"cache"}},
		"unparsable URL": {func(it *Item, _ *Options) { it.URL = "http://user:secret@[::1/z" }, []string{"not a URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			item := w.ztunnel("http://127.0.0.1:1/z")
			c.change(&item, &w.options)
			_, err := w.fetch(item)
			wantError(t, err, c.want...)
			if fail.Code(err) != fail.Usage {
				t.Errorf("code %d: %v", fail.Code(err), err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is in %v", err)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Fetch(ctx, w.ztunnel("http://127.0.0.1:1/z"), w.options)
	if fail.Code(err) != fail.Interrupted {
		t.Errorf("code %d of %v", fail.Code(err), err)
	}
}

func TestItemAsJSON(t *testing.T) {
	w := newWorld(t)
	item := w.envoy("https://user:secret@example.com/a?token=secret")
	raw, err := json.Marshal(item)
	if err != nil || strings.Contains(string(raw), "secret") || !strings.Contains(string(raw), `"url":"https://example.com/a?…"`) {
		t.Errorf("%s, %v", raw, err)
	}
}
