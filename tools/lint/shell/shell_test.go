// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package shell_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/shell"
)

func TestSyntax(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.sh", "#!/bin/bash\na=(1 2)\n", ""},
		{"a.sh", "#!/bin/sh\na=(1 2)\n", "2:3 syntax error"},
		{"a.sh", "#!/usr/bin/env -S bash -e\na=(1 2)\n", ""},
		{"a.sh", "a=(1 2)\n", ""}, {"a", "a=(1 2)\n", ""},
		{"a.sh", "#!/bin/bash\nif true; then\n", "2:10 syntax error"},
		{"a.sh", "#!/bin/bash\necho äö )\n", "2:9 syntax error"},
		{"a.sh", "#!/bin/mksh\nx=${|REPLY=1;}\n", ""},
		{"a.bats", "@test \"a\" {\n  true\n}\n", ""},
		{"a.sh", "#!/usr/bin/env bats\n@test \"a\" {\n  true\n}\n", ""},
		{"a.sh", "#!/bin/zsh\nif (\n", "1:0 dialect notice"}, {"a.zsh", "x\n", "1:0 dialect notice"},
		{"a.sh", "#!/usr/bin/env python3\nif (\n", "1:0 dialect notice"},
		{"a.sh", "", ""}, {"a.sh", "#!\n", ""}, {"a.sh", "#!/bin/sh\r\n", ""},
	} {
		found, err := shell.New(shell.Options{}).Check(c.file, []byte(c.text))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var got []string
		for _, f := range found {
			got = append(got, strings.Join([]string{place(f), f.Rule, string(f.Severity)}, " "))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s %q: %v, want %q", c.file, c.text, found, c.want)
		}
	}
}

func place(f lint.Finding) string {
	p := lint.Finding{Line: f.Line, Column: f.Column}.String()
	p = strings.TrimSuffix(strings.TrimPrefix(p, ":"), ": ")
	if f.Column == 0 {
		p += ":0"
	}
	return p
}

var formatting = shell.Options{Format: true, Layout: shell.Layout{Indent: 2}}

// format formats, and checks what holds for all scripts: a second run changes
// nothing, and bash prints the same.
func format(t *testing.T, text string) (string, error) {
	t.Helper()
	c := shell.New(formatting)
	out, err := c.Fix("a.sh", []byte(text))
	if err != nil {
		return text, err
	}
	again, err := c.Fix("a.sh", out)
	if err != nil || string(again) != string(out) {
		t.Errorf("%q: twice is not once: %q, %v", out, again, err)
	}
	if found, err := c.Check("a.sh", out); err != nil || len(found) > 0 {
		t.Errorf("%q: formatted, and yet: %v, %v", out, found, err)
	}
	if before, after := bash(t, text), bash(t, string(out)); before != after {
		t.Errorf("%q prints %q, formatted as %q it prints %q", text, before, out, after)
	}
	return string(out), nil
}

func bash(t *testing.T, script string) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	cmd := exec.Command(path, "-s")
	cmd.Stdin = strings.NewReader(script)
	out, _ := cmd.Output() // scripts of these tests may fail
	return string(out)
}

// A comment after a here-document stays outside of it.
func TestC107(t *testing.T) {
	out, err := format(t, "if true; then\ncat <<E\n text\nE\n  # comment\nfi\n")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "<<E\n text\nE\n") || strings.Index(out, "# comment") < strings.Index(out, "\nE\n") {
		t.Errorf("%q", out)
	}
}

// A backslash before the end word joins the two, so that the here-document does
// not end there: the meaning stays, and a script without another end is not
// read at all.
func TestC108(t *testing.T) {
	for _, text := range []string{"cat <<E\nfoo\\\nE\necho end\nE\n", "cat <<E\nfoo\\\\\nE\ncat <<'E'\nfoo\\\nE\n", "if x; then\n\tcat <<-E\n\t\tfoo\\\n\tE\nE\nfi\n"} {
		if _, err := format(t, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	const open = "if true; then\ncat <<E\nfoo\\\nE\nfi\n"
	c := shell.New(formatting)
	if out, err := c.Fix("a.sh", []byte(open)); err != nil || string(out) != open {
		t.Errorf("%q, %v", out, err)
	}
	if found, err := c.Check("a.sh", []byte(open)); err != nil || len(found) != 1 || found[0].Rule != "syntax" {
		t.Errorf("%v, %v", found, err)
	}
}

// A comment after the start of a here-document is not added again each time.
func TestC109(t *testing.T) {
	out, err := format(t, "if true; then\n\tcat <<-E # note\n\t\tx\n\tE\nfi\n")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(out, "# note") != 1 {
		t.Errorf("%q", out)
	}
}

// A here-document in a process substitution is not damaged.
func TestC110(t *testing.T) {
	if _, err := format(t, "cat <(cat <<E\n a\n  b\nE\n)\n"); err != nil {
		t.Fatal(err)
	}
}

// An end word is no prefix.
func TestC113(t *testing.T) {
	const text = "cat <<EOL\nEOL_\nEOL\n"
	if out, err := format(t, text); err != nil || out != text {
		t.Errorf("%q, %v", out, err)
	}
}

func TestFormat(t *testing.T) {
	const text = "if true\nthen\n    echo a   b >x\nfi\n"
	if found, err := shell.New(shell.Options{}).Check("a.sh", []byte(text)); len(found) > 0 || err != nil {
		t.Error(found, err)
	}
	found, err := shell.New(formatting).Check("a.sh", []byte(text))
	if err != nil || len(found) != 1 || found[0].Line != 1 || found[0].Rule != "format" || !found[0].Fixable {
		t.Errorf("%v %v", found, err)
	}
	for config, want := range map[string]string{
		"":                          "if true; then\n  echo a b >x\nfi\n",
		"[*]\nindent_style = tab\n": "if true; then\n\techo a b >x\nfi\n",
		"root = true\n[*.{sh,bash}]\nindent_style=space\nindent_size=4\nspace_redirects = true\n": "if true; then\n    echo a b > x\nfi\n",
		"[/lib/**.sh]\nindent_style=tab\n[other/*]\nindent_style=tab\n[[x]\n[*.{]\n":              "if true; then\n  echo a b >x\nfi\n",
		"[bin/*]\nindent_style=tab": "if true; then\n\techo a b >x\nfi\n",
	} {
		o := formatting
		o.EditorConfig = []byte(config)
		out, err := shell.New(o).Fix("bin/a.sh", []byte(text))
		if err != nil || string(out) != want {
			t.Errorf("%q: %q, %v", config, out, err)
		}
	}
	for _, same := range []string{"if (\n", "#!/bin/zsh\nx   y\n"} { // cannot be read
		if out, err := shell.New(formatting).Fix("a.sh", []byte(same)); string(out) != same || err != nil {
			t.Errorf("%q: %q, %v", same, out, err)
		}
	}
}

// Scripts of many authors: none becomes unreadable, and few are left alone.
func TestFormatModules(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		t.Skip("set SLIPWAY_TEST_REAL=1 to format the scripts of the whole module cache")
	}
	program, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	reads := func(text []byte) bool {
		cmd := exec.Command(program, "-n")
		cmd.Stdin = bytes.NewReader(text)
		return cmd.Run() == nil
	}
	root, n, same, alone, faults := modules(t, true), 0, 0, 0, 0
	for _, f := range scripts(t, root) {
		text, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		n++
		found, _ := shell.New(shell.Options{}).Check(f, text)
		faults += len(found)
		for _, x := range found {
			t.Log(x)
		}
		out, err := shell.New(formatting).Fix(f, text)
		switch {
		case errors.Is(err, shell.ErrMeaning):
			alone++
			t.Logf("%s: %v", f, err)
		case err != nil:
			t.Errorf("%s: %v", f, err)
		case bytes.Equal(out, text):
			same++
		case reads(text) && !reads(out):
			t.Errorf("%s: bash does not read what was made of it", f)
		}
	}
	t.Logf("%d scripts: %d as they were, %d left alone, %d findings of syntax", n, same, alone, faults)
}

// No text ends the program, or takes more than linear time.
func TestLarge(t *testing.T) {
	units := []string{"(", "$(", "{ ", "[[ ! ", "a|", "a&&", "if ", "a ", "$((-", "((- - ", "`", "<<", "${a:-", "\"$(", "'", "! ", "((1?", "a=(", "((a=", "[[ a && ", "case x in a) ", "# ", "a;", "f() ", "\\\n", "((1+"}
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		units = units[:6]
	}
	for _, unit := range units {
		text := []byte(strings.Repeat(unit, (5<<20)/len(unit)))
		few := []byte(strings.Repeat(unit, 30_000))
		for _, c := range []*shell.Checker{shell.New(shell.Options{}), shell.New(formatting)} {
			start := time.Now()
			_, err := c.Check("a.sh", text)
			_, _ = c.Check("a.sh", few)
			t.Logf("%q %v %v", unit, time.Since(start), err) // if it is not linear, the test does not end
		}
	}
}

// BenchmarkIstio reads all scripts of Istio.
func BenchmarkIstio(b *testing.B) {
	root := modules(b, false)
	texts := map[string][]byte{}
	for _, f := range scripts(b, root) {
		text, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			b.Fatal(err)
		}
		texts[f] = text
	}
	c := shell.New(shell.Options{})
	for b.Loop() {
		for f, text := range texts {
			if found, err := c.Check(f, text); err != nil || len(found) > 0 {
				b.Fatal(found, err)
			}
		}
	}
	b.ReportMetric(float64(len(texts)), "files")
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"cat <<E\nx\nE\n", "#!/bin/sh\nif a; then b; fi # c\n", "case $x in a) b ;; esac", "a | b && c\n# d\n", "f() { x; }", "a=(1\n# c\n2)"} {
		f.Add(s)
	}
	c := shell.New(formatting)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := c.Check("a.sh", []byte(text)); err != nil {
			return
		}
		out, err := c.Fix("a.sh", []byte(text))
		if err != nil {
			return
		}
		if again, err := c.Fix("a.sh", out); err != nil || string(again) != string(out) {
			t.Errorf("%q: %q then %q, %v", text, out, again, err)
		}
	})
}
