// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package toolbin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/toolbin"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// install stands in for go install: it writes the program into GOBIN.
type install struct {
	calls []run.Command
	err   error
}

func (i *install) Run(_ context.Context, c run.Command) error {
	i.calls = append(i.calls, c)
	if i.err != nil {
		return i.err
	}
	for _, e := range slices.Backward(c.Env) {
		if bin, ok := strings.CutPrefix(e, "GOBIN="); ok {
			return os.WriteFile(filepath.Join(bin, "tool"), []byte("program"), 0o755)
		}
	}
	return errors.New("no GOBIN")
}

var tool = toolbin.Tool{Name: "tool", Package: "example.com/tool/cmd/tool", Version: "v1.2.3"}

func TestEnsureInstallsOnce(t *testing.T) {
	t.Setenv("GOOS", "plan9")
	r, cache := &install{}, t.TempDir()
	for range 2 {
		path, err := toolbin.Ensure(t.Context(), r, ui.Discard(), cache, tool)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(path); string(b) != "program" {
			t.Errorf("%s holds %q", path, b)
		}
	}
	if len(r.calls) != 1 {
		t.Fatalf("%d installs, want 1", len(r.calls))
	}
	if c := r.calls[0]; c.Args[len(c.Args)-1] != "example.com/tool/cmd/tool@v1.2.3" || slices.Contains(c.Env, "GOOS=plan9") {
		t.Errorf("command %v with GOOS of the target", c.Args)
	}
}

func TestEnsureLeavesNothingHalfDone(t *testing.T) {
	cache := t.TempDir()
	_, err := toolbin.Ensure(t.Context(), &install{err: errors.New("no network")}, ui.Discard(), cache, tool)
	if fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "tool v1.2.3") {
		t.Errorf("error %v (code %d)", err, fail.Code(err))
	}
	left, _ := filepath.Glob(filepath.Join(cache, "tools", "tool", "v1.2.3", "*", "*"))
	hidden, _ := filepath.Glob(filepath.Join(cache, "tools", "tool", "v1.2.3", "*", ".*"))
	if len(left)+len(hidden) > 0 {
		t.Errorf("left behind: %v %v", left, hidden)
	}
}
