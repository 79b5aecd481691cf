// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/graph"
)

// log records the order in which steps run.
type log struct {
	mu   sync.Mutex
	keys []string
}

func (l *log) step(key string, err error, needs ...string) graph.Step {
	return graph.Step{Key: key, Needs: needs, Run: func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.keys = append(l.keys, key)
		return err
	}}
}

func TestEachStepOnceAfterItsNeeds(t *testing.T) {
	var l log
	g, err := graph.New([]graph.Step{
		l.step("build", nil), l.step("image", nil, "build"), l.step("push", nil, "image", "build"), l.step("lint", nil),
	}, graph.Options{Jobs: 4})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := g.Run(t.Context(), "lint", "push", "image", "lint"); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"lint", "build", "image", "push"}; !slices.Equal(l.keys, want) {
		t.Errorf("ran %v, want %v", l.keys, want)
	}
}

func TestFailure(t *testing.T) {
	boom, bang := errors.New("boom"), errors.New("bang")
	for _, c := range []struct {
		name      string
		keepGoing bool
		want      []string
		ran       []string
	}{
		{"stops at the first", false, []string{"boom"}, []string{"a"}},
		{"keep going reports each cause once", true, []string{"boom", "bang"}, []string{"a", "c", "d"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l log
			g, err := graph.New([]graph.Step{l.step("a", boom), l.step("b", nil, "a"), l.step("c", bang), l.step("d", nil)},
				graph.Options{KeepGoing: c.keepGoing})
			if err != nil {
				t.Fatal(err)
			}
			err = g.Run(t.Context(), "b", "c", "d")
			if !errors.Is(err, boom) || errors.Is(err, bang) != c.keepGoing || errors.Is(err, graph.ErrNeeds) {
				t.Errorf("error %v", err)
			}
			if !slices.Equal(l.keys, c.ran) {
				t.Errorf("ran %v, want %v", l.keys, c.ran)
			}
		})
	}
}

func TestCauseIsNotTheCancellation(t *testing.T) {
	boom := errors.New("boom")
	started := make(chan struct{})
	g, err := graph.New([]graph.Step{
		{Key: "slow", Run: func(ctx context.Context) error { close(started); <-ctx.Done(); return ctx.Err() }},
		{Key: "bad", Run: func(context.Context) error { <-started; return boom }},
		{Key: "all", Needs: []string{"slow", "bad"}},
	}, graph.Options{Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Run(t.Context(), "all"); !errors.Is(err, boom) || errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want boom alone", err)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g, err := graph.New([]graph.Step{{Key: "a", Run: func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }}}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Run(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestJobsBound(t *testing.T) {
	var now, most atomic.Int32
	var steps []graph.Step
	root := graph.Step{Key: "all"}
	for _, k := range strings.Split("abcdefghij", "") {
		root.Needs = append(root.Needs, k)
		steps = append(steps, graph.Step{Key: k, Run: func(context.Context) error {
			most.Store(max(most.Load(), now.Add(1)))
			for range 1000 {
				most.Store(max(most.Load(), now.Load()))
			}
			now.Add(-1)
			return nil
		}})
	}
	g, err := graph.New(append(steps, root), graph.Options{Jobs: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Run(t.Context(), "all"); err != nil {
		t.Fatal(err)
	}
	if most.Load() > 3 {
		t.Errorf("%d steps at once, want at most 3", most.Load())
	}
}

func TestNewRefuses(t *testing.T) {
	for want, steps := range map[string][]graph.Step{
		`step "a" is defined twice`:                {{Key: "a"}, {Key: "a"}},
		`step "a" needs "b", which does not exist`: {{Key: "a", Needs: []string{"b"}}},
		`steps need each other: b -> c -> b`:       {{Key: "a", Needs: []string{"b"}}, {Key: "b", Needs: []string{"c"}}, {Key: "c", Needs: []string{"b"}}},
		`steps need each other: a -> a`:            {{Key: "a", Needs: []string{"a"}}},
	} {
		if _, err := graph.New(steps, graph.Options{}); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
