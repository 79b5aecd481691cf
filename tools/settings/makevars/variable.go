// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import (
	"maps"
	"slices"
)

// Origin says who set a variable. A greater one is stronger.
type Origin int

// The origins, weakest first.
const (
	Default Origin = iota
	Environment
	File
	EnvironmentOverride
	CommandLine
	Override
	Automatic
	Undefined Origin = -1
)

// String is what the function origin of make answers.
func (o Origin) String() string {
	switch o {
	case Default:
		return "default"
	case Environment:
		return "environment"
	case File:
		return "file"
	case EnvironmentOverride:
		return "environment override"
	case CommandLine:
		return "command line"
	case Override:
		return "override"
	case Automatic:
		return "automatic"
	}
	return "undefined"
}

type exportMark int

const (
	exportDefault exportMark = iota
	exportYes
	exportNo
)

// Variable is a defined variable.
type Variable struct {
	Name      string
	Raw       string // as written, unexpanded
	Recursive bool   // expanded when used (=), not when set (:=)
	Origin    Origin
	File      string // empty: not from a file
	Line      int

	export    exportMark
	private   bool
	expanding bool
	calls     int // how often a recursive use is allowed: $(call)
}

// Layer is one attempt to set a variable, in the order of the attempts.
type Layer struct {
	Raw    string
	Origin Origin
	File   string
	Line   int
	Took   bool // it became the value; a later one may have replaced it
}

// Lookup returns a defined variable.
func (e *Evaluator) Lookup(name string) (Variable, bool) {
	v, ok := e.vars[name]
	if !ok {
		return Variable{Name: name, Origin: Undefined}, false
	}
	return *v, true
}

// History returns every attempt to set the name.
func (e *Evaluator) History(name string) []Layer { return slices.Clone(e.history[name]) }

// Names returns the names of all defined variables, sorted.
func (e *Evaluator) Names() []string { return slices.Sorted(maps.Keys(e.vars)) }

// set defines a variable unless a stronger source has defined it, by make's
// rule: an equally strong one may.
func (e *Evaluator) set(v Variable) *Variable {
	old, defined := e.vars[v.Name]
	took := true
	if defined {
		e.strengthen(old)
		took = v.Origin >= old.Origin
	}
	e.history[v.Name] = append(e.history[v.Name], Layer{v.Raw, v.Origin, v.File, v.Line, took})
	if !took {
		return old
	}
	if defined {
		v.export, v.private = old.export, old.private
		v.expanding, v.calls = old.expanding, old.calls // $(eval) may redefine what is being expanded
		*old = v
		return old
	}
	e.vars[v.Name] = &v
	return &v
}

// strengthen is the effect of make -e on a variable of the environment.
func (e *Evaluator) strengthen(v *Variable) {
	if e.opts.EnvOverrides && v.Origin == Environment {
		v.Origin = EnvironmentOverride
	}
}

// lost notes an attempt that had no effect, such as ?= on a defined variable.
func (e *Evaluator) lost(v Variable) {
	e.history[v.Name] = append(e.history[v.Name], Layer{v.Raw, v.Origin, v.File, v.Line, false})
}
