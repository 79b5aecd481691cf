// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package dockerfile reads a Dockerfile and says what an image made from it
// holds: which base, which copies in which order, which configuration. It
// evaluates; it neither reads the build context nor builds anything.
//
// The work has three steps, each a pure function of its input:
//
//	file, err := dockerfile.Parse(name, content)   // syntax
//	plan, err := file.Plan(options)                // choose the target, prune stages
//	result, err := plan.Evaluate(configOf)         // expand variables, fold configuration
//
// BuildKit's own parser, instruction and word-expansion packages do the
// reading, so that syntax and expansion are those of docker build.
package dockerfile
