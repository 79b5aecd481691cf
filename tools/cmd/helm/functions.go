// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "text/template/parse"

// function evaluates a call of a function of text/template, Sprig or Helm.
func (f *frame) function(name string, nodes []parse.Node, piped *ref, isPiped bool) *ref {
	args := f.arguments(name, nodes, piped, isPiped)
	if len(args) == 0 {
		return nil
	}
	switch name {
	case "include":
		if template, ok := text(nodes, 0); ok && len(args) > 1 {
			f.w.call(template, args[1])
		}
	case "index", "get":
		return f.index(args[0], nodes)
	case "hasKey":
		if key, ok := text(nodes, 1); ok {
			f.allow(args[0], key)
		}
	case "dig":
		f.dig(args, nodes)
	case "set":
		f.change(args, nodes)
	case "deepCopy", "mustDeepCopy":
		return args[0]
	case "required":
		return args[len(args)-1]
	case "dict":
		return newDict(args, nodes)
	case "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite":
		// What the first argument has afterwards is not followed: names of a
		// dict that it lacks are nobody's.
		return nil
	}
	return nil
}

// arguments evaluates the arguments. Those that the function asks for in case
// they are there are guarded.
func (f *frame) arguments(name string, nodes []parse.Node, piped *ref, isPiped bool) []*ref {
	outer := f.guard
	args := make([]*ref, 0, len(nodes)+1)
	for i, n := range nodes {
		last := i == len(nodes)-1 && !isPiped
		switch name {
		case "coalesce", "empty":
			f.guard = true
		case "default", "required", "dig":
			f.guard = outer || last
		case "hasKey":
			f.guard = outer || i == 0
		case "get", "index":
			f.guard = outer
		default:
			f.guard = outer
		}
		args = append(args, f.operand(n))
	}
	f.guard = outer
	if isPiped {
		args = append(args, piped)
	}
	return args
}

// text is an argument that is a literal string.
func text(nodes []parse.Node, i int) (string, bool) {
	if i >= len(nodes) {
		return "", false
	}
	s, ok := nodes[i].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return s.Text, true
}

// index goes down by literal keys.
func (f *frame) index(r *ref, nodes []parse.Node) *ref {
	for i := range nodes {
		if i == 0 {
			continue
		}
		key, ok := text(nodes, i)
		if !ok {
			return nil
		}
		r = f.field(r, key, int(nodes[i].Position())+1)
	}
	return r
}

// allow makes the name of a value optional.
func (f *frame) allow(r *ref, keys ...string) {
	if r == nil || r.value == nil {
		return
	}
	path := r.value.path
	for _, k := range keys {
		path = join(path, k)
		f.w.optional[path] = true
	}
}

// dig is dig "a" "b" DEFAULT MAP.
func (f *frame) dig(args []*ref, nodes []parse.Node) {
	var keys []string
	for i := range len(args) - 2 {
		key, ok := text(nodes, i)
		if !ok {
			break
		}
		keys = append(keys, key)
	}
	f.allow(args[len(args)-1], keys...)
}

// change is set MAP "key" VALUE.
func (f *frame) change(args []*ref, nodes []parse.Node) {
	key, ok := text(nodes, 1)
	switch r := args[0]; {
	case r == nil || !ok:
	case r.root && key == "Values":
		f.w.replaced = true
	case r.dict != nil && len(args) > 2:
		r.dict[key] = args[2]
	default:
		f.allow(r, key)
	}
}

// newDict is dict "key" VALUE …
func newDict(args []*ref, nodes []parse.Node) *ref {
	d := &ref{dict: map[string]*ref{}}
	for i := 0; i+1 < len(args); i += 2 {
		if key, ok := text(nodes, i); ok {
			d.dict[key] = args[i+1]
		}
	}
	return d
}
