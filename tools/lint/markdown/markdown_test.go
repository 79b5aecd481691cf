// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

const styleOfIstio = `all
rule 'MD002', :level => 1
rule 'MD007', :indent => 4
rule 'MD013', :line_length => 160, :code_blocks => false, :tables => false
rule 'MD026', :punctuation => ".,;:!"
exclude_rule 'MD013'
exclude_rule 'MD014'
exclude_rule 'MD030'
exclude_rule 'MD032'
exclude_rule 'MD033'
exclude_rule 'MD041'
exclude_rule 'MD046'
`

func style(t *testing.T, text string) *Style {
	t.Helper()
	s, err := ReadStyle("mdl.rb", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// found is RULE:LINE of what fails.
func found(t *testing.T, o Options, text string) []string {
	t.Helper()
	list, err := New(o).Check("a.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range list {
		if f.Severity == lint.Error {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(f.String(), "a.md:"), " "+f.Message))
		}
	}
	return out
}

// The field reports, each with its kind.
func TestFieldReports(t *testing.T) {
	istio := Options{Style: style(t, styleOfIstio), FrontMatter: true}
	for _, c := range []struct {
		name, text string
		rules      []string // that must not, or with + must, be found
	}{
		{"C086 a code span of three backticks is no fence", "```test```\n\n```go\na\n```\n", []string{"MD031", "MD040"}},
		{"C086 with more on the line", "see ```test``` here\n\n```go\na\n```\n", []string{"MD031", "MD040"}},
		{"C087 numbers in a fence in an item", "- item\n\n    ```text\n    1. a\n    2. b\n    ```\n", []string{"MD029"}},
		{"C088 asterisks in a fence", "- a\n\n```text\n* Connected\n* Done\n```\n", []string{"MD004", "MD005", "MD006"}},
		{"C090 a bar and an apostrophe in a link", "# t\n\n* [a|'b](https://x.example)\n", []string{"MD034"}},
		{"C090 a bar in a link of a sentence", "# t\n\na [b|c](https://x.example) 'd\n", []string{"MD034"}},
		{"C091 a link inside of a div", "<div>\n[l](https://x.example)\n</div>\n", []string{"MD034"}},
		{"C091 an attribute inside of a div", "<div>\n<img src=\"https://x.example/y.png\">\n</div>\n", []string{"MD034"}},
		{"a bare address inside of a div", "<div>\nhttps://x.example\n</div>\n", []string{"+MD034"}},
		{"a bare address beside a link", "<div>\n[l](https://x.example) https://y.example\n</div>\n", []string{"+MD034"}},
		{"C092 a fence in an ordered item", "# t\n\n1. a\n\n    ```go\n    b\n    ```\n\n1. c\n", []string{"MD"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := found(t, istio, c.text)
			for _, r := range c.rules {
				id, must := strings.CutPrefix(r, "+")
				has := slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, id) })
				if has != must {
					t.Errorf("%s: found %v", r, got)
				}
			}
		})
	}
}

func TestC089FencesInItems(t *testing.T) {
	text := "- a\n  ```go\n  b\n  ```\n- c\n"
	if got := found(t, Options{Style: style(t, "rule 'MD031'")}, text); len(got) != 2 {
		t.Errorf("found %v", got)
	}
	if got := found(t, Options{Style: style(t, "rule 'MD031', :list_items => false")}, text); len(got) != 0 {
		t.Errorf("switched off for items, found %v", got)
	}
	if got := found(t, Options{Style: style(t, "rule 'MD031', :list_items => false")}, "a\n```go\nb\n```\n"); len(got) != 1 {
		t.Errorf("a fence outside of items: found %v", got)
	}
}

func TestC093AttributesStay(t *testing.T) {
	text := "<a href=\"https://x.example\">https://x.example</a>  \n\n\n\n#x\n"
	got, err := New(Options{}).Fix("a.md", []byte(text))
	if err != nil || !strings.Contains(string(got), `<a href="https://x.example">https://x.example</a>`) {
		t.Errorf("mended to %q, %v", got, err)
	}
}

func TestFrontMatter(t *testing.T) {
	all := Options{FrontMatter: true, Style: style(t, "all")}
	for _, c := range []struct {
		name, text string
		o          Options
		want       []string
	}{
		{"at the start", "---\na: b \n---\n\n# t\n\nx \n", all, []string{"7: MD009"}},
		{"without a blank line", "---\na: b\n---\n# t\n\nx \n", all, []string{"6: MD009"}},
		{"in the middle", "# t\n\n---\n\nx \n\n---\ny \n", all, []string{"8: MD009"}},
		{"in the middle, strict", "# t\n\n---\n\nx \n\n---\n\ny \n", Options{FrontMatter: true, Strict: true, Style: style(t, "rule 'MD009'")}, []string{"5: MD009", "9: MD009"}},
		{"ends with the text of a line", "---\na---\nx \n", all, []string{"3: MD009", "3: MD041"}},
		{"CRLF is no front matter", "---\r\na \r\n---\r\n", Options{FrontMatter: true, Style: style(t, "rule 'MD009'")}, []string{"2: MD009"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := found(t, c.o, c.text); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
	list, err := New(all).Check("a.md", []byte("# t\n\n---\n\nx\n\n---\n\ny\n"))
	if err != nil || len(list) == 0 || list[0].Severity != lint.Notice || list[0].Line != 3 || list[0].EndLine != 8 {
		t.Errorf("lines that are not linted are told: %+v, %v", list, err)
	}
}

func TestInlineComments(t *testing.T) {
	text := "a \n<!-- markdownlint-disable MD009 -->\nb \n<!-- markdownlint-enable MD009 -->\nc \nd <!-- markdownlint-disable-line no-trailing-spaces --> \n<!-- markdownlint-disable-next-line -->\ne \n"
	o := Options{Style: style(t, "rule 'MD009'"), Inline: true}
	if got := found(t, o, text); !slices.Equal(got, []string{"1: MD009", "5: MD009"}) {
		t.Errorf("found %q", got)
	}
	o.Inline = false
	if got := found(t, o, text); len(got) != 5 {
		t.Errorf("comments are not obeyed unless asked: %q", got)
	}
}

func TestReadStyle(t *testing.T) {
	for _, c := range []struct{ name, text, rule, param, want string }{
		{"hash rocket", "rule 'MD007', :indent => 4", "MD007", "indent", "4"},
		{"new hashes", `rule "MD007", indent: 4`, "MD007", "indent", "4"},
		{"parentheses", "rule('MD007', :indent => 4)", "MD007", "indent", "4"},
		{"alias", "rule 'ul-indent', :indent => 2 # why", "MD007", "indent", "2"},
		{"a comma at the end", "rule 'MD013',\n  :line_length => 100,\n  :tables => false", "MD013", "tables", "false"},
		{"merged", "rule 'MD013', :tables => false\nrule 'MD013', :line_length => 99", "MD013", "tables", "false"},
		{"quoted symbol", "rule 'MD003', :style => :'atx'", "MD003", "style", "atx"},
		{"array and float", "rule 'MD007', :indent => 4, :x => [1, 'a', 2.5]", "MD007", "x", "[1 a 2.5]"},
		{"shebang", "#!/usr/bin/env ruby\nall", "MD001", "", ""},
		{"taken back", "all\nexclude_rule 'MD009'\nrule 'MD009'", "MD009", "br_spaces", "0"},
		{"tag", "tag :whitespace", "MD009", "br_spaces", "0"},
		{"an unknown rule may be left out", "all\nexclude_rule 'MD056'", "MD001", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, on := style(t, c.text).params[c.rule]
			if !on || c.param != "" && strings.TrimSpace(strings.ReplaceAll(sprint(p[c.param]), "\n", "")) != c.want {
				t.Errorf("%s has %v, on: %v", c.rule, p, on)
			}
		})
	}
	for text, want := range map[string]string{
		"all\nif true\n  all\nend":               "mdl.rb:2:",
		"all\n\nrule 'MD999'":                    "mdl.rb:3: there is no rule MD999",
		"rule 'MD007' do\nend":                   "mdl.rb:1:",
		"rule 'MD007', :indent => 2 + 2":         "mdl.rb:1:",
		"rule 'MD007', :indent => ENV['X']":      "mdl.rb:1:",
		"rule 'MD007, :indent => 2":              "not closed",
		"[1, 2].each { |x| rule x }":             "mdl.rb:1:",
		"exclude_tag 'whitespace'":               "takes a symbol",
		"all\nrule 'MD013',\n  :x => { 1 => 2 }": "mdl.rb:3:",
	} {
		if _, err := ReadStyle("mdl.rb", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is refused with %q, got %v", text, want, err)
		}
	}
	if s := style(t, "rule 'MD029', :style => 'ordered'"); len(s.Warnings) != 1 {
		t.Errorf("a text in the place of a symbol is told: %q", s.Warnings)
	}
}

func TestReadConfig(t *testing.T) {
	c, err := ReadConfig("docs/.mdlrc", []byte("style \"#{File.dirname(__FILE__)}/mdl.rb\"\nrules \"~MD013,~MD009\"\ntags :whitespace\nignore_front_matter true\ngit_recurse true\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Style != "docs/mdl.rb" || !slices.Equal(c.Rules, []string{"~MD013", "~MD009"}) || !c.IgnoreFrontMatter || !c.GitRecurse {
		t.Errorf("read %+v", c)
	}
	for _, form := range []string{"style File.join(File.dirname(__FILE__), 'a.rb')", "style File.dirname(__FILE__) + '/a.rb'"} {
		c, err := ReadConfig("x/.mdlrc", []byte(form))
		if err != nil || c.Style != "x/a.rb" {
			t.Errorf("%s: %+v, %v", form, c, err)
		}
	}
	if _, err := ReadConfig(".mdlrc", []byte("rulesets 'x.rb'")); err == nil || !strings.Contains(err.Error(), ".mdlrc:1:") {
		t.Errorf("what is not understood is refused: %v", err)
	}
	s := NewStyle()
	s.Select([]string{"~MD009"}, []string{"whitespace"})
	if _, on := s.params["MD009"]; on || s.params["MD010"] == nil || s.params["MD001"] != nil {
		t.Errorf("selected %v", s.params)
	}
}

func TestFix(t *testing.T) {
	for in, want := range map[string]string{
		"a \n\n\n\nb":                      "a\n\nb\n",
		"#a\n":                             "# a\n",
		"#   a\n":                          "# a\n",
		"a  \nb\n":                         "a  \nb\n",
		"```text\na \n\n\nb\n```\n":        "```text\na \n\n\nb\n```\n",
		"   \n":                            "",
		"---\na: b \n---\n\nx \n":          "---\na: b \n---\n\nx\n",
		"a\r\n \r\nb":                      "a\r\n \r\nb",
		"# t\n\n[x](https://y.example) \n": "# t\n\n[x](https://y.example)\n",
	} {
		c := New(Options{FrontMatter: true})
		got, err := c.Fix("a.md", []byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%q is mended to %q, want %q (%v)", in, got, want, err)
		}
	}
}

func TestOneBadFile(t *testing.T) {
	if _, err := New(Options{}).Check("a.md", []byte("a\xffb")); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("a file that is no UTF-8: %v", err)
	}
}

// Texts that are made to be slow. The time is not judged here beyond what
// tells linear from quadratic by a wide margin.
func TestHostile(t *testing.T) {
	n := 100000
	for name, text := range hostile(n) {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if _, err := New(Options{Style: style(t, "all")}).Check("a.md", []byte(text)); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes in %v", len(text), time.Since(start).Round(time.Millisecond))
		})
	}
}

func hostile(n int) map[string]string {
	out := map[string]string{"one line of 5 MB": strings.Repeat("word ", 1<<20), "a line without spaces": strings.Repeat("a", 5<<20)}
	for _, s := range []string{"[", "![", "*a ", "**a ", "_a ", "> ", "- ", "1. ", "`", "``a ", "<b>", "<div>\n", "</b>", "<!-- ", "(", "[a](b", "[a][b", "\"a", "$$", "{:", "{::comment}", "|", "|a|\n", "a|`\n",
		"    a\n", "```\n", "#", "# a\n", "\\", "&", "<a ", "<http:", "[^1]", "*a**b", "![a](", ": a\n", "a\n: b\n", "* a\n\n", "\n", " ", "<div markdown=\"1\">\n", "---\n", "~~~ a\n", "'", "<b a=\"", "*[a]: b\n", "[a]: b\n", "a  \n", "<<"} {
		out["many "+strings.TrimSpace(s)] = strings.Repeat(s, n) + "\n"
	}
	out["nested brackets"] = strings.Repeat("[", n) + strings.Repeat("]", n)
	out["nested lists"] = strings.Repeat("- ", 3000) + "a\n"
	return out
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"# a\n\n- b\n  c\n\n```go\nd\n```\n", "a | b\n--|--\n`c` | d\n", "[a]: b \"c\"\n[a] *b* **c** `d` <e@f.g> ![h](i)\n", "> a\n\n> b\n", "---\na\n---\n\n\n#b"} {
		f.Add(s)
	}
	all, err := ReadStyle("all", []byte("all"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("- a\n\t* b\n\n1) > #  c\n   ```\n   d\n   ```\n<div>\n<b>\n\n[^1]: e\n")
	var checkers []*Checker
	for _, d := range []Dialect{Kramdown, CommonMark} {
		checkers = append(checkers, New(Options{Style: all, FrontMatter: true, Inline: true, Dialect: d}))
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		for _, c := range checkers {
			list, err := c.Check("a.md", []byte(s))
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range list {
				if last := strings.Count(s, "\n") + strings.Count(s, "\r") + 1; c.o.Dialect == CommonMark && (found.Line < 1 || found.Line > last) {
					t.Fatalf("%s on line %d of %d", found.Rule, found.Line, last)
				}
			}
			once, err := c.Fix("a.md", []byte(s))
			if err != nil {
				t.Fatal(err)
			}
			twice, _ := c.Fix("a.md", once)
			if string(twice) != string(once) {
				t.Fatalf("%s: mended twice: %q, once %q", c.o.Dialect, twice, once)
			}
		}
	})
}

func FuzzReadStyle(f *testing.F) {
	f.Add(styleOfIstio)
	f.Add("rule('a', :b => [1, :c, 'd'], e: 2.5)")
	f.Fuzz(func(_ *testing.T, s string) {
		_, _ = ReadStyle("mdl.rb", []byte(s))
		_, _ = ReadConfig(".mdlrc", []byte(s))
	})
}

func BenchmarkCheck(b *testing.B) {
	list := os.Getenv("SLIPWAY_MARKDOWN_FILES")
	if list == "" {
		b.Skip("SLIPWAY_MARKDOWN_FILES names no list of files")
	}
	names, err := os.ReadFile(list)
	if err != nil {
		b.Fatal(err)
	}
	var texts [][]byte
	for name := range strings.FieldsSeq(string(names)) {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(text)))
		texts = append(texts, text)
	}
	c := New(Options{FrontMatter: true})
	for b.Loop() {
		for _, text := range texts {
			if _, err := c.Check("a.md", text); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func sprint(v any) string { return fmt.Sprint(v) }
