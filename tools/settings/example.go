// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"
)

// Example returns the text of .istiorc.mk.example: every setting, commented
// out, with its default and what it is for.
func Example() string {
	var b strings.Builder
	b.WriteString(`# Copy this file to .istiorc.mk and remove the # in front of what you want to
# change. It is a make fragment: one setting on a line, everything GNU make can
# say in an include file works here (conditionals, $(shell), include, …).
#
#   NAME = value    beats the environment, not the command line
#   NAME ?= value   only where the environment says nothing
#   White space at the end of a line, also in front of a comment, is part of
#   the value.
#
# make settings (or mage settings) shows what was settled, and where from.
`)
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n# --- %s ---\n", g.Title)
		for _, k := range g.Settings {
			fmt.Fprintf(&b, "\n# %s.\n", strings.ToUpper(k.Summary[:1])+k.Summary[1:])
			b.WriteString(k.exampleLine())
		}
	}
	return b.String()
}

func (k Known) exampleLine() string {
	switch {
	case k.Example == "" && k.Unset:
		return fmt.Sprintf("# %s =\n", k.Name)
	case k.Example == "":
		return fmt.Sprintf("# %s = %s\n", k.Name, hostForm(k.Default))
	case k.Unset:
		return fmt.Sprintf("# Not set by default.\n# %s = %s\n", k.Name, k.Example)
	default:
		return fmt.Sprintf("# Default: %s\n# %s = %s\n", hostForm(k.Default), k.Name, k.Example)
	}
}

// hostForm names what differs from machine to machine.
func hostForm(text string) string {
	return strings.NewReplacer("$("+hostOS+")", "<this machine's>", "$("+hostArch+")", "<this machine's>").Replace(text)
}
