// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Diff is the unified diff between two states of a file, with the heads of
// autopep8 -d. It is empty when they are the same.
func Diff(file, before, after string) (string, error) {
	if before == after {
		return "", nil
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: diffLines(before), B: diffLines(after), FromFile: "original/" + file, ToFile: "fixed/" + file, Context: 3,
	})
	if err != nil {
		return "", fmt.Errorf("comparing %s with what would be mended: %w", file, err)
	}
	return text, nil
}

// diffLines marks a last line that has no end, as diff does.
func diffLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	last := len(lines) - 1
	if lines[last] == "" {
		return lines[:last]
	}
	lines[last] += "\n\\ No newline at end of file\n"
	return lines
}
