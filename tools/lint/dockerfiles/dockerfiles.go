// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfiles

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// maxSize bounds a Dockerfile; BuildKit's own frontend takes no larger one.
const maxSize = 2 << 20

// Checker checks Dockerfiles.
type Checker struct {
	config *Config
	rules  map[string]rule
}

// New returns the checker of a configuration; nil is the default.
func New(c *Config) *Checker {
	if c == nil {
		c = &Config{Threshold: LevelInfo}
	}
	return &Checker{config: c, rules: ruleTable()}
}

// Check implements lint.Checker. What cannot be read is a finding, of the rule
// DL1000, not an error.
func (c *Checker) Check(file string, text []byte) ([]lint.Finding, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("%d bytes are more than a Dockerfile may have (%d)", len(text), maxSize)
	}
	r := &run{checker: c, file: file, names: map[string]*stage{}}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		line, message := located(err)
		r.report("DL1000", line, message)
		return r.found, nil
	}
	r.pragma = readPragma(text, parsed.AST)
	r.windows = parsed.EscapeToken == '`'
	if c.config.DisablePragma {
		r.pragma.ignored, r.pragma.everywhere = nil, nil
	}
	for _, line := range r.pragma.lines {
		r.report("DL1001", line, "")
	}
	whole := true
	for _, node := range parsed.AST.Children {
		if whole = r.instruction(node); !whole {
			break // what follows may be text of what was not understood
		}
	}
	if whole {
		r.end()
	}
	slices.SortStableFunc(r.found, func(a, b lint.Finding) int { return a.Line - b.Line })
	return r.found, nil
}

// located is the line of a parser's error, and the error without it.
func located(err error) (int, string) {
	line := 1
	if at, ok := errors.AsType[*parser.LocationError](err); ok && len(at.Locations) > 0 && len(at.Locations[0]) > 0 {
		line = max(at.Locations[0][0].Start.Line, 1)
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return line, text
}

// run is one check of one file.
type run struct {
	checker *Checker
	file    string
	pragma  pragma
	windows bool // the escape directive says so
	found   []lint.Finding

	stages []*stage
	names  map[string]*stage // by name, in small letters
	stage  *stage            // nil before the first FROM
	flags  []string          // of the instruction at hand
}

// report adds a finding unless it is ignored.
func (r *run) report(code string, line int, detail string) {
	config := r.checker.config
	known := r.checker.rules[code]
	level := known.level
	if l, ok := config.Override[code]; ok {
		level = l
	}
	if level == LevelIgnore || slices.Contains(config.Ignored, code) || r.pragma.ignores(code, line) {
		return
	}
	severity := lint.Error
	if level.rank() < config.Threshold.rank() || config.NoFail {
		severity = lint.Notice
	}
	message := known.message
	if strings.Contains(message, "%s") {
		message = fmt.Sprintf(message, detail)
	}
	r.found = append(r.found, lint.Finding{
		File: r.file, Line: line, Rule: code, Message: message, Severity: severity,
		Doc:  "https://github.com/hadolint/hadolint/wiki/" + code,
		Text: fmt.Sprintf("%s:%d %s %s: %s", r.file, line, code, level, message),
	})
}

// instruction checks one instruction of the file; false when it is none.
func (r *run) instruction(node *parser.Node) bool {
	line := node.StartLine
	r.flags = node.Flags
	if name := r.pragma.shell[line]; name != "" && r.stage != nil {
		r.stage.shell = []string{name}
	}
	if strings.EqualFold(node.Value, "ONBUILD") {
		return r.onbuild(node)
	}
	parsed, err := instructions.ParseInstruction(node)
	if err != nil {
		_, message := located(err)
		r.report("DL1000", line, message)
		return false
	}
	switch c := parsed.(type) {
	case *instructions.Stage:
		r.from(c, line)
		if name := r.pragma.shell[line]; name != "" {
			r.stage.shell = []string{name}
		}
	case *instructions.ArgCommand:
		r.arg(c)
	case instructions.Command:
		if r.stage == nil { // the file is wrong already; look at the rest all the same
			r.report("DL3061", line, strings.ToUpper(node.Value))
			r.begin(&stage{line: line})
		}
		s, read := r.command(c, line)
		r.stateful(c, line, s, read)
	}
	return true
}

// onbuild checks what a build on top of the image would run.
func (r *run) onbuild(node *parser.Node) bool {
	if node.Next == nil || len(node.Next.Children) == 0 {
		r.report("DL1000", node.StartLine, "ONBUILD needs an instruction")
		return false
	}
	inner := *node.Next.Children[0]
	r.flags = inner.Flags
	inner.StartLine, inner.EndLine, inner.Heredocs = node.StartLine, node.EndLine, node.Heredocs
	name := strings.ToUpper(inner.Value)
	if name == "ONBUILD" || name == "FROM" || name == "MAINTAINER" {
		r.report("DL3043", node.StartLine, name)
		return true
	}
	parsed, err := instructions.ParseInstruction(&inner)
	if err != nil {
		_, message := located(err)
		r.report("DL1000", node.StartLine, message)
		return false
	}
	if c, ok := parsed.(instructions.Command); ok {
		if r.stage == nil {
			r.report("DL3061", node.StartLine, "ONBUILD")
			r.begin(&stage{line: node.StartLine})
		}
		_, _ = r.command(c, node.StartLine)
		r.stage.lastRun = nil
	}
	return true
}

// pragma is what comments of the file say to the linter.
type pragma struct {
	ignored    map[int][]string // by the line at which an instruction begins
	everywhere map[string]bool
	shell      map[int]string // by the line at which an instruction begins
	lines      []int          // of comments that ignore rules
}

func (p pragma) ignores(code string, line int) bool {
	return p.everywhere[code] || slices.Contains(p.ignored[line], code)
}

// readPragma looks for comments between instructions. One that ignores rules
// belongs to the instruction that follows.
func readPragma(text []byte, ast *parser.Node) pragma {
	p := pragma{ignored: map[int][]string{}, everywhere: map[string]bool{}, shell: map[int]string{}}
	if !bytes.Contains(text, []byte("hadolint")) {
		return p
	}
	number, next := 0, 0
	for line := range bytes.Lines(text) {
		number++
		for next < len(ast.Children) && ast.Children[next].EndLine < number {
			next++
		}
		begin := 0 // of the instruction that follows
		if next < len(ast.Children) {
			begin = ast.Children[next].StartLine
			if begin <= number {
				continue // inside of an instruction
			}
		}
		p.comment(strings.TrimSpace(strings.TrimPrefix(string(line), "\ufeff")), number, begin)
	}
	return p
}

func (p *pragma) comment(line string, number, begin int) {
	line, ok := strings.CutPrefix(line, "#")
	if !ok {
		return
	}
	line, ok = strings.CutPrefix(strings.TrimSpace(line), "hadolint")
	if !ok || line == strings.TrimSpace(line) { // a longer word
		return
	}
	line, _, _ = strings.Cut(line, "#")
	key, value, ok := strings.Cut(line, "=")
	if !ok {
		return
	}
	switch strings.Join(strings.Fields(key), " ") {
	case "shell":
		p.shell[begin] = strings.TrimSpace(value)
	case "ignore":
		p.ignored[begin] = append(p.ignored[begin], ruleNames(value)...)
		p.lines = append(p.lines, number)
	case "global ignore":
		for _, name := range ruleNames(value) {
			p.everywhere[name] = true
		}
		p.lines = append(p.lines, number)
	}
}

// ruleNames splits DL3008, SC2086; words after a blank are no rules.
func ruleNames(list string) []string {
	var rules []string
	for word := range strings.SplitSeq(list, ",") {
		if fields := strings.Fields(word); len(fields) > 0 {
			rules = append(rules, fields[0])
		}
	}
	return rules
}
