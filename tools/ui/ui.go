// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package ui is the only way to the user's screen: results go to standard
// output, everything else to standard error, and one console serialises the
// lines of steps that run side by side.
package ui

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// Format is how a goal that reports prints its result.
type Format string

// The formats that OUTPUT may name.
const (
	Text   Format = "text"
	JSON   Format = "json"
	SARIF  Format = "sarif"
	JUnit  Format = "junit"
	GitHub Format = "github"
)

// ParseFormat reads the value of OUTPUT; empty means Text.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case "":
		return Text, nil
	case Text, JSON, SARIF, JUnit, GitHub:
		return f, nil
	default:
		return "", fmt.Errorf("OUTPUT is %q: use text, json, sarif, junit or github", s)
	}
}

// Options say how much a console prints.
type Options struct {
	Quiet   bool // make -s: results, warnings and errors only
	Verbose bool // VERBOSE=1: also commands and decisions
	GitHub  bool // under GitHub Actions: warnings and errors become annotations
	// Terminal: standard error is a person's terminal, on which a line may be
	// written over.
	Terminal bool
}

// Console writes whole lines; it is safe for use by many goroutines.
type Console struct {
	mu       sync.Mutex
	out, err io.Writer
	opts     Options
	status   bool      // a status line stands
	shown    time.Time // when the last one was written
}

// New returns a console on the two streams.
func New(out, err io.Writer, opts Options) *Console {
	return &Console{out: out, err: err, opts: opts}
}

// Discard returns a console that prints nothing, for tests.
func Discard() *Console { return New(io.Discard, io.Discard, Options{}) }

// Result prints what was asked for, one line, on standard output.
func (c *Console) Result(format string, args ...any) { c.line(c.out, "", format, args) }

// Note tells what is going on; make -s hides it.
func (c *Console) Note(format string, args ...any) {
	if !c.opts.Quiet {
		c.line(c.err, "", format, args)
	}
}

// Verbose tells details that only VERBOSE=1 asks for.
func (c *Console) Verbose(format string, args ...any) {
	if c.opts.Verbose {
		c.line(c.err, "", format, args)
	}
}

// Warn tells of something that the user may want to change.
func (c *Console) Warn(format string, args ...any) {
	c.line(c.err, c.prefix("warning"), format, args)
}

// Error tells why the program stops.
func (c *Console) Error(format string, args ...any) {
	c.line(c.err, c.prefix("error"), format, args)
}

func (c *Console) prefix(level string) string {
	if c.opts.GitHub {
		return "::" + level + "::"
	}
	return "slipway: " + level + ": "
}

func (c *Console) line(w io.Writer, prefix, format string, args []any) {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	_, _ = io.WriteString(w, prefix+text+"\n") // a closed terminal is not an error of the step
}

// Terminal tells that status lines are seen.
func (c *Console) Terminal() bool { return c.opts.Terminal && !c.opts.Quiet }

// Status shows how far something is, on a line that the next one overwrites.
// It is shown only on a terminal, and a few times a second.
func (c *Console) Status(format string, args ...any) {
	const often = 100 * time.Millisecond
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.Terminal() || time.Since(c.shown) < often {
		return
	}
	c.clear()
	c.status, c.shown = true, time.Now()
	_, _ = fmt.Fprintf(c.err, format, args...)
}

// clear takes a status line away.
func (c *Console) clear() {
	if c.status {
		_, _ = io.WriteString(c.err, "\r\x1b[K")
		c.status = false
	}
}

// Out is standard output for a program that writes its own results.
func (c *Console) Out() io.Writer { return &shared{c, c.out} }

// Err is standard error for a child process.
func (c *Console) Err() io.Writer { return &shared{c, c.err} }

type shared struct {
	c *Console
	w io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.clear()
	return s.w.Write(p)
}

// Prefixed returns a writer that puts "[name] " before each line on standard
// error, so that steps side by side stay readable. Close it to flush a last
// line without an end.
func (c *Console) Prefixed(name string) io.WriteCloser {
	return &prefixed{c: c, name: name}
}

type prefixed struct {
	c    *Console
	name string
	mu   sync.Mutex
	rest []byte
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		p.c.line(p.c.err, "["+p.name+"] ", "%s", []any{p.rest[:i]})
		p.rest = p.rest[i+1:]
	}
}

func (p *prefixed) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rest) > 0 {
		p.c.line(p.c.err, "["+p.name+"] ", "%s", []any{p.rest})
		p.rest = nil
	}
	return nil
}
