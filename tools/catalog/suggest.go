// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// unknownList says which names are unknown, each with the known one that it
// may be a slip of, and what is known: `"pilt" (did you mean "pilot"?), "x"`.
func unknownList(unknown, known []string) string {
	parts := make([]string, len(unknown))
	for i, name := range unknown {
		parts[i] = fmt.Sprintf("%q%s", name, didYouMean(name, known))
	}
	return strings.Join(parts, ", ")
}

// didYouMean offers the nearest known name, or nothing when none is near.
func didYouMean(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// nearest returns the known name with the fewest slips, when that is at most a
// third of its length; the first in order where several are as near.
func nearest(name string, known []string) string {
	best, slips := "", len(name)/3+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		if strings.EqualFold(name, k) {
			return k
		}
		if d := distance(name, k); d < slips && d < len(k) {
			best, slips = k, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to turn a into b (optimal string alignment).
func distance(a, b string) int {
	before, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}

// keys returns the keys of a map in order.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// quoted lists names for a message.
func quoted(names []string) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(parts, ", ")
}
