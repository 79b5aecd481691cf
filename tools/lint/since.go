// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Changes are what differs between a work tree and the commit where its
// history parted from that of another.
type Changes struct {
	Base    string          // the commit
	Files   map[string]bool // changed or new, as slash paths from the root
	Deleted []string
}

// Since asks git what changed in the tree since the merge base of ref and
// HEAD: in commits, in the index, in files that are not committed, and new
// files that git does not ignore. A reference that is not known, and a history
// that is not deep enough, are errors: a linter that looks at nothing would
// find nothing.
func Since(ctx context.Context, r run.Runner, root, ref string) (*Changes, error) {
	git := func(args ...string) (string, error) {
		return run.Output(ctx, r, run.Command{Args: append([]string{"git"}, args...), Dir: root})
	}
	if strings.HasPrefix(ref, "-") {
		return nil, fail.With(fail.Usage, fmt.Errorf("LINT_SINCE is %q: it names a branch, tag or commit", ref))
	}
	var failed *run.Error
	switch _, err := git("rev-parse", "--verify", "--quiet", ref+"^{commit}"); {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.As(err, &failed) || failed.Status != 1: // git says 1 for an unknown name
		return nil, fail.With(fail.Usage, fmt.Errorf("LINT_SINCE is %q: asking git for that commit: %w", ref, err))
	default:
		return nil, fail.With(fail.Usage, fmt.Errorf("LINT_SINCE is %q: git knows no such commit; fetch it first (git fetch origin %s), or name another: %w", ref, strings.TrimPrefix(ref, "origin/"), err))
	}
	base, err := git("merge-base", ref, "HEAD")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		hint := "the two have no commit in common"
		if shallow, _ := git("rev-parse", "--is-shallow-repository"); strings.TrimSpace(shallow) == "true" {
			hint = "this clone is shallow; get the rest of the history with git fetch --unshallow"
		}
		return nil, fail.With(fail.Usage, fmt.Errorf("LINT_SINCE is %q: its merge base with HEAD is not known: %s", ref, hint))
	}
	c := &Changes{Base: strings.TrimSpace(base), Files: map[string]bool{}}
	changed, err := git("diff", "--name-status", "--no-renames", "--relative", "-z", c.Base, "--")
	if err != nil {
		return nil, fmt.Errorf("asking git what changed since %s: %w", c.Base, err)
	}
	fields := strings.Split(changed, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "D" {
			c.Deleted = append(c.Deleted, fields[i+1])
		} else {
			c.Files[fields[i+1]] = true
		}
	}
	fresh, err := git("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, fmt.Errorf("asking git for new files: %w", err)
	}
	for name := range strings.SplitSeq(fresh, "\x00") {
		if name != "" {
			c.Files[name] = true
		}
	}
	return c, nil
}

// Any tells whether one of the files changed or is gone.
func (c *Changes) Any(files []string) bool {
	for _, f := range files {
		if c.Files[f] {
			return true
		}
		for _, d := range c.Deleted {
			if d == f {
				return true
			}
		}
	}
	return false
}
