// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Pin is a version and where it is written.
type Pin struct {
	Version string
	Origin  string // PROXY_REPO_SHA (istio.deps:6); for messages
}

// ParseDeps reads istio.deps, a JSON list of objects with a name and a
// lastStableSHA, into pins by name. path is for messages. Errors name file and
// line and have the code fail.Usage.
func ParseDeps(path string, content []byte) (map[string]Pin, error) {
	d := json.NewDecoder(bytes.NewReader(content))
	at := func() string { return fmt.Sprintf("%s:%d", path, lineAt(content, int(d.InputOffset()))) }
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, usage("%s: it is not a JSON list of pins", path)
	}
	pins := map[string]Pin{}
	for d.More() {
		where := at()
		var e struct {
			Name    string `json:"name"`
			Version string `json:"lastStableSHA"`
		}
		if err := d.Decode(&e); err != nil {
			return nil, usage("%s: %w", where, err)
		}
		_, twice := pins[e.Name]
		switch {
		case e.Name == "" || e.Version == "":
			return nil, usage("%s: the pin %q has no name or no lastStableSHA", where, e.Name)
		case twice:
			return nil, usage("%s: the pin %q is there twice", where, e.Name)
		}
		pins[e.Name] = Pin{e.Version, fmt.Sprintf("%s (%s)", e.Name, where)}
	}
	if _, err := d.Token(); err != nil {
		return nil, usage("%s: the list has no end: %w", at(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, usage("%s: there is more after the list", at())
	}
	return pins, nil
}

// lineAt is the line, counted from 1, of the first thing after offset.
func lineAt(content []byte, offset int) int {
	offset = min(max(offset, 0), len(content))
	rest := content[offset:]
	offset += len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,"))
	return bytes.Count(content[:offset], []byte("\n")) + 1
}
