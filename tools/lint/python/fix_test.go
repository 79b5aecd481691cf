// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/python"
)

func TestFix(t *testing.T) {
	for name, c := range map[string]struct {
		aggressive int
		text, want string
	}{
		"clean":                   {0, "x = 1\n", "x = 1\n"},
		"white space":             {0, "x=foo( 1,2 )\n", "x = foo(1, 2)\n"},
		"operators":               {0, "x = a|b\ny = a  + b\nz  = a<b\n", "x = a | b\ny = a + b\nz = a < b\n"},
		"keyword arguments":       {0, "f(a = 1)\n", "f(a=1)\n"},
		"annotated default":       {0, "def f(a: int=1):\n    pass\n", "def f(a: int = 1):\n    pass\n"},
		"keywords":                {0, "x = a  in  b\nfrom a import(b)\n", "x = a in b\nfrom a import (b)\n"},
		"comments":                {0, "x = 1 #a\n#b\n", "x = 1  # a\n# b\n"},
		"shebang":                 {0, "#!/bin/sh\n#!x\n", "#!/bin/sh\n#!x\n"},
		"blank lines":             {0, "import os\ndef f():\n    pass\nx = 1\n", "import os\n\n\ndef f():\n    pass\n\n\nx = 1\n"},
		"blank lines and comment": {0, "import os\n# says\n# more\ndef f():\n    pass\n", "import os\n\n\n# says\n# more\ndef f():\n    pass\n"},
		"too many blank lines":    {0, "x = 1\n\n\n\n\ny = 1\n", "x = 1\n\n\ny = 1\n"},
		"methods":                 {0, "class A:\n    a = 1\n    def f(self):\n        pass\n", "class A:\n    a = 1\n\n    def f(self):\n        pass\n"},
		"decorator":               {0, "@a\n\ndef f():\n    pass\n", "@a\ndef f():\n    pass\n"},
		"ends of lines":           {0, "x = 1 \n\t\ny = 2", "x = 1\n\ny = 2\n"},
		"end of file":             {0, "x = 1\n\n\n", "x = 1\n"},
		"strings keep blanks":     {0, "x = '''a \n b '''\n", "x = '''a \n b '''\n"},
		"line endings":            {0, "x = 1\r\ny = 2\r\nz = 3\n", "x = 1\r\ny = 2\r\nz = 3\r\n"},
		"tabs":                    {0, "if a:\n\tb = 1\n", "if a:\n    b = 1\n"},
		"two spaces":              {0, "if a:\n  if b:\n    c = 1\n", "if a:\n    if b:\n        c = 1\n"},
		"imports":                 {0, "import os, sys\n", "import os\nimport sys\n"},
		"imports with a comment":  {0, "import os, sys  # all\n", "import os, sys  # all\n"},
		"colon":                   {0, "if a: b = 1\n", "if a:\n    b = 1\n"},
		"semicolons":              {0, "a = 1; b = 2;\n", "a = 1\nb = 2\n"},
		"class with annotation":   {0, "class A: x: int = 3\n", "class A:\n    x: int = 3\n"},
		"not Python":              {0, "def f(:  \n  x=1\n", "def f(:\n  x=1\n"},
		"other scripts":           {0, "é=f( 'ü',1 ) #ö\n", "é = f('ü', 1)  # ö\n"},
		"byte order mark":         {0, "\ufeffx=1\n", "\ufeffx = 1\n"},
		"Latin-1":                 {0, "# coding: latin-1\nx='\xe9'\n", "# coding: latin-1\nx = '\xe9'\n"},
		"None, not asked":         {0, "x = a == None\n", "x = a == None\n"},
		"None (C084)":             {2, "assert None == h\n", "assert None is h\n"},
		"not None":                {1, "if a != None:\n    pass\n", "if a is not None:\n    pass\n"},
		"membership":              {2, "if not a.b in c:\n    pass\n", "if a.b not in c:\n    pass\n"},
		"identity":                {2, "x = not a is b\n", "x = a is not b\n"},
		"chain":                   {2, "x = not a in b in c\n", "x = not a in b in c\n"},
		"switched off":            {0, "# fmt: off\nx=1\n# fmt: on\ny=2\n", "# fmt: off\nx=1\n# fmt: on\ny = 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := python.New(python.Options{MaxLineLength: 160, Aggressive: c.aggressive})
			got, err := p.Fix("a.py", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Fatalf("got\n%q, want\n%q", got, c.want)
			}
			again, err := p.Fix("a.py", got)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("fixed again: %q, %v", again, err)
			}
		})
	}
}

// TestTabsKept is case C085: the tab stays where indentation is not judged.
func TestTabsKept(t *testing.T) {
	p := python.New(python.Options{Aggressive: 2, Ignore: []string{"E1", "W191"}})
	text := "if a:\n\tif not \".\" in name:\n\t\tpass\n"
	found, err := p.Check("a.py", []byte(text))
	if err != nil || len(found) != 1 || found[0].Rule != "E713" || found[0].Severity != lint.Error || !found[0].Fixable {
		t.Fatalf("%+v, %v", found, err)
	}
	got, err := p.Fix("a.py", []byte(text))
	want := strings.Replace(text, `not "." in`, `"." not in`, 1)
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
