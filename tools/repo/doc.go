// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package repo answers what a tree of sources is: its git facts (revision,
// changes, remote), and keys that tell whether anything in it changed.
//
// All answers come from git's plumbing and porcelain formats, so a personal
// option in somebody's configuration changes none of them. Where git refuses,
// the error is an *Error with a reason that code can test and a remedy that a
// person can paste.
//
//	checkout := repo.Open(run.Exec{}, dir, repo.Options{Ignore: []string{"out"}})
//	facts, err := checkout.Facts(ctx) // git is asked once, later calls are free
package repo
