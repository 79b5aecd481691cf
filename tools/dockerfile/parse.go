// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// File is a parsed Dockerfile.
type File struct {
	name    string
	content []byte // expansion changes instructions in place, so each plan reads its own
	escape  rune
	global  []instructions.ArgCommand // ARG in front of the first FROM
	stages  []instructions.Stage
	syntax  string // of a syntax directive
}

// maxSize bounds a Dockerfile; BuildKit's own frontend takes no larger one.
const maxSize = 2 << 20

// Parse reads the text of a Dockerfile. Errors begin with name:line.
func Parse(name string, content []byte) (*File, error) {
	if len(content) > maxSize {
		return nil, fail.With(fail.Usage, fmt.Errorf("%s: %d bytes are more than a Dockerfile may have (%d)", name, len(content), maxSize))
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, fail.With(fail.Usage, fmt.Errorf("%s is empty", name))
	}
	ast, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		return nil, fail.With(fail.Usage, located(name, err))
	}
	stages, global, err := instructions.Parse(ast.AST, nil)
	if err != nil {
		return nil, fail.With(fail.Usage, located(name, err))
	}
	if len(stages) == 0 {
		return nil, fail.With(fail.Usage, fmt.Errorf("%s: there is no FROM instruction", name))
	}
	f := &File{name: name, content: content, escape: ast.EscapeToken, global: global, stages: stages}
	if syntax, _, _, ok := parser.DetectSyntax(content); ok {
		f.syntax = syntax
	}
	return f, nil
}

var parserPrefix = regexp.MustCompile(`^(dockerfile )?parse error( on line (\d+))?: `)

// located turns the parser's ways of naming a line into name:line.
func located(name string, err error) error {
	line := ""
	var at *parser.LocationError
	if errors.As(err, &at) && len(at.Locations) > 0 && len(at.Locations[0]) > 0 {
		line = fmt.Sprintf(":%d", at.Locations[0][0].Start.Line)
	}
	text := err.Error()
	if m := parserPrefix.FindStringSubmatch(text); m != nil {
		text = strings.TrimPrefix(text, m[0])
		if m[3] != "" {
			line = ":" + m[3]
		}
	}
	return fmt.Errorf("%s%s: %s", name, line, text)
}

// shorten makes one line of at most 80 characters of an instruction.
func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 80 {
		return text[:77] + "..."
	}
	return text
}

func lineOf(locations []parser.Range) int {
	if len(locations) == 0 {
		return 0
	}
	return locations[0].Start.Line
}
