// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package imageset

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/istio-ecosystem/slipway/tools/bench"
)

func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The states in which the set is built and pushed.
const (
	cold    = "cold"
	changed = "one binary changed"
	same    = "nothing changed"
)

// Run measures every way in every state, notes each figure, and returns the
// rows that have goals. registries are the addresses of two.
func Run(ctx context.Context, o Options, registries []string) ([]bench.Row, error) {
	if err := o.lay(); err != nil {
		return nil, fmt.Errorf("laying out the images to measure: %w", err)
	}
	// The first check compiles Slipway's buildkit program, which is nobody's
	// cost here.
	warm := append(slices.Clone(o.Environ), "SLIPWAY_GOALS=docker.check", "TAG=1", "HUB=localhost:1/x")
	if err := (&meter{}).run(ctx, o.Dir, warm, o.Self...); err != nil {
		return nil, err
	}
	var hubs []*counter
	for _, r := range registries {
		c, err := newCounter(r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = c.listener.Close() }()
		hubs = append(hubs, c)
	}
	results := map[string]map[string]Cost{}
	missing := map[string]string{}
	o.Note("%-26s %-20s %10s %10s %10s %12s", "way", "state", "wall", "CPU", "memory", "sent")
	for n, w := range o.ways() {
		if w.missing != "" {
			missing[w.name] = w.missing
			o.Note("%-26s %s is not installed", w.name, w.missing)
			continue
		}
		costs, err := o.measureWay(ctx, w, n, hubs)
		if err != nil {
			return nil, fmt.Errorf("measuring %s: %w", w.name, err)
		}
		results[w.name] = costs
	}
	return rows(results, missing), nil
}

func (o Options) measureWay(ctx context.Context, w way, n int, hubs []*counter) (map[string]Cost, error) {
	if err := w.fresh(ctx); err != nil {
		return nil, err
	}
	var to []string
	for _, h := range hubs {
		to = append(to, fmt.Sprintf("%s/way%d", h.host(), n)) // nobody profits from another's blobs
	}
	costs := map[string]Cost{}
	for _, state := range []string{cold, changed, same} {
		if state == changed {
			if err := o.touch(n); err != nil {
				return nil, err
			}
		}
		m := &meter{daemon: w.daemon}
		cost, err := m.measure(hubs, func(m *meter) error { return w.push(ctx, m, to) })
		if err != nil {
			return nil, err
		}
		costs[state] = cost
		o.Note("%-26s %-20s %9.2fs %9.2fs %7.0f MB %9.1f MB", w.name, state, cost.Wall.Seconds(), cost.CPU.Seconds(), float64(cost.Memory)/1e6, float64(cost.Sent)/1e6)
	}
	return costs, nil
}

// rows compare what has a goal.
func rows(results map[string]map[string]Cost, missing map[string]string) []bench.Row {
	ours, kit := results["slipway, daemonless"], results["slipway, BuildKit"]
	var all []bench.Row
	add := func(row bench.Row, needs ...string) {
		for _, n := range needs {
			if what := missing[n]; what != "" {
				row.Missing = what
			}
		}
		all = append(all, row)
	}
	add(bench.Within("whole set to two hubs, nothing changed, wall", ours[same].Wall, results["as Istio's crane builder"][same].Wall, 300*time.Millisecond))
	add(bench.AtLeast("whole set, cold, beside Istio's crane builder, CPU", ours[cold].CPU, results["as Istio's crane builder"][cold].CPU, 3.5))
	add(bench.AtLeast("whole set, cold, beside buildctl, CPU", ours[cold].CPU, results["buildctl"][cold].CPU, 5), "buildctl")
	add(bench.AtLeast("whole set by BuildKit, cold, beside buildctl, CPU", kit[cold].CPU, results["buildctl"][cold].CPU, 1.2), "buildctl")
	add(bench.AtLeast("whole set by BuildKit, nothing changed, beside buildctl, wall", kit[same].Wall, results["buildctl"][same].Wall, 5), "buildctl")
	add(bench.AtLeast("one binary of eleven changed, beside the whole set cold, CPU", ours[changed].CPU, ours[cold].CPU, 6))
	return all
}
