// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// TestDiff compares with diff -u, but for the heads.
func TestDiff(t *testing.T) {
	tool, err := exec.LookPath("diff")
	if err != nil {
		t.Skip("diff is not installed")
	}
	for name, c := range map[string]struct{ before, after string }{
		"same":                {"a\n", "a\n"},
		"last line ends":      {"a\nb\nc\nd\ne\nf", "a\nb\nC\nd\ne\nf\n"},
		"last line loses end": {"a\nb\n", "a\nb"},
		"from nothing":        {"", "a\n"},
		"to nothing":          {"a\n", ""},
		"far apart":           {"a\n" + strings.Repeat("x\n", 20) + "b\n", "A\n" + strings.Repeat("x\n", 20) + "B\n"},
		"near":                {"a\n" + strings.Repeat("x\n", 5) + "b\n", "A\n" + strings.Repeat("x\n", 5) + "B\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"before": c.before, "after": c.after} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), tool, "-u", "--label", "original/a.py", "--label", "fixed/a.py", "before", "after")
			cmd.Dir = dir
			want, _ := cmd.Output() // it ends with 1 when they differ
			got, err := lint.Diff("a.py", c.before, c.after)
			if err != nil || got != string(want) {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}
