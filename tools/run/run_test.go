// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

func TestRunPassesArgumentsAsTheyAre(t *testing.T) {
	args := []string{"printf", "%s|", "costs $5", `it's "q"`, "", "a\nb", "*"}
	got, err := run.Output(t.Context(), run.Exec{}, run.Command{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	if want := "costs $5|it's \"q\"||a\nb|*|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorIsPasteable(t *testing.T) {
	err := run.Exec{}.Run(t.Context(), run.Command{Args: []string{"sh", "-c", "echo why >&2; exit 7"}})
	var re *run.Error
	if !errors.As(err, &re) || re.Status != 7 {
		t.Fatalf("error %#v, want status 7", err)
	}
	if want := "running sh -c 'echo why >&2; exit 7': exit status 7\nwhy"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestMissingProgram(t *testing.T) {
	err := run.Exec{}.Run(t.Context(), run.Command{Args: []string{"no-such-program-here"}})
	if fail.Code(err) != fail.Unavailable {
		t.Errorf("code %d of %v, want %d", fail.Code(err), err, fail.Unavailable)
	}
}

// Cancelling must reach the grandchild too, even one that ignores SIGTERM.
func TestCancelEndsTheGroup(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run.Exec{}.Run(ctx, run.Command{
			Args: []string{"sh", "-c", `(trap "" TERM; sleep 60 & echo $! >` + pidFile + `; wait; wait)`},
		})
	}()
	var pid int
	for pid == 0 {
		b, _ := os.ReadFile(pidFile)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled in it", err)
	}
	for range 100 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

func TestEnviron(t *testing.T) {
	got := run.Environ([]string{"A=1", "MAKEFLAGS=n", "SLIPWAY_GOALS=x", "B=2"}, "B=3", "C=")
	if want := []string{"A=1", "B=3", "C="}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutputKeepsStreamsApart(t *testing.T) {
	var stderr bytes.Buffer
	got, err := run.Output(t.Context(), run.Exec{}, run.Command{Args: []string{"sh", "-c", "echo out; echo err >&2"}, Stderr: &stderr})
	if err != nil || got != "out" || stderr.String() != "err\n" {
		t.Errorf("out %q, stderr %q, error %v", got, stderr.String(), err)
	}
}
