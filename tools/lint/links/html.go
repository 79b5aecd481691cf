// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
)

// html collects ids, names and targets from the tags in a piece of HTML, which
// may lie in pieces when it stands in a quote or a list.
func (w *walker) html(pieces []text.Segment) {
	var buffer []byte
	var starts, sources []int // where each piece starts, in buffer and in the file
	for _, s := range pieces {
		starts, sources = append(starts, len(buffer)), append(sources, s.Start)
		buffer = append(buffer, w.source[s.Start:s.Stop]...)
	}
	z := html.NewTokenizer(bytes.NewReader(buffer))
	at, piece := 0, 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		length := len(z.Raw())
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			for piece+1 < len(starts) && starts[piece+1] <= at {
				piece++
			}
			w.tag(z, sources[piece]+at-starts[piece])
		}
		at += length
	}
}

func (w *walker) tag(z *html.Tokenizer, offset int) {
	nameBytes, more := z.TagName()
	name := string(nameBytes)
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		v := strings.TrimSpace(string(value))
		switch string(key) {
		case "id":
			w.page.anchor(v)
		case "name":
			if name == "a" {
				w.page.anchor(v)
			}
		case "href":
			if name == "a" || name == "area" {
				w.attribute(v, offset)
			}
		case "src":
			if name == "img" || name == "video" || name == "audio" || name == "source" {
				w.attribute(v, offset)
			}
		case "srcset":
			for _, candidate := range strings.Split(v, ", ") {
				if u, _, _ := strings.Cut(strings.TrimSpace(candidate), " "); u != "" {
					w.attribute(u, offset)
				}
			}
		}
	}
}

// attribute keeps a target that HTML gives. An empty one is common where
// scripts fill it in, so it is passed over.
func (w *walker) attribute(target string, offset int) {
	if target != "" {
		w.page.links = append(w.page.links, pageLink{target: target, raw: target, offset: offset})
	}
}
