// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package main is the targets of Slipway for Mage: thin names for the goals of
// package program, which does the work. make comes in by the target Make.
package main

import (
	"context"
	"os"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/program"
)

// Default is what mage runs without a target.
var Default = Help

// Make runs the goals that the Makefile hands over; it is not for people.
func Make(ctx context.Context) {
	goals(ctx, strings.Fields(os.Getenv("SLIPWAY_GOALS"))...)
}

// goals carries goals out. Mage would print errors its own way and knows
// other exit codes, so the program ends here when something went wrong.
func goals(ctx context.Context, names ...string) {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	code := program.Main(ctx, program.Invocation{
		Goals: names, MakeFlags: os.Getenv("SLIPWAY_MAKEFLAGS"), Environ: os.Environ(), Dir: dir, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if code != 0 {
		os.Exit(code)
	}
}
