// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package builder has images built by BuildKit where a Dockerfile runs
// programs: it finds a builder, and hands the work to Slipway's buildkit
// program (tools/cmd/buildkit), which speaks BuildKit's protocol. That program
// is compiled when it is first needed, so that those who never need it neither
// wait for it nor load it.
package builder
