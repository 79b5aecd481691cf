// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"encoding/json"
	"io/fs"
)

// readPins reads istio.deps, a JSON list.
func (r *istioReader) readPins() {
	content, err := fs.ReadFile(r.root, depsFile)
	if err != nil {
		r.problem(Position{File: depsFile}, "it cannot be read: %s", why(err))
		return
	}
	var entries []struct {
		Name    string `json:"name"`
		Repo    string `json:"repoName"`
		Version string `json:"lastStableSHA"`
	}
	if err := json.Unmarshal(content, &entries); err != nil {
		line := 0
		if syntax, ok := errorAs[*json.SyntaxError](err); ok {
			line = lineOf(content, int(syntax.Offset))
		}
		r.problem(Position{depsFile, line}, "reading JSON: %s", err)
		return
	}
	for _, e := range entries {
		at := Position{File: depsFile}
		if e.Name != "" {
			at.Line = lineOf(content, bytes.Index(content, []byte(`"`+e.Name+`"`)))
		}
		if e.Name == "" || e.Version == "" {
			r.problem(at, "entry %q has no name or no lastStableSHA", e.Name)
			continue
		}
		r.c.Pins = append(r.c.Pins, Pin{e.Name, e.Repo, e.Version, at})
	}
}

// lineOf is the line, counted from 1, that a byte stands in.
func lineOf(content []byte, offset int) int {
	if offset < 0 || offset > len(content) {
		return 0
	}
	return bytes.Count(content[:offset], []byte("\n")) + 1
}

// prebuilts are what istio.deps pins and bin/init.sh and bin/build_ztunnel.sh
// of istio/istio download.
func (r *istioReader) prebuilts() {
	for _, p := range []Prebuilt{{Name: "envoy", Pin: "PROXY_REPO_SHA"}, {Name: "ztunnel", Pin: "ZTUNNEL_REPO_SHA"}} {
		for _, pin := range r.c.Pins {
			if pin.Name == p.Pin {
				p.Version, p.Position = pin.Version, pin.Position
				r.c.Prebuilts = append(r.c.Prebuilts, p)
			}
		}
	}
}
