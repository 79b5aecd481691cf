// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/istio-ecosystem/slipway/tools/run"
)

// shell is $(shell): the output with its newlines made spaces, without those
// at its end.
func (e *Evaluator) shell(ctx context.Context, command string) (string, error) {
	if trimSpace(command) == "" {
		return "", nil // make starts nothing
	}
	out, status, err := e.opts.Shell(ctx, command)
	if err != nil {
		return "", e.fatalAt(e.place, "$(shell %s): %v", command, err)
	}
	e.vars[".SHELLSTATUS"] = &Variable{Name: ".SHELLSTATUS", Raw: strconv.Itoa(status), Origin: Override}
	out = strings.ReplaceAll(out, "\r\n", "\n")
	out = strings.TrimRight(out, "\n")
	if len(out) > maxSize {
		return "", e.fatal("$(shell %s) wrote over %d MiB", command, maxSize>>20)
	}
	return strings.ReplaceAll(out, "\n", " "), nil
}

// NewShell returns a shell that interprets POSIX shell text in this process
// and starts the programs that it names, in dir, with the environment that
// make was started with. A command that takes longer than limit is ended with
// all that it started, and is an error. What programs write to standard error
// goes to stderr; nil drops it.
func NewShell(dir string, environ []string, stderr io.Writer, limit time.Duration) ShellFunc {
	if stderr == nil {
		stderr = io.Discard
	}
	return func(ctx context.Context, command string) (string, int, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %s; is it waiting for something? SLIPWAY_SHELL_LIMIT=2m in the environment allows more", limit))
		defer cancel()
		file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "sh: %v\n", err)
			return "", 2, nil // as a shell does; make goes on
		}
		var out strings.Builder
		runner, err := interp.New(
			interp.Dir(dir),
			interp.Env(expand.ListEnviron(environ...)),
			interp.StdIO(nil, &out, stderr),
			interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return execute }),
		)
		if err != nil {
			return "", 0, err
		}
		err = runner.Run(ctx, file)
		if ctx.Err() != nil {
			return "", 0, context.Cause(ctx)
		}
		var status interp.ExitStatus
		if errors.As(err, &status) {
			return out.String(), int(status), nil
		}
		return out.String(), 0, err
	}
}

// execute starts a program in a process group of its own, so that it ends with
// the context, together with its children.
func execute(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	path, err := interp.LookPathDir(hc.Dir, hc.Env, args[0])
	if err != nil {
		_, _ = fmt.Fprintf(hc.Stderr, "sh: 1: %s: not found\n", args[0])
		return interp.ExitStatus(127)
	}
	var env []string
	hc.Env.Each(func(name string, v expand.Variable) bool {
		if v.Exported && v.Kind == expand.String {
			env = append(env, name+"="+v.Str)
		}
		return true
	})
	err = run.Exec{}.Run(ctx, run.Command{Args: append([]string{path}, args[1:]...), Dir: hc.Dir, Env: env, Stdin: hc.Stdin, Stdout: hc.Stdout, Stderr: hc.Stderr})
	var failed *run.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &failed) && failed.Status > 0:
		return interp.ExitStatus(uint8(failed.Status))
	}
	_, _ = fmt.Fprintf(hc.Stderr, "sh: %v\n", err)
	return interp.ExitStatus(126)
}
