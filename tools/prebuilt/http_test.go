// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

const bodySize = 3 << 20

// cut answers with the whole length and ends the connection after n bytes.
func cut(content []byte, n int, etag string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if etag != "" {
			w.Header().Set("ETag", etag)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:n])
		w.(http.Flusher).Flush()
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.Close()
	}
}

// reset answers a Range as it should, but resets the connection after n bytes.
func reset(content []byte, n int, etag string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start := 0
		_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &start)
		w.Header().Set("ETag", etag)
		w.Header().Set("Content-Length", strconv.Itoa(len(content)-start))
		if start > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(content[start : start+n])
		w.(http.Flusher).Flush()
		conn, _, _ := w.(http.Hijacker).Hijack()
		// What is in flight may be thrown away by a reset; it must have arrived
		// for the test to know how many bytes count.
		time.Sleep(50 * time.Millisecond)
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

func answer(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

// ignoreRange sends the whole file whatever was asked for.
func ignoreRange(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"one"`)
		_, _ = w.Write(content)
	}
}

func TestFaultsThatPass(t *testing.T) {
	content := amd64(bodySize)
	const part = 1 << 20
	rest := fmt.Sprintf("bytes=%d-", part)
	for name, c := range map[string]struct {
		faults   []http.HandlerFunc
		etag     string // of the good answers; "" for none
		checksum bool   // it is known
		ranges   []string
	}{
		"cut short":              {[]http.HandlerFunc{cut(content, part, `"one"`)}, `"one"`, false, []string{"", rest}},
		"reset":                  {[]http.HandlerFunc{reset(content, part, `"one"`)}, `"one"`, false, []string{"", rest}},
		"reset while going on":   {[]http.HandlerFunc{reset(content, part, `"one"`), reset(content, part, `"one"`)}, `"one"`, false, []string{"", rest, "bytes=2097152-"}},
		"no header came":         {[]http.HandlerFunc{hangUp}, `"one"`, false, []string{"", ""}},
		"500":                    {[]http.HandlerFunc{answer(500)}, `"one"`, false, []string{"", ""}},
		"502 502 503 504":        {[]http.HandlerFunc{answer(502), answer(502), answer(503), answer(504)}, `"one"`, false, []string{"", "", "", "", ""}},
		"429 amid a download":    {[]http.HandlerFunc{cut(content, part, `"one"`), answer(429)}, `"one"`, false, []string{"", rest, rest}},
		"ranges are ignored":     {[]http.HandlerFunc{cut(content, part, `"one"`), ignoreRange(content)}, `"one"`, false, []string{"", rest}},
		"it changed (If-Range)":  {[]http.HandlerFunc{cut(program(elf.EM_X86_64, bodySize, 3), part, `"zero"`)}, `"one"`, false, []string{"", rest}},
		"weak ETag":              {[]http.HandlerFunc{cut(content, part, `W/"one"`)}, `"one"`, false, []string{"", ""}},
		"no validator":           {[]http.HandlerFunc{cut(content, part, "")}, "", false, []string{"", ""}},
		"no validator, checksum": {[]http.HandlerFunc{cut(content, part, "")}, "", true, []string{"", rest}},
		"weak ETag, checksum":    {[]http.HandlerFunc{cut(content, part, `W/"one"`)}, `"one"`, true, []string{"", rest}},
		"it changed, checksum":   {[]http.HandlerFunc{cut(program(elf.EM_X86_64, bodySize, 3), part, "")}, "", true, []string{"", rest, ""}},
		"another range came":     {[]http.HandlerFunc{cut(content, part, `"one"`), answer(206, "Content-Range", "bytes 5-9/3145728", "Content-Length", "0")}, `"one"`, false, []string{"", rest, ""}},
		"another total came":     {[]http.HandlerFunc{cut(content, part, `"one"`), answer(206, "Content-Range", "bytes 1048576-1048577/1048578", "ETag", `"one"`)}, `"one"`, false, []string{"", rest, ""}},
		"another ETag came":      {[]http.HandlerFunc{cut(content, part, `"one"`), answer(206, "Content-Range", "bytes 1048576-3145727/3145728", "ETag", `"two"`)}, `"one"`, false, []string{"", rest, ""}},
		"nonsense range came":    {[]http.HandlerFunc{cut(content, part, `"one"`), answer(206, "Content-Range", "items 1-2/3")}, `"one"`, false, []string{"", rest, ""}},
		"no such range":          {[]http.HandlerFunc{cut(content, part, `"one"`), answer(416, "Content-Range", "bytes */17")}, `"one"`, false, []string{"", rest, ""}},
		"redirected":             {[]http.HandlerFunc{answer(302, "Location", "/b?sig=1"), answer(307, "Location", "/c")}, `"one"`, false, []string{"", "", ""}},
		"redirected going on":    {[]http.HandlerFunc{cut(content, part, `"one"`), answer(302, "Location", "/b")}, `"one"`, false, []string{"", rest, rest}},
		"short 206":              {[]http.HandlerFunc{cut(content, part, `"one"`), short206(content, part)}, `"one"`, false, []string{"", rest, "bytes=1048676-"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := newServer(t, content, c.faults...)
			s.etag = c.etag
			item := w.ztunnel(s.URL + "/z")
			if c.checksum {
				item.SHA256 = sum(content)
			}
			w.must(item)
			w.holds(item.Dest, content)
			if diff := cmp.Diff(c.ranges, s.ranges()); diff != "" {
				t.Errorf("ranges, -want +got:\n%s\n%s", diff, w.printed)
			}
			for i, h := range s.requests {
				if ifRange := h.Get("If-Range"); h.Get("Range") != "" && !c.checksum && ifRange == "" {
					t.Errorf("request %d asks for a part without If-Range", i)
				}
				if h.Get("Accept-Encoding") != "identity" || h.Get("Referer") != "" {
					t.Errorf("request %d: %v", i, h)
				}
			}
			w.noLitter()
		})
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, _ := w.(http.Hijacker).Hijack()
	_ = conn.Close()
}

// short206 ends properly, but before the end of the file.
func short206(content []byte, from int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+99, len(content)))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(content[from : from+100])
	}
}

func TestFaultsThatStay(t *testing.T) {
	for name, c := range map[string]struct {
		fault    http.HandlerFunc
		requests int
		code     int
		want     []string
	}{
		"404":                 {answer(404), 1, fail.Unavailable, []string{"404 Not Found: the server has no such file", "WAY=one"}},
		"403":                 {answer(403), 1, fail.Unavailable, []string{"403 Forbidden", "WAY=one"}},
		"401":                 {answer(401), 1, fail.Unavailable, []string{"401"}},
		"204":                 {answer(204), 1, fail.Unavailable, []string{"204"}},
		"503 for ever":        {answer(503), 5, fail.Unavailable, []string{"503", "tried 5 times", "WAY=two"}},
		"far Retry-After":     {answer(503, "Retry-After", "3600"), 1, fail.Unavailable, []string{"1h0m0s", "503"}},
		"a circle":            {answer(302, "Location", "/again"), maxRedirects + 1, fail.Unavailable, []string{"redirect", "10"}},
		"a login page":        {page, 1, fail.Failed, []string{"an HTML page"}},
		"too large":           {answer(200, "Content-Length", "99999999999"), 1, fail.Failed, []string{"99999999999", "limit of 4194304"}},
		"too large, unsaid":   {endless, 1, fail.Failed, []string{"limit of 4194304"}},
		"redirect to a file:": {answer(302, "Location", "file:///etc/passwd"), 1, fail.Unavailable, []string{"unsupported protocol"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.options.Limits.Download = 4 << 20
			faults := make([]http.HandlerFunc, 30)
			for i := range faults {
				faults[i] = c.fault
			}
			s := newServer(t, amd64(1000), faults...)
			_, err := w.fetch(w.ztunnel(s.URL + "/z"))
			wantError(t, err, append(c.want, "fetching ztunnel v1 from "+s.URL+"/z")...)
			if fail.Code(err) != c.code {
				t.Errorf("code %d, want %d", fail.Code(err), c.code)
			}
			if n := len(s.ranges()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if _, err := os.Stat(w.path("out")); err == nil {
				t.Error("something was placed")
			}
		})
	}
}

func page(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("<!doctype html><html><body>Please log in</body></html>"))
}

func endless(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write(amd64(1 << 20))
	for {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return
		}
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		value     string
		low, high time.Duration
	}{
		"seconds": {"7", 7 * time.Second, 7 * time.Second},
		"date":    {time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat), 20 * time.Second, 30 * time.Second},
		"past":    {time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 800 * time.Millisecond, 1200 * time.Millisecond},
		"none":    {"", 800 * time.Millisecond, 1200 * time.Millisecond},
		"foolish": {"-3", 800 * time.Millisecond, 1200 * time.Millisecond},
	} {
		w := newWorld(t)
		s := newServer(t, amd64(1000), answer(429, "Retry-After", c.value))
		w.must(w.ztunnel(s.URL + "/z"))
		if len(w.waits) != 1 || w.waits[0] < c.low || w.waits[0] > c.high {
			t.Errorf("%s: waits %v, want one between %v and %v", name, w.waits, c.low, c.high)
		}
	}
}

// A line that breaks often but brings a megabyte each time is not given up; one
// that always breaks at the same byte is.
func TestProgressCounts(t *testing.T) {
	content := amd64(12 << 20)
	step := 1<<20 + 4096
	t.Run("it gets on", func(t *testing.T) {
		w := newWorld(t)
		w.options.Retry.Attempts = 2
		var faults []http.HandlerFunc
		for range 10 {
			faults = append(faults, reset(content, step, `"one"`))
		}
		s := newServer(t, content, faults...)
		item := w.ztunnel(s.URL + "/z")
		w.must(item)
		w.holds(item.Dest, content)
	})
	t.Run("it does not", func(t *testing.T) {
		w := newWorld(t)
		w.options.Retry.Attempts = 4
		var faults []http.HandlerFunc
		for i := range 50 { // back and forth, never further
			faults = append(faults, cut(content, step*(1+i%2), ""))
		}
		s := newServer(t, content, faults...)
		s.etag = ""
		_, err := w.fetch(w.ztunnel(s.URL + "/z"))
		wantError(t, err, "tried 4 times", "unexpected EOF")
		if n := len(s.ranges()); n > 10 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestStall(t *testing.T) {
	w := newWorld(t)
	w.options.Limits.Idle = 300 * time.Millisecond
	content := amd64(bodySize)
	release := make(chan struct{})
	silent := func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("ETag", `"one"`)
		rw.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = rw.Write(content[:1<<20])
		rw.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	mute := func(http.ResponseWriter, *http.Request) { <-release }
	s := newServer(t, content, silent, mute)
	t.Cleanup(func() { close(release) })
	item := w.ztunnel(s.URL + "/z")
	w.must(item)
	w.holds(item.Dest, content)
	w.says("no byte arrived")
	if diff := cmp.Diff([]string{"", "bytes=1048576-", "bytes=1048576-"}, s.ranges()); diff != "" {
		t.Error(diff)
	}
}

// What one run has, the next one uses.
func TestNextRunGoesOn(t *testing.T) {
	content := amd64(bodySize)
	for name, c := range map[string]struct {
		between func(w *world, s *server, it *Item)
		ranges  []string
	}{
		"as it was":         {func(*world, *server, *Item) {}, []string{"", "bytes=1048576-"}},
		"changed meanwhile": {func(_ *world, s *server, _ *Item) { s.change(program(elf.EM_X86_64, bodySize, 4), `"two"`) }, []string{"", "bytes=1048576-"}},
		"another URL":       {func(_ *world, _ *server, it *Item) { it.URL += "2" }, []string{"", ""}},
		"bytes lost": {func(w *world, _ *server, it *Item) {
			os.Truncate(w.job(*it).keyPath()+".partial", 100)
		}, []string{"", ""}},
		"more bytes than are known to be whole": {func(w *world, _ *server, it *Item) {
			f, _ := os.OpenFile(w.job(*it).keyPath()+".partial", os.O_APPEND|os.O_WRONLY, 0)
			f.Write(make([]byte, bodySize))
			f.Close()
		}, []string{"", "bytes=1048576-"}},
		"what is known lost": {func(w *world, _ *server, it *Item) { os.Remove(w.job(*it).keyPath() + ".partial.json") }, []string{"", ""}},
		"an error page since": {func(w *world, s *server, it *Item) {
			s.faults = []http.HandlerFunc{page}
			_, err := w.fetch(*it)
			wantError(w.t, err, "HTML")
		}, []string{"", "bytes=1048576-", "bytes=1048576-"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			s := newServer(t, content, func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("ETag", `"one"`)
				rw.Header().Set("Content-Length", strconv.Itoa(len(content)))
				_, _ = rw.Write(content[:1<<20])
				rw.(http.Flusher).Flush()
				waitForSize(w, 1<<20)
				cancel(context.Canceled)
				<-r.Context().Done()
			})
			item := w.ztunnel(s.URL + "/z")
			if _, err := Fetch(ctx, item, w.options); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			c.between(w, s, &item)
			w.must(item)
			w.holds(item.Dest, s.content)
			if diff := cmp.Diff(c.ranges, s.ranges()); diff != "" {
				t.Errorf("ranges, -want +got:\n%s", diff)
			}
			if got, _ := os.Stat(w.job(item).keyPath() + ".partial"); got != nil {
				t.Error("the partial download is still there")
			}
		})
	}
}

// waitForSize waits until a partial download has that many bytes.
func waitForSize(w *world, size int64) {
	for range 1000 {
		entries, _ := os.ReadDir(w.path("cache"))
		for _, e := range entries {
			if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".partial") && info.Size() >= size {
				return
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Error("the download does not get on")
}

func TestCompleteButNotMoved(t *testing.T) {
	w := newWorld(t)
	content := amd64(bodySize)
	s := newServer(t, content)
	item := w.ztunnel(s.URL + "/z")
	p := w.partial(item, content, partialMeta{Validator: `"one"`, Total: bodySize})
	w.must(item)
	w.holds(item.Dest, content)
	if diff := cmp.Diff([]string{fmt.Sprintf("bytes=%d-", len(content))}, s.ranges()); diff != "" {
		t.Errorf("%s\n%+v", diff, p)
	}
}

// partial leaves a partial download as an ended run would.
func (w *world) partial(item Item, content []byte, meta partialMeta) partialMeta {
	w.t.Helper()
	meta.Size = int64(len(content))
	path := w.job(item).keyPath() + ".partial"
	w.write(path, content)
	if err := writeJSON(path+".json", meta); err != nil {
		w.t.Fatal(err)
	}
	return meta
}

// Parts of two versions, which only the checksum tells: one more time, whole.
func TestPartsThatDoNotBelongTogether(t *testing.T) {
	w := newWorld(t)
	content := amd64(bodySize)
	s := newServer(t, content)
	item := w.ztunnel(s.URL + "/z")
	item.SHA256 = sum(content)
	w.partial(item, make([]byte, 1<<20), partialMeta{Validator: `"one"`, Total: bodySize})
	w.must(item)
	w.holds(item.Dest, content)
	if diff := cmp.Diff([]string{"bytes=1048576-", ""}, s.ranges()); diff != "" {
		t.Error(diff)
	}

	item.URL, item.SHA256 = item.URL+"2", strings.Repeat("0", 64)
	w.partial(item, make([]byte, 1<<20), partialMeta{Validator: `"one"`, Total: bodySize})
	_, err := w.fetch(item)
	wantError(t, err, item.SHA256)
	if n := len(s.ranges()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

func TestHTTPS(t *testing.T) {
	content := amd64(1000)
	plain := newServer(t, content)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/down":
			http.Redirect(w, r, plain.URL+"/z", http.StatusFound)
		case "/same":
			http.Redirect(w, r, "/z", http.StatusFound)
		default:
			_, _ = w.Write(content)
		}
	}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)

	w := newWorld(t)
	_, err := w.fetch(w.ztunnel(secure.URL + "/z"))
	wantError(t, err, "certificate", "WAY=one")
	if len(w.waits) != 0 {
		t.Error("a bad certificate was tried again")
	}

	w.options.Client = secure.Client()
	_, err = w.fetch(w.ztunnel(secure.URL + "/down"))
	wantError(t, err, "refused to follow a redirect", "from https")
	if len(w.waits) != 0 || len(plain.ranges()) != 0 {
		t.Errorf("%d waits, %d requests in the clear", len(w.waits), len(plain.ranges()))
	}
	w.must(w.ztunnel(secure.URL + "/same"))
	if w.options.Client.CheckRedirect != nil {
		t.Error("the caller's client was changed")
	}
}

// A server may mark what it stores as compressed; the stored bytes are what
// everybody has a checksum of.
func TestContentEncoding(t *testing.T) {
	w := newWorld(t)
	binary := amd64(1000)
	archive := envoyArchive(t, binary)
	s := newServer(t, archive, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		_, _ = rw.Write(archive)
	})
	item := w.envoy(s.URL + "/e.tar.gz")
	item.SHA256 = sum(archive)
	w.must(item)
	w.holds(item.Dest, binary)
}

func TestNoSecretIsTold(t *testing.T) {
	content := amd64(bodySize)
	for name, fault := range map[string]http.HandlerFunc{
		"success": nil, "404": answer(404), "cut": cut(content, 1<<20, ""), "no answer": hangUp, "wrong": page,
	} {
		w := newWorld(t)
		faults := []http.HandlerFunc{fault}
		if fault == nil {
			faults = nil
		}
		s := newServer(t, content, append(faults, answer(302, "Location", "/b?sig=hush3"), orWhole(fault))...)
		item := w.ztunnel("http://hush1:hush2@" + strings.TrimPrefix(s.URL, "http://") + "/z?X-Amz-Signature=hush4&x=hush5")
		w.lock("")
		w.options.UpdateLock = true
		_, err := w.fetch(item)
		if err == nil {
			if err := w.options.Lock.Save(); err != nil {
				t.Fatal(err)
			}
			if len(w.options.Lock.Entries()) != 1 {
				t.Error("nothing was locked")
			}
		}
		told := fmt.Sprint(w.printed, err)
		for path, content := range readAll(t, w.dir) {
			told += path
			if len(content) < 1<<16 {
				told += string(content)
			}
		}
		if i := strings.Index(told, "hush"); i >= 0 {
			t.Errorf("%s: told %q", name, told[max(0, i-80):i+5])
		}
		if user, pass, ok := basic(s.requests[0]); !ok || user != "hush1" || pass != "hush2" {
			t.Errorf("%s: user and password were not sent: %v", name, s.requests[0])
		}
	}
}

func orWhole(f http.HandlerFunc) http.HandlerFunc {
	if f == nil {
		return ignoreRange(amd64(bodySize))
	}
	return f
}

func basic(h http.Header) (string, string, bool) {
	return (&http.Request{Header: h}).BasicAuth()
}

func readAll(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := dir + "/" + e.Name()
		if e.IsDir() {
			for p, b := range readAll(t, path) {
				files[p] = b
			}
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = b
	}
	return files
}

func TestLastModifiedAsValidator(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		header []string
		want   string
	}{
		"strong ETag":        {[]string{"Etag", `"a"`, "Last-Modified", now.Format(http.TimeFormat)}, `"a"`},
		"old enough":         {[]string{"Etag", `W/"a"`, "Last-Modified", now.Add(-time.Second).Format(http.TimeFormat), "Date", now.Format(http.TimeFormat)}, now.Add(-time.Second).Format(http.TimeFormat)},
		"of the same second": {[]string{"Last-Modified", now.Format(http.TimeFormat), "Date", now.Format(http.TimeFormat)}, ""},
		"no Date":            {[]string{"Last-Modified", now.Format(http.TimeFormat)}, ""},
		"no date":            {[]string{"Last-Modified", "yesterday", "Date", now.Format(http.TimeFormat)}, ""},
		"nothing":            {nil, ""},
	} {
		h := http.Header{}
		for i := 0; i+1 < len(c.header); i += 2 {
			h.Set(c.header[i], c.header[i+1])
		}
		if got := validator(h); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCopyBodyTellsErrorsApart(t *testing.T) {
	w := newWorld(t)
	item := w.ztunnel("http://example.com/z")
	j := w.job(item)
	if err := os.MkdirAll(w.path("cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := openPartial(j.keyPath() + ".partial")
	if err != nil {
		t.Fatal(err)
	}
	_ = p.file.Close() // the disk fails
	err = j.copyBody(t.Context(), p, bytes.NewReader(make([]byte, 10)), func() {})
	var network *netError
	if err == nil || errors.As(err, &network) {
		t.Errorf("an error of the disk is one of the network: %v", err)
	}
}

// What is kept for the next run, by why this one ended.
func TestLeave(t *testing.T) {
	for name, c := range map[string]struct {
		size  int
		cause error
		kept  bool
	}{
		"the line broke":   {10, errStalled, true},
		"nothing came":     {0, errStalled, false},
		"the disk is full": {10, fmt.Errorf("writing: %w", syscall.ENOSPC), false},
	} {
		path := t.TempDir() + "/p"
		p, err := openPartial(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = p.Write(make([]byte, c.size))
		p.leave(c.cause)
		_, bytesErr := os.Stat(path)
		_, metaErr := os.Stat(p.metaPath())
		if (bytesErr == nil) != c.kept || (metaErr == nil) != c.kept {
			t.Errorf("%s: %v, %v; want it kept: %v", name, bytesErr, metaErr, c.kept)
		}
	}
}
