// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package version decides what binaries say of themselves: the seven stamps
// that the linker writes into Istio's version package.
//
// The rules are those of Istio's report_build_info.sh and gobuild.sh, so that
// `istioctl version` answers the same:
//
//	buildVersion      VERSION, or the revision when VERSION is empty
//	buildGitRevision  the commit, with -dirty when anything at all differs from
//	                  it (untracked files too); unknown without git
//	buildStatus       Modified when a tracked file differs from the commit, or
//	                  there is no git; else Clean
//	buildTag          nearest tag, or a short commit; empty without git
//	buildHub          HUB
//	buildOS buildArch the target platform
//
// IGNORE_DIRTY_TREE takes away -dirty and Modified. There is no build date, no
// user and no host: two builds of one commit are the same bytes.
//
// A BUILDINFO file wins over git, key by key. Its buildOS and buildArch do
// not: one file may serve builds for many platforms, and a binary must not lie
// about its own.
package version
