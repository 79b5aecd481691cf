// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"regexp"
	"strconv"
	"strings"
)

// section is one of an .editorconfig, with what it sets.
type section struct {
	files  *regexp.Regexp
	values map[string]string
}

// readEditorConfig reads the file leniently, as editors do: lines that are not
// understood say nothing.
func readEditorConfig(text []byte) []section {
	var sections []section
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if pattern, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(pattern, "]") {
			files, err := regexp.Compile(editorPattern(strings.TrimSuffix(pattern, "]")))
			if err != nil {
				files = nil // matches nothing
			}
			sections = append(sections, section{files, map[string]string{}})
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && len(sections) > 0 {
			sections[len(sections)-1].values[strings.ToLower(strings.TrimSpace(key))] = strings.ToLower(strings.TrimSpace(value))
		}
	}
	return sections
}

// editorPattern turns a pattern into a regular expression: * and ? stop at a
// slash, ** does not, {a,b} is a choice, and a pattern without a slash is for
// names in any folder.
func editorPattern(pattern string) string {
	var b strings.Builder
	b.WriteString("^")
	if !strings.Contains(pattern, "/") {
		b.WriteString("(?:.*/)?")
	}
	pattern = strings.TrimPrefix(pattern, "/")
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*' && strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[' && strings.Contains(pattern[i:], "]"):
			end := i + strings.IndexByte(pattern[i:], ']')
			b.WriteString(strings.Replace(pattern[i:end+1], "[!", "[^", 1))
			i = end
		case c == '{':
			depth++
			b.WriteString("(?:")
		case c == '}' && depth > 0:
			depth--
			b.WriteString(")")
		case c == ',' && depth > 0:
			b.WriteString("|")
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return b.String() + "$"
}

// layout is that of a file: what .editorconfig sets, in the place of the
// default.
func (c *Checker) layout(file string) Layout {
	l := c.o.Layout
	values := map[string]string{}
	for _, s := range c.editor {
		if s.files != nil && s.files.MatchString(file) {
			for key, value := range s.values {
				values[key] = value
			}
		}
	}
	switch values["indent_style"] {
	case "tab":
		l.Indent = 0
	case "space":
		l.Indent = 8
		if n, err := strconv.ParseUint(values["indent_size"], 10, 8); err == nil {
			l.Indent = uint(n)
		}
	}
	for key, to := range map[string]*bool{
		"binary_next_line": &l.BinaryNextLine, "switch_case_indent": &l.SwitchCaseIndent,
		"space_redirects": &l.SpaceRedirects, "function_next_line": &l.FunctionNextLine,
	} {
		if value := values[key]; value != "" {
			*to = value == "true"
		}
	}
	return l
}
