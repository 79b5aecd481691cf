// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Options are those of both checks.
type Options struct {
	// Format also checks the layout, and lets Fix change it. Off by default:
	// Istio's scripts follow no formatter.
	Format bool
	// Layout is how scripts are laid out where EditorConfig says nothing.
	Layout Layout
	// EditorConfig is the text of the .editorconfig at the root of the tree.
	EditorConfig []byte

	// Program is ShellCheck; empty: shellcheck, from PATH.
	Program string
	// Runner runs it; nil: as a process.
	Runner run.Runner
	// Jobs is how many of it run side by side; 0: processors.
	Jobs int
}

// Layout is that of shfmt.
type Layout struct {
	Indent           uint // spaces; 0: tabs
	BinaryNextLine   bool // && and | begin a line
	SwitchCaseIndent bool // patterns of case are indented
	SpaceRedirects   bool // > FILE
	FunctionNextLine bool // { on a line of its own
}

// Rules stands for what decides the findings of New, for lint.Linter.
func (o Options) Rules() string {
	return fmt.Sprintf("1 %v %+v %q", o.Format, o.Layout, o.EditorConfig)
}

// Checker checks the syntax of scripts, and their layout on request.
type Checker struct {
	o      Options
	editor []section
}

// New returns a checker that needs no other program.
func New(o Options) *Checker {
	return &Checker{o: o, editor: readEditorConfig(o.EditorConfig)}
}

// Check implements lint.Checker.
func (c *Checker) Check(file string, text []byte) ([]lint.Finding, error) {
	dialect, name, ok := dialectOf(file, text)
	if !ok {
		return []lint.Finding{{
			File: file, Line: 1, Rule: "dialect", Severity: lint.Notice,
			Message: fmt.Sprintf("not checked: %s is not a shell that is known here", name),
		}}, nil
	}
	parsed, err := Parse(file, text, dialect)
	if err != nil {
		f, ok := syntaxFault(file, text, err)
		if !ok {
			return nil, err
		}
		return []lint.Finding{f}, nil
	}
	if !c.o.Format {
		return nil, nil
	}
	formatted, err := c.format(file, text, parsed, dialect)
	if err != nil {
		return nil, err
	}
	line := firstDifference(text, formatted)
	if line == 0 {
		return nil, nil
	}
	return []lint.Finding{{
		File: file, Line: line, Rule: "format", Severity: lint.Error, Fixable: true,
		Message: "the script is laid out in another way from here on",
	}}, nil
}

// Fix implements lint.Fixer: it lays out the script. One that cannot be parsed
// stays as it is, since Check names the reason.
func (c *Checker) Fix(file string, text []byte) ([]byte, error) {
	dialect, _, ok := dialectOf(file, text)
	if !c.o.Format || !ok {
		return text, nil
	}
	parsed, err := Parse(file, text, dialect)
	if err != nil {
		if _, ok := syntaxFault(file, text, err); ok {
			return text, nil
		}
		return nil, err
	}
	return c.format(file, text, parsed, dialect)
}

// ErrMeaning says that a script in its new layout would not be the same.
var ErrMeaning = errors.New("the script would not mean the same after formatting, so it is left alone")

// format lays out a script and makes sure that nothing else changed: neither
// what runs nor a comment, and that another run changes nothing.
func (c *Checker) format(file string, text []byte, parsed *syntax.File, dialect syntax.LangVariant) ([]byte, error) {
	before, err := meaning(parsed)
	if err != nil {
		return nil, err
	}
	layout := c.layout(file)
	formatted, err := layout.print(parsed)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(formatted, text) {
		return text, nil
	}
	again, err := Parse(file, formatted, dialect)
	if err != nil {
		return nil, fmt.Errorf("formatting: %w: it could not be read again: %w", ErrMeaning, err)
	}
	after, err := meaning(again)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(before, after) {
		return nil, fmt.Errorf("formatting: %w", ErrMeaning)
	}
	second, err := layout.print(again)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(second, formatted) {
		return nil, fmt.Errorf("formatting: %w: formatting it twice gives another text", ErrMeaning)
	}
	return formatted, nil
}

func (l Layout) print(f *syntax.File) ([]byte, error) {
	var b bytes.Buffer
	err := syntax.NewPrinter(
		syntax.Indent(l.Indent), syntax.BinaryNextLine(l.BinaryNextLine), syntax.SwitchCaseIndent(l.SwitchCaseIndent),
		syntax.SpaceRedirects(l.SpaceRedirects), syntax.FunctionNextLine(l.FunctionNextLine),
	).Print(&b, f)
	if err != nil {
		return nil, fmt.Errorf("formatting: %w", err)
	}
	return b.Bytes(), nil
}

// meaning is a text that two scripts share when they run the same commands and
// have the same comments.
func meaning(f *syntax.File) ([]byte, error) {
	var b bytes.Buffer
	if err := syntax.NewPrinter(syntax.Minify(true)).Print(&b, f); err != nil {
		return nil, fmt.Errorf("formatting: %w", err)
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			b.WriteString("\n#" + strings.TrimRight(c.Text, " \t\r"))
		}
		return true
	})
	return b.Bytes(), nil
}

// firstDifference is the first line in which two texts differ; 0 if none.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	line := 1 + bytes.Count(a[:n], []byte("\n"))
	if n == len(a) && n > 0 && a[n-1] == '\n' {
		line-- // lines are missing at the end
	}
	return line
}

// syntaxFault makes a finding of a parser's error.
func syntaxFault(file string, text []byte, err error) (lint.Finding, bool) {
	var pos syntax.Pos
	message := ""
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		pos, message = e.Pos, e.Text
	} else if e, ok := errors.AsType[syntax.LangError](err); ok {
		pos, message = e.Pos, strings.TrimPrefix(e.Error(), e.Filename+":"+e.Pos.String()+": ")
	} else {
		return lint.Finding{}, false
	}
	f := lint.Finding{File: file, Line: max(int(pos.Line()), 1), Rule: "syntax", Severity: lint.Error, Message: strings.Join(strings.Fields(message), " ")}
	// The parser counts bytes.
	if offset := int(pos.Offset()); offset <= len(text) {
		start := bytes.LastIndexByte(text[:offset], '\n') + 1
		f.Column = utf8.RuneCount(text[start:offset]) + 1
	}
	return f, true
}

// dialectOf tells the dialect of a script by its first line, or else by its
// name; false for shells that the parser does not know.
func dialectOf(file string, text []byte) (dialect syntax.LangVariant, name string, ok bool) {
	name = interpreter(text)
	if name == "" {
		name = strings.TrimPrefix(path.Ext(file), ".")
		if name == "sh" || !slices.Contains([]string{"bash", "mksh", "bats", "zsh", "ksh", "fish", "csh"}, name) {
			return syntax.LangBash, "bash", true // what runs it is not known; bash takes most
		}
	}
	switch name {
	case "bash":
		return syntax.LangBash, name, true
	case "sh", "dash", "ash", "posh", "busybox":
		return syntax.LangPOSIX, name, true
	case "mksh":
		return syntax.LangMirBSDKorn, name, true
	case "bats":
		return syntax.LangBats, name, true
	}
	return 0, name, false
}

// interpreter is the program that #! names, behind env and its options.
func interpreter(text []byte) string {
	line, _, _ := bytes.Cut(text[:min(len(text), 512)], []byte("\n"))
	rest, ok := strings.CutPrefix(strings.TrimPrefix(string(line), "\ufeff"), "#!")
	if !ok {
		return ""
	}
	words := strings.Fields(rest)
	for i, w := range words {
		if i > 0 && (strings.HasPrefix(w, "-") || strings.Contains(w, "=")) {
			continue
		}
		if base := path.Base(w); base != "env" {
			return base
		}
	}
	return ""
}
