// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package ui_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/ui"
)

func TestStreams(t *testing.T) {
	var out, err bytes.Buffer
	c := ui.New(&out, &err, ui.Options{Quiet: true})
	c.Result("100%")
	c.Note("hidden")
	c.Verbose("hidden")
	c.Warn("w %d", 1)
	c.Error("e")
	if got := out.String(); got != "100%\n" {
		t.Errorf("stdout %q", got)
	}
	if got, want := err.String(), "slipway: warning: w 1\nslipway: error: e\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
}

func TestPrefixedKeepsLinesWhole(t *testing.T) {
	var err bytes.Buffer
	c := ui.New(&bytes.Buffer{}, &err, ui.Options{})
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		wg.Go(func() {
			w := c.Prefixed(name)
			for i := range 50 {
				_, _ = fmt.Fprintf(w, "li")
				_, _ = fmt.Fprintf(w, "ne %d\nta", i)
			}
			_ = w.Close()
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSuffix(err.String(), "\n"), "\n")
	if len(lines) != 102 {
		t.Fatalf("%d lines, want 102", len(lines))
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, "[a] ") && !strings.HasPrefix(l, "[b] ") {
			t.Errorf("torn line %q", l)
		}
	}
}

func TestParseFormat(t *testing.T) {
	if _, err := ui.ParseFormat("yaml"); err == nil || !strings.Contains(err.Error(), `"yaml"`) {
		t.Errorf("unknown format: %v", err)
	}
	if f, err := ui.ParseFormat(""); err != nil || f != ui.Text {
		t.Errorf("empty format: %v, %v", f, err)
	}
}

func TestStatusIsOverwritten(t *testing.T) {
	var out, errs bytes.Buffer
	c := ui.New(&out, &errs, ui.Options{Terminal: true})
	c.Status("1 of %d", 2)
	c.Status("too soon")
	c.Result("found")
	c.Note("done")
	if got := errs.String(); got != "1 of 2\r\x1b[Kdone\n" || out.String() != "found\n" {
		t.Errorf("standard error %q, standard output %q", got, out.String())
	}
	errs.Reset()
	ui.New(&out, &errs, ui.Options{}).Status("nobody sees this")
	if errs.Len() > 0 {
		t.Errorf("no terminal, but %q", errs.String())
	}
}
