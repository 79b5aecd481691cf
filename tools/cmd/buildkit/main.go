// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Command buildkit builds images with BuildKit for Slipway, which compiles it
// when a Dockerfile needs it first. It reads a builder.Request as JSON from
// standard input and writes a builder.Response to standard output; progress
// goes to standard error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sirupsen/logrus"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/buildkit"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, in io.Reader, out, progress io.Writer) int {
	logrus.SetOutput(io.Discard) // BuildKit's client logs what it also returns
	var response any
	var code int
	switch {
	case len(args) == 1 && args[0] == "build":
		built := answer(ctx, in, progress)
		response, code = built, built.Code
	case len(args) == 1 && args[0] == "check":
		checked := check(ctx, in)
		response, code = checked, checked.Code
	default:
		_, _ = fmt.Fprintln(progress, "usage: buildkit build|check < request.json > response.json; Slipway runs it")
		return fail.Usage
	}
	if err := json.NewEncoder(out).Encode(response); err != nil {
		_, _ = fmt.Fprintln(progress, err)
		return fail.Failed
	}
	return code
}

func check(ctx context.Context, in io.Reader) builder.Checked {
	var files []builder.CheckFile
	err := json.NewDecoder(in).Decode(&files)
	if err != nil {
		err = fail.With(fail.Usage, fmt.Errorf("reading the request: %w", err))
	}
	var findings []builder.Finding
	if err == nil {
		findings, err = buildkit.Check(ctx, files)
	}
	if err != nil {
		return builder.Checked{Error: err.Error(), Code: fail.Code(err)}
	}
	return builder.Checked{Findings: findings}
}

func answer(ctx context.Context, in io.Reader, progress io.Writer) builder.Response {
	var r builder.Request
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return failed(nil, fail.With(fail.Usage, fmt.Errorf("reading the request: %w", err)))
	}
	built, warnings, err := buildkit.Build(ctx, r, progress)
	if err != nil {
		return failed(warnings, err)
	}
	return builder.Response{Built: built, Warnings: warnings}
}

func failed(warnings []string, err error) builder.Response {
	if errors.Is(err, context.Canceled) {
		err = fail.With(fail.Interrupted, err)
	}
	return builder.Response{Warnings: warnings, Error: err.Error(), Code: fail.Code(err)}
}
