// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Reason is why git gave no answer.
type Reason string

// The reasons that a caller may want to tell apart.
const (
	NoGit         Reason = "git is not on PATH"
	NotRepository Reason = "it is not in a git repository"
	Bare          Reason = "it is a bare git repository, which has no work tree"
	Ownership     Reason = "git refuses because the repository belongs to another user"
	NoCommits     Reason = "the git repository has no commit yet"
	Broken        Reason = "its git repository cannot be read"
)

// Error says why git gave no answer about a folder, and what to do.
type Error struct {
	Reason Reason
	Dir    string
	Detail string // git's own words, where they add something
	Remedy string // what to do next; a command is given whole
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "reading the git state of %q: %s", e.Dir, e.Reason)
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", e.Detail)
	}
	if e.Remedy != "" {
		fmt.Fprintf(&b, "; %s", e.Remedy)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason in err, or "" when err is nil or of another kind.
func ReasonOf(err error) Reason {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// answer is what one git command said.
type answer struct {
	text, stderr string
	err          error
}

type git struct {
	runner run.Runner
	dir    string
}

// localNames are the variables that bind git to a repository other than that
// of the folder we ask about; git sets them for its hooks (the list is that of
// `git rev-parse --local-env-vars`, without the ones that carry configuration
// such as safe.directory).
var localNames = map[string]bool{ //nolint:gochecknoglobals // a constant table
	"GIT_DIR": true, "GIT_WORK_TREE": true, "GIT_INDEX_FILE": true, "GIT_PREFIX": true,
	"GIT_COMMON_DIR": true, "GIT_OBJECT_DIRECTORY": true, "GIT_ALTERNATE_OBJECT_DIRECTORIES": true,
	"GIT_IMPLICIT_WORK_TREE": true, "GIT_GRAFT_FILE": true, "GIT_SHALLOW_FILE": true,
}

func (g git) ask(ctx context.Context, args ...string) answer {
	var stdout, stderr strings.Builder
	err := g.runner.Run(ctx, run.Command{
		// Reading the state of a tree must not write to it, not even the index.
		Args:   append([]string{"git", "--no-optional-locks"}, args...),
		Dir:    g.dir,
		Env:    environ(),
		Stdout: &stdout,
		Stderr: &stderr,
	})
	return answer{text: strings.TrimRight(stdout.String(), "\n"), stderr: strings.TrimSpace(stderr.String()), err: err}
}

// environ is our environment in the C locale, so that git's messages can be
// told apart.
func environ() []string {
	var env []string
	for _, e := range run.Environ(os.Environ(), "LC_ALL=C", "LANGUAGE=", "GIT_TERMINAL_PROMPT=0") {
		if name, _, _ := strings.Cut(e, "="); !localNames[name] {
			env = append(env, e)
		}
	}
	return env
}

var safeDirectory = regexp.MustCompile(`(?m)^\s*git config --global --add safe\.directory (.+)$`)

// explain turns git's refusal into a reason and a remedy.
func explain(dir string, a answer) error {
	e := &Error{Dir: dir, Err: a.err}
	switch {
	case errors.Is(a.err, exec.ErrNotFound):
		e.Reason, e.Remedy = NoGit, "install git"
		return fail.With(fail.Unavailable, e)
	case strings.Contains(a.stderr, "dubious ownership"), strings.Contains(a.stderr, "unsafe repository"):
		e.Reason = Ownership
		e.Remedy = "if you trust it, run: " + trustCommand(dir, a.stderr)
	case strings.Contains(a.stderr, "must be run in a work tree"):
		e.Reason, e.Remedy = Bare, "add a work tree: git worktree add ../worktree"
	case strings.Contains(a.stderr, "not a git repository"):
		explainAbsence(e, a)
	default:
		e.Reason, e.Detail = Broken, oneLine(a.stderr)
		if e.Detail == "" {
			e.Detail = a.err.Error()
		}
		e.Remedy = "see what `git fsck` says"
	}
	return e
}

// explainAbsence tells a folder without a repository from one whose git data
// is damaged: git uses the same words for both.
func explainAbsence(e *Error, a answer) {
	marker := findMarker(e.Dir)
	if marker == "" {
		e.Reason = NotRepository
		return
	}
	e.Reason = Broken
	e.Detail = fmt.Sprintf("%q is there but git does not accept it: %s", marker, oneLine(a.stderr))
	e.Remedy = "check its HEAD file, or for a linked worktree run `git worktree repair` in the main one"
}

// findMarker returns the nearest .git at or above dir.
func findMarker(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		marker := filepath.Join(abs, ".git")
		if _, err := os.Lstat(marker); err == nil {
			return marker
		}
		parent := filepath.Dir(abs)
		if parent == abs {
			return ""
		}
		abs = parent
	}
}

// trustCommand is the command git itself proposes, since it names the folder
// in the form that git compares; else one for the folder we asked about.
func trustCommand(dir, stderr string) string {
	if m := safeDirectory.FindStringSubmatch(stderr); m != nil {
		return "git config --global --add safe.directory " + m[1]
	}
	return run.Quote([]string{"git", "config", "--global", "--add", "safe.directory", dir})
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.TrimPrefix(s, "fatal: ")
}
