// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package shell checks shell scripts in two ways: their syntax (and, on
// request, their layout) without any other program, and with ShellCheck, which
// is asked when it is installed.
package shell
