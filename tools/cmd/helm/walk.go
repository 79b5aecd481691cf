// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// ref is what an expression of a template stands for, as far as that matters
// for names of values. nil is anything else.
type ref struct {
	root  bool            // the whole context: .Values is below it
	value *known          // a value
	dict  map[string]*ref // a map that the template makes
}

// sign tells refs apart.
func (r *ref) sign(depth int) string {
	switch {
	case r == nil:
		return "?"
	case r.root:
		return "$"
	case r.value != nil && r.value.open:
		return "?" + r.value.path
	case r.value != nil:
		return "." + r.value.path
	case depth == 0:
		return "?"
	}
	keys := make([]string, 0, len(r.dict))
	for k, v := range r.dict {
		keys = append(keys, strconv.Quote(k)+v.sign(depth-1))
	}
	slices.Sort(keys)
	return "{" + strings.Join(keys, ",") + "}"
}

// named is a name of a value that a template speaks of and nobody declares.
type named struct {
	path     string
	key      string // the part of the name that is not there
	file     string // name of the template
	pos      int    // of the key, in bytes
	siblings []string
}

// walker follows the values through templates without rendering them, so that
// it sees all branches.
type walker struct {
	trees    map[string]*parse.Tree
	texts    map[string]string // of files
	values   known             // .Values
	done     map[string]bool   // templates walked, by name and what they got
	optional map[string]bool   // names that the templates guard
	named    []named
	replaced bool // a template sets .Values as a whole
	budget   int  // of nodes; a chart can be made to cost any time
}

// frame is one template on its way: its context, and its variables.
type frame struct {
	w    *walker
	file string
	dot  *ref
	vars []variable
	// guard says that a name need not be there: what is looked at is an
	// argument of default, say.
	guard bool
}

type variable struct {
	name string
	ref  *ref
}

// call walks a template with what it is given.
func (w *walker) call(name string, arg *ref) {
	key := name + "\x00" + arg.sign(3)
	tree := w.trees[name]
	if tree == nil || tree.Root == nil || w.done[key] {
		return
	}
	w.done[key] = true
	f := &frame{w: w, file: tree.ParseName, dot: arg, vars: []variable{{name: "$", ref: arg}}}
	f.list(tree.Root)
}

func (f *frame) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		if f.w.budget--; f.w.budget < 0 {
			return
		}
		f.statement(n)
	}
}

func (f *frame) statement(n parse.Node) {
	depth := len(f.vars)
	switch n := n.(type) {
	case *parse.ActionNode:
		f.pipe(n.Pipe)
		return // its variables live on
	case *parse.TemplateNode:
		f.w.call(n.Name, f.pipe(n.Pipe))
		return
	case *parse.IfNode:
		f.pipe(n.Pipe)
		f.block(n.List)
		f.block(n.ElseList)
	case *parse.WithNode:
		f.under(f.pipe(n.Pipe), n.List)
		f.block(n.ElseList)
	case *parse.RangeNode:
		f.pipe(n.Pipe)
		for i := depth; i < len(f.vars); i++ {
			f.vars[i].ref = nil // keys and elements, whose names users choose
		}
		f.under(nil, n.List)
		f.block(n.ElseList)
	}
	f.vars = f.vars[:depth]
}

// block walks a list with variables of its own.
func (f *frame) block(l *parse.ListNode) {
	depth := len(f.vars)
	f.list(l)
	f.vars = f.vars[:depth]
}

// under walks a list with another dot.
func (f *frame) under(dot *ref, l *parse.ListNode) {
	old := f.dot
	f.dot = dot
	f.block(l)
	f.dot = old
}

func (f *frame) pipe(p *parse.PipeNode) *ref {
	if p == nil {
		return nil
	}
	guarded := f.guard
	var last *ref
	for i, c := range p.Cmds {
		f.guard = guarded || slices.ContainsFunc(p.Cmds[i+1:], isGuard)
		last = f.command(c, last, i > 0)
	}
	f.guard = guarded
	for _, d := range p.Decl {
		f.set(d.Ident[0], last, p.IsAssign)
	}
	return last
}

// isGuard says whether what is piped into a command may be missing.
func isGuard(c *parse.CommandNode) bool {
	id, ok := c.Args[0].(*parse.IdentifierNode)
	return ok && slices.Contains([]string{"default", "coalesce", "required", "hasKey", "dig", "empty"}, id.Ident)
}

func (f *frame) set(name string, r *ref, assign bool) {
	if assign {
		for i, v := range slices.Backward(f.vars) {
			if v.name == name {
				if v.ref.sign(3) != r.sign(3) {
					f.vars[i].ref = nil // one or the other, by branch
				}
				return
			}
		}
	}
	f.vars = append(f.vars, variable{name, r})
}

func (f *frame) lookup(name string) *ref {
	for _, v := range slices.Backward(f.vars) {
		if v.name == name {
			return v.ref
		}
	}
	return nil
}

// command evaluates one command; piped is the last argument when there is one.
func (f *frame) command(c *parse.CommandNode, piped *ref, isPiped bool) *ref {
	if f.w.budget--; f.w.budget < 0 {
		return nil
	}
	if id, ok := c.Args[0].(*parse.IdentifierNode); ok {
		return f.function(id.Ident, c.Args[1:], piped, isPiped)
	}
	r := f.operand(c.Args[0])
	for _, a := range c.Args[1:] { // of a method
		f.operand(a)
	}
	if len(c.Args) > 1 {
		return nil
	}
	return r
}

func (f *frame) operand(n parse.Node) *ref {
	switch n := n.(type) {
	case *parse.DotNode:
		return f.dot
	case *parse.PipeNode:
		return f.pipe(n)
	case *parse.FieldNode:
		return f.fields(f.dot, n.Ident, f.start(int(n.Pos), "", n.Ident))
	case *parse.VariableNode:
		start := f.start(int(n.Pos), n.Ident[0], n.Ident[1:])
		return f.fields(f.lookup(n.Ident[0]), n.Ident[1:], start+len(n.Ident[0]))
	case *parse.ChainNode:
		return f.fields(f.operand(n.Node), n.Field, int(n.Pos))
	case *parse.IdentifierNode:
		return f.function(n.Ident, nil, nil, false)
	}
	return nil
}

// start finds where a chain of fields starts: the parser gives the place of
// its second part when it has several.
func (f *frame) start(pos int, variable string, fields []string) int {
	text := f.w.texts[f.file]
	want := variable
	for _, name := range fields {
		want += "." + name
	}
	first := len(variable)
	if variable == "" && len(fields) > 0 {
		first = 1 + len(fields[0])
	}
	for _, at := range []int{pos, pos - first} {
		if at >= 0 && at <= len(text) && strings.HasPrefix(text[at:], want) {
			return at
		}
	}
	return pos
}

// fields goes down from r; at is where the first field's dot stands.
func (f *frame) fields(r *ref, names []string, at int) *ref {
	for _, name := range names {
		r = f.field(r, name, at+1)
		at += 1 + len(name)
	}
	return r
}

func (f *frame) field(r *ref, name string, at int) *ref {
	switch {
	case r == nil:
		return nil
	case r.root:
		if name == "Values" {
			return &ref{value: &f.w.values}
		}
		return nil
	case r.value == nil:
		return r.dict[name]
	}
	c, ok := r.value.child(name)
	if !ok {
		if f.guard {
			f.w.optional[c.path] = true
		}
		f.w.named = append(f.w.named, named{path: c.path, key: name, file: f.file, pos: at, siblings: r.value.keys()})
	}
	return &ref{value: &c}
}
