// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
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

func TestCorpus(t *testing.T) {
	list := os.Getenv("SLIPWAY_MARKDOWN_FILES")
	if list == "" {
		t.Skip("SLIPWAY_MARKDOWN_FILES names no list of files")
	}
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	same, all := compare(t, os.Getenv("SLIPWAY_MARKDOWN_STYLE"), strings.Fields(string(text)))
	t.Logf("%d of %d files alike", same, all)
}
