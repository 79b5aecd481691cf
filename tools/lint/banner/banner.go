// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package banner is lint-copyright-banner: sources say under which licence
// they are and whose they are. The check and the fixer share one idea of what
// a banner is.
package banner

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// What every source has to hold, as lint_copyright_banner.sh of
// istio/common-files asks.
const (
	licence   = "Apache License, Version 2"
	copyright = "Copyright"
)

const byteOrderMark = "\ufeff"

// The rules.
const (
	RuleLicence   = "missing-license"
	RuleCopyright = "missing-copyright"
)

// Chosen are the files that need a banner: those of Istio's make files, and
// not those below the folders, or named by the patterns, in foreign.
func Chosen(foreign []string) func(string) bool {
	named := lint.Named("*.go", "*.cc", "*.h", "*.proto", "*.py", "*.sh", "*.rs", "!*.gen.go", "!*.pb.go", "!*_pb2.py")
	return func(file string) bool {
		if !named(file) {
			return false
		}
		for _, f := range foreign {
			f = strings.TrimSuffix(strings.TrimPrefix(f, "./"), "/")
			if ok, _ := path.Match(f, file); ok || file == f || strings.HasPrefix(file, f+"/") {
				return false
			}
		}
		return true
	}
}

// Linter returns the linter. text is the banner that Fix puts into files, as
// comment lines with // before them; without one nothing is mended. extra are
// more texts that stand for a licence, such as an SPDX line.
func Linter(foreign []string, text string, extra ...string) lint.Linter {
	return lint.Linter{
		Name: "copyright-banner", Files: Chosen(foreign), Checker: checker{text, extra},
		Rules: "1 " + text + strings.Join(extra, "\n"),
	}
}

type checker struct {
	banner string
	extra  []string
}

// Check implements lint.Checker.
func (c checker) Check(file string, text []byte) ([]lint.Finding, error) {
	var found []lint.Finding
	add := func(rule, what string) {
		found = append(found, lint.Finding{
			File: file, Line: 1, Rule: rule, Severity: lint.Error, Fixable: c.banner != "",
			Message: fmt.Sprintf("there is no %s in this file", what), Text: "Missing " + what + ": " + file,
		})
	}
	if !c.licensed(text) {
		add(RuleLicence, "license")
	}
	if !bytes.Contains(text, []byte(copyright)) {
		add(RuleCopyright, "copyright")
	}
	return found, nil
}

func (c checker) licensed(text []byte) bool {
	for _, want := range append([]string{licence}, c.extra...) {
		if bytes.Contains(text, []byte(want)) {
			return true
		}
	}
	return false
}

// Fix implements lint.Fixer: what is missing of the banner goes to the top,
// below lines that have to be first.
func (c checker) Fix(file string, text []byte) ([]byte, error) {
	lacksLicence, lacksCopyright := !c.licensed(text), !bytes.Contains(text, []byte(copyright))
	if c.banner == "" || !lacksLicence && !lacksCopyright {
		return text, nil
	}
	crlf := bytes.Contains(text, []byte("\r\n"))
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(c.banner), "\n") {
		line = strings.TrimRight(line, "\r")
		own := strings.Contains(line, copyright)
		if own && lacksCopyright || !own && lacksLicence {
			lines = append(lines, comment(file, line))
		}
	}
	head, rest := first(file, text)
	end := "\n"
	if crlf {
		end = "\r\n"
	}
	var out bytes.Buffer
	out.Write(head)
	if len(head) > len(byteOrderMark) && !bytes.HasSuffix(head, []byte("\n")) {
		out.WriteString(end)
	}
	out.WriteString(strings.Join(trimEmpty(lines), end) + end)
	if len(bytes.TrimSpace(rest)) > 0 && !bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r"), []byte("\n")) {
		out.WriteString(end)
	}
	out.Write(rest)
	return out.Bytes(), nil
}

// trimEmpty drops comment lines without text from the ends.
func trimEmpty(lines []string) []string {
	empty := func(line string) bool { return strings.Trim(line, "/# ") == "" }
	for len(lines) > 0 && empty(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && empty(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// comment turns a line of the banner, written for Go, into a comment of the
// file's language.
func comment(file, line string) string {
	switch path.Ext(file) {
	case ".py", ".sh":
		return strings.TrimRight("#"+strings.TrimPrefix(line, "//"), " ")
	}
	return line
}

// first cuts off what has to stay at the top: a byte order mark, the line of
// the interpreter, and Python's line of the encoding.
func first(file string, text []byte) (head, rest []byte) {
	rest = text
	take := func(n int) { head, rest = text[:len(head)+n], text[len(head)+n:] }
	if bytes.HasPrefix(rest, []byte(byteOrderMark)) {
		take(len(byteOrderMark))
	}
	line := func() []byte {
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			return rest[:i+1]
		}
		return rest
	}
	if bytes.HasPrefix(rest, []byte("#!")) {
		take(len(line()))
	}
	if l := line(); path.Ext(file) == ".py" && bytes.HasPrefix(l, []byte("#")) && bytes.Contains(l, []byte("coding")) {
		take(len(l))
	}
	return head, rest
}
