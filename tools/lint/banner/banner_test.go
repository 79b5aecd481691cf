// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package banner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/banner"
)

const text = `// Copyright Some Authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
`

func check(t *testing.T, l lint.Linter, file, content string) string {
	t.Helper()
	found, err := l.Checker.Check(file, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, f := range found {
		rules = append(rules, f.String())
	}
	return strings.Join(rules, "\n")
}

func TestFixSatisfiesCheck(t *testing.T) {
	l := banner.Linter(nil, text)
	full, hash := text+"\n", strings.ReplaceAll(text, "//", "#")
	for name, c := range map[string]struct{ file, before, after string }{
		"nothing":                  {"a.go", "package a\n", full + "package a\n"},
		"all there":                {"a.go", full + "package a\n", full + "package a\n"},
		"C123 licence only":        {"a.go", "// Apache License, Version 2.0\n\npackage a\n", "// Copyright Some Authors\n\n// Apache License, Version 2.0\n\npackage a\n"},
		"copyright only":           {"a.go", "// Copyright X\n\npackage a\n", strings.TrimPrefix(full, "// Copyright Some Authors\n//\n") + "// Copyright X\n\npackage a\n"},
		"C123 interpreter first":   {"a.sh", "#!/bin/bash\necho\n", "#!/bin/bash\n" + hash + "\necho\n"},
		"interpreter and encoding": {"a.py", "#!/usr/bin/python\n# -*- coding: utf-8 -*-\nx = 1\n", "#!/usr/bin/python\n# -*- coding: utf-8 -*-\n" + hash + "\nx = 1\n"},
		"build tags":               {"a.go", "//go:build linux\n\npackage a\n", full + "//go:build linux\n\npackage a\n"},
		"CRLF":                     {"a.go", "package a\r\n", strings.ReplaceAll(full, "\n", "\r\n") + "package a\r\n"},
		"empty":                    {"a.go", "", text},
		"no line end":              {"a.sh", "#!/bin/sh", "#!/bin/sh\n" + hash},
		"byte order mark":          {"a.cc", "\ufeffint x;\n", "\ufeff" + full + "int x;\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := l.Checker.(lint.Fixer).Fix(c.file, []byte(c.before))
			if err != nil || string(got) != c.after {
				t.Fatalf("%v, mended to\n%s\nwant\n%s", err, got, c.after)
			}
			if found := check(t, l, c.file, string(got)); found != "" {
				t.Errorf("after the fix: %s", found)
			}
			if again, _ := l.Checker.(lint.Fixer).Fix(c.file, got); string(again) != string(got) {
				t.Errorf("a second fix changes the file to\n%s", again)
			}
		})
	}
}

func TestLines(t *testing.T) {
	l := banner.Linter(nil, "")
	if got := check(t, l, "x/a.go", "package a\n"); got != "Missing license: x/a.go\nMissing copyright: x/a.go" {
		t.Errorf("found\n%s", got)
	}
	if got := check(t, l, "a.go", "// Copyright me\n// Apache License, Version 2.0\n"); got != "" {
		t.Errorf("found\n%s", got)
	}
	if got := check(t, banner.Linter(nil, "", "SPDX-License-Identifier"), "a.go", "// Copyright me\n// SPDX-License-Identifier: MIT\n"); got != "" {
		t.Errorf("found\n%s", got)
	}
}

func TestChosen(t *testing.T) {
	chosen := banner.Chosen([]string{"third", "./copied/", "gen/*.h"})
	for file, want := range map[string]bool{
		"a.go": true, "a/b.rs": true, "a.pb.go": false, "a.gen.go": false, "x_pb2.py": false, "a.md": false,
		"third/x.h": false, "thirds/x.h": true, "copied/a/b.go": false, "gen/a.h": false, "gen/a.cc": true, // C122
	} {
		if chosen(file) != want {
			t.Errorf("%s is chosen: %v", file, !want)
		}
	}
}

// The script that common-files has, in our own words: both texts have to be
// in the file, found by grep itself.
func TestAsGrepSees(t *testing.T) {
	grep, err := exec.LookPath("grep")
	if err != nil {
		t.Skip("there is no grep")
	}
	l, dir := banner.Linter(nil, ""), t.TempDir()
	for i, content := range []string{"", "Copyright", "copyright", "Apache License, Version 2", "Apache License,\nVersion 2 Copyright", "\x00Copyright\x00Apache License, Version 2.0"} {
		file := filepath.Join(dir, "a.go")
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, w := range [][2]string{{"license", "Apache License, Version 2"}, {"copyright", "Copyright"}} {
			if exec.Command(grep, "-q", "-e", w[1], file).Run() != nil {
				want += "Missing " + w[0] + ": a.go\n"
			}
		}
		if got := check(t, l, "a.go", content); got != strings.TrimSpace(want) {
			t.Errorf("text %d: %q, grep says %q", i, got, want)
		}
	}
}
