// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ContentKey names the content of the work tree: the tree of the commit and,
// for each path that differs from it, what is there now. Equal content gives
// an equal key on every machine; a clean tree is not read at all.
//
// Files that git ignores are not covered. Where they may matter (a compiler
// reads them), use Walk.
func (f Facts) ContentKey(ctx context.Context) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "tree %s\n", f.Tree)
	paths := make([]string, 0, len(f.Changes))
	for _, c := range f.Changes {
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("reading the changes of %q: %w", f.Root, err)
		}
		if err := contentOf(ctx, sum, f.Root, path); err != nil {
			return "", fmt.Errorf("reading the change of %q: %w", path, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func contentOf(ctx context.Context, w io.Writer, root, path string) error {
	full := filepath.Join(root, filepath.FromSlash(path))
	info, err := os.Lstat(full)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(w, "gone %q\n", path)
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case info.IsDir(): // a nested repository, or a submodule
		return contentOfFolder(ctx, w, root, strings.TrimSuffix(path, "/"))
	case info.Mode()&fs.ModeSymlink != 0:
		text, err := os.Readlink(full)
		fmt.Fprintf(w, "link %q %q\n", path, text)
		return err
	case info.Mode().IsRegular():
		// git tracks one bit of the mode.
		fmt.Fprintf(w, "file %q %t %d\n", path, info.Mode()&0o100 != 0, info.Size())
		return copyFile(w, full)
	}
	fmt.Fprintf(w, "other %q %v\n", path, info.Mode().Type())
	return nil
}

func contentOfFolder(ctx context.Context, w io.Writer, root, path string) error {
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == ".git" {
			continue
		}
		if err := contentOf(ctx, w, root, path+"/"+entry.Name()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func copyFile(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}
