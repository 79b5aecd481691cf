// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package markdown

import "strings"

// The parser of CommonMark compares each mark of a paragraph with those before
// it, goes through all open quotes and lists for every line, and copies the
// rest of a paragraph for each definition in it. So the work that a text may
// cause is bounded before it is parsed, in one pass.
const (
	deepestCommon = 200           // quotes and lists inside of each other
	workBudget    = 1_000_000_000 // about a second, in steps of the parser
)

// tooMuch returns the line where a text has caused more work than is
// affordable, 0 if there is none.
func tooMuch(lines []string) int {
	total, marks, run, depth := 0, 0, 0, 0
	for i, l := range lines {
		indent := columns(l, skip(l, 0, " \t"))
		rest, opened, listed := containers(l)
		if rest != "" || opened > 0 {
			depth = min(depth, indent/2) + opened
		}
		if depth > deepestCommon {
			return i + 1
		}
		if run++; rest == "" || listed || rest[0] == '#' || indent < 4 && fenceMark(rest) != "" {
			marks, run = 0, 0 // another paragraph
		}
		here := 0
		for j := range len(rest) {
			if strings.IndexByte("[]()<*_`~!", rest[j]) >= 0 {
				here++
			}
		}
		total += 2*marks*here + here*here + 10*depth*depth
		switch {
		case strings.HasPrefix(rest, "["): // may define a link
			total += 2 * run
		case strings.Trim(rest, "-:| \t") == "": // may make a table of the lines before
			total += run / 2
		}
		if rest == "" || rest[0] != '|' { // the cells of a table are read alone
			marks += here
		}
		if total > workBudget {
			return i + 1
		}
	}
	return 0
}

// containers cuts the marks of quotes and items off a line, counts them, and
// tells that there is one of an item.
func containers(l string) (rest string, opened int, listed bool) {
	for {
		l = strings.TrimLeft(l, " \t")
		if strings.HasPrefix(l, ">") {
			l = l[1:]
			opened++
			continue
		}
		n, _ := markerOf(l, 0)
		if n == 0 {
			return l, opened, listed
		}
		l = l[n:]
		opened++
		listed = true
	}
}
