// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"

	"github.com/istio-ecosystem/slipway/tools/ui"
)

// wants is what the goals of a call ask for, in order. Goals that make
// binaries and images side by side form one unit, so that each binary is
// compiled and each image built once; a goal that does something else, such as
// clean or test, stands between.
type wants struct {
	p     *program
	ctx   context.Context //nolint:containedctx // it lives as long as the one call that is being planned
	goal  string
	units []unit
}

// unit is either artifacts or a command.
type unit struct {
	artifacts *artifacts
	command   *command
	lint      *lintCall // what the command stands for when linters are asked for
	plan      *Plan
	job       *job
}

// command is something that a goal does itself.
type command struct {
	goal  string
	text  string // for make -n
	quiet bool   // it only prints: make -n runs it
	run   func(context.Context) error
}

func (u unit) key(i int) string {
	if u.command != nil {
		return fmt.Sprintf("%d %s", i, u.command.goal)
	}
	return fmt.Sprintf("%d artifacts", i)
}

// make returns the artifacts that the goal adds to.
func (w *wants) artifacts() *artifacts {
	if n := len(w.units); n > 0 && w.units[n-1].artifacts != nil {
		return w.units[n-1].artifacts
	}
	a := &artifacts{}
	w.units = append(w.units, unit{artifacts: a})
	return a
}

// do adds a command.
func (w *wants) do(text string, run func(context.Context) error) {
	w.units = append(w.units, unit{command: &command{goal: w.goal, text: text, run: run}})
}

// show adds a command that only prints, so that make -n gives its answer too.
func (w *wants) show(run func(context.Context) error) {
	w.units = append(w.units, unit{command: &command{goal: w.goal, text: "print " + w.goal, quiet: true, run: run}})
}

// print writes the plan of all units.
func (w *wants) print(console *ui.Console) {
	for _, u := range w.units {
		if u.command != nil {
			console.Result("%-9s %s", "run", u.command.text)
			continue
		}
		for _, line := range u.plan.Lines() {
			console.Result("%s", line)
		}
		for _, warning := range u.plan.Warnings {
			console.Warn("%s", warning)
		}
	}
}
