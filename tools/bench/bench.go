// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures Slipway beside a peer in one run and prints the
// ratio, since times alone say little about another machine.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Cost is what one run of something took.
type Cost struct {
	Wall time.Duration
	CPU  time.Duration // user and system time of this process and its children
}

// Measure runs f and returns its cost.
func Measure(ctx context.Context, f func(context.Context) error) (Cost, error) {
	before, start := cpu(), time.Now()
	err := f(ctx)
	return Cost{Wall: time.Since(start), CPU: cpu() - before}, err
}

func cpu() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// Pair runs ours and peer in turn, n times each, so that a change of the
// machine's load meets both, and returns the medians.
func Pair(ctx context.Context, n int, ours, peer func(context.Context) error) (a, b Cost, err error) {
	var as, bs []Cost
	for range n {
		ca, errA := Measure(ctx, ours)
		cb, errB := Measure(ctx, peer)
		if err := errors.Join(errA, errB); err != nil {
			return Cost{}, Cost{}, err
		}
		as, bs = append(as, ca), append(bs, cb)
	}
	return Median(as), Median(bs), nil
}

// Median returns the medians of wall and CPU time, each on its own.
func Median(costs []Cost) Cost {
	if len(costs) == 0 {
		return Cost{}
	}
	wall, cpu := make([]time.Duration, len(costs)), make([]time.Duration, len(costs))
	for i, c := range costs {
		wall[i], cpu[i] = c.Wall, c.CPU
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	return Cost{Wall: wall[len(wall)/2], CPU: cpu[len(cpu)/2]}
}

// A Row compares one thing that Slipway does with how it is done otherwise.
type Row struct {
	Name    string
	Ours    time.Duration
	Peer    time.Duration
	Ratio   float64 // in the direction of the goal, see Goal
	Goal    string  // "ratio >= 10", "ours <= 50ms"
	OK      bool
	Missing string // the peer that is not installed; the row then only shows ours
}

// AtLeast is a row whose peer should take at least times as long as ours.
func AtLeast(name string, ours, peer time.Duration, times float64) Row {
	r := quotient(peer, ours)
	return Row{Name: name, Ours: ours, Peer: peer, Ratio: r, Goal: fmt.Sprintf("peer/ours >= %g", times), OK: r >= times}
}

// AtMost is a row in which ours should take at most times as long as the peer.
func AtMost(name string, ours, peer time.Duration, times float64) Row {
	r := quotient(ours, peer)
	return Row{Name: name, Ours: ours, Peer: peer, Ratio: r, Goal: fmt.Sprintf("ours/peer <= %g", times), OK: r <= times}
}

// Within is a row with a limit on ours alone; the peer is for comparison.
func Within(name string, ours, peer, limit time.Duration) Row {
	return Row{Name: name, Ours: ours, Peer: peer, Ratio: quotient(ours, peer), Goal: "ours <= " + limit.String(), OK: ours <= limit}
}

func quotient(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Print writes one line a row, fields between tabs, and a closing line. It
// returns an error when a row is short of its goal; a row whose peer is not
// installed counts as short only when require is set.
func Print(w io.Writer, rows []Row, require bool) error {
	short := 0
	for _, r := range rows {
		verdict, peer := "ok", seconds(r.Peer)
		if r.Missing != "" {
			peer = r.Missing + " is not installed"
		}
		if r.Missing == "" && !r.OK || r.Missing != "" && require {
			verdict, short = "short", short+1
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\t%s\n", r.Name, seconds(r.Ours), peer, r.Ratio, r.Goal, verdict); err != nil {
			return fmt.Errorf("printing the benchmark: %w", err)
		}
	}
	if _, err := fmt.Fprintf(w, "%d rows, %d short\n", len(rows), short); err != nil {
		return fmt.Errorf("printing the benchmark: %w", err)
	}
	if short > 0 {
		return fail.With(fail.Failed, fmt.Errorf("%d of %d benchmark rows are short of their goal", short, len(rows)))
	}
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.4fs", d.Seconds()) }
