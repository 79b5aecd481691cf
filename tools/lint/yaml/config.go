// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// Config is what a configuration file of yamllint says.
type Config struct {
	rules     []*rule // in the order of the file, that of what it extends first
	ignore    ignores
	yamlFiles ignores
}

// rule is one rule with its options; those not given have their defaults.
type rule struct {
	name     string
	on       bool
	severity lint.Severity
	ignore   ignores
	options  map[string]string
	lists    map[string][]string
	doc      string
	fixable  bool
}

func (r *rule) is(option string) bool { return r.options[option] == "true" }
func (r *rule) number(option string) int {
	n, _ := strconv.Atoi(r.options[option])
	return n
}

// option is one option of a rule: what it takes is a list of words, with int,
// bool, strings, truths and patterns for the open kinds.
type option struct{ name, value, takes string }

func spacing() []option {
	return []option{
		{"forbid", "false", "bool non-empty"},
		{"min-spaces-inside", "0", "int"}, {"max-spaces-inside", "0", "int"},
		{"min-spaces-inside-empty", "-1", "int"}, {"max-spaces-inside-empty", "-1", "int"},
	}
}

func optionsOf(rule string) ([]option, bool) {
	switch rule {
	case "anchors":
		return []option{{"forbid-undeclared-aliases", "true", "bool"}, {"forbid-duplicated-anchors", "false", "bool"}, {"forbid-unused-anchors", "false", "bool"}}, true
	case "braces", "brackets":
		return spacing(), true
	case "colons":
		return []option{{"max-spaces-before", "0", "int"}, {"max-spaces-after", "1", "int"}}, true
	case "commas":
		return []option{{"max-spaces-before", "0", "int"}, {"min-spaces-after", "1", "int"}, {"max-spaces-after", "1", "int"}}, true
	case "comments":
		return []option{{"require-starting-space", "true", "bool"}, {"ignore-shebangs", "true", "bool"}, {"min-spaces-from-content", "2", "int"}}, true
	case "document-end", "document-start":
		return []option{{"present", "true", "bool"}}, true
	case "empty-lines":
		return []option{{"max", "2", "int"}, {"max-start", "0", "int"}, {"max-end", "0", "int"}}, true
	case "empty-values":
		return []option{{"forbid-in-block-mappings", "true", "bool"}, {"forbid-in-flow-mappings", "true", "bool"}}, true
	case "float-values":
		return []option{{"require-numeral-before-decimal", "false", "bool"}, {"forbid-scientific-notation", "false", "bool"}, {"forbid-nan", "false", "bool"}, {"forbid-inf", "false", "bool"}}, true
	case "hyphens":
		return []option{{"max-spaces-after", "1", "int"}}, true
	case "indentation":
		return []option{{"spaces", "consistent", "int consistent"}, {"indent-sequences", "true", "bool whatever consistent"}, {"check-multi-line-strings", "false", "bool"}}, true
	case "line-length":
		return []option{{"max", "80", "int"}, {"allow-non-breakable-words", "true", "bool"}, {"allow-non-breakable-inline-mappings", "false", "bool"}}, true
	case "new-lines":
		return []option{{"type", "unix", "unix dos platform"}}, true
	case "octal-values":
		return []option{{"forbid-implicit-octal", "true", "bool"}, {"forbid-explicit-octal", "true", "bool"}}, true
	case "quoted-strings":
		return []option{{"quote-type", "any", "any single double"}, {"required", "true", "bool only-when-needed"}, {"extra-required", "", "patterns"}, {"extra-allowed", "", "patterns"}, {"allow-quoted-quotes", "false", "bool"}}, true
	case "truthy":
		return []option{{"allowed-values", "true false", "truths"}, {"check-keys", "true", "bool"}}, true
	case "comments-indentation", "key-duplicates", "key-ordering", "new-line-at-end-of-file", "trailing-spaces":
		return nil, true
	}
	return nil, false
}

func truths() []string {
	return []string{"YES", "Yes", "yes", "NO", "No", "no", "TRUE", "True", "true", "FALSE", "False", "false", "ON", "On", "on", "OFF", "Off", "off"}
}

// preset is a configuration that has a name.
func preset(name string) (text string, ok bool) {
	switch name {
	case "default":
		return `yaml-files: ['*.yaml', '*.yml', '.yamllint']
rules: {braces: enable, brackets: enable, colons: enable, commas: enable, comments: {level: warning},
 comments-indentation: {level: warning}, document-end: disable, document-start: {level: warning}, empty-lines: enable,
 empty-values: disable, float-values: disable, hyphens: enable, indentation: enable, key-duplicates: enable,
 key-ordering: disable, line-length: enable, new-line-at-end-of-file: enable, new-lines: enable, octal-values: disable,
 quoted-strings: disable, trailing-spaces: enable, truthy: {level: warning}}
`, true
	case "relaxed":
		return `extends: default
rules: {braces: {level: warning, max-spaces-inside: 1}, brackets: {level: warning, max-spaces-inside: 1},
 colons: {level: warning}, commas: {level: warning}, comments: disable, comments-indentation: disable,
 document-start: disable, empty-lines: {level: warning}, hyphens: {level: warning},
 indentation: {level: warning, indent-sequences: consistent},
 line-length: {level: warning, allow-non-breakable-inline-mappings: true}, truthy: disable}
`, true
	}
	return "", false
}

// ReadConfig reads a configuration file of yamllint. An error names the rule,
// the value and its place. read returns the files that it extends or ignores
// from, which yamllint looks for in the working folder.
func ReadConfig(name string, text []byte, read func(file string) ([]byte, error)) (*Config, error) {
	return readConfig(name, text, read, 0)
}

func readConfig(name string, text []byte, read func(string) ([]byte, error), depth int) (*Config, error) {
	if depth > 8 {
		return nil, fmt.Errorf("%s: the configurations extend each other without end", name)
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %w", name, err)
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yamlv3.MappingNode {
		return nil, fmt.Errorf("%s: the configuration is no mapping with rules", name)
	}
	c := &Config{yamlFiles: parseIgnores([]string{"*.yaml", "*.yml", ".yamllint"})}
	r := reader{name, read, depth, c}
	root := document.Content[0]
	if n := child(root, "extends"); n != nil {
		if err := r.extend(n); err != nil {
			return nil, err
		}
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if err := r.top(root.Content[i], root.Content[i+1]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Includes tells that the file is one of the yaml-files, and is not ignored.
func (c *Config) Includes(file string) bool {
	return c.yamlFiles.match(file) && !c.ignore.match(file)
}

func child(n *yamlv3.Node, key string) *yamlv3.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

type reader struct {
	name   string
	read   func(file string) ([]byte, error)
	depth  int
	config *Config
}

func (r reader) bad(n *yamlv3.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.name, n.Line, fmt.Sprintf(format, args...))
}

func (r reader) extend(n *yamlv3.Node) error {
	name, text := n.Value, ""
	text, ok := preset(name)
	if !ok {
		b, err := r.read(name)
		if err != nil {
			return r.bad(n, "reading what extends names, which is default, relaxed or a file: %v", err)
		}
		text = string(b)
	}
	base, err := readConfig(name, []byte(text), r.read, r.depth+1)
	if err != nil {
		return err
	}
	*r.config = *base
	return nil
}

func (r reader) top(k, v *yamlv3.Node) error {
	switch k.Value {
	case "rules":
		if v.Kind != yamlv3.MappingNode {
			return r.bad(v, "rules is %q: it takes a mapping of rules", v.Value)
		}
		for i := 0; i+1 < len(v.Content); i += 2 {
			if err := r.rule(v.Content[i], v.Content[i+1]); err != nil {
				return err
			}
		}
	case "ignore":
		patterns, err := r.patterns(k.Value, v)
		r.config.ignore = parseIgnores(patterns)
		return err
	case "ignore-from-file":
		names, err := r.patterns(k.Value, v)
		for _, name := range names {
			b, err := r.read(name)
			if err != nil {
				return r.bad(v, "reading what ignore-from-file names: %v", err)
			}
			r.config.ignore = append(r.config.ignore, parseIgnores(strings.Split(string(b), "\n"))...)
		}
		return err
	case "yaml-files":
		patterns, err := r.patterns(k.Value, v)
		r.config.yamlFiles = parseIgnores(patterns)
		return err
	case "locale":
		if v.Value != "" && v.Value != "C" && v.Value != "POSIX" && !strings.HasPrefix(v.Value, "C.") {
			return r.bad(v, "locale is %q: keys are ordered by code point only", v.Value)
		}
	}
	return nil
}

// patterns is a list of words, or text with one a line.
func (r reader) patterns(what string, n *yamlv3.Node) ([]string, error) {
	switch n.Kind {
	case yamlv3.ScalarNode:
		return strings.Split(n.Value, "\n"), nil
	case yamlv3.SequenceNode:
		var all []string
		for _, e := range n.Content {
			if e.Kind != yamlv3.ScalarNode {
				return nil, r.bad(e, "%s takes file patterns", what)
			}
			all = append(all, e.Value)
		}
		return all, nil
	}
	return nil, r.bad(n, "%s takes file patterns", what)
}

func (r reader) rule(k, v *yamlv3.Node) error {
	name := k.Value
	specs, ok := optionsOf(name)
	if !ok {
		return r.bad(k, "no such rule: %q", name)
	}
	i := slices.IndexFunc(r.config.rules, func(x *rule) bool { return x.name == name })
	if i < 0 {
		i = len(r.config.rules)
		r.config.rules = append(r.config.rules, &rule{name: name})
	}
	mine := r.config.rules[i]
	if !mine.on {
		*mine = rule{name: name, severity: lint.Error, options: map[string]string{}, lists: map[string][]string{}}
		mine.doc = "https://yamllint.readthedocs.io/en/stable/rules.html#module-yamllint.rules." + strings.ReplaceAll(name, "-", "_")
		mine.fixable = slices.Contains(fixable(), name)
		for _, o := range specs {
			mine.options[o.name] = o.value
			mine.lists[o.name] = strings.Fields(o.value)
		}
	}
	if v.Kind == yamlv3.MappingNode {
		mine.on = true
		for i := 0; i+1 < len(v.Content); i += 2 {
			if err := r.option(mine, specs, v.Content[i], v.Content[i+1]); err != nil {
				return err
			}
		}
		if name == "quoted-strings" {
			return r.quoting(mine, k)
		}
		return nil
	}
	switch {
	case v.Kind == yamlv3.ScalarNode && v.Value == "enable":
		mine.on = true
	case v.Kind == yamlv3.ScalarNode && (v.Value == "disable" || boolean(v) == "false"):
		mine.on = false
	default:
		return r.bad(v, "rule %s is %q: it takes enable, disable or options", name, v.Value)
	}
	return nil
}

// quoting refuses options of quoted-strings that contradict each other.
func (r reader) quoting(mine *rule, at *yamlv3.Node) error {
	if mine.is("required") && len(mine.lists["extra-required"])+len(mine.lists["extra-allowed"]) > 0 {
		return r.bad(at, "rule quoted-strings: extra-required and extra-allowed have no effect with required: true")
	}
	if mine.options["required"] == "false" && len(mine.lists["extra-allowed"]) > 0 {
		return r.bad(at, "rule quoted-strings: extra-allowed has no effect with required: false")
	}
	return nil
}

// boolean is true or false as YAML 1.1 writes them, else empty.
func boolean(n *yamlv3.Node) string {
	if n.Kind != yamlv3.ScalarNode || n.Style != 0 {
		return ""
	}
	switch low := strings.ToLower(n.Value); low {
	case "true", "yes", "on":
		return "true"
	case "false", "no", "off":
		return "false"
	}
	return ""
}

func (r reader) option(mine *rule, specs []option, k, v *yamlv3.Node) error {
	switch k.Value {
	case "level":
		if v.Value != "error" && v.Value != "warning" {
			return r.bad(v, "rule %s: level is %q: it takes error or warning", mine.name, v.Value)
		}
		mine.severity = lint.Severity(v.Value)
		return nil
	case "ignore":
		patterns, err := r.patterns("rule "+mine.name+": ignore", v)
		mine.ignore = parseIgnores(patterns)
		return err
	}
	i := slices.IndexFunc(specs, func(o option) bool { return o.name == k.Value })
	if i < 0 {
		return r.bad(k, "rule %s has no option %q", mine.name, k.Value)
	}
	takes := strings.Fields(specs[i].takes)
	if takes[0] == "truths" || takes[0] == "patterns" {
		return r.list(mine, takes[0], k.Value, v)
	}
	b := boolean(v)
	_, err := strconv.Atoi(v.Value)
	switch {
	case v.Kind != yamlv3.ScalarNode:
	case b != "" && takes[0] == "bool":
		mine.options[k.Value] = b
		mine.lists[k.Value] = []string{"given"}
		return nil
	case err == nil && v.Style == 0 && takes[0] == "int", takes[0] != v.Value && slices.Contains(takes, v.Value), takes[0] == v.Value && v.Value != "int" && v.Value != "bool":
		mine.options[k.Value] = v.Value
		return nil
	}
	return r.bad(v, "rule %s: %s is %q: it takes %s", mine.name, k.Value, v.Value, strings.Join(takes, ", "))
}

func (r reader) list(mine *rule, takes, name string, v *yamlv3.Node) error {
	if v.Kind != yamlv3.SequenceNode {
		return r.bad(v, "rule %s: %s is %q: it takes a list", mine.name, name, v.Value)
	}
	var all []string
	for _, e := range v.Content {
		if takes == "truths" && !slices.Contains(truths(), e.Value) {
			return r.bad(e, "rule %s: %s has %q: it takes %s", mine.name, name, e.Value, strings.Join(truths(), ", "))
		}
		if takes == "patterns" {
			if _, err := regexp.Compile(e.Value); err != nil {
				return r.bad(e, "rule %s: %s: %v", mine.name, name, err)
			}
		}
		all = append(all, e.Value)
	}
	mine.lists[name] = all
	return nil
}

// ignores are patterns as in .gitignore: the last that matches decides.
type ignores []pattern

type pattern struct {
	match  *regexp.Regexp
	negate bool
}

func parseIgnores(lines []string) ignores {
	var all ignores
	for _, line := range lines {
		line = strings.TrimRight(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		p := pattern{}
		if line[0] == '!' {
			p.negate, line = true, line[1:]
		}
		if m, err := regexp.Compile(glob(line)); err == nil {
			p.match = m
			all = append(all, p)
		}
	}
	return all
}

// glob is the regular expression of one pattern, for a path without a leading
// slash.
func glob(p string) string {
	folder := strings.HasSuffix(p, "/")
	p = strings.TrimSuffix(p, "/")
	var b strings.Builder
	if b.WriteString("^"); !strings.Contains(p, "/") {
		b.WriteString("(?:.*/)?")
	}
	p = strings.TrimPrefix(p, "/")
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case strings.HasPrefix(p[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(p[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[' && strings.IndexByte(p[i+1:], ']') > 0:
			end := i + 1 + strings.IndexByte(p[i+1:], ']')
			set := strings.ReplaceAll(p[i+1:end], `\`, `\\`)
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			b.WriteString("[" + set + "]")
			i = end
		case c == '\\' && i+1 < len(p):
			i++
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		default:
			b.WriteString(quoteByte(p, &i))
		}
	}
	if folder {
		return b.String() + "/"
	}
	return b.String() + "(?:/|$)"
}

// quoteByte quotes the character at i, which may have several bytes.
func quoteByte(p string, i *int) string {
	end := *i + 1
	for end < len(p) && p[end]&0xC0 == 0x80 {
		end++
	}
	c := p[*i:end]
	*i = end - 1
	return regexp.QuoteMeta(c)
}

func (g ignores) match(file string) bool {
	file = strings.TrimPrefix(file, "./")
	hit := false
	for _, p := range g {
		if p.negate == hit && p.match.MatchString(file) {
			hit = !p.negate
		}
	}
	return hit
}
