// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfiles

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"mvdan.cc/sh/v3/syntax"

	"github.com/istio-ecosystem/slipway/tools/lint/shell"
)

// script is what a RUN instruction runs.
type script struct {
	calls []call
	pipes bool // a command's output goes to another
	chain int  // commands that are strung together
}

// call is a simple command. Variables in words stay as they are written.
type call struct {
	name string
	args []string
	env  []string // NAME=value before it
}

// readScript reads the script of RUN; problem says why it cannot be read.
func readScript(c *instructions.RunCommand, shellPath string) (s script, problem string) {
	if !c.PrependShell {
		if len(c.CmdLine) > 0 {
			s.calls = []call{{name: c.CmdLine[0], args: c.CmdLine[1:]}}
			s.chain = 1
		}
		return s, ""
	}
	text := strings.Join(c.CmdLine, " ")
	switch {
	case len(c.Files) == 1 && strings.TrimSpace(text) == "<<"+heredocMark(text, c.Files[0].Name):
		text = c.Files[0].Data
		if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "#!") && !shellLike(first) {
			return s, "" // a program of another language
		}
	default:
		for _, f := range c.Files {
			text += "\n" + f.Data + f.Name
		}
		text += "\n"
	}
	parsed, err := shell.Parse("", []byte(text), dialect(shellPath))
	if err != nil {
		return s, reason(err)
	}
	s.collect(parsed)
	return s, ""
}

// heredocMark is what follows << in the text, when it is this name and no
// more.
func heredocMark(text, name string) string {
	mark := strings.TrimPrefix(strings.TrimSpace(text), "<<")
	if strings.Trim(strings.TrimPrefix(mark, "-"), `"' `) == name {
		return mark
	}
	return name
}

func shellLike(first string) bool {
	fields := strings.Fields(strings.TrimPrefix(first, "#!"))
	if len(fields) > 1 && path.Base(fields[0]) == "env" {
		fields = slices.DeleteFunc(fields[1:], func(f string) bool { return strings.HasPrefix(f, "-") })
	}
	return len(fields) > 0 && slices.Contains([]string{"sh", "bash", "ash", "dash", "ksh"}, path.Base(fields[0]))
}

// dialect of the shell that runs it. What stands for sh in images is often
// bash or busybox, which take more than POSIX has, so it is not told apart.
func dialect(shellPath string) syntax.LangVariant {
	switch path.Base(shellPath) {
	case "zsh":
		return syntax.LangZsh
	case "mksh", "ksh":
		return syntax.LangMirBSDKorn
	}
	return syntax.LangBash
}

func reason(err error) string {
	if e, ok := errors.AsType[syntax.ParseError](err); ok {
		return "the script of RUN: " + e.Text
	}
	return "the script of RUN: " + strings.TrimSpace(err.Error())
}

func (s *script) collect(f *syntax.File) {
	s.chain = len(f.Stmts)
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			s.chain++
			s.pipes = s.pipes || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		case *syntax.CallExpr:
			s.call(n)
		}
		return true
	})
}

func (s *script) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	var c call
	for _, a := range n.Assigns {
		if a.Name != nil {
			c.env = append(c.env, a.Name.Value+"="+wordText(a.Value))
		}
	}
	c.name = wordText(n.Args[0])
	for _, w := range n.Args[1:] {
		c.args = append(c.args, wordText(w))
	}
	s.calls = append(s.calls, c)
}

// wordText is a word without its quotes; of what a shell would expand stays a
// mark that no package name has.
func wordText(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	writeParts(&b, w.Parts)
	return b.String()
}

func writeParts(b *strings.Builder, parts []syntax.WordPart) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			writeParts(b, p.Parts)
		case *syntax.ParamExp:
			if p.Param != nil {
				b.WriteString("${" + p.Param.Value + "}")
			} else {
				b.WriteString("${}")
			}
		default:
			b.WriteString("${}")
		}
	}
}

func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// is tells that the command is one of those, wherever it lies.
func (c call) is(names ...string) bool { return slices.Contains(names, c.name) }

// sub tells that the first argument that is no option is one of those.
func (c call) sub(names ...string) bool {
	words := c.words()
	return len(words) > 0 && slices.Contains(names, words[0])
}

// words are the arguments that are no options. The options valued take the
// argument after them as their value.
func (c call) words(valued ...string) []string {
	var words []string
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case a == "--":
			return append(words, c.args[i+1:]...)
		case strings.HasPrefix(a, "-") && a != "-":
			if slices.Contains(valued, a) {
				i++
			}
		default:
			words = append(words, a)
		}
	}
	return words
}

// has tells that an option is given: -y, as one of -yq, too; --yes or
// --yes=value.
func (c call) has(options ...string) bool {
	for _, a := range c.args {
		if a == "--" {
			return false
		}
		if !strings.HasPrefix(a, "-") {
			continue
		}
		name, _, _ := strings.Cut(a, "=")
		for _, o := range options {
			if name == o || len(o) == 2 && !strings.HasPrefix(name, "--") && strings.Contains(name[1:], o[1:]) {
				return true
			}
		}
	}
	return false
}

// count is how often a short option is given.
func (c call) count(option byte) int {
	n := 0
	for _, a := range c.args {
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") {
			n += strings.Count(a, string(option))
		}
	}
	return n
}
