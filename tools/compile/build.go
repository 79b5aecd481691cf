// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Build makes the binaries of one platform. Those that nothing changed for are
// left alone, without starting a process. The batches of different tags run one
// after the other: they share most packages, and the second finds what the
// first compiled.
//
// Either all binaries of a batch come out whole and verified, or none of them
// is touched. The error has exit code fail.Usage for a request that cannot be
// built, fail.Unavailable when Go or the modules cannot be reached.
func Build(ctx context.Context, r Request) (Report, error) {
	begun := time.Now()
	if err := r.check(); err != nil {
		return Report{}, err
	}
	user, err := readUserFlags(goEnv(r.baseEnv(), "GOFLAGS"), r.GoBuildFlags)
	if err != nil {
		return Report{}, err
	}
	units, skipped, err := r.plan(user)
	if err != nil {
		return Report{}, err
	}
	results := make([]*Binary, len(r.Packages))
	report := func() Report {
		out := Report{Skipped: skipped, Duration: time.Since(begun)}
		for _, b := range results {
			if b != nil {
				out.Binaries = append(out.Binaries, *b)
			}
		}
		return out
	}
	watch := newWatch(r, user)
	stale := units
	if !r.Always {
		stale = watch.split(ctx, units, results)
	}
	if len(stale) > 0 {
		if err := r.findGo(); err != nil {
			return report(), err
		}
	}
	for _, batch := range batches(stale) {
		if err := r.produce(ctx, watch, batch, results); err != nil {
			return report(), fmt.Errorf("building %s for %s: %w", names(batch), r.Platform, err)
		}
	}
	return report(), nil
}

// produce builds, verifies, places and records one batch.
func (r Request) produce(ctx context.Context, w *watch, batch []unit, results []*Binary) error {
	state := w.begin(ctx)
	stage, err := newStage(r.OutDir)
	if err != nil {
		return err
	}
	defer stage.remove()
	if !r.Always {
		w.seed(stage, batch)
	}
	if err := r.compile(ctx, stage, batch); err != nil {
		return err
	}
	made, err := r.verify(ctx, w, stage, batch)
	if err != nil {
		return err
	}
	for _, u := range batch {
		if err := stage.place(u.base, u.dest); err != nil {
			return err
		}
	}
	stage.remove() // before the records, which hold what the files then are
	for i, u := range batch {
		results[u.index] = &made[i]
	}
	w.keep(ctx, state, batch, made)
	r.warn(batch, made)
	return nil
}

// warn tells what is odd about binaries that came out.
func (r Request) warn(batch []unit, made []Binary) {
	var plain []string
	for _, b := range made {
		if !b.Stamped && len(r.Stamps) > 0 {
			plain = append(plain, b.Name)
		}
		if len(b.Leaks) > 0 {
			r.Console.Warn("%s for %s holds the path %s of this machine", b.Name, r.Platform, strings.Join(b.Leaks, ", "))
		}
	}
	if len(plain) == len(batch) && len(plain) > 0 {
		r.Console.Verbose("slipway: %s do not use the package %q, so they tell no version", strings.Join(plain, ", "), r.Stamps[0].Package())
	}
}

func names(batch []unit) string {
	list := make([]string, len(batch))
	for i, u := range batch {
		list[i] = u.Name
	}
	return strings.Join(slices.Clip(list), ", ")
}
