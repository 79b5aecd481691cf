// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// symbol is a Ruby symbol: :atx is not the same as "atx".
type symbol string

// Style says which rules are asked, and how: what a style file of mdl says.
type Style struct {
	params   map[string]map[string]any // of the rules that are on
	Warnings []string                  // what the file says and has no effect
}

// NewStyle returns the style that mdl uses without one: all rules but two.
func NewStyle() *Style {
	s := &Style{params: map[string]map[string]any{}}
	for _, r := range rules() {
		if r.id != "MD040" && r.id != "MD041" {
			s.params[r.id] = r.params
		}
	}
	return s
}

// NamedStyle returns a style that comes with mdl: all, default, relaxed or
// cirosantilli.
func NamedStyle(name string) (*Style, error) {
	text := map[string]string{
		"all":     "all",
		"default": "all\nexclude_rule 'fenced-code-language'\nexclude_rule 'first-line-h1'",
		"relaxed": "all\nexclude_tag :whitespace\nexclude_tag :line_length\n" + excluded("MD006 MD007 MD033 MD034 MD040 MD041 MD047"),
		"cirosantilli": "all\nrule 'MD003', :style => :atx\nrule 'MD004', :style => :dash\nrule 'MD007', :indent => 4\n" +
			"rule 'MD030', :ul_multi => 3, :ol_multi => 2\nrule 'MD035', :style => '---'\n" + excluded("MD033 MD047"),
	}[name]
	if text == "" {
		return nil, fmt.Errorf("there is no style %q: mdl has all, default, relaxed and cirosantilli; a file's name has a / or ends with .rb", name)
	}
	return ReadStyle(name, []byte(text))
}

func excluded(ids string) string {
	var b strings.Builder
	for id := range strings.FieldsSeq(ids) {
		b.WriteString("exclude_rule '" + id + "'\n")
	}
	return b.String()
}

// ReadStyle reads a style file. What it cannot know the meaning of (the file
// is a program in Ruby) is refused with its place.
func ReadStyle(name string, text []byte) (*Style, error) {
	s := &Style{params: map[string]map[string]any{}}
	all := map[string]rule{}
	defaults := map[string]map[string]any{}
	for _, r := range rules() {
		all[r.id], all[r.name] = r, r
		defaults[r.id] = maps.Clone(r.params)
		if defaults[r.id] == nil {
			defaults[r.id] = map[string]any{}
		}
	}
	statements, err := readRuby(name, text)
	if err != nil {
		return nil, err
	}
	for _, st := range statements {
		if err := s.apply(st, all, defaults); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, st.line, err)
		}
	}
	return s, nil
}

func (s *Style) apply(st statement, all map[string]rule, defaults map[string]map[string]any) error {
	switch st.name {
	case "all":
		for _, r := range all {
			s.params[r.id] = defaults[r.id]
		}
		return st.want(0)
	case "rule", "exclude_rule":
		return s.applyRule(st, all, defaults)
	case "tag", "exclude_tag":
		if err := st.want(1); err != nil {
			return err
		}
		tag, ok := st.args[0].(symbol)
		if !ok {
			return fmt.Errorf("%s takes a symbol such as :whitespace, not %v", st.name, st.args[0])
		}
		for _, r := range all {
			if !slices.Contains(r.tags, string(tag)) {
				continue
			}
			if st.name == "tag" {
				s.params[r.id] = defaults[r.id]
			} else {
				delete(s.params, r.id)
			}
		}
		return nil
	}
	return fmt.Errorf("%q is not understood: a style has all, rule, exclude_rule, tag and exclude_tag; other Ruby is not run", st.name)
}

func (s *Style) applyRule(st statement, all map[string]rule, defaults map[string]map[string]any) error {
	if err := st.want(1); err != nil {
		return err
	}
	id, ok := st.args[0].(string)
	r, known := all[id]
	if st.name == "exclude_rule" {
		delete(s.params, r.id)
		return nil
	}
	if !ok || !known {
		return fmt.Errorf("there is no rule %v: mdl 0.12 has MD001 to MD047, without some", st.args[0])
	}
	s.params[r.id] = defaults[r.id]
	for _, k := range slices.Sorted(maps.Keys(st.options)) {
		v := st.options[k]
		if _, isText := v.(string); isText {
			if _, isSymbol := r.params[k].(symbol); isSymbol && r.id != "MD035" {
				s.Warnings = append(s.Warnings, fmt.Sprintf("line %d: %s has the text %q for %s, which no style is called: write :%s", st.line, r.id, v, k, v))
			}
		}
		defaults[r.id][k] = v
	}
	return nil
}

// Select keeps and drops rules and tags as --rules and --tags of mdl do: a ~
// in front drops.
func (s *Style) Select(ruleList, tagList []string) {
	keep := func(list []string, has func(rule, string) bool) {
		if len(list) == 0 {
			return
		}
		var include, exclude []string
		for _, v := range list {
			if name, ok := strings.CutPrefix(v, "~"); ok {
				exclude = append(exclude, name)
			} else {
				include = append(include, v)
			}
		}
		for _, r := range rules() {
			match := func(v string) bool { return has(r, v) }
			if len(include) > 0 && !slices.ContainsFunc(include, match) || slices.ContainsFunc(exclude, match) {
				delete(s.params, r.id)
			}
		}
	}
	keep(ruleList, func(r rule, v string) bool { return r.id == v || r.name == v })
	keep(tagList, func(r rule, v string) bool { return slices.Contains(r.tags, v) })
}

// Config is what a .mdlrc says.
type Config struct {
	Style             string // a file, relative to that of the .mdlrc, or the name of a style
	Rules, Tags       []string
	IgnoreFrontMatter bool
	GitRecurse        bool
}

// ReadConfig reads a .mdlrc. name is the path of the file, with slashes.
func ReadConfig(name string, text []byte) (*Config, error) {
	statements, err := readRuby(name, text)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	for _, st := range statements {
		if err := c.apply(st, path.Dir(name)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, st.line, err)
		}
	}
	return c, nil
}

func (c *Config) apply(st statement, dir string) error {
	if err := st.want(1); err != nil {
		return err
	}
	switch st.name {
	case "style":
		v, ok := st.args[0].(string)
		if !ok {
			return fmt.Errorf("style takes a text, not %v", st.args[0])
		}
		c.Style = strings.ReplaceAll(v, "#{File.dirname(__FILE__)}", dir)
	case "rules":
		c.Rules = list(st.args)
	case "tags":
		c.Tags = list(st.args)
	case "git_recurse":
		c.GitRecurse = truthy(st.args[0])
	case "ignore_front_matter":
		c.IgnoreFrontMatter = truthy(st.args[0])
	case "show_kramdown_warnings", "verbose", "show_aliases", "json":
	default:
		return fmt.Errorf("%q is not understood here", st.name)
	}
	return nil
}

func list(args []any) []string {
	var out []string
	for _, a := range args {
		for v := range strings.SplitSeq(fmt.Sprint(a), ",") {
			out = append(out, strings.TrimSpace(v))
		}
	}
	return out
}

// statement is a call: a name, arguments, and options by their names.
type statement struct {
	line    int
	name    string
	args    []any
	options map[string]any
}

func (st statement) want(n int) error {
	if len(st.args) < n || n == 0 && len(st.args) > 0 {
		return fmt.Errorf("%s has %d arguments, %d are needed", st.name, len(st.args), n)
	}
	return nil
}

// ruby reads the small part of Ruby that style files are written in.
type ruby struct {
	name string
	s    string
	i    int
	line int
}

func readRuby(name string, text []byte) ([]statement, error) {
	r := &ruby{name: name, s: string(text), line: 1}
	var out []statement
	for {
		r.space(true)
		if r.i >= len(r.s) {
			return out, nil
		}
		st, err := r.statement()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, r.line, err)
		}
		out = append(out, st)
	}
}

// space skips white space and comments; newlines only if they mean nothing.
func (r *ruby) space(newlines bool) {
	for ; r.i < len(r.s); r.i++ {
		switch c := r.s[r.i]; {
		case c == '#':
			n := strings.IndexByte(r.s[r.i:], '\n')
			if n < 0 {
				n = len(r.s) - r.i
			}
			r.i += n - 1
		case c == '\\' && at(r.s, r.i+1) == '\n':
			r.i++
			r.line++
		case c == '\n' || c == ';':
			if !newlines {
				return
			}
			if c == '\n' {
				r.line++
			}
		case !isSpace(c):
			return
		}
	}
}

func (r *ruby) word() string {
	start := r.i
	for r.i < len(r.s) && (isWord(r.s[r.i]) || r.s[r.i] == '?') {
		r.i++
	}
	return r.s[start:r.i]
}

func (r *ruby) statement() (statement, error) {
	st := statement{line: r.line, name: r.word(), options: map[string]any{}}
	if st.name == "" {
		return st, fmt.Errorf("%q is not understood: a rule or a list of them is expected", firstWord(r.s[r.i:]))
	}
	r.space(false)
	closing := false
	if at(r.s, r.i) == '(' {
		closing = true
		r.i++
		r.space(true)
	}
	for r.i < len(r.s) && r.s[r.i] != '\n' && r.s[r.i] != ';' && r.s[r.i] != ')' {
		if err := r.argument(&st); err != nil {
			return st, err
		}
		r.space(closing)
		if at(r.s, r.i) != ',' {
			break
		}
		r.i++
		r.space(true)
	}
	if closing {
		if at(r.s, r.i) != ')' {
			return st, fmt.Errorf("the parenthesis of %s is not closed", st.name)
		}
		r.i++
		r.space(false)
	}
	if r.i < len(r.s) && r.s[r.i] != '\n' && r.s[r.i] != ';' {
		return st, fmt.Errorf("%q after %s is not understood; other Ruby is not run", firstWord(r.s[r.i:]), st.name)
	}
	return st, nil
}

func firstWord(s string) string {
	if f := strings.Fields(s[:min(len(s), 80)]); len(f) > 0 {
		return f[0]
	}
	return s
}

func (r *ruby) argument(st *statement) error {
	if at(r.s, r.i) == '{' {
		return fmt.Errorf("a block or hash in braces is not understood")
	}
	start := r.i
	if key := r.word(); key != "" && at(r.s, r.i) == ':' && at(r.s, r.i+1) != ':' { // key: value
		r.i++
		r.space(true)
		v, err := r.value()
		st.options[key] = v
		return err
	}
	r.i = start
	v, err := r.value()
	if err != nil {
		return err
	}
	r.space(false)
	if !strings.HasPrefix(r.s[r.i:], "=>") {
		st.args = append(st.args, v)
		return nil
	}
	r.i += 2
	r.space(true)
	key := fmt.Sprint(v)
	v, err = r.value()
	st.options[key] = v
	return err
}

func (r *ruby) value() (any, error) {
	switch c := at(r.s, r.i); {
	case c == '\'' || c == '"':
		return r.quoted(c)
	case c == ':':
		r.i++
		if q := at(r.s, r.i); q == '\'' || q == '"' {
			s, err := r.quoted(q)
			return symbol(s), err
		}
		if w := r.word(); w != "" {
			return symbol(w), nil
		}
	case c == '[':
		return r.array()
	case c == '-' || isDigit(c):
		return r.number()
	case strings.HasPrefix(r.s[r.i:], "File."):
		return r.filePath()
	}
	start := r.i
	switch r.word() {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "nil":
		return nil, nil
	}
	return nil, fmt.Errorf("%q is no value that is understood", firstWord(r.s[start:]))
}

func (r *ruby) quoted(q byte) (string, error) {
	var b strings.Builder
	for r.i++; r.i < len(r.s); r.i++ {
		switch c := r.s[r.i]; {
		case c == q:
			r.i++
			return b.String(), nil
		case c == '\\' && r.i+1 < len(r.s):
			r.i++
			b.WriteByte(r.s[r.i])
		case c == '\n':
			return "", fmt.Errorf("a text is not closed with %c", q)
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("a text is not closed with %c", q)
}

func (r *ruby) array() (any, error) {
	out := []any{}
	for r.i++; ; {
		r.space(true)
		if at(r.s, r.i) == ']' {
			r.i++
			return out, nil
		}
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		r.space(true)
		if at(r.s, r.i) == ',' {
			r.i++
		} else if at(r.s, r.i) != ']' {
			return nil, fmt.Errorf("an array is not closed")
		}
	}
}

func (r *ruby) number() (any, error) {
	start := r.i
	for r.i++; r.i < len(r.s) && (isDigit(r.s[r.i]) || r.s[r.i] == '.' || r.s[r.i] == '_'); r.i++ {
	}
	s := strings.ReplaceAll(r.s[start:r.i], "_", "")
	if n, err := strconv.Atoi(s); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no number", s)
	}
	return f, nil
}

// filePath reads File.join(File.dirname(__FILE__), 'x') and the like.
func (r *ruby) filePath() (any, error) {
	end := strings.IndexAny(r.s[r.i:], "\n;")
	if end < 0 {
		end = len(r.s) - r.i
	}
	expr := strings.TrimSpace(r.s[r.i : r.i+end])
	const here = "File.dirname(__FILE__)"
	rest := ""
	switch {
	case strings.HasPrefix(expr, here+" + "):
		rest = strings.TrimPrefix(expr, here+" + ")
	case strings.HasPrefix(expr, "File.join("+here+",") && strings.HasSuffix(expr, ")"):
		rest = strings.TrimSuffix(strings.TrimPrefix(expr, "File.join("+here+","), ")")
	case strings.HasPrefix(expr, "File.expand_path(") && strings.HasSuffix(expr, ", __dir__)"):
		rest = strings.TrimSuffix(strings.TrimPrefix(expr, "File.expand_path("), ", __dir__)")
	}
	rest = strings.Trim(rest, " ")
	if len(rest) < 3 || rest[0] != '\'' && rest[0] != '"' || rest[len(rest)-1] != rest[0] {
		return nil, fmt.Errorf("%q is not understood", expr)
	}
	r.i += end
	return "#{File.dirname(__FILE__)}/" + strings.TrimPrefix(rest[1:len(rest)-1], "/"), nil
}
