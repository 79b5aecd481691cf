// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package goal

import (
	"slices"
	"strings"
)

// Near returns at most limit candidates that name may have been meant to be,
// nearest first: other spellings (case, - for . and the like), a few wrong
// letters, or a part of a longer name.
func Near(name string, candidates []string, limit int) []string {
	type scored struct {
		name  string
		score int
	}
	var found []scored
	plain := fold(name)
	for _, c := range candidates {
		other := fold(c)
		d := distance(plain, other)
		switch {
		case d <= 1+len(plain)/5:
			found = append(found, scored{c, d})
		case len(plain) >= 3 && (strings.HasPrefix(other, plain) || strings.HasSuffix(other, plain)):
			found = append(found, scored{c, 100 + len(other)})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.score - b.score })
	var names []string
	for _, f := range found {
		if len(names) < limit {
			names = append(names, f.name)
		}
	}
	return names
}

// fold makes spellings that differ only in case or separators equal.
func fold(s string) string {
	return strings.NewReplacer(".", "-", "_", "-", ":", "-", "/", "-").Replace(strings.ToLower(s))
}

// distance is the number of letters to add, drop, change or swap with their
// neighbour to get from a to b.
func distance(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
