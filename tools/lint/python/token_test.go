// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"slices"
	"testing"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string][]string{
		"x=1\n":                {"x", "=", "1", "\n", ""},
		"0777 1_0 0x_f .5e1j":  {"0", "777", "1_0", "0x_f", ".5e1j", "", ""},
		"rb'a\\'b' f\"{x}\"\n": {"rb'a\\'b'", "f\"{x}\"", "\n", ""},
		"a<>b->c:=d...\n":      {"a", "<", ">", "b", "->", "c", ":=", "d", "...", "\n", ""},
		"'''a\nb'''\n":         {"'''a\nb'''", "\n", ""},
		"'a\\\nb'\n":           {"'a\\\nb'", "\n", ""},
		"'a\n":                 {"'", "a", "\n", ""},
		"a \\\n  b\n":          {"a", "b", "\n", ""},
	} {
		tokens, err := tokenize(text, splitLines(text))
		var got []string
		for _, k := range tokens {
			got = append(got, k.text)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"(\n", "'''\n", "if a:\n    b\n  c\n"} {
		if _, err := tokenize(text, splitLines(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func FuzzTokenize(f *testing.F) {
	f.Add("x = '''a\n'''\n  y\n")
	f.Fuzz(func(t *testing.T, raw string) {
		src := decode([]byte(raw))
		at := position{1, 0}
		tokens, _ := tokenize(src.text, src.lines)
		for _, k := range tokens {
			if k.end.row < k.start.row || k.start.row < at.row || k.start.row == at.row && k.start.col < at.col {
				t.Fatalf("%q: %+v is before %+v", src.text, k, at)
			}
			if k.kind != kindIndent && k.kind != kindDedent {
				at = k.end
			}
		}
	})
}
