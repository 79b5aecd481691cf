// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package links checks the links of Markdown files: addresses of other sites,
// files and folders of the tree, and anchors in the same page or in another.
//
// Links are those of Markdown as GitHub shows it: what stands in code is none.
// With Options.Compat, addresses are those that awesome_bot 1.20.0 finds in the
// raw text, and an answer means what it means there with the flags that Istio's
// make files give it; README.md lists where this package differs on purpose.
package links
