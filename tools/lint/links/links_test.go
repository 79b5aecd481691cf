// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// site is the server of the recorded runs; it counts what it was asked.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]int // by method and path
}

func newSite(t *testing.T, handle http.HandlerFunc) *site {
	t.Helper()
	s := &site{seen: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen[r.Method+" "+r.URL.RequestURI()]++
		s.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) asked(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[request]
}

func recorded(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/slow" {
		time.Sleep(time.Second)
	}
	code, _ := strings.CutPrefix(r.URL.Path, "/s/")
	status, err := strconv.Atoi(code[:min(3, len(code))])
	if err != nil {
		return
	}
	switch status {
	case 301, 307, 308:
		w.Header().Set("Location", "/ok")
	case 302:
		w.Header().Set("Location", "/s/404")
	case 429:
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
}

// quick are options whose pauses are short.
func quick() Options {
	return Options{Backoff: time.Millisecond, Client: &http.Client{Transport: &http.Transport{}}}
}

// tried writes files into a tree and looks at its Markdown.
func tried(t *testing.T, o Options, files map[string]string) lint.Outcome {
	t.Helper()
	out, err := inTree(t, o, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func inTree(t *testing.T, o Options, files map[string]string, since *lint.Changes) (lint.Outcome, error) {
	t.Helper()
	root := t.TempDir()
	l := Linter(o)
	task := lint.Task{Root: root, Since: since, Note: t.Logf}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if l.Files(name) {
			task.Files = append(task.Files, name)
		}
	}
	slices.Sort(task.Files)
	return l.Whole(t.Context(), task)
}

// brief are the findings as FILE:LINE:COLUMN RULE SEVERITY.
func brief(out lint.Outcome) []string {
	all := []string{}
	for _, f := range out.Findings {
		all = append(all, fmt.Sprintf("%s:%d:%d %s %s", f.File, f.Line, f.Column, f.Rule, f.Severity))
	}
	return all
}

func want(t *testing.T, out lint.Outcome, findings ...string) {
	t.Helper()
	if got := brief(out); !slices.Equal(got, findings) {
		t.Errorf("got  %q\nwant %q", got, findings)
		for _, f := range out.Findings {
			t.Log(f)
		}
	}
}

type recordedCase struct {
	Name      string
	Files     map[string]*string
	Whitelist *string
	Want      struct {
		Links       map[string][]string
		Failing     []place
		Whitelisted []place
		Exit        int
	}
}

type place struct {
	File, Status, URL string
	Line              int
}

// differs are the recorded runs whose verdict is another one on purpose.
func differs() map[string]string {
	return map[string]string{
		"status 429 with Retry-After":              "a warning after the pauses that were asked for",
		"empty white list swallows the first file": "all files are looked at",
	}
}

// TestRecorded runs what awesome_bot 1.20.0 was recorded on.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/awesome-bot-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []recordedCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 50 {
		t.Fatalf("only %d recorded runs", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, recorded)
			testRecorded(t, c, strings.NewReplacer("{{base}}", s.URL, "{{host}}", strings.TrimPrefix(s.URL, "http://")))
		})
	}
}

func testRecorded(t *testing.T, c recordedCase, base *strings.Replacer) {
	o := quick()
	o.Compat = true
	if c.Whitelist != nil {
		o.Allow = strings.Split(*c.Whitelist, ",")
	}
	f, err := newFilter(o, "")
	if err != nil {
		t.Fatal(err)
	}
	task := lint.Task{Root: t.TempDir(), Note: t.Logf}
	for name, content := range c.Files {
		task.Files = append(task.Files, name)
		if content == nil {
			continue
		}
		text := base.Replace(*content)
		if err := os.WriteFile(filepath.Join(task.Root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		checked, listed := []string{}, []string{}
		for _, u := range extract([]byte(text)) {
			switch {
			case f.skips(u.url) && !slices.Contains(listed, u.url):
				listed = append(listed, u.url)
			case !f.skips(u.url) && !slices.Contains(checked, u.url):
				checked = append(checked, u.url)
			}
		}
		wantLinks, known := c.Want.Links[name]
		for i := range wantLinks {
			wantLinks[i] = base.Replace(wantLinks[i])
		}
		if known && !slices.Equal(checked, wantLinks) {
			t.Errorf("%s: addresses\ngot  %q\nwant %q", name, checked, wantLinks)
		}
		if len(listed) != len(c.Want.Whitelisted) {
			t.Errorf("allowed: got %q, want %v", listed, c.Want.Whitelisted)
		}
	}
	slices.Sort(task.Files)
	out, err := Linter(o).Whole(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	got, exit := []string{}, min(1, len(out.Failures))
	for _, f := range out.Findings {
		if f.Severity == lint.Error {
			exit = 1
			got = append(got, fmt.Sprintf("%s:%d", f.File, f.Line))
		}
	}
	wanted := []string{}
	for _, w := range c.Want.Failing {
		wanted = append(wanted, fmt.Sprintf("%s:%d", w.File, w.Line))
		if !slices.ContainsFunc(out.Findings, func(f lint.Finding) bool {
			return strings.Contains(f.Message, base.Replace(w.URL)) && strings.Contains(f.Message, w.Status)
		}) {
			t.Errorf("no finding names %s and %q: %v", base.Replace(w.URL), w.Status, out.Findings)
		}
	}
	why, differs := differs()[c.Name]
	if same := exit == c.Want.Exit && slices.Equal(got, wanted); same == differs {
		t.Errorf("exit %d, want %d; failing %v, want %v (a difference on purpose: %q)", exit, c.Want.Exit, got, wanted, why)
	}
}

// C094: one host gets few requests at a time, and its pauses are kept.
func TestC094(t *testing.T) {
	var mu sync.Mutex
	asked, now, most := 0, 0, 0
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		asked++
		now++
		most = max(most, now)
		over := asked > 3
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		if over {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		mu.Lock()
		now--
		mu.Unlock()
	})
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "<%s/%d>\n", s.URL, i)
	}
	out := tried(t, quick(), map[string]string{"a.md": b.String()})
	if most > 2 || asked > 20 {
		t.Errorf("%d requests, %d at once", asked, most)
	}
	if len(out.Findings) != 7 {
		t.Errorf("%d findings, want 7: %v", len(out.Findings), brief(out))
	}
	for _, f := range out.Findings {
		if f.Severity != lint.Warning || f.Rule != ruleUnknown {
			t.Errorf("want a warning: %v", f)
		}
	}
}

// The pause of Retry-After is kept, and the link is fine afterwards.
func TestC094RetryAfter(t *testing.T) {
	var mu sync.Mutex
	var times []time.Time
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if times = append(times, time.Now()); len(times) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	want(t, tried(t, quick(), map[string]string{"a.md": "<" + s.URL + ">\n"}))
	if len(times) != 2 || times[1].Sub(times[0]) < 900*time.Millisecond {
		t.Errorf("asked at %v", times)
	}
	o := quick()
	o.MaxWait = time.Millisecond // a longer pause is not waited for
	times = nil
	want(t, tried(t, o, map[string]string{"a.md": "<" + s.URL + ">\n"}), "a.md:1:2 unknown-status warning")
}

// C095: a circle of redirects is said once, and fails nothing.
func TestC095(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"/a": "/b", "/b": "/a", "/moved": "/ok", "/broken": "/gone"}[r.URL.Path]
		switch {
		case to != "":
			http.Redirect(w, r, to, http.StatusFound)
		case r.URL.Path != "/ok":
			w.WriteHeader(http.StatusNotFound)
		}
	})
	out := tried(t, quick(), map[string]string{
		"a.md": strings.ReplaceAll("x [a](S/a) [b](S/b)\n\n[c](S/moved)\n", "S", s.URL),
		"b.md": "[b](" + s.URL + "/b)\n",
		"c.md": "[b](" + s.URL + "/broken)\n",
	})
	want(t, out, "a.md:1:3 redirect-loop warning", "c.md:1:1 broken-link error")
	if m := out.Findings[1].Message; !strings.Contains(m, "/broken (redirected to "+s.URL+"/gone) answers 404 Not Found") {
		t.Error(m)
	}
}

func TestC096(t *testing.T) {
	want(t, tried(t, quick(), map[string]string{"a.md": "# T\n\nsee [x](#nowhere)\n"}), "a.md:3:5 missing-anchor error")
}

func TestC097(t *testing.T) {
	want(t, tried(t, quick(), map[string]string{"a.md": "[x](#outcomes)\n\n## Outcomes\n"}))
}

// C098: anchors of other sites are looked for only when asked, and then a
// missing one is a warning.
func TestC098(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<h1 id="user-content-there">x</h1>`) })
	files := map[string]string{"a.md": strings.ReplaceAll("[x](S/p#duration) [y](S/p#there)\n", "S", s.URL)}
	want(t, tried(t, quick(), files))
	if s.asked("HEAD /p") != 1 || s.asked("GET /p") != 0 {
		t.Errorf("asked %v", s.seen)
	}
	o := quick()
	o.CheckAnchors = true
	want(t, tried(t, o, files), "a.md:1:1 missing-anchor warning")
	if s.asked("GET /p") != 1 {
		t.Errorf("asked %v", s.seen)
	}
}

func TestC099(t *testing.T) {
	want(t, tried(t, quick(), map[string]string{"a.md": "# Alpha Beta (AB)\n\n[x](#alpha-beta-ab)\n"}))
}

func TestC100(t *testing.T) {
	want(t, tried(t, quick(), map[string]string{"a.md": "### [My part](https://x.example)\n\n[x](#my-part)\n"}))
}

func TestC101(t *testing.T) {
	out := tried(t, quick(), map[string]string{"a.md": "## From `<= v1.18.0`\n\n[x](#from--v1180)\n[y](#from-v1180)\n"})
	want(t, out, "a.md:4:1 missing-anchor error")
	if m := out.Findings[0].Message; !strings.Contains(m, "did you mean #from--v1180?") {
		t.Error(m)
	}
}

func TestC102(t *testing.T) {
	want(t, tried(t, quick(), map[string]string{"a.md": "- item\n\n  ```sh\n  # note\n  ```\n\n## Next\n\n[x](#next)\n[y](#note)\n"}),
		"a.md:10:1 missing-anchor error")
}

func TestC103(t *testing.T) {
	want(t, tried(t, quick(), map[string]string{
		"a.md":        "# Run (fast)\n\n[Run (fast)](#run-fast), [docs](./docs), [docs](docs/), [root](/docs/x.txt)\n",
		"docs/x.txt":  "x",
		"docs/b.md":   "[up](../a.md#run-fast) [no](../a.md#run) [gone](c.md) [case](B.md)\n",
		"docs/out.md": "[issues](../../issues)\n",
	}), "docs/b.md:1:24 missing-anchor error", "docs/b.md:1:42 missing-file error", "docs/b.md:1:55 missing-file error", "docs/out.md:1:1 outside-tree notice")
}

// C104: 503 is asked again and is a warning at the end; a host may have it
// allowed.
func TestC104(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	files := map[string]string{"a.md": "<" + s.URL + "/shop>\n"}
	want(t, tried(t, quick(), files), "a.md:1:2 unknown-status warning")
	if n := s.asked("HEAD /shop"); n != mostTries {
		t.Errorf("asked %d times", n)
	}
	o := quick()
	o.Hosts = map[string]Host{"127.0.0.1": {Accept: []Range{{200, 299}, {503, 503}}}}
	want(t, tried(t, o, files))
}

func TestC105(t *testing.T) {
	want(t, tried(t, quick(), map[string]string{"a.md": "<a id=\"merge/requests\"></a>\n\n[x](#merge%2Frequests)\n"}))
}

func TestC106(t *testing.T) {
	want(t, tried(t, quick(), map[string]string{"a.md": "text\n\n```sh\ncode\n```bash\n[x](missing.md)\n"}), "a.md:3:1 unclosed-fence error")
}

// What answers a GET better than a HEAD is asked twice.
func TestHeadThenGet(t *testing.T) {
	for _, status := range []int{400, 403, 404, 405, 501} {
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(status)
			}
		})
		want(t, tried(t, quick(), map[string]string{"a.md": "<" + s.URL + "/>\n"}))
		if s.asked("GET /") != 1 {
			t.Errorf("%d: asked %v", status, s.seen)
		}
	}
}

func TestOneRequestForAllFiles(t *testing.T) {
	s := newSite(t, recorded)
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("<%s/x#%d>\n", s.URL, i)
	}
	want(t, tried(t, quick(), files))
	if n := s.asked("HEAD /x"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestModern(t *testing.T) {
	s := newSite(t, recorded)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"code is no link", "`S/s/404`\n\n```\nS/s/404\n```\n\n    S/s/404\n", nil},
		{"comment", "<!-- S/s/404 -->\n", nil},
		{"bare", "see http://bare.test/s/404 now\n", []string{"a.md:1:5 broken-link error"}},
		{"attribute", "é <a href=\"S/s/404\">x</a>\n", []string{"a.md:1:3 broken-link error"}},
		{"image", "![x](S/s/410)\n", []string{"a.md:1:1 broken-link error"}},
		{"definition", "[x][r]\n\n[r]: S/s/404\n", []string{"a.md:3:1 broken-link error"}},
		{"twice in a file", "<S/s/404>\n\n<S/s/404#x>\n", []string{"a.md:1:2 broken-link error"}},
		{"permanent", "<S/s/301>\n", []string{"a.md:1:2 moved-permanently notice"}},
		{"temporary", "<S/s/307>\n", nil},
		{"to missing", "<S/s/302>\n", []string{"a.md:1:2 broken-link error"}},
		{"no content", "<S/s/204>\n", nil},
		{"malformed", "[x](http://[1/)\n", []string{"a.md:1:1 malformed-link error"}},
		{"mail", "<mailto:a@b.example> [x](mailto:nobody) <c@d.example>\n", []string{"a.md:1:22 malformed-link error"}},
		{"other schemes", "[a](tel:1) [b](data:x) [c](slack://x)\n", nil},
		{"template", "[a]({{ .Site }}/x)\n", nil},
		{"entities", "<a href=\"S/x?a=1&amp;b=2\">x</a>\n", nil},
		{"duplicates", "# A\n\n# A\n\n[x](#a-1) [y](#a-2)\n", []string{"a.md:5:11 missing-anchor error"}},
		{"letter case", "# A\n\n[x](#A)\n", []string{"a.md:3:1 missing-anchor warning"}},
		{"empty", "[x]()\n", []string{"a.md:1:1 empty-link warning"}},
		{"undefined", "[x][nothing]\n", []string{"a.md:1:1 missing-reference warning"}},
		{"lines of a file", "[x](a.md#L1-L2) [y](#top) [z](#)\n", nil},
		{"front matter", "---\nx: [a](b.md)\n---\n\n[a](b.md)\n", []string{"a.md:5:1 missing-file error"}},
		{"mark and carriage returns", "\ufeff# A\r\n\r\n[x](#a) [y](b.md)\r\n", []string{"a.md:3:9 missing-file error"}},
		{"spaces in the name", "[x](<no such.md>) [y](no%20such.md)\n", []string{"a.md:1:1 missing-file error", "a.md:1:19 missing-file error"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := quick()
			o.Remap = []Remap{{"http://bare.test", s.URL}} // a bare address of numbers is no link
			out := tried(t, o, map[string]string{"a.md": strings.ReplaceAll(tt.text, "S/", s.URL+"/")})
			want(t, out, tt.want...)
		})
	}
}

// Anchors are looked for in pages that are not linted, and in the README of a
// folder.
func TestAnchorsElsewhere(t *testing.T) {
	o := quick()
	o.Files = func(file string) bool { return file == "a.md" }
	want(t, tried(t, o, map[string]string{
		"a.md":        "[x](b.md#b) [y](b.md#c) [z](d#d) [w](d/#e) [v](s.go#x)\n",
		"b.md":        "# B\n",
		"d/README.md": "# D\n",
		"s.go":        "package s\n",
	}), "a.md:1:13 missing-anchor error", "a.md:1:34 missing-anchor error")
}

func TestNetworkFailures(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	_ = listener.Close()
	reset := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
	})
	stop := make(chan struct{})
	silent := newSite(t, func(http.ResponseWriter, *http.Request) { <-stop })
	t.Cleanup(func() { close(stop) })
	tls := httptest.NewUnstartedServer(http.HandlerFunc(recorded))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	for _, compat := range []bool{false, true} {
		o := quick()
		o.Compat, o.Timeout = compat, 200*time.Millisecond
		out := tried(t, o, map[string]string{"a.md": fmt.Sprintf("<%s/>\n<%s/>\n<%s/>\n<%s/>\n", closed, reset.URL, silent.URL, tls.URL)})
		for i, w := range []string{"1 broken-link error", "2 broken-link error", "3 unknown-status warning", "4 unknown-status warning"} {
			if i >= len(out.Findings) {
				t.Fatalf("compat %v: no finding for line %d", compat, i+1)
			}
			f := out.Findings[i]
			if got := fmt.Sprintf("%d %s %s", f.Line, f.Rule, f.Severity); got != w {
				t.Errorf("compat %v: %s, want %s (%s)", compat, got, w, f.Message)
			}
		}
	}
}

// A token goes to its host, and nowhere else; nothing prints it.
func TestToken(t *testing.T) {
	var mu sync.Mutex
	var got []string
	note := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization"))
	}
	other := newSite(t, note)
	own := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/there", http.StatusFound)
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		}
	})
	o := quick()
	o.Hosts = map[string]Host{strings.TrimPrefix(own.URL, "http://"): {TokenFrom: "SECRET", PerHost: 1}}
	o.Getenv = func(name string) string { return map[string]string{"SECRET": "hush"}[name] }
	o.Cache = filepath.Join(t.TempDir(), "cache")
	out := tried(t, o, map[string]string{"a.md": "<" + own.URL + "/away> <" + own.URL + "/gone>\n"})
	slices.Sort(got)
	if !slices.Equal(got, []string{"/away Bearer hush", "/gone Bearer hush", "/gone Bearer hush", "/there "}) {
		t.Errorf("%q", got)
	}
	cache, err := os.ReadFile(o.Cache)
	if err != nil {
		t.Fatal(err)
	}
	if all := fmt.Sprint(out, string(cache), Linter(o).Rules); strings.Contains(all, "hush") {
		t.Errorf("the token shows: %s", all)
	}
	o.Hosts = map[string]Host{"*.0.0.1": {TokenFrom: "SECRET"}, "127.0.0.1": {TokenFrom: "SECRET"}}
	got, o.Cache = nil, ""
	tried(t, o, map[string]string{"a.md": "<" + own.URL + "/>\n"})
	if !slices.Equal(got, []string{"/ "}) {
		t.Errorf("a wildcard, or a name without this port, got the token: %q", got)
	}
}

func TestCache(t *testing.T) {
	s := newSite(t, recorded)
	o := quick()
	o.Cache = filepath.Join(t.TempDir(), "deep", "cache.json")
	files := map[string]string{"a.md": strings.ReplaceAll("<S/ok> <S/s/404> <S/s/503>\n", "S", s.URL)}
	const found = "a.md:1:"
	for range 2 {
		out := tried(t, o, files)
		if got := brief(out); len(got) != 2 || !strings.HasPrefix(got[0], found) {
			t.Errorf("%v", got)
		}
	}
	if s.asked("HEAD /ok") != 1 || s.asked("HEAD /s/404") != 1 || s.asked("HEAD /s/503") != 6 {
		t.Errorf("asked %v", s.seen)
	}
	age := func(by time.Duration) {
		t.Helper()
		all, err := readMemo(o.Cache)
		if err != nil {
			t.Fatal(err)
		}
		for key, k := range all {
			k.When = k.When.Add(-by)
			all[key] = k
		}
		text, err := json.Marshal(memoFile{memoForm, all})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(o.Cache, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	age(2 * time.Hour)
	tried(t, o, files)
	if s.asked("HEAD /ok") != 1 || s.asked("HEAD /s/404") != 2 {
		t.Errorf("after two hours: asked %v", s.seen)
	}
	age(8 * 24 * time.Hour)
	tried(t, o, files)
	if s.asked("HEAD /ok") != 2 {
		t.Errorf("after eight days: asked %v", s.seen)
	}
	if err := os.WriteFile(o.Cache, []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := tried(t, o, files); len(out.Notes) == 0 || s.asked("HEAD /ok") != 3 {
		t.Errorf("a broken cache: notes %q, asked %v", out.Notes, s.seen)
	}
	left, err := os.ReadDir(filepath.Dir(o.Cache))
	if err != nil || len(left) != 1 {
		t.Errorf("files left: %v %v", left, err)
	}
}

func TestFilters(t *testing.T) {
	s := newSite(t, recorded)
	o := quick()
	o.Allow = []string{" /s/404 ", ""}
	o.Ignore = []string{"*/s/41?", `/s/5\d\d$/`}
	o.IgnoreFile = "ignore"
	o.Remap = []Remap{{From: "https://tree.test/", To: "/"}, {From: "https://site.test", To: s.URL}}
	files := map[string]string{
		"a.md":   strings.ReplaceAll("<S/s/404> <S/s/410> <S/s/500> <S/s/402>\n<https://tree.test/a.md> <https://tree.test/no.md> <https://site.test/s/403>\n", "S", s.URL),
		"ignore": "# comment\n\n*/s/402\n",
	}
	want(t, tried(t, o, files), "a.md:2:27 missing-file error", "a.md:2:53 broken-link error")
	if s.asked("HEAD /s/404") != 0 {
		t.Error("what is allowed was asked for")
	}
	o.Ignore = []string{"/(/"}
	if _, err := inTree(t, o, files, nil); err == nil {
		t.Error("no error for a wrong pattern")
	}
}

func TestOffline(t *testing.T) {
	s := newSite(t, recorded)
	o := quick()
	o.Offline = true
	want(t, tried(t, o, map[string]string{"a.md": "<" + s.URL + "/s/404> [x](no.md)\n"}), fmt.Sprintf("a.md:1:%d missing-file error", len(s.URL)+len("</s/404> ")+1))
	if len(s.seen) != 0 {
		t.Errorf("asked %v", s.seen)
	}
}

func TestNoPrivate(t *testing.T) {
	s := newSite(t, recorded)
	for _, client := range []*http.Client{nil, quick().Client} {
		o := Options{NoPrivate: true, Client: client, Backoff: time.Millisecond}
		want(t, tried(t, o, map[string]string{"a.md": "<" + s.URL + "/s/404>\n"}), "a.md:1:2 private-address notice")
	}
	transport := &http.Transport{}
	guard(transport)
	req, err := http.NewRequest(http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transport.RoundTrip(req); !errors.Is(err, errPrivate) {
		t.Errorf("the connection was made: %v", err)
	}
	if len(s.seen) != 0 {
		t.Errorf("asked %v", s.seen)
	}
}

// With Since, only what changed counts, and links of others to what is gone.
func TestSince(t *testing.T) {
	s := newSite(t, recorded)
	out, err := inTree(t, quick(), map[string]string{
		"new.md": "<" + s.URL + "/s/404> [x](no.md)\n",
		"old.md": "<" + s.URL + "/s/410> [x](no.md) [y](gone/)\n[z](new.md#no)\n",
	}, &lint.Changes{Files: map[string]bool{"new.md": true}, Deleted: []string{"gone/x.md"}})
	if err != nil {
		t.Fatal(err)
	}
	places := []string{}
	for _, f := range out.Findings {
		places = append(places, fmt.Sprint(f.File, ":", f.Line, " ", f.Rule))
	}
	if !slices.Equal(places, []string{"new.md:1 broken-link", "new.md:1 missing-file", "old.md:1 missing-file", "old.md:2 missing-anchor"}) {
		t.Error(places)
	}
}

func TestCancel(t *testing.T) {
	stop := make(chan struct{})
	s := newSite(t, func(http.ResponseWriter, *http.Request) { <-stop })
	t.Cleanup(func() { close(stop) })
	root := t.TempDir()
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "<%s/%d>\n", s.URL, i)
	}
	if err := os.WriteFile(filepath.Join(root, "a.md"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Linter(quick()).Whole(ctx, lint.Task{Root: root, Files: []string{"a.md"}, Note: t.Logf})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestParseRanges(t *testing.T) {
	got, err := ParseRanges("200-299, 403")
	if err != nil || !slices.Equal(got, []Range{{200, 299}, {403, 403}}) {
		t.Errorf("%v %v", got, err)
	}
	for _, wrong := range []string{"", "x", "300-200", "99", "200-", "1000"} {
		if _, err := ParseRanges(wrong); err == nil {
			t.Errorf("%q: no error", wrong)
		}
	}
}
