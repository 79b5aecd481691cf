// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// known is what is known of a value that a template speaks of.
type known struct {
	path   string           // its name below .Values, with dots
	maps   []map[string]any // what it is in values.yaml, and after the templates changed it; none is empty
	schema schema           // what values.schema.json says of it
	open   bool             // anything may be below it
}

// child is a value below k; ok is false when nothing declares it.
func (k known) child(key string) (c known, ok bool) {
	c.path = join(k.path, key)
	if k.open {
		c.open = true
		return c, true
	}
	for _, m := range k.maps {
		v, there := m[key]
		if !there {
			continue
		}
		ok = true
		if below := asMap(v); len(below) > 0 {
			c.maps = append(c.maps, below)
		}
	}
	var declared bool
	c.schema, declared = k.schema.child(key)
	c.open = len(c.maps) == 0 && !c.schema.closed()
	if ok || declared {
		return c, true
	}
	c.open = true
	return c, false
}

// keys are the names below k that are declared.
func (k known) keys() []string {
	all := k.schema.keys()
	for _, m := range k.maps {
		all = slices.AppendSeq(all, maps.Keys(m))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// schema is one place in a JSON schema: all parts that speak of it.
type schema struct {
	root  map[string]any
	parts []map[string]any
}

func readSchema(text []byte) schema {
	var root map[string]any
	if json.Unmarshal(text, &root) != nil {
		return schema{}
	}
	return schema{root: root}.with(root)
}

// schemaDepth bounds how many references are followed: schemas may go round.
const schemaDepth = 16

// with adds a part, and those that it refers to or is combined of.
func (s schema) with(parts ...any) schema {
	for _, p := range parts {
		s.parts = s.expand(s.parts, p, schemaDepth)
	}
	return s
}

func (s schema) expand(parts []map[string]any, v any, depth int) []map[string]any {
	m := asMap(v)
	if m == nil || depth == 0 || len(parts) > 1000 {
		return parts
	}
	parts = append(parts, m)
	if ref, ok := m["$ref"].(string); ok {
		parts = s.expand(parts, s.refer(ref), depth-1)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[key].([]any)
		for _, p := range list {
			parts = s.expand(parts, p, depth-1)
		}
	}
	for _, key := range []string{"if", "then", "else"} {
		parts = s.expand(parts, m[key], depth-1)
	}
	return parts
}

// refer follows a reference inside of the schema.
func (s schema) refer(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = s.root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if part != "" {
			at = asMap(at)[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
	}
	return at
}

// child is the schema of a property, and whether there is one.
func (s schema) child(key string) (schema, bool) {
	c := schema{root: s.root}
	found := false
	for _, p := range s.parts {
		if v, ok := asMap(p["properties"])[key]; ok {
			c, found = c.with(v), true
		}
		for pattern, v := range asMap(p["patternProperties"]) {
			if re, err := regexp.Compile(pattern); err == nil && re.MatchString(key) {
				c, found = c.with(v), true
			}
		}
		// Without the keyword any name is allowed too, but that would declare
		// all names in nearly every schema.
		switch more := p["additionalProperties"].(type) {
		case bool:
			found = found || more
		case map[string]any:
			c, found = c.with(more), true
		}
	}
	return c, found
}

// closed says whether the schema lists names.
func (s schema) closed() bool { return len(s.keys()) > 0 }

func (s schema) keys() []string {
	var all []string
	for _, p := range s.parts {
		all = slices.AppendSeq(all, maps.Keys(asMap(p["properties"])))
	}
	return all
}
