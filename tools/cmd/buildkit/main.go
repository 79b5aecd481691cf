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
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, in io.Reader, out, progress io.Writer) int {
	logrus.SetOutput(io.Discard) // BuildKit's client logs what it also returns
	if len(args) != 1 || args[0] != "build" {
		_, _ = fmt.Fprintln(progress, "usage: buildkit build < request.json > response.json; Slipway runs it")
		return fail.Usage
	}
	response := answer(ctx, in, progress)
	if err := json.NewEncoder(out).Encode(response); err != nil {
		_, _ = fmt.Fprintln(progress, err)
		return fail.Failed
	}
	return response.Code
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
