// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package makeflags reads the text of make's MAKEFLAGS variable: flags and
// command-line variables. It knows the forms of GNU make 3.81 (macOS), 4.3 and
// later; they differ in where letters and the separator stand.
package makeflags

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Flags are what the user gave to make.
type Flags struct {
	DryRun       bool // -n: print the plan
	KeepGoing    bool // -k
	Silent       bool // -s
	AlwaysMake   bool // -B: nothing counts as up to date
	EnvOverrides bool // -e
	Question     bool // -q: do nothing, answer by status
	Touch        bool // -t
	IgnoreErrors bool // -i
	Jobs         int  // -jN; 0: no -j, or a number that make does not tell
	// Overrides are the variables on the command line as make assignments
	// (NAME=text, NAME:=text), in the order given. The text is unexpanded,
	// but for := which make 4 has expanded already.
	Overrides []string
}

var assignment = regexp.MustCompile(`^[^\s=:+?!#-][^\s=:+?!#]*(:::?|::|[:+?!])?=`)

// Parse reads the value of MAKEFLAGS as it is in a make file. Words that it
// does not know, such as the job server's, are passed over.
func Parse(text string) Flags {
	var f Flags
	words := split(text)
	onlyVariables := false
	for i, w := range words {
		switch {
		case w == "--" && !onlyVariables:
			onlyVariables = true
		case (onlyVariables || !strings.HasPrefix(w, "-")) && assignment.MatchString(w):
			f.Overrides = append(f.Overrides, strings.ReplaceAll(w, "$$", "$"))
		case onlyVariables:
		case strings.HasPrefix(w, "--"):
			f.long(w)
		case strings.HasPrefix(w, "-"):
			f.letters(w[1:])
		case i == 0:
			f.letters(w)
		}
	}
	slices.Reverse(f.Overrides) // make puts the last one first
	return f
}

// split cuts at white space that no backslash protects, and drops the
// backslashes.
func split(text string) []string {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			inWord = true
		case c == ' ' || c == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

func (f *Flags) long(w string) {
	switch {
	case w == "--warn-undefined-variables", strings.HasPrefix(w, "--jobserver"), w == "--no-print-directory":
	case w == "--dry-run", w == "--just-print", w == "--recon":
		f.DryRun = true
	}
}

// letters reads flag letters. What stands behind j is a number; the letters
// I, f, C, o, W, l and O take the rest of the word, or the next one, as their
// value, and none of them concerns us.
func (f *Flags) letters(s string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case 'n':
			f.DryRun = true
		case 'k':
			f.KeepGoing = true
		case 's':
			f.Silent = true
		case 'B':
			f.AlwaysMake = true
		case 'e':
			f.EnvOverrides = true
		case 'q':
			f.Question = true
		case 't':
			f.Touch = true
		case 'i':
			f.IgnoreErrors = true
		case 'j':
			digits := i + 1
			for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
				digits++
			}
			f.Jobs, _ = strconv.Atoi(s[i+1 : digits])
			i = digits - 1
		case 'I', 'f', 'C', 'o', 'W', 'l', 'O':
			return
		}
	}
}
