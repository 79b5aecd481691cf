// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// Documents that the two dialects read differently, with the verdict in each.
func TestDialects(t *testing.T) {
	for _, c := range []struct {
		name, style, text string
		kramdown, common  []string
	}{
		{"a list behind a paragraph without a blank line", "rule 'MD004', :style => :dash", "text\n* item\n", nil, []string{"2: MD004"}},
		{"a number other than 1 begins no list there", "rule 'MD029'", "text\n2. item\n", nil, nil},
		{"a list of two spaces in a numbered item", "rule 'MD004', :style => :dash", "1. a\n  * b\n", nil, []string{"2: MD004"}},
		{"four spaces, two deep", "rule 'MD007', :indent => 4", "- a\n    - b\n        - c\n", nil, nil},
		{"two spaces, two deep", "rule 'MD007', :indent => 4", "- a\n  - b\n    - c\n", []string{"2: MD007", "3: MD007"}, []string{"2: MD007", "3: MD007"}},
		{"a list in a numbered item is indented by it", "rule 'MD007', :indent => 4", "1. a\n   - b\n", nil, nil},
		{"code in an item", "rule 'MD040'", "1. a\n\n    ```\n    b\n    ```\n", nil, []string{"3: MD040"}},
		{"code that its item ends", "rule 'MD009'\nrule 'MD046'", "- a\n\n  ```go\n  b\n\nc\n", nil, nil},
		{"code behind a paragraph", "rule 'MD040'", "text\n```\na\n```\n", nil, []string{"2: MD040"}},
		{"a fence of tildes", "rule 'MD040'", "~~~\n# a\n~~~\n", []string{"1: MD040"}, []string{"1: MD040"}},
		{"a bar makes no table", "rule 'MD034'", "a | https://x.example\n", nil, []string{"1: MD034"}},
		{"a table", "rule 'MD034'", "| a |\n|---|\n| https://x.example |\n", nil, []string{"3: MD034"}},
		{"lines of a table", "rule 'MD013', :line_length => 20, :tables => false", "| aaaaaaaaaa bbbbbbbbbbb c |\n| ---- |\n", []string{"1: MD013"}, nil},
		{"an underlined header or a rule", "rule 'MD035', :style => '---'", "a\n***\nb\n---\n\n* * *\n", []string{"6: MD035"}, []string{"2: MD035", "6: MD035"}},
		{"a header behind a paragraph", "rule 'MD003', :style => :setext", "text\n# a\n", nil, []string{"2: MD003"}},
		{"no header without a space", "rule 'MD018'\nrule 'MD001'", "# a\n\n###b\n", []string{"3: MD001", "3: MD018"}, []string{"3: MD018"}},
		{"a header in a quote", "rule 'MD003', :style => :setext", "> # a\n", nil, []string{"1: MD003"}},
		{"HTML ends with a blank line", "rule 'MD003', :style => :setext", "<div>\n# a\n\n# b\n</div>\n", nil, []string{"4: MD003"}},
		{"every opening tag counts", "rule 'MD033'", "<div>\n<b>a</b>\n</div>\n", []string{"1: MD033", "2: MD033"}, []string{"1: MD033", "2: MD033"}},
		{"a comment is no HTML", "rule 'MD033'\nrule 'MD041'", "<!-- <b> -->\n# a\n", []string{"1: MD041"}, nil},
		{"an attribute list is text", "rule 'MD022'", "# a\n{: .b}\n", []string{"1: MD022"}, []string{"1: MD022"}},
		{"mathematics is text", "rule 'MD034'", "$$ https://x.example $$\n", nil, []string{"1: MD034"}},
		{"a task is an item", "rule 'MD030'", "- [ ]  a\n-  [x] b\n", []string{"2: MD030"}, []string{"2: MD030"}},
		{"an address without a scheme", "rule 'MD034'", "see www.x.example\n", nil, []string{"1: MD034"}},
		{"an address in brackets that are open", "rule 'MD034'", "[https://x.example]\n", []string{"1: MD034"}, nil},
		{"an address in an element", "rule 'MD034'", "a <b>https://x.example</b>\n", []string{"1: MD034"}, nil},
		{"a number behind a parenthesis", "rule 'MD029'", "1) a\n1) b\n", nil, nil},
		{"a quote that goes on", "rule 'MD028'", "> a\n\n> b\n", []string{"2: MD028"}, []string{"2: MD028"}},
		{"spaces of a quote", "rule 'MD027'", ">  a\n", []string{"1: MD027"}, []string{"1: MD027"}},
		{"spaces that an item in a quote needs", "rule 'MD027'", "> - a\n>   b\n", nil, nil},
		{"a tab in front of an item", "rule 'MD004', :style => :dash", "- a\n\t* b\n", []string{"2: MD004"}, []string{"2: MD004"}},
		{"a code span with one space", "rule 'MD038'", "` a `\n", nil, nil},
		{"front matter", "rule 'MD041'", "---\na: b\n---\n# c\n", nil, nil},
		{"a byte order mark", "rule 'MD041'", "\ufeff# a\n", []string{"1: MD041"}, nil},
		{"lines of Windows", "rule 'MD009'\nrule 'MD022'", "# a\r\nb \r\n", []string{"1: MD022", "2: MD009"}, []string{"1: MD022", "2: MD009"}},
		{"an empty file", "all", "", []string{"1: MD041"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Style: style(t, c.style), FrontMatter: true}
			if got := found(t, o, c.text); !slices.Equal(got, c.kramdown) {
				t.Errorf("kramdown: found %q, want %q", got, c.kramdown)
			}
			o.Dialect = CommonMark
			if got := found(t, o, c.text); !slices.Equal(got, c.common) {
				t.Errorf("CommonMark: found %q, want %q", got, c.common)
			}
		})
	}
}

func TestParseDialect(t *testing.T) {
	for in, want := range map[string]Dialect{"": Kramdown, "kramdown": Kramdown, "commonmark": CommonMark} {
		if got, err := ParseDialect(in); err != nil || got != want {
			t.Errorf("%q is %q, %v", in, got, err)
		}
	}
	if _, err := ParseDialect("gfm"); err == nil || !strings.Contains(err.Error(), "commonmark") {
		t.Errorf("gfm is no dialect: %v", err)
	}
}

// What is remembered of a file must not be taken for the other dialect.
func TestDialectIsPartOfTheKey(t *testing.T) {
	k, c := New(Options{}).Rules(), New(Options{Dialect: CommonMark}).Rules()
	if k == c {
		t.Errorf("both dialects have the key %q", k)
	}
	if same := New(Options{Dialect: Kramdown}).Rules(); same != k {
		t.Errorf("the default has the key %q, kramdown has %q", k, same)
	}
}

func TestFixCommonMark(t *testing.T) {
	c := New(Options{Dialect: CommonMark, FrontMatter: true})
	for in, want := range map[string]string{
		"a \n\n\n\nb":                      "a\n\nb\n",
		"#a\n":                             "#a\n", // it would become a header
		"#   a\n":                          "# a\n",
		"- a\n\n  ##  b\n":                 "- a\n\n  ##  b\n",
		"a  \nb\n":                         "a  \nb\n",
		"text\n```\na \n\n\nb\n```\n":      "text\n```\na \n\n\nb\n```\n",
		"<pre>\na \n\n\nb\n</pre>\n":       "<pre>\na \n\n\nb\n</pre>\n",
		"---\na: b \n---\n\nx \n":          "---\na: b \n---\n\nx\n",
		"    code \n\n\n    more\n\n\n\nx": "    code \n\n\n    more\n\nx\n",
		strings.Repeat(">", 10000) + "a ":  strings.Repeat(">", 10000) + "a ",
	} {
		got, err := c.Fix("a.md", []byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%.60q is mended to %.60q, want %.60q (%v)", in, got, want, err)
		}
	}
}

// Texts that the parser of CommonMark would need very long for are refused.
// Times are shown, not judged: a text that hangs ends the test.
func TestHostileCommonMark(t *testing.T) {
	c := New(Options{Style: style(t, "all"), Dialect: CommonMark})
	texts := hostile(100000)
	for _, s := range []string{">", ">\t", "[a](", "[a](<b ", "[a](b \"c ", "[a]: b 'c\n", "](", "*_a ", "_*a*", "~~a ~", "<a b='", "a|b\n-|-\n", "- > ", "\t- a\n", "1) ", "[^1]: a\n", "> - \n", "-\n\n\n", "www.", "a@b.", "http://a", "[http://a", "(x)[", "`a`` "} {
		texts["many "+strings.TrimSpace(s)] = strings.Repeat(s, 100000) + "\n"
	}
	texts["deep quotes"] = strings.Repeat(">", 10000) + "a\n"
	texts["deep quotes, often"] = strings.Repeat(strings.Repeat("> ", deepestCommon-1)+"a\n", 1000)
	texts["a deep item and blank lines"] = strings.Repeat("- ", deepestCommon-1) + "a\n" + strings.Repeat("\n", 100000) + "b\n"
	texts["deeper and deeper"] = deeper(1000)
	slow := 0
	for name, text := range texts {
		start := time.Now()
		_, err := c.Check("a.md", []byte(text))
		if err != nil {
			slow++
			if !strings.Contains(err.Error(), "too deeply") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if d := time.Since(start); d > time.Second/2 {
			t.Logf("%s: %d bytes in %v (%v)", name, len(text), d.Round(time.Millisecond), err)
		}
	}
	t.Logf("%d of %d texts are refused", slow, len(texts))
	for _, name := range []string{"deep quotes", "nested brackets", "many [a](b"} {
		if _, err := c.Check("a.md", []byte(texts[name])); err == nil || !strings.Contains(err.Error(), "line 1 ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"one line of 5 MB", "many |a|", "many ```", "many # a", "many - ["} {
		if _, err := c.Check("a.md", []byte(texts[name])); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// deeper is a list each of whose items is in the one before.
func deeper(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

// TestFixKeepsWhatIsShown mends real files: the HTML stays.
func TestFixKeepsWhatIsShown(t *testing.T) {
	limit := 100
	if real() {
		limit = 4000
	}
	c := New(Options{Style: style(t, "all"), Dialect: CommonMark, FrontMatter: true})
	p := goldmark.New(goldmark.WithExtensions(extension.GFM))
	show := func(text []byte) string {
		var b strings.Builder
		if err := p.Convert(text, &b); err != nil {
			t.Fatal(err)
		}
		return strings.TrimRight(b.String(), "\n")
	}
	changed := 0
	for _, f := range corpus(t, limit) {
		text, err := os.ReadFile(f)
		if err != nil || !utf8.Valid(text) {
			continue
		}
		mended, err := c.Fix(f, text)
		if err != nil {
			t.Fatal(err)
		}
		if string(mended) == string(text) {
			continue
		}
		changed++
		if before, after := show(text), show(mended); before != after {
			i := 0
			for i < min(len(before), len(after)) && before[i] == after[i] {
				i++
			}
			t.Errorf("%s is shown in another way: %.80q, before %.80q", f, after[max(0, i-20):], before[max(0, i-20):])
		}
	}
	t.Logf("%d files were mended", changed)
}
