// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package fail gives errors the exit code of the program.
//
// A package that knows why it stopped wraps its error once, near the cause;
// only the program's entry point reads the code back. An error without a code
// counts as a failed step.
package fail

import (
	"context"
	"errors"
)

// The exit codes of the program. make itself can only answer 0, 1 or 2.
const (
	OK          = 0   // all done
	Failed      = 1   // a step failed, or a linter has findings
	Usage       = 2   // unknown goal, bad setting, impossible plan
	Unavailable = 3   // a tool or a service could not be run or reached
	Partial     = 4   // some references were published, some were not
	Interrupted = 130 // SIGINT, SIGTERM or SIGHUP
)

type coded struct {
	code int
	err  error
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

// With returns err with an exit code; nil stays nil. The innermost code wins
// over one that is added later, since it was set nearest to the cause.
func With(code int, err error) error {
	if err == nil {
		return nil
	}
	return &coded{code: code, err: err}
}

// Code returns the exit code of err: OK for nil, the code nearest to the
// cause where one was set, Interrupted for a cancelled context, else Failed.
func Code(err error) int {
	if err == nil {
		return OK
	}
	code, found := 0, false
	for e := err; e != nil; {
		c := (*coded)(nil)
		if !errors.As(e, &c) {
			break
		}
		code, found = c.code, true
		e = c.err
	}
	switch {
	case found:
		return code
	case errors.Is(err, context.Canceled):
		return Interrupted
	default:
		return Failed
	}
}
