// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/bench"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

func TestPrint(t *testing.T) {
	rows := []bench.Row{
		bench.AtLeast("fast", time.Second, 20*time.Second, 10),
		bench.AtMost("slow", 3*time.Second, time.Second, 1.3),
		bench.Within("start", 30*time.Millisecond, time.Millisecond, 50*time.Millisecond),
		{Name: "other", Ours: time.Second, Goal: "peer/ours >= 5", Missing: "buildctl"},
	}
	const lines = "fast\t1.0000s\t20.0000s\t20.00\tpeer/ours >= 10\tok\n" +
		"slow\t3.0000s\t1.0000s\t3.00\tours/peer <= 1.3\tshort\n" +
		"start\t0.0300s\t0.0010s\t30.00\tours <= 50ms\tok\n"
	for _, c := range []struct {
		require bool
		want    string
	}{
		{false, lines + "other\t1.0000s\tbuildctl is not installed\t0.00\tpeer/ours >= 5\tok\n4 rows, 1 short\n"},
		{true, lines + "other\t1.0000s\tbuildctl is not installed\t0.00\tpeer/ours >= 5\tshort\n4 rows, 2 short\n"},
	} {
		var b bytes.Buffer
		if err := bench.Print(&b, rows, c.require); fail.Code(err) != fail.Failed {
			t.Errorf("error %v, want a failure", err)
		}
		if b.String() != c.want {
			t.Errorf("got\n%swant\n%s", b.String(), c.want)
		}
	}
	if err := bench.Print(&bytes.Buffer{}, rows[:1], true); err != nil {
		t.Errorf("all ok: %v", err)
	}
}

func TestPairAlternates(t *testing.T) {
	var order string
	step := func(name string) func(context.Context) error {
		return func(context.Context) error { order += name; return nil }
	}
	if _, _, err := bench.Pair(t.Context(), 3, step("a"), step("b")); err != nil {
		t.Fatal(err)
	}
	if order != "ababab" {
		t.Errorf("order %q", order)
	}
}

func TestMedian(t *testing.T) {
	got := bench.Median([]bench.Cost{{Wall: 3, CPU: 1}, {Wall: 1, CPU: 2}, {Wall: 2, CPU: 9}})
	if got != (bench.Cost{Wall: 2, CPU: 2}) {
		t.Errorf("median %v", got)
	}
}
