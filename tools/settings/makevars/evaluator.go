// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Options are what an evaluation depends on.
type Options struct {
	Environ      []string // NAME=value; values are expanded when used, as in make
	CommandLine  []string // NAME=value, NAME:=value and the like, in the order given
	EnvOverrides bool     // make -e
	Dir          string   // where include, wildcard and shell look; an absolute path
	// Shell runs the command of $(shell) and !=. The status is that of the
	// command. An error ends the evaluation. Nil: a POSIX shell of our own, see
	// NewShell.
	Shell ShellFunc
	Warn  func(text string) // $(warning), with its place; nil: dropped
	Info  func(text string) // $(info); nil: dropped
}

// ShellFunc runs a command line for a shell and returns what it wrote.
type ShellFunc func(ctx context.Context, command string) (stdout string, status int, err error)

// Evaluator holds the variables of one evaluation. It is for one goroutine.
type Evaluator struct {
	opts      Options
	vars      map[string]*Variable
	history   map[string][]Layer
	exportAll bool
	place     place  // of the line being read
	expanding *place // where the variable being expanded was defined; nil: place
	starting  bool   // the command line is being read; make does not know its folder yet
	included  int    // nested includes and evals
	missing   error  // the first file that an include did not find
	depth     int    // nested expansions
	size      int    // bytes made by expansions so far
}

type place struct {
	file string
	line int
}

// Error is a reason to stop, in make's words.
type Error struct {
	File    string // empty: not in a file
	Line    int
	Message string // what make writes between "*** " and ".  Stop."
	// Unsupported is set where make would have gone on: the construct is one
	// that this package does not evaluate.
	Unsupported bool
}

func (e *Error) Error() string {
	if e.File == "" {
		return e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Bounds on what a fragment may ask for. make has none and runs until memory
// or file handles are gone.
const (
	maxDepth   = 2000
	maxInclude = 200
	maxSize    = 64 << 20
)

// New returns an evaluator that knows the environment and the command line.
func New(ctx context.Context, opts Options) (*Evaluator, error) {
	e := &Evaluator{opts: opts, vars: map[string]*Variable{}, history: map[string][]Layer{}}
	if opts.Shell == nil {
		e.opts.Shell = NewShell(opts.Dir, opts.Environ, nil, 30*time.Second)
	}
	for name, value := range map[string]string{"MAKE": "make", "MAKE_COMMAND": "make", "MAKE_VERSION": "4.3", "MAKEFILE_LIST": "", "SHELL": "/bin/sh", ".SHELLFLAGS": "-c", "RM": "rm -f", "CC": "cc"} {
		e.vars[name] = &Variable{Name: name, Raw: value, Recursive: true, Origin: Default}
	}
	for _, kv := range opts.Environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "SHELL" || name == "MAKE_VERSION" { // make keeps its own
			continue
		}
		v := e.set(Variable{Name: name, Raw: value, Recursive: true, Origin: Environment})
		v.export = exportYes
	}
	e.vars["CURDIR"] = &Variable{Name: "CURDIR", Raw: opts.Dir, Origin: File}
	e.starting = true
	defer func() { e.starting = false }()
	for _, arg := range opts.CommandLine {
		d, ok := parseDefinition(arg)
		if !ok {
			return nil, fmt.Errorf("%q on the command line of make is no assignment", arg)
		}
		if _, err := e.define(ctx, d, CommandLine, place{}); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Value returns the expanded value of a variable; undefined is empty.
func (e *Evaluator) Value(ctx context.Context, name string) (string, error) {
	e.size = 0
	return e.reference(ctx, name)
}

// Expand expands the references in a text.
func (e *Evaluator) Expand(ctx context.Context, text string) (string, error) {
	e.size = 0
	return e.expand(ctx, text)
}

// Missing returns the error of the first include, not optional, whose file was
// not there. make reads on and stops at the end, so other errors come first.
func (e *Evaluator) Missing() error { return e.missing }

// define carries an assignment out.
func (e *Evaluator) define(ctx context.Context, d definition, origin Origin, at place) (*Variable, error) {
	name, err := e.expand(ctx, d.name)
	if err != nil {
		return nil, err
	}
	if name == "" { // white space is a name to make
		return nil, e.fatalAt(at, "empty variable name")
	}
	v := Variable{Name: name, Raw: d.value, Recursive: true, Origin: origin, File: at.file, Line: at.line}
	old, defined := e.vars[name]
	switch d.flavor {
	case flavorSimple:
		v.Recursive = false
		if v.Raw, err = e.expand(ctx, d.value); err != nil {
			return nil, err
		}
	case flavorShell:
		command, err := e.expand(ctx, d.value)
		if err != nil {
			return nil, err
		}
		if v.Raw, err = e.shell(ctx, command); err != nil {
			return nil, err
		}
	case flavorConditional:
		if defined {
			e.lost(v)
			return old, nil
		}
	case flavorAppend:
		if defined {
			v, err = e.appended(ctx, v, old)
			if err != nil || v.Name == "" {
				return old, err
			}
		}
	}
	return e.set(v), nil
}

// appended is old and new text together; nothing new leaves the name empty,
// as a sign that there is nothing to do.
func (e *Evaluator) appended(ctx context.Context, v Variable, old *Variable) (Variable, error) {
	v.Recursive = old.Recursive
	if !old.Recursive {
		expanded, err := e.expand(ctx, v.Raw)
		if err != nil {
			return v, err
		}
		v.Raw = expanded
	}
	if v.Raw == "" {
		return Variable{}, nil
	}
	if old.Raw != "" {
		v.Raw = old.Raw + " " + v.Raw
	}
	if len(v.Raw) > maxSize {
		return v, e.fatal("variable '%s' has grown over %d MiB", v.Name, maxSize>>20)
	}
	return v, nil
}

var exportable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Environ returns what make would put into the environment of its recipes,
// sorted, for the variables that are exported; the rest of the environment is
// in there too, since make exports what it got.
func (e *Evaluator) Environ(ctx context.Context) ([]string, error) {
	var exported []*Variable
	for name, v := range e.vars {
		if e.exported(v) {
			exported = append(exported, v)
		}
		if v.private { // the values of others do not see it outside of make files
			delete(e.vars, name)
			defer func() { e.vars[name] = v }()
		}
	}
	env := make([]string, 0, len(exported))
	for _, v := range exported {
		value := v.Raw
		if v.Recursive && v.Origin != Environment && v.Origin != EnvironmentOverride {
			var err error
			if value, err = e.recursive(ctx, v); err != nil {
				return nil, err
			}
		}
		env = append(env, v.Name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

func (e *Evaluator) exported(v *Variable) bool {
	switch v.export {
	case exportYes:
		return true
	case exportNo:
		return false
	}
	if v.Origin == Default || v.Origin == Automatic || v.Name == "CURDIR" || !exportable.MatchString(v.Name) {
		return false
	}
	return e.exportAll || v.Origin == CommandLine || v.Origin == Environment || v.Origin == EnvironmentOverride
}

func (e *Evaluator) fatal(format string, args ...any) error {
	if e.expanding != nil {
		return e.fatalAt(*e.expanding, format, args...)
	}
	return e.fatalAt(e.place, format, args...)
}

func (e *Evaluator) fatalAt(at place, format string, args ...any) error {
	return &Error{File: at.file, Line: at.line, Message: fmt.Sprintf(format, args...)}
}

func (e *Evaluator) unsupported(what string) error {
	return &Error{File: e.place.file, Line: e.place.line, Unsupported: true,
		Message: what + " is not evaluated by Slipway; write the value out, or use $(shell …)"}
}

// path makes a file name absolute.
func (e *Evaluator) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.opts.Dir, name)
}
