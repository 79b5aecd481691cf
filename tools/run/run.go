// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package run is the one way to run another program: an argument vector (no
// shell, no expansion), a context that really ends the whole process group,
// and an error that shows a command line one can paste.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Grace is how long a program may take to end after SIGTERM before it is
// killed.
const Grace = 3 * time.Second

// Command is a program to run.
type Command struct {
	Args   []string  // program and arguments; Args[0] is looked up in PATH
	Dir    string    // working directory; empty: the current one
	Env    []string  // the whole environment, NAME=value; nil: Environ(os.Environ())
	Stdin  io.Reader // nil: none
	Stdout io.Writer // nil: discarded
	Stderr io.Writer // nil: discarded, but its end is kept for the error
	// Foreground leaves the program in the terminal's process group, for
	// programs that read from the terminal.
	Foreground bool
}

// String is the command as a line for a POSIX shell.
func (c Command) String() string { return Quote(c.Args) }

// Runner runs commands. Consumers that only run programs take this, so a test
// can record what would run.
type Runner interface {
	Run(ctx context.Context, c Command) error
}

// Exec runs commands as processes of this machine.
type Exec struct{}

// Error says which command failed, where, how, and what it last wrote.
type Error struct {
	Command string // as a line for a shell
	Dir     string
	Status  int    // exit status; -1 when it did not start or was ended by a signal
	Tail    string // the end of its standard error, when nobody else got it
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "running %s", e.Command)
	if e.Dir != "" {
		fmt.Fprintf(&b, " in %s", e.Dir)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Tail != "" {
		fmt.Fprintf(&b, "\n%s", e.Tail)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Run runs the command and waits for it. When ctx ends, the whole process
// group gets SIGTERM and, after Grace, SIGKILL. A program that is not there
// is an error with exit code fail.Unavailable.
func (Exec) Run(ctx context.Context, c Command) error {
	if len(c.Args) == 0 {
		return errors.New("running a command: no program given")
	}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout = c.Dir, c.Env, c.Stdin, c.Stdout
	if cmd.Env == nil {
		cmd.Env = Environ(os.Environ())
	}
	tail := &tailWriter{limit: 4 << 10}
	cmd.Stderr = c.Stderr
	if cmd.Stderr == nil {
		cmd.Stderr = tail
	}
	cmd.WaitDelay = Grace
	group(cmd, c.Foreground)
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	e := &Error{Command: c.String(), Dir: c.Dir, Status: -1, Tail: strings.TrimSpace(tail.String()), Err: err}
	if cmd.ProcessState != nil {
		e.Status = cmd.ProcessState.ExitCode()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fail.With(fail.Unavailable, e)
	}
	return e
}

// group starts cmd as the head of a process group of its own, so that ending
// it ends its children too.
func group(cmd *exec.Cmd, foreground bool) {
	if foreground {
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		pid := cmd.Process.Pid
		// The group outlives its head when a child ignores SIGTERM, so the
		// kill is sent to the group and not left to exec's WaitDelay, which
		// would only reach the head.
		time.AfterFunc(Grace, func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
		return syscall.Kill(-pid, syscall.SIGTERM)
	}
}

// Output runs the command and returns its standard output without the line
// end. Command.Stdout is ignored.
func Output(ctx context.Context, r Runner, c Command) (string, error) {
	var b strings.Builder
	c.Stdout = &b
	err := r.Run(ctx, c)
	return strings.TrimRight(b.String(), "\r\n"), err
}

// makeNames are what make tells its children. A make that is started by one of
// our programs must not believe that it is part of the make that started us.
var makeNames = map[string]bool{ //nolint:gochecknoglobals // a constant table
	"MAKEFLAGS": true, "MFLAGS": true, "MAKELEVEL": true, "MAKEOVERRIDES": true, "GNUMAKEFLAGS": true,
	"MAKE_TERMOUT": true, "MAKE_TERMERR": true,
	"SLIPWAY_GOALS": true, "SLIPWAY_MAKEFLAGS": true, "SLIPWAY_SHIM": true,
}

// Environ returns base without what belongs to the make call that started us,
// with the extra NAME=value entries in place of older ones of the same name.
func Environ(base []string, extra ...string) []string {
	replaced := map[string]bool{}
	for _, e := range extra {
		name, _, _ := strings.Cut(e, "=")
		replaced[name] = true
	}
	env := make([]string, 0, len(base)+len(extra))
	for _, e := range base {
		name, _, _ := strings.Cut(e, "=")
		if !makeNames[name] && !replaced[name] {
			env = append(env, e)
		}
	}
	return append(env, extra...)
}

// Quote returns args as one line that a POSIX shell reads back as args.
func Quote(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		q, err := syntax.Quote(a, syntax.LangPOSIX)
		if err != nil { // control characters have no POSIX form
			q = fmt.Sprintf("%q", a)
		}
		words[i] = q
	}
	return strings.Join(words, " ")
}

// tailWriter keeps the last bytes that were written.
type tailWriter struct {
	limit int
	buf   []byte
}

func (t *tailWriter) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

func (t *tailWriter) String() string { return string(t.buf) }
