// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package lint runs linters over the files of a tree: one walk, one read of
// each file, many files at a time, findings as data. What a linter looks for
// lives in a package of its own below this one; this package knows only how to
// choose files, ask, remember and report.
package lint

import "fmt"

// Severity says what a finding does to the verdict.
type Severity string

// The severities, from what fails a run to what is only said.
const (
	Error   Severity = "error"   // fails the run
	Warning Severity = "warning" // is reported, does not fail the run
	Notice  Severity = "notice"  // something worth knowing that is no fault
)

// Finding is one thing that a linter has to say about a file.
type Finding struct {
	Linter   string   `json:"linter"`           // markdown, python …: set by the engine
	File     string   `json:"file"`             // slash path from the root of the tree
	Line     int      `json:"line,omitempty"`   // from 1; 0 is the file as a whole
	Column   int      `json:"column,omitempty"` // from 1, in characters; 0 is not known
	EndLine  int      `json:"endLine,omitempty"`
	Rule     string   `json:"rule,omitempty"` // MD009, E302, DL3006, key-duplicates
	Name     string   `json:"name,omitempty"` // of the rule, where it has one beside its id
	Message  string   `json:"message"`        // one line, without the rule's id
	Severity Severity `json:"severity"`
	Doc      string   `json:"doc,omitempty"`     // address of the rule's description
	Fixable  bool     `json:"fixable,omitempty"` // --fix mends it
	// Text is the line that the tool which this linter stands in for would
	// print. Empty: FILE:LINE:COLUMN: RULE MESSAGE.
	Text string `json:"-"`
}

// String is the finding as a line of text.
func (f Finding) String() string {
	if f.Text != "" {
		return f.Text
	}
	place := f.File
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, f.Line)
	}
	if f.Column > 0 {
		place = fmt.Sprintf("%s:%d", place, f.Column)
	}
	if f.Rule == "" {
		return place + ": " + f.Message
	}
	return place + ": " + f.Rule + " " + f.Message
}

// A Checker looks at one file at a time. It is used by many goroutines at
// once and keeps nothing between files.
type Checker interface {
	// Check returns what is wrong with the file, in the order of lines. text
	// is the whole file; it is not changed. An error says that the file could
	// not be judged: that is one failed file, and the run goes on.
	Check(file string, text []byte) ([]Finding, error)
}

// A Fixer is a checker that can mend some of what it finds.
type Fixer interface {
	Checker
	// Fix returns the mended file, or text itself when nothing can be mended.
	// Fixing the result again changes nothing.
	Fix(file string, text []byte) ([]byte, error)
}
