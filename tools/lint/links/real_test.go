// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// TestIstio looks at files and anchors of a whole tree, without any network.
func TestIstio(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		t.Skip("set SLIPWAY_TEST_REAL=1 to look at a tree of Istio")
	}
	root := os.Getenv("SLIPWAY_TEST_TREE")
	if root == "" {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "istio.io/istio").Output()
		if root = strings.TrimSpace(string(out)); err != nil || root == "" {
			t.Skip("no tree of Istio: name one in SLIPWAY_TEST_TREE")
		}
	}
	files, err := lint.Selection{}.Walk(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	l := Linter(Options{Offline: true})
	var chosen []string
	for _, f := range files {
		if l.Files(f) {
			chosen = append(chosen, f)
		}
	}
	start := time.Now()
	out, err := l.Whole(t.Context(), lint.Task{Root: root, Files: chosen, Note: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d findings, %v", out.Files, len(out.Findings), time.Since(start))
	for _, f := range out.Findings {
		t.Log(f.Severity, f)
	}
}
