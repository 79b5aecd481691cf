// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"strconv"
	"strings"
	"unicode"
)

// slugger gives headings of one page the ids that GitHub gives them.
type slugger struct {
	taken map[string]int
}

func newSlugger() *slugger { return &slugger{taken: map[string]int{}} }

// id is the slug of a heading's text; the second heading with the same slug
// gets -1 behind it, the third -2. A number that is taken by a heading of that
// very name is passed over.
func (s *slugger) id(text string) string {
	base := slug(text)
	id := base
	n, again := s.taken[base]
	for again {
		n++
		id = base + "-" + strconv.Itoa(n)
		_, again = s.taken[id]
	}
	if id != base {
		s.taken[base] = n
	}
	s.taken[id] = 0
	return id
}

// slug is a heading's text in small letters, without everything that is no
// letter, mark, digit, underscore-like character, hyphen or space, and with
// hyphens for spaces. Nothing is joined: what is taken out between two spaces
// leaves two hyphens. (GitHub's table-of-contents filter of html-pipeline 2.)
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == 0x200c || r == 0x200d: // joiners are part of words
			return r
		case unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(text))
}
