// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// stages is what the catalog wants to know of a Dockerfile. Evaluating it is
// another package's job.
type stages struct {
	names    []string // stages with a name, as written
	used     []string // stages that another instruction takes from
	from     []string // literal names in FROM that are no stage of the file
	varies   bool     // the last FROM is chosen by BASE_DISTRIBUTION
	fallback string   // default of BASE_DISTRIBUTION
}

// choices are the stages that BASE_DISTRIBUTION can choose: those that no
// other instruction needs for itself.
func (s stages) choices() []string {
	return slices.DeleteFunc(slices.Clone(s.names), func(n string) bool { return slices.Contains(s.used, n) })
}

// readStages parses a Dockerfile's FROM lines.
func readStages(root fs.FS, name string) (stages, error) {
	content, err := fs.ReadFile(root, name)
	if err != nil {
		return stages{}, err
	}
	parsed, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		return stages{}, fmt.Errorf("parsing: %w", err)
	}
	var s stages
	for _, n := range parsed.AST.Children {
		s.add(n)
	}
	return s, nil
}

func (s *stages) add(n *parser.Node) {
	for _, flag := range n.Flags { // --from=stage, --mount=type=bind,from=stage
		for part := range strings.SplitSeq(strings.TrimLeft(flag, "-"), ",") {
			if name, ok := strings.CutPrefix(strings.TrimPrefix(part, "mount="), "from="); ok {
				s.used = append(s.used, strings.ToLower(name))
			}
		}
	}
	words := wordsOf(n)
	switch strings.ToLower(n.Value) {
	case "arg":
		for _, w := range words {
			if value, ok := strings.CutPrefix(w, Distribution+"="); ok && s.fallback == "" {
				s.fallback = strings.Trim(value, `"'`)
			}
		}
	case "from":
		s.addFrom(words)
	}
}

func (s *stages) addFrom(words []string) {
	if len(words) == 0 {
		return
	}
	image := strings.ToLower(words[0])
	s.varies = strings.Contains(words[0], "$"+Distribution) || strings.Contains(words[0], "${"+Distribution)
	switch {
	case slices.Contains(s.names, image):
		s.used = append(s.used, image)
	case image != "scratch" && !strings.Contains(image, "$") && !slices.Contains(s.from, words[0]):
		s.from = append(s.from, words[0])
	}
	if len(words) == 3 && strings.EqualFold(words[1], "as") {
		s.names = append(s.names, strings.ToLower(words[2])) // stage names ignore case
	}
}

func wordsOf(n *parser.Node) (words []string) {
	for next := n.Next; next != nil; next = next.Next {
		words = append(words, next.Value)
	}
	return words
}
