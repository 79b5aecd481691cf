// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// askMarkdownlint is a program for Node.js: texts and options come in, rules
// and lines go out.
const askMarkdownlint = `
import { lint } from "markdownlint/sync";
import { readFileSync, writeFileSync } from "node:fs";
const { strings, config } = JSON.parse(readFileSync(0, "utf8"));
const found = lint({ strings, config, frontMatter: null, noInlineConfig: true });
const out = {};
for (const name in strings) {
  out[name] = (found[name] || []).map((f) => f.ruleNames[0] + " " + f.lineNumber);
}
writeFileSync(1, JSON.stringify(out));
`

// sameOptions are the options of markdownlint that mean what those of mdl's
// style with all rules mean. Titles in front matter are unknown to mdl.
func sameOptions() map[string]any {
	type m = map[string]any
	return m{"default": false, "MD001": m{"front_matter_title": ""}, "MD003": true, "MD004": true, "MD005": true, "MD007": m{"indent": 3}, "MD009": m{"br_spaces": 0, "code_blocks": true},
		"MD010": true, "MD011": true, "MD012": true, "MD013": m{"line_length": 80}, "MD014": true, "MD018": true, "MD019": true, "MD020": true, "MD021": true, "MD022": true, "MD023": true,
		"MD024": true, "MD025": m{"front_matter_title": ""}, "MD026": m{"punctuation": ".,;:!?"}, "MD027": true, "MD028": true, "MD029": m{"style": "one"}, "MD030": true, "MD031": true, "MD032": true,
		"MD033": true, "MD034": true, "MD035": true, "MD036": m{"punctuation": ".,;:!?"}, "MD037": true, "MD038": true, "MD039": true, "MD040": true, "MD041": m{"front_matter_title": ""},
		"MD046": m{"style": "fenced"}, "MD047": true}
}

// theirsCommon returns what markdownlint says about texts.
func theirsCommon(t *testing.T, texts map[string]string) map[string][]string {
	t.Helper()
	folder := os.Getenv("SLIPWAY_MARKDOWNLINT")
	node, err := exec.LookPath("node")
	if folder == "" || err != nil {
		t.Skip("SLIPWAY_MARKDOWNLINT names no folder with markdownlint (npm i markdownlint), or there is no Node.js: the verdicts are not compared")
	}
	in, err := json.Marshal(map[string]any{"strings": texts, "config": sameOptions()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", askMarkdownlint)
	cmd.Dir, cmd.Stdin, cmd.Stderr = folder, bytes.NewReader(in), os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("running markdownlint: %v", err)
	}
	out := map[string][]string{}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("reading what markdownlint says: %v", err)
	}
	return out
}

// unique are the verdicts without repetition: markdownlint counts each place.
// MD002 and MD006 are not among its rules any more.
func unique(list []string) []string {
	list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.HasPrefix(s, "MD002") || strings.HasPrefix(s, "MD006") })
	slices.Sort(list)
	return slices.Compact(list)
}

// TestMarkdownlint compares the verdicts on CommonMark with those of
// markdownlint, by rule.
func TestMarkdownlint(t *testing.T) {
	limit := 100
	if real() {
		limit = 600
	}
	files, others := []string{}, []string{}
	for _, f := range corpus(t, 1<<30) {
		if strings.Contains(f, "/istio.io/istio@") {
			files = append(files, f)
		} else {
			others = append(others, f)
		}
	}
	limit = min(limit, len(others))
	for i := range limit {
		files = append(files, others[i*len(others)/limit])
	}
	texts := map[string]string{}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && utf8.Valid(text) {
			texts[f] = string(text)
		}
	}
	compareCommon(t, texts, 99.5)
}

// TestMutatedMarkdownlint compares texts whose lines were changed where blocks
// begin and end.
func TestMutatedMarkdownlint(t *testing.T) {
	n := 600
	if real() {
		n = 10000
	}
	next, _ := mutants(t)
	texts := map[string]string{}
	for i := range n {
		texts[strconv.Itoa(i)] = next()
	}
	compareCommon(t, texts, 98)
}

// compareCommon asks both, and wants some percentage of the verdicts alike.
func compareCommon(t *testing.T, texts map[string]string, percent float64) {
	t.Helper()
	c := New(Options{Style: style(t, "all"), FrontMatter: true, Dialect: CommonMark})
	got := map[string][]string{}
	for _, f := range slices.Sorted(maps.Keys(texts)) {
		d, err := c.open(texts[f])
		if err != nil {
			t.Errorf("%s: %v", f, err)
			delete(texts, f)
			continue
		}
		var list []string
		for _, p := range c.judge(d) {
			list = append(list, fmt.Sprintf("%s %d", p.rule.id, p.line))
		}
		texts[f], got[f] = strings.Join(d.lines, "\n"), unique(list)
	}
	theirs := theirsCommon(t, texts)
	type tally struct{ same, ours, theirs int }
	byRule := map[string]*tally{}
	same, equal, all := 0, 0, 0
	for _, f := range slices.Sorted(maps.Keys(texts)) {
		want := unique(theirs[f])
		if slices.Equal(want, got[f]) {
			same++
		}
		for _, v := range slices.Concat(want, got[f]) {
			rule, _, _ := strings.Cut(v, " ")
			if byRule[rule] == nil {
				byRule[rule] = &tally{}
			}
			here, there := slices.Contains(got[f], v), slices.Contains(want, v)
			switch {
			case here && there:
				byRule[rule].same++
			case here:
				byRule[rule].ours++
				t.Logf("only here: %s %s: %q", f, v, lineAt(texts[f], v))
			default:
				byRule[rule].theirs++
				t.Logf("only markdownlint: %s %s: %q", f, v, lineAt(texts[f], v))
			}
		}
	}
	for _, r := range rules() {
		if n := byRule[r.id]; n != nil {
			t.Logf("%s: %d alike, %d only here, %d only markdownlint", r.id, n.same/2, n.ours, n.theirs)
			equal += n.same / 2
			all += n.same/2 + n.ours + n.theirs
		}
	}
	t.Logf("%d of %d files alike; %d of %d verdicts", same, len(texts), equal, all)
	if len(texts) > 0 && float64(equal)*100 < float64(all)*percent {
		t.Errorf("%d of %d verdicts are alike, at least %g %% should be", equal, all, percent)
	}
}

func lineAt(s, verdict string) string {
	var rule string
	var line int
	if _, err := fmt.Sscan(verdict, &rule, &line); err != nil {
		return err.Error()
	}
	lines := strings.Split(s, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	return lines[line-1][:min(len(lines[line-1]), 120)]
}
