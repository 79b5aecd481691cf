// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package program is Slipway itself: the goals, what each one wants, and the
// steps that make it. It wires the other packages with plain values; they do
// not know each other.
//
// A call goes through four stages:
//
//	names → goals      every unknown name is reported before anything runs
//	goals → wants      binaries, images, outputs that the goals ask for
//	wants → Plan       pure data: what make -n and make plan print
//	Plan  → steps      run once each, side by side where nothing forbids it
package program
