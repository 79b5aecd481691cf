// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Position is a line of a file.
type Position struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // counted from 1; 0: the file as a whole
}

// At is the position as file:line.
func (p Position) At() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Problem is one thing that is wrong at one place.
type Problem struct {
	Position
	Message string `json:"message"`
}

func (p Problem) String() string { return p.At() + ": " + p.Message }

// Problems are all that is wrong with a catalog, one a line.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// findings collects what a reader has to say about its files.
type findings struct {
	problems Problems
	warnings []Problem
}

func (f *findings) problem(at Position, format string, args ...any) {
	f.problems = append(f.problems, Problem{at, fmt.Sprintf(format, args...)})
}

func (f *findings) warn(at Position, format string, args ...any) {
	f.warnings = append(f.warnings, Problem{at, fmt.Sprintf(format, args...)})
}

// addNew adds the problems at places that have none yet: what was misread is
// said once, not again for what follows from it.
func (f *findings) addNew(more Problems) {
	said := map[Position]bool{}
	for _, p := range f.problems {
		said[p.Position] = true
	}
	for _, p := range more {
		if !said[p.Position] {
			f.problems = append(f.problems, p)
		}
	}
}

// err is all problems as one error with the exit code of a usage error.
func (f *findings) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	return fail.With(fail.Usage, sorted(f.problems))
}

// sorted orders by place; what was said twice is said once.
func sorted(list []Problem) Problems {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return slices.Compact(list)
}
