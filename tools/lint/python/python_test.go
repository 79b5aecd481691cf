// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python_test

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/python"
)

// check gives what fails the file, and what does not in brackets.
func check(t *testing.T, o python.Options, text string) string {
	t.Helper()
	found, err := python.New(o).Check("a.py", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		s := fmt.Sprintf("%d:%d:%s", f.Line, f.Column, f.Rule)
		if f.Severity != lint.Error {
			s = "(" + s + ")"
		}
		out = append(out, s)
		if f.Message == "" {
			t.Errorf("%s has no message", s)
		}
	}
	return strings.Join(out, " ")
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":                     {"", ""},
		"clean":                     {"import os\n\n\ndef f(a, b=1):\n    return a[1:2] + b\n", ""},
		"only a line ending":        {"\n", "1:1:W391"},
		"no final newline":          {"x = 1", "1:6:W292"},
		"only CRLF":                 {"x = 1\r\n", ""},
		"mixed line endings":        {"x = 1\r\ny = 1\nz = 1\r\n", "2:1:eol"},
		"byte order mark":           {"\ufeffx = 1\n", ""},
		"form feed":                 {"x = 1\n\f\n\ndef f():\n    pass\n", ""},
		"invalid UTF-8":             {"x = '\xe9'\n", ""},
		"tabs":                      {"if a:\n\tb = 1\n", "2:1:W191"},
		"noqa does not protect":     {"x=1 # noqa\n", "1:2:E225 1:4:E261"},
		"noqa protects":             {"x = 1\nimport os  # noqa\n", ""},
		"lambda":                    {"f = lambda x: x\n", "1:1:E731"},
		"late import":               {"x = 1\nimport os\n", "2:1:E402"},
		"imports":                   {"import os, sys\n", "1:10:E401"},
		"colon":                     {"if a: b\n", "1:5:E701"},
		"one-line def":              {"def f(): pass\n", "(1:1:E704)"},
		"bare except":               {"try:\n    pass\nexcept:\n    pass\n", "(3:1:E722)"},
		"None":                      {"x = a == None\n", "(1:7:E711)"},
		"None on the left":          {"assert None == h\n", "(1:13:E711)"},
		"escape":                    {"x = \"\\d\"\n", "(1:6:W605)"},
		"ambiguous":                 {"l = 1\n", "(1:1:E741)"},
		"syntax error":              {"def f(:\n", "(2:1:E901)"},
		"syntax error and blank":    {"def f(: \n", "1:8:W291 1:8:W291 (2:1:E901)"},
		"blank in a string":         {"x = '''a \nb'''\n", "(1:9:W291)"},
		"old print":                 {"print \"x\"\n", ""},
		"match":                     {"match a:\n    case {\"a\":b}:\n        pass\n", "2:14:E231"},
		"nested formatted string":   {"x = f\"{f\"{a,b}\"}\"\n", "1:12:E231"},
		"string in one piece":       {"x = f'{a,b}'\n", ""},
		"long comment":              {"# " + strings.Repeat("a ", 100) + "b\n", "(1:161:E501)"},
		"long string":               {"x = '" + strings.Repeat("a ", 100) + "'\n", "(1:161:E501)"},
		"long call":                 {"x = foo(" + strings.Repeat("abcdef, ", 25) + "b)\n", "1:161:E501"},
		"switched off":              {"# autopep8: off\nx=1\n# autopep8: on\n", "(2:2:E225)"},
		"continuation":              {"x = foo(a,\n    b)\n", "2:5:E128"},
		"indentation of a comment":  {"if a:\n    b = 1\n     # c\n", "(3:6:E114) 3:6:E116"},
		"shape of a hanging indent": {"x = foo(\n        a)\n", "2:9:E126"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, python.Options{MaxLineLength: 160}, c.text); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	text := "x = a*b == None\nl=1\n"
	for name, c := range map[string]struct {
		o    python.Options
		want string
	}{
		"none":       {python.Options{}, "(1:9:E711) (2:1:E741) 2:2:E225"},
		"aggressive": {python.Options{Aggressive: 1}, "1:6:E226 1:9:E711 (2:1:E741) 2:2:E225"},
		"ignore":     {python.Options{Ignore: []string{"E7", "E226"}}, "2:2:E225"},
		"select":     {python.Options{Select: []string{"E22"}}, "1:6:E226 2:2:E225"},
		"exclude":    {python.Options{Exclude: []string{"*.py"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := check(t, c.o, text); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestReadConfig(t *testing.T) {
	files := map[string]string{
		"r/setup.cfg":      "[metadata]\nname = x\n[pep8]\nmax-line-length = 100\nignore = E1,\n  W6\n",
		"r/.flake8":        "[flake8]\nmax_line_length: 120\nper-file-ignores = a: E1\n",
		"r/pyproject.toml": "[tool.other]\nselect = 'W'\n[tool.autopep8]\naggressive = 2 # much\nexclude = [\n  'a',\n]\nignore = [\"E2\", \"W5\"]\n",
	}
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	o, names, err := python.ReadConfig("r", read)
	if err != nil {
		t.Fatal(err)
	}
	if o.MaxLineLength != 120 || o.Aggressive != 2 || !slices.Equal(o.Ignore, []string{"E2", "W5"}) || o.Select != nil {
		t.Errorf("%+v", o)
	}
	if len(names) != 3 || path.Base(names[2]) != "pyproject.toml" {
		t.Errorf("%v", names)
	}
	if got := (python.Options{MaxLineLength: 160}).Over(o); got.MaxLineLength != 160 || got.Aggressive != 2 {
		t.Errorf("%+v", got)
	}
	files["r/tox.ini"] = "[pep8]\nmax_line_length = x\n"
	delete(files, "r/.flake8")
	if _, _, err := python.ReadConfig("r", read); err == nil {
		t.Error("no error for a number that is none")
	}
}

// TestLarge holds that no input takes more than linear time. The limit is for
// a machine that is busy; alone, each takes a second or two.
func TestLarge(t *testing.T) {
	for name, text := range map[string]string{
		"one line":        "x = [" + strings.Repeat("1,2, ", 1<<20) + "]\n",
		"open brackets":   strings.Repeat("(", 100_000) + "\n" + strings.Repeat(")", 100_000) + "\n",
		"only brackets":   strings.Repeat("[\n", 100_000),
		"one word":        strings.Repeat("a", 5<<20) + "\n",
		"spaces":          "x" + strings.Repeat(" ", 5<<20) + "= 1\n",
		"string":          "x = '''" + strings.Repeat("a \n", 1<<20),
		"errors":          strings.Repeat("? ", 1<<20),
		"definitions":     "class A:\n" + strings.Repeat("    def f(self):\n        pass\n", 50_000),
		"decorators":      strings.Repeat("@a\n", 100_000),
		"semicolons":      strings.Repeat("a;", 500_000) + "\n",
		"colons":          "if a" + strings.Repeat(":a", 500_000) + "\n",
		"nested blocks":   nested(2000),
		"rows of a tuple": "x = (a,\n" + strings.Repeat("  (1,\n 2),\n", 50_000) + ")\n",
		"joined lines":    strings.Repeat("\\\n", 500_000),
		"comments":        strings.Repeat("    # a\n", 200_000),
		"quotes":          strings.Repeat("'", 1<<20),
		"comparisons":     "x = " + strings.Repeat("not a in b and ", 100_000) + "c\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := python.New(python.Options{MaxLineLength: 160, Aggressive: 2})
			start := time.Now()
			if _, err := p.Check("a.py", []byte(text)); err != nil {
				t.Fatal(err)
			}
			t.Log(time.Since(start)) // if it is not linear, the test does not end
		})
	}
}

func nested(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "if a:\n")
	}
	return b.String()
}
