// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/yaml"
)

var _ lint.Fixer = (*yaml.Checker)(nil)

const every = `extends: default
rules:
  document-end: {level: warning}
  empty-values: enable
  float-values: {forbid-inf: true, forbid-nan: true, forbid-scientific-notation: true, require-numeral-before-decimal: true}
  key-ordering: enable
  octal-values: enable
  quoted-strings: enable
  truthy: {check-keys: true}
`

const others = `extends: relaxed
rules:
  braces: {forbid: non-empty, min-spaces-inside-empty: 1}
  brackets: {min-spaces-inside: 1, max-spaces-inside: 2, max-spaces-inside-empty: 0}
  colons: {max-spaces-before: 1, max-spaces-after: -1}
  commas: {max-spaces-before: -1, min-spaces-after: 0}
  comments: {require-starting-space: false, min-spaces-from-content: 1}
  document-start: {present: false}
  document-end: {present: false}
  empty-lines: {max: 0, max-start: 1, max-end: 1}
  hyphens: {max-spaces-after: 3}
  indentation: {spaces: 2, indent-sequences: whatever, check-multi-line-strings: true}
  line-length: {max: 40}
  new-lines: {type: dos}
  quoted-strings: {quote-type: double, required: only-when-needed, extra-allowed: ['^/'], extra-required: ['^a']}
  truthy: {allowed-values: ['yes', 'no'], check-keys: false}
`

func checker(t testing.TB, config string) *yaml.Checker {
	t.Helper()
	c, err := yaml.ReadConfig("test.yml", []byte(config), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return yaml.New(c)
}

// asked is one question to yamllint.
type asked struct {
	Conf string `json:"conf"`
	Text string `json:"text"`
}

const oracle = `
import sys, json
from yamllint import linter, config
known = {}
for l in sys.stdin:
    q = json.loads(l)
    try:
        c = known.setdefault(q["conf"], None) or config.YamlLintConfig(q["conf"])
        known[q["conf"]] = c
        out = ["%d:%d: [%s] %s (%s)" % (p.line, p.column, p.level, p.desc.removesuffix(" (syntax)"), p.rule or "syntax") for p in linter.run(q["text"], c)]
    except Exception as e:
        out = ["CRASH " + type(e).__name__]
    print(json.dumps(out))
`

// yamllint returns what the real one says.
func yamllint(t *testing.T, questions []asked) [][]string {
	t.Helper()
	if _, err := exec.LookPath("/usr/bin/yamllint"); err != nil {
		t.Skip("yamllint is not installed: its verdicts are not compared")
	}
	var in, out bytes.Buffer
	e := json.NewEncoder(&in)
	for _, q := range questions {
		if err := e.Encode(q); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/usr/bin/python3", "-c", oracle)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var all [][]string
	d := json.NewDecoder(&out)
	for d.More() {
		var one []string
		if err := d.Decode(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

func mine(t *testing.T, c *yaml.Checker, text string) []string {
	t.Helper()
	found, err := c.Check("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, f := range found {
		lines = append(lines, strings.TrimPrefix(f.Text, "f.yaml:"))
	}
	return lines
}

// cut parts what is told of a file at the syntax error. Behind it, on its line
// and the one before, the rules that look at the tree say something else than
// yamllint by design, so their findings are left out there. Without a fault, everything is
// in before.
func cut(lines []string) (before, after []string) {
	fault := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "(syntax)") })
	if fault < 0 {
		return lines, nil
	}
	number := func(l string) (n int) {
		_, _ = fmt.Sscanf(l, "%d:", &n)
		return n
	}
	last := number(lines[fault])
	before = append(before, lines[fault])
	for i, l := range lines {
		switch {
		case i == fault:
		case number(l) < last-1, number(l) == last-1 && !strings.HasSuffix(l, "(indentation)"):
			before = append(before, l)
		case !strings.HasSuffix(l, "(indentation)") && !strings.HasSuffix(l, "(key-ordering)") && !strings.HasSuffix(l, "(key-duplicates)"):
			after = append(after, l)
		}
	}
	return before, after
}

// same tells that two accounts of a file agree. The finding that the fault took
// the place of may be one of those left out, so one more or less is allowed
// behind it.
func same(got, want []string) bool {
	before, after := cut(got)
	wantBefore, wantAfter := cut(want)
	if !slices.Equal(before, wantBefore) {
		return false
	}
	missing := func(a, b []string) (n int) {
		for _, l := range a {
			if !slices.Contains(b, l) {
				n++
			}
		}
		return n
	}
	return missing(after, wantAfter) <= 1 && missing(wantAfter, after) <= 1
}

// compare reports texts about which the two do not agree.
func compare(t *testing.T, questions []asked) {
	t.Helper()
	checkers := map[string]*yaml.Checker{}
	var bad []string
	crashed, faults := 0, 0
	for i, want := range yamllint(t, questions) {
		q := questions[i]
		if len(want) == 1 && strings.HasPrefix(want[0], "CRASH") {
			crashed++
			continue
		}
		if checkers[q.Conf] == nil {
			checkers[q.Conf] = checker(t, q.Conf)
		}
		if slices.ContainsFunc(want, func(l string) bool { return strings.HasSuffix(l, "(syntax)") }) {
			faults++
		}
		got := mine(t, checkers[q.Conf], q.Text)
		if same(got, want) {
			continue
		}
		n := 0
		for n < len(got) && n < len(want) && got[n] == want[n] {
			n++
		}
		bad = append(bad, fmt.Sprintf("at %d\ngot  %q\nwant %q\n%s\n%q", n, got[n:min(n+4, len(got))], want[n:min(n+4, len(want))], q.Conf, q.Text))
	}
	slices.SortFunc(bad, func(a, b string) int { return len(a) - len(b) }) // the short ones say most
	for _, text := range bad[:min(len(bad), 8)] {
		t.Error(text[:min(len(text), 4000)])
	}
	t.Logf("%d texts, %d are no YAML, %d differ, yamllint crashed on %d", len(questions), faults, len(bad), crashed)
}

func istio(t testing.TB) (config string, texts []string) {
	t.Helper()
	roots, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), "go/pkg/mod/istio.io/istio@*"))
	if d := os.Getenv("SLIPWAY_TEST_ISTIO"); d != "" {
		roots = []string{d}
	}
	if len(roots) == 0 {
		t.Skip("the module istio.io/istio is not in the cache")
	}
	b, err := os.ReadFile(filepath.Join(roots[0], "common/config/.yamllint.yml"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(roots[0], func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".yml") {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && !yaml.Template(b) {
			texts = append(texts, string(b))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b), texts
}

func TestIstio(t *testing.T) {
	config, texts := istio(t)
	if os.Getenv("SLIPWAY_TEST_REAL") == "" {
		var some []string
		for i := 0; i < len(texts); i += 60 {
			some = append(some, texts[i])
		}
		texts = some
	}
	for _, c := range []string{config, every, others} {
		var q []asked
		for _, text := range texts {
			q = append(q, asked{c, text})
		}
		compare(t, q)
	}
}

func mutate(r *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > 40 {
		at := r.IntN(len(lines) - 40)
		lines = lines[at : at+40]
	}
	for range 1 + r.IntN(3) {
		i := r.IntN(len(lines))
		l := lines[i]
		at := 0
		if len(l) > 0 {
			at = r.IntN(len(l))
		}
		extra := []string{" ", "  ", ":", ": ", "- ", "#", " #x", "'", "\"", "[", "]", "{", "}", ", ", "\n", "\r\n", "\t", "&a ", "*a", "!t ", "!!str ", "|\n", ">-\n", "? ", "---\n", "...\n", "\\", "%", "yes", "010", "1e3", ".5", "é", "# yamllint disable-line\n", "# yamllint disable rule:colons\n", "\r", "\u2028", "''", "k: \"a\n  b\"\n"}
		switch r.IntN(7) {
		case 0:
			lines[i] = " " + l
		case 1:
			lines[i] = strings.TrimPrefix(l, "  ")
		case 2:
			lines[i] = ""
		case 3:
			lines[i] = l + l
		case 4:
			lines[i] = l[:at] + l[min(at+1, len(l)):]
		default:
			lines[i] = l[:at] + extra[r.IntN(len(extra))] + l[at:]
		}
	}
	return strings.ToValidUTF8(strings.Join(lines, ""), "")
}

func TestMutants(t *testing.T) {
	config, texts := istio(t)
	n := 300
	if os.Getenv("SLIPWAY_TEST_REAL") != "" {
		n = 5000
	}
	seed := uint64(7)
	_, _ = fmt.Sscan(os.Getenv("SLIPWAY_TEST_SEED"), &seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var q []asked
	configs := []string{every, others, config}
	for i := range n {
		q = append(q, asked{configs[i%3], mutate(r, texts[r.IntN(len(texts))])})
	}
	compare(t, q)
}

// grid returns configurations with all combinations of a rule's options.
func grid(rule string, options [][]string) []string {
	all := []string{""}
	for _, o := range options {
		var next []string
		for _, before := range all {
			for _, v := range o[1:] {
				next = append(next, before+o[0]+": "+v+", ")
			}
		}
		all = next
	}
	for i, s := range all {
		all[i] = "rules: {" + rule + ": {" + strings.TrimSuffix(s, ", ") + "}}"
	}
	return all
}

// writer writes YAML at random, indented well or badly.
type writer struct {
	*rand.Rand
	strings.Builder
	keys int
}

func (w *writer) pick(s ...string) string { return s[w.IntN(len(s))] }

// property is an anchor or a tag, or often nothing.
func (w *writer) property() string {
	if w.IntN(10) > 0 {
		return ""
	}
	return w.pick("&a ", "!t ", "&a !t ", "!t &a ")
}

// more is a column deeper than that.
func (w *writer) more(column int) int {
	if w.IntN(3) > 0 {
		return column + 2
	}
	return column + 1 + w.IntN(4)
}

func (w *writer) line(column int) { w.WriteString("\n" + strings.Repeat(" ", max(column, 0))) }

// block writes a value in block style at a column; begun: on the line of its
// indicator, and behind it.
func (w *writer) block(depth, column int, begun, list bool) {
	if depth > 0 && !begun && w.IntN(12) == 0 {
		w.WriteString(w.pick("&a", "!t"))
		w.line(column)
	}
	kind := w.IntN(6)
	if depth <= 0 {
		kind = 5
	}
	if list {
		kind = 0
	}
	for i := range 1 + w.IntN(3) {
		if kind < 5 && i > 0 {
			w.line(column)
		}
		switch {
		case kind < 2:
			w.WriteString("-")
			w.item(depth, column)
		case kind < 4:
			w.keys++
			fmt.Fprintf(w, "k%d:", w.keys)
			w.value(depth, column)
		case kind == 4:
			w.WriteString("?")
			w.item(depth, column)
			w.line(column)
			w.WriteString(":")
			w.item(depth, column)
		}
	}
	if kind == 5 {
		w.scalar(depth, column)
	}
}

func (w *writer) item(depth, column int) {
	gap := 1 + w.IntN(8)/7*2
	if w.IntN(3) > 0 {
		w.WriteString(strings.Repeat(" ", gap))
		w.block(depth-1, column+1+gap, true, false)
		return
	}
	if p := w.property(); p != "" {
		w.WriteString(" " + strings.TrimSpace(p))
	}
	column = w.more(column)
	w.line(column)
	w.block(depth-1, column, false, false)
}

func (w *writer) value(depth, column int) {
	p := strings.TrimSpace(w.property())
	if p != "" {
		p = " " + p
	}
	w.WriteString(p)
	switch w.IntN(5) {
	case 0:
		w.WriteString(" ")
		w.scalar(depth, column+1)
	case 1:
		w.line(column)
		w.block(depth-1, column, false, true)
	default:
		column = w.more(column)
		w.line(column)
		w.block(depth-1, column, false, false)
	}
}

// scalar writes a scalar or a flow collection.
func (w *writer) scalar(depth, column int) {
	w.WriteString(w.property())
	switch w.IntN(10) {
	case 0:
		text := w.pick("a", "a b", `"a`, "'a")
		quote := strings.TrimRight(text, "a b")
		w.WriteString(text)
		for range 1 + w.IntN(2) {
			w.line(w.more(column))
			w.WriteString("b")
		}
		w.WriteString(quote)
	case 1:
		w.WriteString(w.pick("|", ">", "|-", ">+"))
		n := w.more(column)
		for range 1 + w.IntN(3) {
			w.line(n + w.IntN(5)/4)
			w.WriteString(w.pick("b", "b c"))
		}
	case 2, 3:
		w.flow(depth, column)
	default:
		w.WriteString(w.pick("a", "'a'", "1", "yes", `"it's"`, `'"'`, "'1'", "'a: b'", "http://example.com/a/long/word"))
	}
}

// flow writes a flow collection.
func (w *writer) flow(depth, column int) {
	brackets := w.pick("[]", "{}")
	w.WriteString(brackets[:1])
	gap := func() {
		if w.IntN(3) == 0 {
			w.line(w.more(column) + w.IntN(4)/3)
		} else {
			w.WriteString(" ")
		}
	}
	for range w.IntN(4) {
		if w.IntN(2) == 0 {
			gap()
		}
		if brackets == "{}" || w.IntN(6) == 0 {
			w.keys++
			explicit := w.IntN(6) == 0
			if explicit {
				w.WriteString("?")
				gap()
			}
			fmt.Fprintf(w, "%sk%d", w.property(), w.keys)
			if explicit {
				gap()
			}
			w.WriteString(":")
			gap()
		}
		if depth > 0 && w.IntN(3) == 0 {
			w.flow(depth-1, w.more(column))
		} else {
			w.WriteString(w.property() + w.pick("a", "'a'", `"b"`, "1"))
		}
		if w.IntN(6) == 0 {
			gap()
		}
		w.WriteString(",")
	}
	if w.IntN(2) == 0 {
		w.line(column + w.IntN(3))
	}
	w.WriteString(brackets[1:])
}

// Every combination of the options of indentation, line-length and
// quoted-strings, on YAML of every form.
func TestOptions(t *testing.T) {
	n := 20
	if os.Getenv("SLIPWAY_TEST_REAL") != "" {
		n = 1000
	}
	seed := uint64(7)
	_, _ = fmt.Sscan(os.Getenv("SLIPWAY_TEST_SEED"), &seed)
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 2))}
	var q []asked
	for rule, options := range map[string][][]string{
		"indentation":    {{"spaces", "2", "4", "consistent"}, {"indent-sequences", "true", "false", "whatever", "consistent"}, {"check-multi-line-strings", "true", "false"}},
		"line-length":    {{"max", "10", "24"}, {"allow-non-breakable-words", "true", "false"}, {"allow-non-breakable-inline-mappings", "true", "false"}},
		"quoted-strings": {{"quote-type", "any", "single", "double"}, {"required", "true", "false", "only-when-needed"}, {"allow-quoted-quotes", "true", "false"}},
	} {
		configs := grid(rule, options)
		if rule == "quoted-strings" {
			configs = append(configs, grid(rule, [][]string{{"required", "false", "only-when-needed"}, {"quote-type", "any", "single"}, {"extra-required", "[]", "[^a, b$]"}})...)
			configs = append(configs, grid(rule, [][]string{{"required", "only-when-needed"}, {"quote-type", "any", "double"}, {"extra-required", "[]", "[^h]"}, {"extra-allowed", "[^a]", "[/, c]"}})...)
		}
		for _, config := range configs {
			for range n {
				w.Reset()
				w.keys = 0
				w.block(1+w.IntN(4), 0, false, false)
				q = append(q, asked{config, w.String() + "\n"})
			}
		}
	}
	compare(t, q)
}

func TestSmall(t *testing.T) {
	var q []asked
	for _, text := range []string{
		"", "\n", "\n\n", "a", "a: b\n\n\n\n\n", "\r\n\r\na: 1\r\n\r\n\r\n\r\n", "a: b: c \n", "a: [1,2,3\nb:   c   \n", "#!x\n#a\n##  b\n#\n",
		"# yamllint disable-file\na: b: c\n", "a: 1\n# yamllint disable-file\nb:  2\n", "# yamllint disable\na:   1\n# yamllint enable rule:colons\nb:   2  \n# yamllint enable\nc:   1\n",
		"a:  1  # yamllint disable-line rule:colons\n# yamllint disable-line\nb:  2\nc:  3\n",
		"%YAML 1.1\n---\na: !!str yes\n...\n%TAG ! tag:x\n---\nb: !x off\n", "%YAML 2.0\n--- a\n", "? a\n: b\n?   c\n:   d\n", "? |\n  a\n: 1\n? a\n: 2\n? \"a\\n\"\n: 3\n",
		"a: &b {c: d}\ne: *b\n*b : f\n<<: *b\n<<: *b\n", "a: .inf\nb: .NaN\nc: 1e6\nd: .5\ne: -.5e3\nf: 010\ng: 0o17\nh: 08\ni: '010'\n",
		"a: yes\non: [push]\ny: {No: 1}\n", "]\na: b\n", "a: }\n- b\n", "- a\n-\n  b\n- - c\n  - d\n-   e:\n    - f\n", "a:\n- b\nc:\n  - d\n", "a:\n  # x\n - b\n# y\n  # z\nc: 1\n",
		"a: 'x\n\n  y'\nb: \"x\\\n  y\"\nc: |\n   x\n\n    y\nd: >+\n\n\ne: |2\n    x\n", "a: |x\n", "a: \"\\q\"\n", "a: \"\\x4\"\n", "a: 'b\n--- c\n", "- !<a> b\n- !a!b c\n", "&\n", "a: @b\n", "a: !x%ff y\n",
		"\ufeffa: b\n", "a: \"b\" \"c\"\n", "a\nb: c\n", "- a\n b: c\n", "[a: b, c]: d\n", "{a, b: , ? c : d}\n", "{a: , b}\n", "- {  }\n- [  ]\n- { a : b }\n- [ a ,b,  c\n  , d ]\n", "a: b\rc: d  \r",
		"key: 2012-01-01\nb: \"12\"\nc: \"a\"\nd: \"a: b\"\ne: '- x'\nf: !!int \"3\"\ng: ''\nh: \"it's\"\ni: '\"'\n",
		"-\n|\n x\n- ? a\n  : &a\n    b\n  ? !t\n    c\n", "a: [b,\n  c]\nd: {\n   e: f\n  }\ng: !t &x\n  h: 1\n", "\n\r\n\na: 1\n\n\r\n", "a: 1\nb:\nb:\n*\n", "#  yamllint disable-file \na:  b\n", "# yamllint disable-line  rule:colons\na:  b\n",
		"- http://example.com/very/long/line/without/any/space/but/a/dash/here/and/even/more/of/it\n- a: http://example.com/very/long/line/without/any/space/but/a/dash/here/and/even/more\n",
	} {
		q = append(q, asked{every, text}, asked{others, text}, asked{"extends: default", text})
	}
	q = slices.DeleteFunc(q, func(a asked) bool { return a.Conf == "extends: default" && strings.Contains(a.Text, "\non: [push]") })
	compare(t, q)
}

// C116: on at the top of a workflow is a key, not a truth.
func TestTopKeyOn(t *testing.T) {
	c := checker(t, "rules: {truthy: enable}")
	if got := mine(t, c, "on: [push]\na: yes\n"); len(got) != 1 || !strings.HasPrefix(got[0], "2:4:") {
		t.Error(got)
	}
	if got := mine(t, checker(t, "rules: {truthy: {check-keys: true}}"), "on: [push]\n"); len(got) != 1 {
		t.Error(got)
	}
}

// C117, C120: templates are no YAML; braces in quotes are no braces.
func TestTemplates(t *testing.T) {
	if !yaml.Template([]byte("a: {{ if .Values.x }}")) || yaml.Template([]byte("a: {b: {c: d}}")) {
		t.Error("templates are not told from YAML")
	}
	if got := mine(t, checker(t, "rules: {braces: enable}"), "a: \"{{ x }}\"\n"); len(got) != 0 {
		t.Error(got)
	}
}

func TestConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"rules:\n  colon: enable\n":                           `c.yml:2: no such rule: "colon"`,
		"rules:\n  colons: {max: 1}\n":                        `c.yml:2: rule colons has no option "max"`,
		"rules:\n  colons:\n    max-spaces-before: many\n":    `c.yml:3: rule colons: max-spaces-before is "many": it takes int`,
		"rules:\n  colons: {level: fatal}\n":                  `c.yml:2: rule colons: level is "fatal"`,
		"rules:\n  colons: maybe\n":                           `c.yml:2: rule colons is "maybe"`,
		"rules:\n  truthy: {allowed-values: [perhaps]}\n":     `c.yml:2: rule truthy: allowed-values has "perhaps"`,
		"rules:\n  quoted-strings: {extra-required: ['(']}\n": `c.yml:2: rule quoted-strings: extra-required`,
		"extends: nothing-of-that-name\n":                     `c.yml:1: reading what extends names`,
		"- a\n":                                               `c.yml: the configuration is no mapping`,
	} {
		_, err := yaml.ReadConfig("c.yml", []byte(text), os.ReadFile)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestIgnore(t *testing.T) {
	c := checker(t, "ignore: |\n  *.skip.yaml\n  /bin/\n  !/bin/*.do.yaml\nrules:\n  colons: {ignore: [generated]}\n")
	for file, want := range map[string]int{"a.yaml": 1, "x/a.skip.yaml": 0, "bin/a.yaml": 0, "bin/a.do.yaml": 1, "x/bin/a.yaml": 1, "generated/x.yaml": 0, "x/generated": 0} {
		if got, _ := c.Check(file, []byte("a:  b\n")); len(got) != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}

func TestFix(t *testing.T) {
	c := checker(t, "extends: default")
	for text, want := range map[string]string{
		"a: 1  \n\n\n\n\nb: 2":     "a: 1\n\n\nb: 2\n",
		"\n\na: 1\r\n":             "a: 1\n",
		"a: 1\r\nb: 2 \r\n\r\n":    "a: 1\nb: 2\n",
		"a: 1\n\n\n":               "a: 1\n",
		"\r\r\r\r\r\r\nJ":          "J\n",
		"a: [1 \n":                 "a: [1 \n",
		"a: 1\n  \n \n \n  \nb: 2": "a: 1\n\n\nb: 2\n",
	} {
		got, err := c.Fix("a.yaml", []byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if again, _ := c.Fix("a.yaml", got); !bytes.Equal(again, got) {
			t.Errorf("%q: fixing again gives %q", got, again)
		}
	}
}

func TestLinear(t *testing.T) {
	c := checker(t, every)
	for name, text := range map[string]string{
		"one line": strings.Repeat("a, ", 5<<20/3), "brackets": strings.Repeat("[", 100000), "braces": strings.Repeat("{a: ", 100000),
		"dashes": strings.Repeat("- ", 100000), "both": strings.Repeat("[", 100000) + strings.Repeat("]", 100000), "blank": strings.Repeat("\n", 1<<20),
		"comments": strings.Repeat("#\n", 1<<20), "keys": strings.Repeat("a: b\n", 200000), "quotes": strings.Repeat("'a' ", 1<<20), "long quote": "a: '" + strings.Repeat("b \n", 1<<20) + "'\n",
		"flow": "[" + strings.Repeat("1, ", 1<<20) + "]", "block": "a: |\n" + strings.Repeat("  b\n", 1<<20), "key": strings.Repeat("? ", 100000), "breaks": "- " + strings.Repeat("\r", 1<<20),
		"hash": "[" + strings.Repeat("a #\n", 1<<19) + "]",
	} {
		start := time.Now()
		if _, err := c.Check("a.yaml", []byte(text)); err != nil {
			t.Error(err)
		}
		t.Logf("%s: %v for %d bytes", name, time.Since(start), len(text)) // if it is not linear, the test does not end
	}
}

func TestNoUTF8(t *testing.T) {
	c := checker(t, every)
	for text, want := range map[string]string{"a: b\nc: \xff": "2:4: [error] syntax error: byte 0xff is no UTF-8 (syntax)", "a\n\x01": "2:1: [error] syntax error: character U+0001 is not allowed (syntax)"} {
		if got := mine(t, c, text); len(got) != 1 || got[0] != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("a: [b, {c: 'd'}]\n? |\n  e\n: \"\\x41\"\n")
	f.Add("%TAG ! a\n---\n- !x &y z\n- *y\n...\n")
	f.Add("a:\r\n- >+1\n  b\n# yamllint disable\n")
	f.Add("},00:")
	a, b := checker(f, every), checker(f, others)
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []*yaml.Checker{a, b} {
			start := time.Now()
			if _, err := c.Check("a.yaml", []byte(text)); err != nil {
				t.Fatal(err)
			}
			if time.Since(start) > time.Minute {
				t.Fatal("it hangs")
			}
		}
		once, err := a.Fix("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if twice, _ := a.Fix("a.yaml", once); !bytes.Equal(once, twice) {
			t.Fatalf("%q is fixed to %q, that to %q", text, once, twice)
		}
	})
}

func BenchmarkIstio(b *testing.B) {
	config, texts := istio(b)
	c := checker(b, config)
	size := 0
	for _, t := range texts {
		size += len(t)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, t := range texts {
			_, _ = c.Check("a.yaml", []byte(t))
		}
	}
}
