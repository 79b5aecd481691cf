// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostile are texts that make careless readers slow or overflow their stack.
func hostile() map[string]string {
	const size = 5 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return map[string]string{
		"one line":          fill("x"),
		"spaces":            fill(" "),
		"open brackets":     fill("["),
		"links never ended": fill("[a]("),
		"parentheses":       fill("http://h.test/("),
		"schemes":           fill("http:"),
		"nested brackets":   strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"nested quotes":     strings.Repeat(">", 100_000) + "x\n",
		"nested lists":      strings.Repeat("- ", 100_000) + "x\n",
		"deep indents":      strings.Repeat("  ", 50_000) + "- x\n",
		"stars":             fill("*a_ "),
		"ticks":             fill("`a``b"),
		"angles":            fill("<a "),
		"comments":          fill("<!-- "),
		"headings":          fill("# a\n"),
		"definitions":       fill("[a]: b\n"),
		"missing":           fill("[a](#b-c)\n\n"),
		"references":        fill("[a][b]\n\n"),
		"table":             "|a|\n|-|\n" + fill("|a|\n"),
		"wide table":        fill("|") + "\n" + fill("|-") + "\n",
		"bare wide table":   fill("a|") + "\n" + fill("-|") + "\n",
		"fences":            fill("```\n"),
		"bad bytes":         fill("\xffhttp://a.test/"),
		"six":               fill("http://["),
		"entities":          fill("&amp;"),
	}
}

func TestHostile(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			for _, compat := range []bool{false, true} {
				o := quick()
				o.Compat, o.Offline = compat, true
				start := time.Now()
				tried(t, o, map[string]string{"a.md": text})
				t.Logf("compat %v took %v", compat, time.Since(start)) // if it is not linear, the test does not end
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"[a](b)", "[x][y]\n\n[y]: z", "# T {#id}\n", "```\n[a](b)", "> - ```\n", "<a href='x'>", "http://[::1]:80/x?y#z",
		"\xff\xfehttp://a/b,", "---\na: b\n---\n", "- ~~~\n  x", "[^1]: note\n\n[^1]", "| a |\n|--|\n| [x](y) |\n", "\ufeff# x\r\n",
	} {
		f.Add([]byte(s))
	}
	r := newReader()
	f.Fuzz(func(t *testing.T, text []byte) {
		d := newDocument("a.md", text)
		p := r.read(text)
		var offsets []int
		for _, l := range p.links {
			offsets = append(offsets, l.offset)
		}
		for _, l := range p.fences {
			offsets = append(offsets, l.offset)
		}
		for _, l := range p.missing {
			offsets = append(offsets, l.offset)
		}
		for _, l := range extract(text) {
			if !bytes.HasPrefix(text[l.offset:], []byte("h")) {
				t.Fatalf("%q does not start at %d", l.url, l.offset)
			}
			offsets = append(offsets, l.offset)
		}
		for _, o := range offsets {
			if line, _ := d.place(o); o < 0 || o > len(text) || line < 1 || line > len(d.lines) {
				t.Fatalf("offset %d is line %d", o, line)
			}
		}
	})
}

// rubyExtract is the first step of awesome_bot: the parser of Ruby's library.
const rubyExtract = `require "uri"; require "json"
parser = defined?(URI::RFC2396_PARSER) ? URI::RFC2396_PARSER : URI::DEFAULT_PARSER
texts = JSON.parse(STDIN.read)
puts JSON.generate(texts.map { |t| parser.extract(t, /http()s?/) })`

// TestRuby compares with Ruby's own parser: the documents that are at hand, and
// texts of pieces put together at random.
func TestRuby(t *testing.T) {
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Skip("ruby is not installed: the extraction is not compared with it")
	}
	texts, count := []string{}, 2_000
	if os.Getenv("SLIPWAY_TEST_REAL") == "1" {
		count = 100_000
		texts = corpus(t)
	}
	pieces := []string{
		"http://", "https:", "http:", "HTTP://", "a", "b.c", "x y", "/", "?", "#", "[", "]", "(", ")", "'", ",", ".", ":", ";", "@", "%41", "%4", "$", "{", "é", "\n",
		"::1", "1.2.3.4", "&amp;", "*", "_", "~", "!", "<", "\"", "8080", "wikipedia", "+", "=", "|", "\\", "-", "`",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range count {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		texts = append(texts, b.String())
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), ruby, "-W0", "-e", rubyExtract)
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	if err := json.Unmarshal(output, &all); err != nil {
		t.Fatal(err)
	}
	addresses, bad := 0, 0
	for i, theirs := range all {
		want, got := []string{}, []string{}
		for _, u := range theirs {
			if u = clean(u); u != "" {
				want = append(want, u)
			}
		}
		for _, f := range extract([]byte(texts[i])) {
			got = append(got, f.url)
		}
		addresses += len(want)
		if !slices.Equal(got, want) {
			if bad++; bad < 10 {
				t.Errorf("%.200q\ngot  %.300q\nwant %.300q", texts[i], got, want)
			}
		}
	}
	t.Logf("%d texts, %d addresses, %d differences", len(texts), addresses, bad)
}

// corpus are the Markdown files of all modules that are at hand.
func corpus(t *testing.T) []string {
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("the module cache is not known")
	}
	var texts []string
	_ = filepath.WalkDir(strings.TrimSpace(string(out)), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && filepath.Ext(path) == ".md" && len(texts) < 20_000 {
			if text, err := os.ReadFile(path); err == nil {
				texts = append(texts, strings.ToValidUTF8(string(text), ""))
			}
		}
		return nil // what cannot be read is not compared
	})
	return texts
}

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{
		"Hello, World!": "hello-world", "a  b": "a--b", "Über_x-y": "über_x-y", "A & B": "a--b", "1.2.3 (x)": "123-x", "日本 語": "日本-語",
		"🚀 Go": "-go", "C++": "c", "a/b": "ab", "`code`": "code",
	} {
		if got := slug(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	s := newSlugger()
	var got []string
	for _, text := range []string{"A", "A", "A-1", "A"} {
		got = append(got, s.id(text))
	}
	if !slices.Equal(got, []string{"a", "a-1", "a-1-1", "a-2"}) {
		t.Errorf("%q", got)
	}
}

func BenchmarkRead(b *testing.B) {
	text := bytes.Repeat([]byte("# Title\n\nSome [text](a.md#b) and https://a.test/b, then `code`.\n\n```sh\nmake lint\n```\n\n"), 1000)
	b.SetBytes(int64(len(text)))
	r := newReader()
	for b.Loop() {
		r.read(text)
	}
}
