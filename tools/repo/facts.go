// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/istio-ecosystem/slipway/tools/run"
)

// Facts are what git says about one work tree.
type Facts struct {
	Root     string    // top folder of the work tree, absolute
	GitDir   string    // where its git data is, absolute; differs per linked worktree
	Head     string    // commit id, all digits
	Tree     string    // id of the commit's tree
	Branch   string    // short name; empty when HEAD is detached
	Describe string    // nearest tag, or a short commit id
	Remote   string    // URL of origin (or of the only remote) without credentials; may be empty
	Time     time.Time // committer time of Head
	Shallow  bool      // history was cut, so Describe may miss a tag
	Dirty    bool      // anything differs from Head, untracked files included
	Modified bool      // a tracked file differs from Head
	Changes  []Change  // what makes it dirty, in git's order
}

// Options say what is not part of the sources.
type Options struct {
	// Ignore lists folders, slash-separated and relative to the root, whose
	// untracked files do not count: our own outputs do not make a tree dirty.
	Ignore []string
}

// Checkout is a folder whose facts are read at most once, so that every step
// of a process stamps the same state, even after a step wrote into the tree.
type Checkout struct {
	runner run.Runner
	dir    string
	opts   Options

	mu    sync.Mutex
	done  bool
	facts Facts
	err   error
}

// Open returns the checkout that holds dir. Nothing is read yet.
func Open(r run.Runner, dir string, opts Options) *Checkout {
	return &Checkout{runner: r, dir: dir, opts: opts}
}

// Facts asks git, or returns what it answered before. An interrupted read is
// not kept.
func (c *Checkout) Facts(ctx context.Context) (Facts, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return c.facts, c.err
	}
	facts, err := Read(ctx, c.runner, c.dir, c.opts)
	if ctx.Err() != nil {
		return facts, err
	}
	c.facts, c.err, c.done = facts, err, true
	return facts, err
}

// Read asks git about the work tree that holds dir. The error is an *Error;
// for the reasons NoCommits and Broken the facts that could be read are
// returned beside it.
func Read(ctx context.Context, r run.Runner, dir string, opts Options) (Facts, error) {
	g := git{runner: r, dir: dir}
	var place, status, commit, describe, remotes answer
	// Status walks the tree and takes the longest; the others run meanwhile.
	var group errgroup.Group
	for _, q := range []struct {
		into *answer
		args []string
	}{
		{&status, []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignored=no", "--no-renames"}},
		{&place, []string{"rev-parse", "--show-toplevel", "--absolute-git-dir", "--is-shallow-repository"}},
		{&commit, []string{"cat-file", "commit", "HEAD"}},
		{&describe, []string{"describe", "--tags", "--always"}},
		{&remotes, []string{"config", "--null", "--get-regexp", `^remote\..*\.url$`}},
	} {
		group.Go(func() error {
			*q.into = g.ask(ctx, q.args...)
			return nil
		})
	}
	_ = group.Wait() // each answer carries its own error
	if err := ctx.Err(); err != nil {
		return Facts{}, fmt.Errorf("reading the state of %q: %w", dir, err)
	}
	return gather(dir, opts, place, status, commit, describe, remotes)
}

// gather puts the answers together; the first question that failed, in the
// order of what depends on what, gives the reason.
func gather(dir string, opts Options, place, status, commit, describe, remotes answer) (Facts, error) {
	var f Facts
	if place.err != nil {
		return f, explain(dir, place)
	}
	lines := strings.Split(place.text, "\n")
	if len(lines) != 3 {
		return f, &Error{Reason: Broken, Dir: dir, Detail: fmt.Sprintf("git rev-parse answered %q", place.text)}
	}
	f.Root, f.GitDir, f.Shallow = lines[0], lines[1], lines[2] == "true"
	if remotes.err == nil {
		f.Remote = chooseRemote(remotes.text)
	}
	if status.err != nil {
		return f, explain(dir, status)
	}
	if err := f.readStatus(status.text, opts); err != nil {
		return f, &Error{Reason: Broken, Dir: dir, Detail: err.Error(), Err: err}
	}
	if f.Head == "" {
		return f, &Error{Reason: NoCommits, Dir: dir, Remedy: "commit once, or set the value that should come from git"}
	}
	if commit.err != nil {
		return f, explain(dir, commit)
	}
	if err := f.readCommit(commit.text); err != nil {
		return f, &Error{Reason: Broken, Dir: dir, Detail: err.Error(), Err: err}
	}
	if describe.err != nil {
		return f, explain(dir, describe)
	}
	f.Describe = describe.text
	return f, nil
}

// readCommit reads the headers of a raw commit object.
func (f *Facts) readCommit(raw string) error {
	for line := range strings.Lines(raw) {
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "": // the message starts
			return errors.New("the commit has no committer")
		case "tree":
			f.Tree = value
		case "committer": // NAME <MAIL> SECONDS ZONE
			fields := strings.Fields(value)
			if len(fields) < 2 {
				return fmt.Errorf("the committer line is %q", value)
			}
			seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64)
			if err != nil {
				return fmt.Errorf("the time of the commit is %q", fields[len(fields)-2])
			}
			f.Time = time.Unix(seconds, 0).UTC()
			return nil
		}
	}
	return errors.New("the commit has no committer")
}

// chooseRemote picks origin, else the only remote there is. The input is
// git's null-terminated list of KEY LINE-FEED VALUE.
func chooseRemote(list string) string {
	var all []string
	for entry := range strings.SplitSeq(list, "\x00") {
		key, value, ok := strings.Cut(entry, "\n")
		if !ok {
			continue
		}
		if key == "remote.origin.url" {
			return StripCredentials(value)
		}
		all = append(all, value)
	}
	if len(all) == 1 {
		return StripCredentials(all[0])
	}
	return ""
}

// StripCredentials takes user and password out of a remote's URL. The user of
// ssh forms stays, since it is part of the address (git@host:path).
func StripCredentials(remote string) string {
	if !strings.Contains(remote, "://") {
		return remote // scp form or a path: no place for a password
	}
	u, err := url.Parse(remote)
	if err != nil {
		// What cannot be read is not repeated: it may hold a password.
		scheme, _, _ := strings.Cut(remote, "://")
		return scheme + "://(unreadable)"
	}
	if u.User == nil {
		return remote
	}
	if u.Scheme == "ssh" || u.Scheme == "git+ssh" {
		u.User = url.User(u.User.Username())
	} else {
		u.User = nil
	}
	return u.String()
}
