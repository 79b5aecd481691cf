// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package compile turns main packages into binaries for a platform: one
// `go build` for all packages that share a set of build tags, version stamps
// verified, each binary put in place whole or not at all.
//
//	source, err := compile.Resolve(ctx, run.Exec{}, "istio.io/istio", "v0.0.0-20260827124520-eed52ebb66ad")
//	report, err := compile.Build(ctx, compile.Request{
//		Source:   source,
//		Platform: compile.Platform{OS: "linux", Arch: "arm64"},
//		Packages: []compile.Package{{Name: "istioctl", Path: "./istioctl/cmd/istioctl", Tags: tags}},
//		OutDir:   "/repo/out/linux_arm64",
//		Stamps:   stamps,
//		Runner:   run.Exec{},
//		Console:  console,
//	})
//
// # What the settings mean
//
// Istio's scripts test DEBUG in three ways that disagree; here each setting
// has one test (ParseDebug, ParseStatic).
//
//   - DEBUG on (anything but empty, 0, false, no, off): `-gcflags=all=-N -l`,
//     no -s -w, no -trimpath; still static.
//   - STATIC on (the default): `-extldflags -static`. Off clears exactly that
//     and keeps -s -w and the stamps.
//   - LDFLAGS, GCFLAGS and GOBUILDFLAGS add to what we pass and, standing last,
//     win. What they and GOFLAGS give for -ldflags, -gcflags and -tags is joined
//     with ours, since Go would take the last one alone.
//   - -mod is left to Go (a vendor folder counts, else go.mod is read-only), but
//     for a source in the module cache, where GOFLAGS has no say in it.
//   - CGO_ENABLED is 0 unless Request.CGO.
//   - Go does not stamp version control data itself (-buildvcs=false): the
//     stamps are ours, and Go's own reading fails in some worktrees.
//
// # Nothing changed
//
// Beside each binary lies a record of everything it was made from: the state
// of the sources, the toolchain, what the environment tells Go, flags, tags and
// stamps; and of the file that came out. When all of it is as recorded, no
// process is started. The record is a shortcut and never a proof that is
// stretched: where an input cannot be watched (cgo's system headers, -overlay,
// -toolexec, a link that leaves the tree, an unreleased Go), no record is
// written and Go decides, as it does after any difference. Go's own sources are
// taken to be those of the release that its VERSION file and tools say.
package compile
