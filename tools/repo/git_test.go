// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// sandbox gives git a home of its own, so the developer's options and the
// repository these tests lie in play no part.
func sandbox(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": "1700000000 +0000",
		"GIT_COMMITTER_NAME": "c", "GIT_COMMITTER_EMAIL": "c@example.com", "GIT_COMMITTER_DATE": "1700000001 +0200",
	} {
		t.Setenv(name, value)
	}
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newRepo returns a repository with one commit of two files, one of which is
// the list of ignored names.
func newRepo(t *testing.T) string {
	t.Helper()
	sandbox(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "init", "--quiet", "--initial-branch=main")
	write(t, filepath.Join(dir, "a.txt"), "a\n")
	write(t, filepath.Join(dir, ".gitignore"), "*.ignored\n")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "--quiet", "--message=first")
	return dir
}

func read(t *testing.T, dir string, opts Options) Facts {
	t.Helper()
	facts, err := Read(t.Context(), run.Exec{}, dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func TestFactsOfACleanTree(t *testing.T) {
	dir := newRepo(t)
	gitIn(t, dir, "tag", "1.2.3")
	gitIn(t, dir, "remote", "add", "origin", "https://bot:s3cret@example.com/o/r.git")
	write(t, filepath.Join(dir, "sub", "x.ignored"), "")
	got := read(t, filepath.Join(dir, "sub"), Options{})
	want := Facts{
		Root: dir, GitDir: filepath.Join(dir, ".git"),
		Head: gitIn(t, dir, "rev-parse", "HEAD"), Tree: gitIn(t, dir, "rev-parse", "HEAD^{tree}"),
		Branch: "main", Describe: "1.2.3", Remote: "https://example.com/o/r.git",
		Time: time.Unix(1700000001, 0).UTC(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

func TestChanges(t *testing.T) {
	tests := []struct {
		name            string
		change          func(t *testing.T, dir string)
		opts            Options
		dirty, modified bool
		paths           []string
	}{
		{"nothing", func(*testing.T, string) {}, Options{}, false, false, nil},
		{"untracked", func(t *testing.T, d string) { write(t, d+"/new dir/b c.txt", "") }, Options{}, true, false, []string{"new dir/b c.txt"}},
		{"ignored", func(t *testing.T, d string) { write(t, d+"/b.ignored", "") }, Options{}, false, false, nil},
		{"written", func(t *testing.T, d string) { write(t, d+"/a.txt", "b\n") }, Options{}, true, true, []string{"a.txt"}},
		{"staged", func(t *testing.T, d string) { write(t, d+"/a.txt", "b\n"); gitIn(t, d, "add", ".") }, Options{}, true, true, []string{"a.txt"}},
		{"removed", func(t *testing.T, d string) { _ = os.Remove(d + "/a.txt") }, Options{}, true, true, []string{"a.txt"}},
		{"renamed", func(t *testing.T, d string) { gitIn(t, d, "mv", "a.txt", "b.txt") }, Options{}, true, true, []string{"a.txt", "b.txt"}},
		{"only touched", func(t *testing.T, d string) {
			if err := os.Chtimes(d+"/a.txt", time.Now(), time.Unix(1600000000, 0)); err != nil {
				t.Fatal(err)
			}
		}, Options{}, false, false, nil},
		{"our output", func(t *testing.T, d string) { write(t, d+"/out/x", ""); write(t, d+"/outer", "") }, Options{Ignore: []string{"out/"}}, true, false, []string{"outer"}},
		{"odd names", func(t *testing.T, d string) { write(t, d+"/é \"q\"\n.txt", "") }, Options{}, true, false, []string{"é \"q\"\n.txt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := newRepo(t)
			tt.change(t, dir)
			f := read(t, dir, tt.opts)
			var paths []string
			for _, c := range f.Changes {
				paths = append(paths, c.Path)
			}
			if f.Dirty != tt.dirty || f.Modified != tt.modified || !cmp.Equal(paths, tt.paths) {
				t.Errorf("dirty %t modified %t %q, want %t %t %q", f.Dirty, f.Modified, paths, tt.dirty, tt.modified, tt.paths)
			}
		})
	}
}

// Options of a person must not decide what a build says of itself.
func TestPersonalOptionsChangeNothing(t *testing.T) {
	for _, option := range [][2]string{
		{"status.branch", "true"}, {"status.short", "true"}, {"status.showStash", "true"}, {"status.relativePaths", "true"},
		{"status.showUntrackedFiles", "no"}, {"log.showSignature", "true"}, {"color.ui", "always"}, {"core.quotePath", "true"},
		{"column.ui", "always"}, {"diff.renames", "copies"}, {"core.fsmonitor", "false"}, {"status.aheadBehind", "true"},
	} {
		t.Run(option[0], func(t *testing.T) {
			dir := newRepo(t)
			gitIn(t, dir, "config", option[0], option[1])
			if f := read(t, dir, Options{}); f.Dirty || f.Modified {
				t.Errorf("a clean tree is dirty %t, modified %t: %v", f.Dirty, f.Modified, f.Changes)
			}
			write(t, filepath.Join(dir, "new"), "")
			if f := read(t, dir, Options{}); !f.Dirty || f.Modified {
				t.Errorf("a tree with a new file is dirty %t, modified %t", f.Dirty, f.Modified)
			}
		})
	}
}

func TestDetachedHeadHasNoBranch(t *testing.T) {
	dir := newRepo(t)
	gitIn(t, dir, "checkout", "--quiet", "--detach")
	if f := read(t, dir, Options{}); f.Branch != "" || f.Dirty || len(f.Head) != 40 {
		t.Errorf("branch %q, dirty %t, head %q", f.Branch, f.Dirty, f.Head)
	}
}

func TestWorktreeOfABareRepository(t *testing.T) {
	dir := newRepo(t)
	base := t.TempDir()
	bare, tree := filepath.Join(base, "r.git"), filepath.Join(base, "wt")
	gitIn(t, base, "clone", "--quiet", "--bare", dir, bare)
	gitIn(t, bare, "worktree", "add", "--quiet", "-b", "side", tree)
	write(t, filepath.Join(tree, "b"), "")
	gitIn(t, tree, "add", ".")
	gitIn(t, tree, "commit", "--quiet", "--message=second")
	f := read(t, tree, Options{})
	if want := gitIn(t, tree, "rev-parse", "HEAD"); f.Head != want || f.Branch != "side" || f.Dirty {
		t.Errorf("head %q branch %q dirty %t, want %q side false", f.Head, f.Branch, f.Dirty, want)
	}
	if _, err := Read(t.Context(), run.Exec{}, bare, Options{}); ReasonOf(err) != Bare {
		t.Errorf("the bare repository itself: %v", err)
	}
}

func TestShallowClone(t *testing.T) {
	dir := newRepo(t)
	write(t, filepath.Join(dir, "b"), "")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "--quiet", "--message=second")
	clone := filepath.Join(t.TempDir(), "clone")
	gitIn(t, dir, "clone", "--quiet", "--depth=1", "file://"+dir, clone)
	if f := read(t, clone, Options{}); !f.Shallow || f.Describe == "" {
		t.Errorf("shallow %t, describe %q", f.Shallow, f.Describe)
	}
}

// A hook of another repository tells its programs where that repository is.
func TestVariablesOfAHookAreNotForUs(t *testing.T) {
	other := newRepo(t)
	dir := newRepo(t)
	write(t, filepath.Join(dir, "b"), "")
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other, ".git", "index"))
	if f := read(t, dir, Options{}); f.Root != dir || !f.Dirty || f.Modified {
		t.Errorf("root %q dirty %t modified %t", f.Root, f.Dirty, f.Modified)
	}
}

func TestReadingWritesNothing(t *testing.T) {
	dir := newRepo(t)
	stamp := time.Unix(1600000000, 0)
	if err := os.Chtimes(filepath.Join(dir, "a.txt"), stamp, stamp); err != nil { // git would like to refresh its index
		t.Fatal(err)
	}
	before, err := Walk(t.Context(), []string{filepath.Join(dir, ".git")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	read(t, dir, Options{})
	after, err := Walk(t.Context(), []string{filepath.Join(dir, ".git")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if before.Key != after.Key {
		t.Error("reading the facts changed the git folder")
	}
}

func TestReasons(t *testing.T) {
	tests := []struct {
		name   string
		spoil  func(t *testing.T, dir string)
		reason Reason
		code   int
		says   string
	}{
		{"no repository", func(t *testing.T, d string) { _ = os.RemoveAll(d + "/.git") }, NotRepository, fail.Failed, "not in a git repository"},
		{"no commit", func(t *testing.T, d string) {
			_ = os.RemoveAll(d + "/.git")
			gitIn(t, d, "init", "--quiet")
		}, NoCommits, fail.Failed, "no commit yet"},
		{"no git", func(t *testing.T, d string) { t.Setenv("PATH", t.TempDir()) }, NoGit, fail.Unavailable, "install git"},
		{"broken head", func(t *testing.T, d string) { write(t, d+"/.git/HEAD", "garbage") }, Broken, fail.Failed, "check its HEAD file"},
		{"lost commit", func(t *testing.T, d string) {
			_ = os.RemoveAll(d + "/.git/objects")
			_ = os.Mkdir(d+"/.git/objects", 0o755)
		}, Broken, fail.Failed, "git fsck"},
		{"broken index", func(t *testing.T, d string) { write(t, d+"/.git/index", "garbage") }, Broken, fail.Failed, "index"},
		{"lost worktree", func(t *testing.T, d string) {
			_ = os.RemoveAll(d + "/.git")
			write(t, d+"/.git", "gitdir: /nowhere/worktrees/x\n")
		}, Broken, fail.Failed, "git worktree repair"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := newRepo(t)
			tt.spoil(t, dir)
			_, err := Read(t.Context(), run.Exec{}, dir, Options{})
			if ReasonOf(err) != tt.reason || fail.Code(err) != tt.code || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), dir) {
				t.Errorf("reason %q code %d: %v", ReasonOf(err), fail.Code(err), err)
			}
		})
	}
}

func TestAnotherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a folder to another user needs root")
	}
	dir := newRepo(t)
	for _, path := range []string{dir, filepath.Join(dir, ".git")} {
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Read(t.Context(), run.Exec{}, dir, Options{})
	command := "git config --global --add safe.directory " + dir
	if ReasonOf(err) != Ownership || !strings.Contains(err.Error(), command) {
		t.Fatalf("want the command %q, got: %v", command, err)
	}
	gitIn(t, "/", strings.Fields(command)[1:]...) // what the message says works
	if f := read(t, dir, Options{}); len(f.Head) != 40 {
		t.Errorf("head %q", f.Head)
	}
}

// counter counts the programs that run.
type counter struct{ n atomic.Int64 }

func (c *counter) Run(ctx context.Context, cmd run.Command) error {
	c.n.Add(1)
	return run.Exec{}.Run(ctx, cmd)
}

func TestFactsAreReadOnce(t *testing.T) {
	dir := newRepo(t)
	var count counter
	c := Open(&count, dir, Options{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Facts(cancelled); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	first, err := c.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := count.n.Load()
	write(t, filepath.Join(dir, "generated"), "") // a step of the build writes into the tree
	second, err := c.Facts(t.Context())
	if err != nil || second.Dirty || first.Head != second.Head || count.n.Load() != n {
		t.Errorf("second read: dirty %t, %d programs after %d, %v", second.Dirty, count.n.Load(), n, err)
	}
}

func TestStripCredentials(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:pw@example.com/a.git":        "https://example.com/a.git",
		"https://token@example.com/a.git":          "https://example.com/a.git",
		"https://example.com/a.git":                "https://example.com/a.git",
		"ssh://git:pw@example.com:22/a.git":        "ssh://git@example.com:22/a.git",
		"git@example.com:a/b.git":                  "git@example.com:a/b.git",
		"/srv/git/a.git":                           "/srv/git/a.git",
		"https://user:p%zz@example.com/a.git":      "https://(unreadable)",
		"https://x-access-token:abc@github.com/a/": "https://github.com/a/",
	} {
		if got := StripCredentials(in); got != want {
			t.Errorf("StripCredentials(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestChooseRemote(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "",
		"remote.fork.url\nhttps://f\x00":         "https://f",
		"remote.a.url\nx\x00remote.b.url\ny\x00": "",
		"remote.a.url\nx\x00remote.origin.url\ny\x00": "y",
	} {
		if got := chooseRemote(in); got != want {
			t.Errorf("chooseRemote(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzReadStatus(f *testing.F) {
	f.Add("# branch.oid (initial)\x00? a b\x00")
	f.Add("1 .M N... 100644 100644 100644 aa bb a.txt\x002 R. N... 1 1 1 a b R100 new\x00old\x00")
	f.Fuzz(func(t *testing.T, text string) {
		var facts Facts
		err := facts.readStatus(text, Options{})
		if err == nil && facts.Dirty != (len(facts.Changes) > 0) {
			t.Errorf("dirty %t with changes %v", facts.Dirty, facts.Changes)
		}
	})
}

// Reasons are told apart by git's words, so it must speak English to us.
func TestGitSpeaksEnglishToUs(t *testing.T) {
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	t.Setenv("LANGUAGE", "de")
	env := strings.Join(environ(), "\n") + "\n"
	if !strings.Contains(env, "LC_ALL=C\n") || !strings.Contains(env, "LANGUAGE=\n") || strings.Contains(env, "de_DE") {
		t.Error("git would speak German")
	}
}
