// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/run"
)

// pruned are the folders at the top of a tree that no linter looks into. They
// are those of FINDFILES in istio/common-files, Makefile.common.mk.
func pruned() []string {
	return []string{"common-protos", ".git", "out", ".github", "licenses", "vendor"}
}

// Selection says which files of a tree are looked at.
type Selection struct {
	// Ignore is FINDFILES_IGNORE: tests of find(1) that name more to leave
	// out, such as `-path ./third_party -o -name testdata`.
	Ignore string
	// Origin is where Ignore is set, for errors; empty: not known.
	Origin string
	// Git leaves files out that git ignores. As find knows nothing of git, it
	// is off by default.
	Git bool
	// Runner runs git.
	Runner run.Runner
}

// Walk returns all regular files of the tree as sorted slash paths from its
// root. Symbolic links are neither files nor followed, as find -type f has it.
// Folders that cannot be read are in the error, which names all of them; the
// files beside them are returned.
func (s Selection) Walk(ctx context.Context, root string) ([]string, error) {
	ignored, err := parseFind(s.Ignore, s.Origin)
	if err != nil {
		return nil, err
	}
	w := walker{root: root, ignored: ignored}
	if ignored != nil { // find tests where it starts, too: -type d leaves nothing
		info, err := os.Stat(root)
		if err != nil {
			return nil, fmt.Errorf("looking for files: %w", err)
		}
		if ignored(".", fs.FileInfoToDirEntry(info)) {
			return nil, nil
		}
	}
	if s.Git {
		if w.known, err = tracked(ctx, s.Runner, root); err != nil {
			return nil, err
		}
	}
	err = w.folder(ctx, ".")
	slices.Sort(w.files)
	return w.files, err
}

// WalkAll is Walk without the folders that are left out: every regular file
// below dir, as find DIR -type f has it.
func WalkAll(ctx context.Context, root, dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(root, dir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	w := walker{root: root, all: true}
	err := w.folder(ctx, path.Clean(dir))
	slices.Sort(w.files)
	return w.files, err
}

type walker struct {
	root    string
	ignored findExpr
	known   map[string]bool // nil: all
	all     bool
	files   []string
}

func (w *walker) folder(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(w.root, filepath.FromSlash(dir)))
	if err != nil {
		return fmt.Errorf("looking for files: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if w.skip(dir, name, e) {
			continue
		}
		switch {
		case e.IsDir():
			errs = append(errs, w.folder(ctx, name))
		case e.Type().IsRegular() && (w.known == nil || w.known[name]):
			w.files = append(w.files, name)
		}
	}
	return errors.Join(errs...)
}

func (w *walker) skip(dir, name string, e fs.DirEntry) bool {
	if w.all {
		return false
	}
	return dir == "." && slices.Contains(pruned(), e.Name()) || w.ignored != nil && w.ignored("./"+name, e)
}

// tracked asks git for what it tracks and what it would track.
func tracked(ctx context.Context, r run.Runner, root string) (map[string]bool, error) {
	out, err := run.Output(ctx, r, run.Command{Args: []string{"git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"}, Dir: root})
	if err != nil {
		return nil, fmt.Errorf("asking git for the files of the tree: %w", err)
	}
	files := map[string]bool{}
	for name := range strings.SplitSeq(out, "\x00") {
		files[name] = true
	}
	return files, nil
}

// Named returns a selector of files by patterns of their names, as find -name
// has them; a pattern with ! before it leaves files out again.
func Named(patterns ...string) func(string) bool {
	return func(file string) bool {
		base, chosen := path.Base(file), false
		for _, p := range patterns {
			not := strings.HasPrefix(p, "!")
			if ok, _ := path.Match(strings.TrimPrefix(p, "!"), base); ok {
				chosen = !not
			}
		}
		return chosen
	}
}
