// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"io"
	"net/url"

	"golang.org/x/net/html"
)

// htmlIDs returns the ids of a page, and the names of its anchors.
func htmlIDs(body io.Reader) map[string]bool {
	ids := map[string]bool{}
	z := html.NewTokenizer(body)
	z.SetMaxBuf(1 << 20) // longer tags end the reading
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return ids
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		name, more := z.TagName()
		anchor := string(name) == "a"
		for more {
			var key, value []byte
			key, value, more = z.TagAttr()
			if string(key) == "id" || anchor && string(key) == "name" {
				ids[string(value)] = true
			}
		}
	}
}

// hasID tells that a page has what a fragment leads to. GitHub puts a prefix
// before the ids of what users write.
func hasID(ids map[string]bool, fragment string) bool {
	if special(fragment) {
		return true
	}
	decoded, err := url.PathUnescape(fragment)
	if err != nil {
		decoded = fragment
	}
	return ids[decoded] || ids[fragment] || ids["user-content-"+decoded]
}
