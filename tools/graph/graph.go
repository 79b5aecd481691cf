// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph runs named steps, each at most once, after the steps that it
// needs, with a bound on how many run side by side. It knows nothing of what
// the steps do.
package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Step is one unit of work.
type Step struct {
	Key   string                          // unique in the graph
	Needs []string                        // keys of the steps that run before it
	Run   func(ctx context.Context) error // nil: only a name for what it needs
}

// Options bound a run.
type Options struct {
	Jobs      int  // steps side by side; below 1: one
	KeepGoing bool // after a failure go on with steps that do not need the failed one
}

// Graph holds steps and what became of those that ran, so that a step runs
// once however many roots want it.
type Graph struct {
	steps map[string]Step
	opts  Options
	slots chan struct{}

	mu   sync.Mutex
	done map[string]*outcome
}

type outcome struct {
	ended chan struct{}
	err   error // set before ended is closed
}

// ErrNeeds marks the failure of a step that did not run because one that it
// needs failed; the cause is reported with that one.
var ErrNeeds = errors.New("a step that it needs failed")

// New checks the steps (unique keys, known needs, no cycle) and returns a
// graph on which nothing has run.
func New(steps []Step, opts Options) (*Graph, error) {
	g := &Graph{steps: map[string]Step{}, opts: opts, done: map[string]*outcome{}, slots: make(chan struct{}, max(opts.Jobs, 1))}
	for _, s := range steps {
		if _, twice := g.steps[s.Key]; twice {
			return nil, fail.With(fail.Usage, fmt.Errorf("step %q is defined twice", s.Key))
		}
		g.steps[s.Key] = s
	}
	state := map[string]int{}
	for _, s := range steps {
		if err := g.check(s.Key, nil, state); err != nil {
			return nil, fail.With(fail.Usage, err)
		}
	}
	return g, nil
}

// check walks down from key; state is 1 while a key is on the path and 2 when
// all below it is known to be sound.
func (g *Graph) check(key string, path []string, state map[string]int) error {
	path = append(path, key)
	switch state[key] {
	case 1:
		for path[0] != key {
			path = path[1:]
		}
		return fmt.Errorf("steps need each other: %s", strings.Join(path, " -> "))
	case 2:
		return nil
	}
	s, ok := g.steps[key]
	if !ok {
		return fmt.Errorf("step %q needs %q, which does not exist", path[max(len(path)-2, 0)], key)
	}
	state[key] = 1
	for _, n := range s.Needs {
		if err := g.check(n, path, state); err != nil {
			return err
		}
	}
	state[key] = 2
	return nil
}

// Run runs the roots in the order given, each with all that it needs: the next
// root begins when the one before it has ended. What one root needs runs side
// by side. The first failure ends the run, cancelling what is under way; with
// KeepGoing all failures are returned, each once.
func (g *Graph) Run(ctx context.Context, roots ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failures []error
	for _, root := range roots {
		err := g.run(ctx, root, cancel)
		if err == nil {
			continue
		}
		failures = append(failures, err)
		if !g.opts.KeepGoing || ctx.Err() != nil {
			break
		}
	}
	if len(failures) == 0 {
		return nil
	}
	return g.failures(ctx)
}

// failures collects the causes: not what was cancelled or skipped because of
// them.
func (g *Graph) failures(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var causes []error
	for _, o := range g.done {
		select {
		case <-o.ended:
		default:
			continue
		}
		if o.err != nil && !errors.Is(o.err, ErrNeeds) && !errors.Is(o.err, context.Canceled) {
			causes = append(causes, o.err)
		}
	}
	if len(causes) == 0 {
		return context.Cause(ctx)
	}
	return errors.Join(causes...)
}

func (g *Graph) run(ctx context.Context, key string, cancel context.CancelFunc) error {
	g.mu.Lock()
	o, known := g.done[key]
	if !known {
		o = &outcome{ended: make(chan struct{})}
		g.done[key] = o
	}
	g.mu.Unlock()
	if known {
		<-o.ended
		return o.err
	}
	o.err = g.runOnce(ctx, g.steps[key], cancel)
	if o.err != nil && !g.opts.KeepGoing {
		cancel() // without a cause: it would turn up in the errors of the steps that it ends
	}
	close(o.ended)
	return o.err
}

func (g *Graph) runOnce(ctx context.Context, s Step, cancel context.CancelFunc) error {
	errs := make([]error, len(s.Needs))
	var wg sync.WaitGroup
	for i, n := range s.Needs {
		wg.Go(func() { errs[i] = g.run(ctx, n, cancel) })
	}
	wg.Wait()
	if errors.Join(errs...) != nil {
		return fmt.Errorf("%s: %w", s.Key, ErrNeeds)
	}
	if s.Run == nil {
		return nil
	}
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.Run(ctx)
}
