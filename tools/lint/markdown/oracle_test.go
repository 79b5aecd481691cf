// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// askMDL returns what mdl says about files: per file, "rule line" sorted.
func askMDL(t *testing.T, style string, files []string) map[string][]string {
	t.Helper()
	mdl, err := exec.LookPath("mdl")
	if err != nil {
		t.Skip("mdl is not installed (Debian: ruby-mdl): the verdicts are not compared")
	}
	out := map[string][]string{}
	for chunk := range slices.Chunk(files, 200) {
		ask(t, mdl, style, chunk, out)
	}
	return out
}

// ask runs mdl on some files. A file that ends it is asked for by halves, and
// is marked.
func ask(t *testing.T, mdl, style string, files []string, out map[string][]string) {
	cmd := exec.CommandContext(t.Context(), mdl, append([]string{"-j", "--ignore-front-matter", "--style", style}, files...)...)
	text, _ := cmd.Output()
	var found []struct {
		Filename, Rule string
		Line           int
	}
	if json.Unmarshal(text, &found) != nil {
		if len(files) == 1 {
			out[files[0]] = []string{"crash"}
			return
		}
		ask(t, mdl, style, files[:len(files)/2], out)
		ask(t, mdl, style, files[len(files)/2:], out)
		return
	}
	for _, f := range files {
		out[f] = nil
	}
	for _, f := range found {
		out[f.Filename] = append(out[f.Filename], fmt.Sprintf("%s %d", f.Rule, f.Line))
	}
}

// ours is the same from this package.
func ours(t *testing.T, c *Checker, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := open(string(text), true, false)
	var out []string
	for _, p := range c.judge(d) {
		out = append(out, fmt.Sprintf("%s %d", p.rule.id, p.line+d.shift))
	}
	return out
}

func exact(t *testing.T, style string) *Checker {
	t.Helper()
	text, err := os.ReadFile(style)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadStyle(style, text)
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Style: s, FrontMatter: true, Exact: true})
}

// compare counts the files on which both say the same, and names some others.
func compare(t *testing.T, style string, files []string) (same, all int) {
	t.Helper()
	c := exact(t, style)
	theirs := askMDL(t, style, files)
	shown := 0
	for _, f := range files {
		want := theirs[f]
		if len(want) == 1 && want[0] == "crash" {
			continue
		}
		all++
		got := ours(t, c, f)
		slices.Sort(want)
		slices.Sort(got)
		if slices.Equal(got, want) {
			same++
			continue
		}
		if shown++; shown <= 40 {
			t.Logf("%s\n  only mdl: %s\n  only here: %s", f, minus(want, got), minus(got, want))
		}
	}
	return same, all
}

func minus(a, b []string) string {
	b = slices.Clone(b)
	var out []string
	for _, v := range a {
		if i := slices.Index(b, v); i >= 0 {
			b = slices.Delete(b, i, i+1)
		} else {
			out = append(out, v)
		}
	}
	return strings.Join(out[:min(len(out), 8)], ", ")
}

// styleAll is a style with every rule on.
func styleAll(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "all.rb")
	if err := os.WriteFile(name, []byte("all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// corpus are real files: those of the modules on this machine, and the
// documents of its packages; every n-th of them.
func corpus(t *testing.T, limit int) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, root := range []string{strings.TrimSpace(string(out)), "/usr/share/doc", "/usr/lib/node_modules", os.Getenv("SLIPWAY_MARKDOWN_CORPUS")} {
		_ = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && strings.HasSuffix(p, ".md") && !strings.Contains(p, " ") {
				all = append(all, p)
			}
			return nil
		})
	}
	if len(all) <= limit {
		return all
	}
	var some []string
	for i := range limit {
		some = append(some, all[i*len(all)/limit])
	}
	return some
}

func real() bool { return os.Getenv("SLIPWAY_TEST_REAL") == "1" }

// TestRealFiles compares with mdl, all rules on.
func TestRealFiles(t *testing.T) {
	limit := 150
	if real() {
		limit = 4000
	}
	files := corpus(t, limit)
	same, all := compare(t, styleAll(t), files)
	t.Logf("%d of %d real files alike", same, all)
	if all == 0 && len(files) > 0 || same*1000 < all*998 {
		t.Errorf("%d of %d files are judged as mdl does, at least 99.8 %% should be", same, all)
	}
}

// mutate changes lines of a document where blocks begin and end.
func mutate(r *rand.Rand, lines []string) []string {
	out := slices.Clone(lines)
	starts := []string{"", "", "- a", "* b", "  - c", "    d", "1. e", "> f", ">  g", "# h", "#i", "## j #", "---", "===", "***", "```", "```go", "~~~", "| a | b |", "|-|-|",
		"<div>", "</div>", "<b>", "<!-- c -->", "[r]: https://x.example 'y'", "[^1]: note", "{: .k}", "{::comment}", "{:/comment}", ": term", "^", "$$", "text  ", "\ttab", "*[HT]: x", "{:toc}",
		"[a](b", "![x](y)", "`c", "a_b_ *c* **d**", "https://x.example", "<https://x.example>", "(x)[y]", "\"q\" 's", "a -- b ... <<c>>", "&amp; &x;", "\\* \\`", "<span markdown=\"1\">", "<pre>", "</pre>", "<br/>"}
	for range 1 + r.IntN(4) {
		i := r.IntN(len(out) + 1)
		switch r.IntN(7) {
		case 0:
			out = slices.Insert(out, i, starts[r.IntN(len(starts))])
		case 1:
			if i < len(out) {
				out = slices.Delete(out, i, i+1)
			}
		case 2:
			if i < len(out) {
				out[i] = strings.Repeat(" ", r.IntN(6)) + out[i]
			}
		case 3:
			if i < len(out) {
				out[i] = strings.TrimLeft(out[i], " ")
			}
		case 4:
			if i+1 < len(out) {
				out[i], out[i+1] = out[i+1], out[i]
			}
		case 5:
			if i < len(out) && out[i] != "" {
				j := r.IntN(len(out[i]))
				const marks = "*_`[]()<>!#-+ |\\\"':{}$&"
				out[i] = out[i][:j] + string(marks[r.IntN(len(marks))]) + out[i][j:]
			}
		default:
			if i < len(out) {
				out[i] = starts[r.IntN(len(starts))] + out[i]
			}
		}
	}
	return out
}

// mutants returns a source of mutated documents, each a piece of a real one,
// and the seed that they come from.
func mutants(t *testing.T) (next func() string, seed uint64) {
	t.Helper()
	seed = 7
	if v := os.Getenv("SLIPWAY_FUZZ_SEED"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("SLIPWAY_FUZZ_SEED: %v", err)
		}
	}
	var parts [][]string
	for _, f := range corpus(t, 400) {
		text, err := os.ReadFile(f)
		if err != nil || !utf8.Valid(text) {
			continue
		}
		lines := strings.Split(string(text), "\n")
		for start := 0; start < len(lines); start += 25 {
			parts = append(parts, lines[start:min(len(lines), start+25)])
		}
	}
	if len(parts) == 0 {
		t.Skip("there are no documents on this machine")
	}
	r := rand.New(rand.NewPCG(seed, 1))
	return func() string { return strings.Join(mutate(r, parts[r.IntN(len(parts))]), "\n") }, seed
}

// TestMutatedFiles compares with mdl on real texts with changed lines, aimed
// at where blocks begin and end.
func TestMutatedFiles(t *testing.T) {
	n := 600
	if real() {
		n = 50000
	}
	next, seed := mutants(t)
	style := styleAll(t)
	same, all := 0, 0
	for n > 0 {
		dir := t.TempDir()
		var files []string
		for i := range min(n, 2000) {
			name := filepath.Join(dir, strconv.Itoa(i)+".md")
			if err := os.WriteFile(name, []byte(next()), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, name)
		}
		s, a := compare(t, style, files)
		same, all, n = same+s, all+a, n-len(files)
	}
	t.Logf("%d of %d mutated documents alike (seed %d)", same, all, seed)
	if same*1000 < all*998 {
		t.Errorf("%d of %d mutated documents are judged as mdl does, at least 99.8 %% should be", same, all)
	}
}
