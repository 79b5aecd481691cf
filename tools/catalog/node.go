// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// reader reads one YAML file by its nodes, so that every problem has a line.
type reader struct {
	findings
	file string
	// foreign files are read as their owner reads them: what is unknown there
	// is ignored, with a warning.
	foreign bool
}

// object is a YAML mapping: its values by key, and where it stands.
type object struct {
	values map[string]*yaml.Node
	lines  map[string]int
	line   int
}

func (r *reader) at(line int) Position { return Position{r.file, line} }

var yamlError = regexp.MustCompile(`^yaml: line (\d+): `)

// document parses the file. A file that is no YAML, or holds nothing, is a
// problem and nil.
func (r *reader) document(content []byte) *yaml.Node {
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(content))
	if err := d.Decode(&doc); err != nil {
		message, line := err.Error(), 0
		if m := yamlError.FindStringSubmatch(message); m != nil {
			line, _ = strconv.Atoi(m[1]) // the pattern only matches digits
			message = message[len(m[0]):]
		}
		if errors.Is(err, io.EOF) {
			message = "the file is empty"
		}
		r.problem(r.at(line), "reading YAML: %s", message)
		return nil
	}
	var more yaml.Node
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		r.odd(more.Line, "what stands after the first YAML document is not read")
	}
	if len(doc.Content) == 0 {
		r.problem(r.at(0), "the file is empty")
		return nil
	}
	return follow(doc.Content[0])
}

// odd is a problem in a file of ours and a warning in a foreign one.
func (r *reader) odd(line int, format string, args ...any) {
	if r.foreign {
		r.warn(r.at(line), format, args...)
		return
	}
	r.problem(r.at(line), format, args...)
}

// maxMerges bounds how many "<<" may stand inside each other: an anchor can
// name itself.
const maxMerges = 8

// object reads a mapping. known are the keys it may have.
func (r *reader) object(n *yaml.Node, what string, known ...string) object {
	o := r.mapping(n, what, maxMerges)
	for _, key := range keys(o.values) {
		if !slices.Contains(known, key) {
			r.odd(o.lines[key], "%s has an unknown key %q%s; known: %s", what, key, didYouMean(key, known), quoted(known))
			delete(o.values, key)
		}
	}
	return o
}

// mapping reads a mapping with any keys.
func (r *reader) mapping(n *yaml.Node, what string, merges int) object {
	o := object{values: map[string]*yaml.Node{}, lines: map[string]int{}}
	if n == nil {
		return o
	}
	line := n.Line
	n = follow(n)
	o.line = line
	if n.Kind != yaml.MappingNode {
		if !isNull(n) {
			r.problem(r.at(line), "%s must be a mapping (key: value), not %s", what, kindName(n))
		}
		return o
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" && o.lines[key.Value] == 0 { // one a mapping, or the work grows with a power
			o.lines[key.Value] = key.Line
			r.merge(&o, value, what, merges)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			r.problem(r.at(key.Line), "%s has a key that is %s, not a word", what, kindName(key))
			continue
		}
		if first, twice := o.lines[key.Value]; twice && first > 0 {
			r.problem(r.at(key.Line), "%s has the key %q twice; the first is in line %d", what, key.Value, first)
			continue
		}
		o.values[key.Value], o.lines[key.Value] = value, key.Line
	}
	return o
}

// merge takes over what the mapping of a "<<" key has and o does not.
func (r *reader) merge(o *object, value *yaml.Node, what string, merges int) {
	if merges == 0 {
		r.problem(r.at(value.Line), "%s merges more than %d mappings into each other", what, maxMerges)
		return
	}
	for key, v := range r.mapping(value, what, merges-1).values {
		if _, there := o.values[key]; !there {
			o.values[key], o.lines[key] = v, 0
		}
	}
}

// list reads a sequence; a missing one is empty.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	if n == nil || isNull(follow(n)) {
		return nil
	}
	if s := follow(n); s.Kind == yaml.SequenceNode {
		return s.Content
	}
	r.problem(r.at(n.Line), "%s must be a list, not %s", what, kindName(follow(n)))
	return nil
}

// text reads a scalar as it is written; a missing one is empty.
func (r *reader) text(n *yaml.Node, what string) string {
	if n == nil {
		return ""
	}
	s := follow(n)
	if s.Kind != yaml.ScalarNode || isNull(s) {
		r.problem(r.at(n.Line), "%s must be a word, not %s", what, kindName(s))
		return ""
	}
	return s.Value
}

// words reads a list of scalars.
func (r *reader) words(n *yaml.Node, what string) []string {
	var words []string
	for _, item := range r.list(n, what) {
		if w := r.text(item, "an item of "+what); w != "" {
			words = append(words, w)
		}
	}
	return words
}

// yes reads a boolean; a missing one is false.
func (r *reader) yes(n *yaml.Node, what string) bool {
	if n == nil {
		return false
	}
	var b bool
	if s := follow(n); s.Kind == yaml.ScalarNode && s.Tag == "!!bool" && s.Decode(&b) == nil {
		return b
	}
	r.problem(r.at(n.Line), "%s must be true or false", what)
	return false
}

// table reads a mapping of words to words.
func (r *reader) table(n *yaml.Node, what string) map[string]string {
	if n == nil {
		return nil
	}
	table := map[string]string{}
	for key, value := range r.mapping(n, what, maxMerges).values {
		table[key] = r.text(value, what+" "+strconv.Quote(key))
	}
	return table
}

// follow returns what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	default:
		return strconv.Quote(n.Value)
	}
}
