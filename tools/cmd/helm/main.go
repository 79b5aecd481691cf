// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Command helm lints Helm charts for Slipway, which compiles it when charts are
// linted first. It reads a charts.Request as JSON from standard input and
// writes a charts.Response to standard output.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

func main() {
	quiet()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// quiet ends the log of Helm's library: it holds what is also returned, and
// calls of "required" and "fail" in templates, which a lint passes over.
func quiet() {
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
}

func run(args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) != 1 || args[0] != "lint" {
		_, _ = fmt.Fprintln(errs, "usage: helm lint < request.json > response.json; Slipway runs it")
		return fail.Usage
	}
	response := answer(in)
	if err := json.NewEncoder(out).Encode(response); err != nil {
		_, _ = fmt.Fprintln(errs, err)
		return fail.Failed
	}
	return response.Code
}

func answer(in io.Reader) charts.Response {
	var r charts.Request
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return failed(fail.With(fail.Usage, fmt.Errorf("reading the request: %w", err)))
	}
	results, err := lintAll(r)
	if err != nil {
		return failed(err)
	}
	return charts.Response{Charts: results}
}

func failed(err error) charts.Response {
	return charts.Response{Error: err.Error(), Code: fail.Code(err)}
}
