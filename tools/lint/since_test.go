// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// history is a repository with a branch main, and a branch work that is
// checked out and parted from it.
func history(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	command(t, root, "git", "init", "-q", "-b", "main")
	for _, f := range []string{"same.txt", "committed.txt", "staged.txt", "unstaged.txt", "both.txt", "renamed.txt", "deleted.txt", "rm.txt", "undone.txt", "rules.cfg", "sub/x.txt", "mode.txt", "kind.txt", "later.txt"} {
		write(t, root, f, strings.Repeat(f+" bad\n", 3))
	}
	write(t, root, ".gitignore", "*.log\n")
	commit(t, root, "first")
	command(t, root, "git", "checkout", "-q", "-b", "work")
	return root
}

func commit(t *testing.T, root, message string) {
	t.Helper()
	command(t, root, "git", "add", "-A")
	command(t, root, "git", "commit", "-q", "-m", message)
}

func TestSince(t *testing.T) {
	root := history(t)
	// main goes on: what only it changed is not ours.
	command(t, root, "git", "checkout", "-q", "main")
	write(t, root, "later.txt", "on main\n")
	commit(t, root, "main goes on")
	command(t, root, "git", "checkout", "-q", "work")
	base := strings.TrimSpace(command(t, root, "git", "rev-parse", "main~1"))

	write(t, root, "committed.txt", "bad 2\n")
	write(t, root, "undone.txt", "bad 2\n")
	command(t, root, "git", "mv", "renamed.txt", "new name\nodd.txt")
	command(t, root, "git", "rm", "-q", "deleted.txt")
	commit(t, root, "work")
	write(t, root, "undone.txt", strings.Repeat("undone.txt bad\n", 3)) // as it was
	write(t, root, "staged.txt", "bad 3\n")
	write(t, root, "both.txt", "bad 3\n")
	write(t, root, "added.txt", "bad 3\n")
	write(t, root, "bad\xff.txt", "bad 3\n")
	command(t, root, "git", "add", "staged.txt", "both.txt", "added.txt")
	write(t, root, "both.txt", "bad 4\n")
	write(t, root, "unstaged.txt", "bad 4\n")
	write(t, root, "untracked.txt", "bad\n")
	write(t, root, "deep/er/untracked.txt", "bad\n")
	write(t, root, "ignored.log", "bad\n")
	if err := os.Remove(filepath.Join(root, "rm.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "mode.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"main", "refs/heads/main", base} {
		c, err := lint.Since(t.Context(), run.Exec{}, root, ref)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"added.txt", "bad\xff.txt", "both.txt", "committed.txt", "deep/er/untracked.txt", "mode.txt", "new name\nodd.txt", "staged.txt", "unstaged.txt", "untracked.txt"}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(c.Files)); !slices.Equal(got, want) {
			t.Errorf("since %s: changed %q, want %q", ref, got, want)
		}
		slices.Sort(c.Deleted)
		if want := []string{"deleted.txt", "renamed.txt", "rm.txt"}; !slices.Equal(c.Deleted, want) {
			t.Errorf("since %s: gone %q, want %q", ref, c.Deleted, want)
		}
		if c.Base != base {
			t.Errorf("base %s, want %s", c.Base, base)
		}
		if !c.Any([]string{"x", "rm.txt"}) || !c.Any([]string{"both.txt"}) || c.Any([]string{"same.txt", "later.txt", ""}) {
			t.Error("Any does not tell what changed or is gone")
		}
	}
	// HEAD itself: what is not committed.
	c, err := lint.Since(t.Context(), run.Exec{}, root, "HEAD")
	if err != nil || c.Files["committed.txt"] || !c.Files["undone.txt"] || !c.Files["untracked.txt"] {
		t.Errorf("since HEAD: %+v, %v", c, err)
	}
	// In a folder of the repository, names are as seen from there.
	write(t, root, "sub/y.txt", "")
	write(t, root, "sub/x.txt", "other")
	c, err = lint.Since(t.Context(), run.Exec{}, filepath.Join(root, "sub"), "main")
	if got := slices.Sorted(maps.Keys(c.Files)); err != nil || !slices.Equal(got, []string{"x.txt", "y.txt"}) {
		t.Errorf("below sub: %q, %v", got, err)
	}
}

func TestSinceChoosesFiles(t *testing.T) {
	root := history(t)
	tr := &tree{T: t, root: root, cache: filepath.Join(t.TempDir(), "results.json")}
	w := &words{word: "bad"}
	var since *lint.Changes
	whole := lint.Linter{Name: "whole", Files: lint.Named("*.txt"), Whole: func(_ context.Context, task lint.Task) (lint.Outcome, error) {
		since = task.Since
		return lint.Outcome{}, nil
	}}
	l := linter("bad", "1", w)
	whole.Config, l.Config = []string{"", "rules.cfg"}, []string{"", "rules.cfg"}
	step := func() lint.Result {
		t.Helper()
		var err error
		if tr.since, err = lint.Since(t.Context(), run.Exec{}, root, "main"); err != nil {
			t.Fatal(err)
		}
		return tr.run(l, whole).Results[0]
	}
	if r := step(); r.Files != 0 || since == nil {
		t.Errorf("nothing changed, and %+v", r)
	}
	write(t, root, "same.txt", "bad\n")
	write(t, root, "new.txt", "bad\n")
	if r := step(); r.Files != 2 || len(r.Findings) != 2 || w.times() != 2 {
		t.Errorf("two files changed, and %+v", r)
	}
	write(t, root, "rules.cfg", "other")
	if r := step(); r.Files != 14 || since != nil {
		t.Errorf("the rules changed, and only these were judged: %+v", r)
	}
	if err := os.Remove(filepath.Join(root, "rules.cfg")); err != nil {
		t.Fatal(err)
	}
	if r := step(); r.Files != 14 || since != nil {
		t.Errorf("the rules are gone, and only these were judged: %+v", r)
	}
	// A run over a part forgets nothing of the rest.
	command(t, root, "git", "checkout", "-q", "rules.cfg")
	write(t, root, "same.txt", "worse\n")
	step()
	w.times()
	tr.since = nil
	if r := tr.run(l).Results[0]; r.Cached != 14 || w.times() != 0 {
		t.Errorf("after a run over a part: %+v", r)
	}
}

func TestSinceFails(t *testing.T) {
	root := history(t)
	write(t, root, "same.txt", "2")
	commit(t, root, "second")
	since := func(dir, ref string) (string, int) {
		t.Helper()
		c, err := lint.Since(t.Context(), run.Exec{}, dir, ref)
		if err == nil {
			t.Fatalf("since %s: no error, changes %+v", ref, c)
		}
		if !strings.Contains(err.Error(), "LINT_SINCE is ") {
			t.Errorf("error %q does not say where the name is from", err)
		}
		return err.Error(), fail.Code(err)
	}
	for ref, hint := range map[string]string{"origin/nowhere": "git fetch origin nowhere", "v9": "git fetch origin v9", "main..work": "no such commit", "HEAD:same.txt": "no such commit", "--all": "names a branch, tag or commit", "0123456789012345678901234567890123456789": "fetch it first"} {
		if text, code := since(root, ref); code != fail.Usage || !strings.Contains(text, ref) || !strings.Contains(text, hint) {
			t.Errorf("since %s: error %q, code %d, want %q", ref, text, code, hint)
		}
	}
	if text, code := since(t.TempDir(), "main"); code != fail.Usage || !strings.Contains(text, "not a git repository") || strings.Contains(text, "fetch it first") {
		t.Errorf("outside of a repository: %q, code %d", text, code)
	}
	command(t, root, "git", "checkout", "-q", "--orphan", "alone")
	commit(t, root, "another beginning")
	if text, code := since(root, "main"); code != fail.Usage || !strings.Contains(text, "no commit in common") {
		t.Errorf("without a common commit: %q, code %d", text, code)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lint.Since(ctx, run.Exec{}, root, "main"); fail.Code(err) != fail.Interrupted {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSinceInAShallowClone(t *testing.T) {
	origin := history(t)
	for range 3 {
		write(t, origin, "same.txt", t.Name()+command(t, origin, "git", "rev-parse", "HEAD"))
		commit(t, origin, "more")
	}
	command(t, origin, "git", "checkout", "-q", "main")
	write(t, origin, "later.txt", "x")
	commit(t, origin, "main goes on")
	clone := t.TempDir()
	command(t, clone, "git", "clone", "-q", "--depth", "1", "--no-single-branch", "-b", "work", "file://"+origin, ".")
	_, err := lint.Since(t.Context(), run.Exec{}, clone, "origin/main")
	if err == nil || fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "git fetch --unshallow") || !strings.Contains(err.Error(), "origin/main") {
		t.Fatalf("error %v, want one that says how to get the history", err)
	}
	// What the error says helps.
	command(t, clone, "git", "fetch", "-q", "--unshallow")
	c, err := lint.Since(t.Context(), run.Exec{}, clone, "origin/main")
	if err != nil || !slices.Equal(slices.Collect(maps.Keys(c.Files)), []string{"same.txt"}) {
		t.Errorf("with the whole history: %+v, %v", c, err)
	}
}
