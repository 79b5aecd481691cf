// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile

import (
	"bytes"
	"fmt"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// Ignore is a .dockerignore file.
type Ignore struct {
	matcher *patternmatcher.PatternMatcher
}

// IgnoreFiles are where the ignore file of a Dockerfile may lie: beside it
// under its own name, which wins, or at the root of the context.
func IgnoreFiles(dockerfile string) []string {
	return []string{dockerfile + ".dockerignore", ".dockerignore"}
}

// ParseIgnore reads the text of an ignore file.
func ParseIgnore(content []byte) (*Ignore, error) {
	patterns, err := ignorefile.ReadAll(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("reading the ignore file: %w", err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, fmt.Errorf("reading the ignore file: %w", err)
	}
	return &Ignore{matcher}, nil
}

// Excluded tells whether a slash-separated path in the context is left out.
func (i *Ignore) Excluded(path string) (bool, error) {
	if i == nil {
		return false, nil
	}
	return i.matcher.MatchesOrParentMatches(path)
}
