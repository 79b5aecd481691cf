// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is one YAML document of an output.
type document struct {
	text string
	line int // of its first line in the output, from 1
}

// documents splits an output as Helm's decoder does: at lines that start with
// three dashes.
func documents(output string) []document {
	var all []document
	start, line, startLine := 0, 1, 1
	for pos := 0; pos < len(output); {
		end := pos + strings.IndexByte(output[pos:], '\n') + 1
		if end == pos {
			end = len(output)
		}
		if pos > 0 && strings.HasPrefix(output[pos:], "---") {
			all = append(all, document{text: output[start:pos], line: startLine})
			start, startLine = end, line+1
		}
		pos, line = end, line+1
	}
	return append(all, document{text: output[start:], line: startLine})
}

// fault is something that is wrong in an output.
type fault struct {
	known        bool // Helm fails on it too
	line, column int  // in the output; column from 1 in bytes, 0 when not known
	message      string
}

// faults finds objects where strings belong: keys that are maps or lists, as
// come of braces with a blank between them, and identifying fields of another
// type. Helm v4.3.2 stops at the first, names no line, and takes numbers for
// strings where Kubernetes does not.
func faults(output string) []fault {
	all := allFaults(output)
	return all[:min(len(all), maxFaults)]
}

// maxFaults is how many faults of a kind are reported of one file or chart: who
// has more reads no more.
const maxFaults = 1000

func allFaults(output string) []fault {
	var all []fault
	for _, d := range documents(output) {
		decoder := yaml.NewDecoder(strings.NewReader(d.text))
		for {
			var n yaml.Node
			err := decoder.Decode(&n)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					all = append(all, fault{known: true, line: errorLine(err.Error(), d.line), message: "no YAML: " + outputLine.ReplaceAllString(oneLine(err.Error()), "")})
				}
				break
			}
			c := checker{offset: d.line - 1, faults: all}
			c.keys(&n)
			if len(n.Content) == 1 {
				c.object(n.Content[0], "")
			}
			all = c.faults
		}
	}
	return all
}

type checker struct {
	offset int
	faults []fault
}

// outputLine is what an error says of its place, which is one in the output and
// nobody's who reads the template.
var outputLine = regexp.MustCompile(`^yaml: (line \d+: )?`)

// add notes a fault; known as in fault.
func (c *checker) add(n *yaml.Node, known bool, format string, args ...any) {
	c.faults = append(c.faults, fault{known: known, line: n.Line + c.offset, column: n.Column, message: fmt.Sprintf(format, args...)})
}

// keys looks at the keys of all maps.
func (c *checker) keys(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Kind == yaml.MappingNode || k.Kind == yaml.SequenceNode {
				c.add(k, true, "a %s stands where a key belongs: %s", kindName(k), braces(k))
				return
			}
		}
	}
	for _, child := range n.Content {
		c.keys(child)
	}
}

// braces guesses what a map as a key was meant to be.
func braces(k *yaml.Node) string {
	if k.Kind == yaml.MappingNode && k.Style&yaml.FlowStyle != 0 && len(k.Content) > 0 && strings.HasPrefix(k.Content[0].Value, ".") {
		return "are the braces of a template action written with a blank between them?"
	}
	return "keys are strings"
}

// object looks at the fields of a Kubernetes object that are strings in every
// kind of object.
func (c *checker) object(n *yaml.Node, name string) {
	if n.Kind != yaml.MappingNode || field(n, "apiVersion") == nil && field(n, "kind") == nil {
		return
	}
	c.text(n, name, "apiVersion", "kind")
	meta := field(n, "metadata")
	if meta != nil {
		if meta.Kind != yaml.MappingNode {
			if !isNull(meta) {
				c.add(meta, true, "%smetadata is a %s, no map", name, kindName(meta))
			}
		} else {
			c.text(meta, name+"metadata.", "name", "generateName", "namespace")
			c.texts(meta, name+"metadata.", "labels")
			c.texts(meta, name+"metadata.", "annotations")
		}
	}
	if items := field(n, "items"); items != nil && items.Kind == yaml.SequenceNode {
		for i, item := range items.Content {
			c.object(item, fmt.Sprintf("items[%d].", i))
		}
	}
}

func (c *checker) text(n *yaml.Node, name string, keys ...string) {
	for _, key := range keys {
		if v := field(n, key); v != nil && !isText(v) && !isNull(v) {
			c.add(v, v.Kind != yaml.ScalarNode && key != "generateName", "%s%s is a %s, no string: %s", name, key, kindName(v), advice(v))
		}
	}
}

func (c *checker) texts(n *yaml.Node, name, key string) {
	m := field(n, key)
	if m == nil || isNull(m) {
		return
	}
	if m.Kind != yaml.MappingNode {
		c.add(m, false, "%s%s is a %s, no map", name, key, kindName(m))
		return
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], resolve(m.Content[i+1])
		if k.Kind == yaml.ScalarNode && !isText(v) && !isNull(v) {
			c.add(v, false, "%s%s: the value of %s is a %s, no string: %s", name, key, k.Value, kindName(v), advice(v))
		}
	}
}

func advice(v *yaml.Node) string {
	if v.Kind == yaml.ScalarNode {
		return "quote it"
	}
	return "Kubernetes would refuse it"
}

func field(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key {
			return resolve(n.Content[i+1])
		}
	}
	return nil
}

func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// isText says whether Helm and Kubernetes read the scalar as a string. What is
// no JSON type (dates) becomes one.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && !slices.Contains([]string{"!!null", "!!bool", "!!int", "!!float"}, n.ShortTag())
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "map"
	case yaml.SequenceNode:
		return "list"
	}
	switch n.ShortTag() {
	case "!!bool":
		return "boolean"
	case "!!int", "!!float":
		return "number"
	default:
		return "scalar"
	}
}

func isYAML(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}
