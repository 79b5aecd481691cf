// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package makevars evaluates GNU make fragments as GNU make 4.3 does, without
// running make: assignments of every flavour, define, export, override,
// conditionals, include, comments, continuations, references and functions.
// Rules are read, since a line may be one, but never run.
//
// The rules come from the GNU make manual and from what make 4.3 was seen to
// do; a differential test holds the package against the installed make.
//
// A construct that would need the rest of make (load, guile, file) is an
// error of its own kind and never skipped.
package makevars
