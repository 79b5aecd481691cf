// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Include reads a fragment from a file, as the include line of a make file
// does; optional makes it -include. The name is relative to Options.Dir, and
// errors name it as given.
func (e *Evaluator) Include(ctx context.Context, name string, optional bool) error {
	e.size = 0
	return e.include(ctx, name, optional)
}

// Eval reads a fragment from memory; name stands for a file in errors.
func (e *Evaluator) Eval(ctx context.Context, name, text string) error {
	e.size = 0
	return e.read(ctx, name, text)
}

func (e *Evaluator) include(ctx context.Context, name string, optional bool) error {
	path := e.path(name)
	content, err := readFile(path)
	switch {
	case errors.Is(err, syscall.EISDIR):
		return &Error{Message: name + ": Is a directory"}
	case errors.Is(err, fs.ErrNotExist) && optional, errors.Is(err, syscall.ENOTDIR) && optional:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if e.missing == nil {
			e.missing = &Error{Message: "No rule to make target '" + name + "'"}
		}
		return nil
	case err != nil && optional && errors.Is(err, fs.ErrPermission):
		return nil
	case err != nil:
		return &Error{Message: name + ": " + reason(err)}
	}
	list := e.vars["MAKEFILE_LIST"]
	e.vars["MAKEFILE_LIST"] = &Variable{Name: "MAKEFILE_LIST", Raw: list.Raw + " " + name, Recursive: list.Recursive, Origin: File}
	return e.read(ctx, name, string(content))
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, syscall.EISDIR
	}
	if err == nil && info.Size() > maxSize {
		return nil, errors.New("the file is too large for a make fragment")
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

// evalText is $(eval): the text is read as if it stood on this line.
func (e *Evaluator) evalText(ctx context.Context, text string) error {
	at := e.place
	saved := e.expanding
	e.expanding = nil
	defer func() { e.expanding = saved }()
	r := &reading{e: e, text: text, file: at.file, line: at.line, fixed: true}
	return r.run(ctx)
}

func (e *Evaluator) read(ctx context.Context, name, text string) error {
	text = strings.TrimPrefix(text, "\ufeff")
	r := &reading{e: e, text: text, file: name, line: 1}
	return r.run(ctx)
}

// reading is one fragment being read.
type reading struct {
	e         *Evaluator
	text      string // what is left
	file      string
	line      int  // of the next line
	fixed     bool // eval: all lines count as the line of the eval
	inRule    bool // a rule has been seen, and nothing but its recipe since
	noTargets bool // that rule has no targets
	skipEndef bool // inside a define in a branch that is not taken
	branches  []branch
}

func (r *reading) run(ctx context.Context) error {
	e := r.e
	e.included++
	savedPlace := e.place
	defer func() { e.included--; e.place = savedPlace }()
	if e.included > maxInclude {
		return &Error{File: r.file, Line: r.line, Message: "include and eval are nested too deep; the file includes itself, perhaps"}
	}
	for r.text != "" {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		start := r.line
		line := r.next()
		e.place = place{r.file, start}
		if err := r.eval(ctx, line); err != nil {
			return err
		}
	}
	if len(r.branches) > 0 {
		return &Error{File: r.file, Line: r.line, Message: "missing 'endif'"}
	}
	return nil
}

// next takes one logical line: up to a newline without an odd number of
// backslashes in front of it. A carriage return in front of a newline goes.
func (r *reading) next() string {
	var b strings.Builder
	for newlines := 0; ; newlines++ {
		end := strings.IndexByte(r.text, '\n')
		if end < 0 {
			b.WriteString(r.text)
			r.text = ""
			if newlines == 0 { // make counts newlines, but a line without one counts too
				r.advance()
			}
			return b.String()
		}
		part := r.text[:end]
		r.text = r.text[end+1:]
		r.advance()
		part = strings.TrimSuffix(part, "\r")
		b.WriteString(part)
		slashes := len(part) - len(strings.TrimRight(part, `\`))
		if slashes%2 == 0 {
			return b.String()
		}
		if r.text == "" { // a backslash at the end of the file continues nothing
			return b.String() + "\n"
		}
		b.WriteByte('\n')
	}
}

func (r *reading) advance() {
	if !r.fixed {
		r.line++
	}
}

func (r *reading) ignoring() bool {
	for _, b := range r.branches {
		if b.state != taken {
			return true
		}
	}
	return false
}

// eval deals with one logical line, in make's own order of questions.
func (r *reading) eval(ctx context.Context, line string) error {
	if line == "" {
		return nil
	}
	tab := line[0] == '\t'
	if tab && (r.noTargets || r.inRule) {
		return nil // a line of a recipe
	}
	plain := stripComment(collapse(line))
	if m, text, ok := parseAssignment(plain); ok {
		return r.assign(ctx, m, text)
	}
	p := trimLeft(plain)
	if p == "" {
		return nil
	}
	word, rest := firstWord(p)
	if r.skipEndef {
		if word == "endef" && (rest == "" || rest[0] == '#') {
			r.skipEndef = false
		}
		return nil
	}
	if isConditional(word) {
		return r.conditional(ctx, word, rest)
	}
	if r.ignoring() {
		return nil
	}
	return r.directive(ctx, line, word, rest, tab)
}

func (r *reading) assign(ctx context.Context, m modifiers, text string) error {
	if r.ignoring() {
		r.skipEndef = r.skipEndef || m.define
		return nil
	}
	if r.skipEndef {
		return nil
	}
	r.endRule()
	origin := File
	if m.override {
		origin = Override
	}
	if m.undefine {
		return r.undefine(ctx, text, origin)
	}
	var v *Variable
	var err error
	if m.define {
		v, err = r.define(ctx, text, origin)
	} else {
		d, _ := parseDefinition(text)
		v, err = r.e.define(ctx, d, origin, r.e.place)
	}
	if err != nil {
		return err
	}
	if m.export {
		v.export = exportYes
	}
	if m.private {
		v.private = true
	}
	return nil
}

func (r *reading) endRule() { r.inRule, r.noTargets = false, false }

func (r *reading) undefine(ctx context.Context, text string, origin Origin) error {
	name, err := r.e.expand(ctx, text)
	if err != nil {
		return err
	}
	if name = trimRightBlank(trimLeft(name)); name == "" {
		return r.e.fatal("empty variable name")
	}
	if v, ok := r.e.vars[name]; ok {
		r.e.strengthen(v)
		if origin >= v.Origin {
			delete(r.e.vars, name)
		}
	}
	return nil
}

// define reads the lines up to endef.
func (r *reading) define(ctx context.Context, text string, origin Origin) (*Variable, error) {
	at := r.e.place
	d, ok := parseDefinition(text)
	if !ok {
		d = definition{name: text, flavor: flavorRecursive}
	}
	name, err := r.e.expand(ctx, d.name)
	if err != nil {
		return nil, err
	}
	if name = trimRightBlank(trimLeft(name)); name == "" {
		return nil, r.e.fatalAt(at, "empty variable name")
	}
	lines, err := r.body(at)
	if err != nil {
		return nil, err
	}
	// make counts the lines of the body on, so what is wrong in the value is
	// reported at endef.
	defer func() { r.e.place = at }()
	// The name has been expanded; a dollar in it now stands for itself.
	return r.e.define(ctx, definition{strings.ReplaceAll(name, "$", "$$"), d.flavor, strings.Join(lines, "\n")}, origin, at)
}

// body reads the lines of a define, which may hold other defines.
func (r *reading) body(at place) ([]string, error) {
	var lines []string
	for level := 1; r.text != ""; {
		before := r.line
		line := collapse(r.next())
		r.e.place.line += r.line - before
		if line == "" || line[0] != '\t' {
			switch p := trimLeft(line); {
			case isWord(p, "define"):
				level++
			case isWord(p, "endef"):
				level--
			}
			if level == 0 {
				return lines, nil
			}
		}
		lines = append(lines, line)
	}
	return nil, r.e.fatalAt(at, "missing 'endef', unterminated 'define'")
}

func isWord(line, word string) bool {
	rest, ok := strings.CutPrefix(line, word)
	return ok && (rest == "" || isBlank(rest[0]))
}

// directive deals with lines that are neither assignments nor conditionals.
func (r *reading) directive(ctx context.Context, line, word, rest string, tab bool) error {
	switch word {
	case "export", "unexport":
		r.endRule()
		return r.export(ctx, rest, word == "export")
	case "vpath":
		r.endRule()
		_, err := r.e.expand(ctx, rest)
		return err
	case "include", "-include", "sinclude":
		r.endRule()
		return r.includes(ctx, rest, word != "include")
	case "load", "-load":
		return r.e.unsupported(word)
	}
	if tab {
		return r.e.fatalAt(r.e.place, "recipe commences before first target")
	}
	return r.rule(ctx, line)
}

func (r *reading) export(ctx context.Context, names string, yes bool) error {
	if names == "" {
		r.e.exportAll = yes
		return nil
	}
	list, err := r.e.expand(ctx, names)
	if err != nil {
		return err
	}
	for _, name := range words(list) {
		v := r.e.vars[name]
		if v == nil {
			v = r.e.set(Variable{Name: name, Recursive: false, Origin: File, File: r.e.place.file, Line: r.e.place.line})
		}
		v.export = exportNo
		if yes {
			v.export = exportYes
		}
	}
	return nil
}

func (r *reading) includes(ctx context.Context, list string, optional bool) error {
	list, err := r.e.expand(ctx, list)
	if err != nil {
		return err
	}
	blank := func(c rune) bool { return c == ' ' || c == '\t' || c == '\n' } // a carriage return is part of a file name
	for _, name := range strings.FieldsFunc(list, blank) {
		for _, file := range r.e.glob(name) {
			if err := r.e.include(ctx, file, optional); err != nil {
				return err
			}
		}
	}
	return nil
}

// glob expands a pattern; one that matches nothing stands for itself. make
// drops a leading "./" of names in lists.
func (e *Evaluator) glob(name string) []string {
	for strings.HasPrefix(name, "./") && name != "./" {
		name = strings.TrimLeft(name[2:], "/")
	}
	if !strings.ContainsAny(name, "*?[") {
		return []string{name}
	}
	matches, err := filepath.Glob(e.path(name))
	if err != nil || len(matches) == 0 {
		return []string{name}
	}
	if !filepath.IsAbs(name) {
		for i := range matches {
			matches[i] = strings.TrimPrefix(matches[i], filepath.Clean(e.opts.Dir)+"/")
		}
	}
	return matches
}
