// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package toolbin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// Own returns the path of a program of Slipway's own, the one in
// tools/cmd/NAME of the checkout root, and compiles it when its sources have
// changed. Programs lie in the folder cache by the content of their sources, so
// checkouts share them.
func Own(ctx context.Context, r run.Runner, console *ui.Console, cache, root, name string) (string, error) {
	key, err := sourcesKey(root)
	if err != nil {
		return "", fmt.Errorf("reading the sources of the %s program: %w", name, err)
	}
	dir := filepath.Join(cache, "own", name)
	path := filepath.Join(dir, key)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the tool cache: %w", err)
	}
	build, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return "", fmt.Errorf("making the tool cache: %w", err)
	}
	defer func() { _ = os.RemoveAll(build) }()
	console.Note("slipway: compiling its %s program (once, and after a change; a minute or two)", name)
	err = r.Run(ctx, run.Command{
		Args: []string{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(build, name), "./tools/cmd/" + name},
		Dir:  root,
		Env:  run.Environ(os.Environ(), "GOOS=", "GOARCH=", "GOARM=", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0", "GOWORK=off"),
	})
	if err != nil {
		return "", fail.With(fail.Unavailable, fmt.Errorf("compiling the %s program: %w", name, err))
	}
	if err := os.Rename(filepath.Join(build, name), path); err != nil {
		return "", fmt.Errorf("placing the %s program: %w", name, err)
	}
	return path, dropOld(dir, key)
}

// sourcesKey stands for everything that the program may be made of.
func sourcesKey(root string) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	add := func(path string) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		_, _ = fmt.Fprintln(sum, strings.TrimPrefix(path, root))
		_, err = io.Copy(sum, f)
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := add(filepath.Join(root, name)); err != nil {
			return "", err
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "tools"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return add(path)
	})
	return hex.EncodeToString(sum.Sum(nil))[:20], err
}

// keptPrograms is how many versions of a program stay.
const keptPrograms = 3

// dropOld removes programs of older sources. One that is running goes on.
func dropOld(dir, key string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("tidying the tool cache: %w", err)
	}
	newer := map[string]int{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		for _, other := range entries {
			if o, err := other.Info(); err == nil && o.ModTime().After(info.ModTime()) {
				newer[e.Name()]++
			}
		}
		if e.Name() != key && newer[e.Name()] >= keptPrograms {
			_ = os.Remove(filepath.Join(dir, e.Name())) // another run may have done so
		}
	}
	return nil
}
