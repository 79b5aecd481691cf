// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/version"
)

// verify looks at the binaries of a batch before they are put in place: each is
// there, runs on the platform, and holds the version stamps.
//
// The stamps are looked for in the bytes of the file. Go's own build
// information would name the linker flags, but not with -trimpath, and a flag
// that was given is no proof that it had an effect: for a variable of another
// name the linker does nothing and says nothing.
func (r Request) verify(ctx context.Context, w *watch, s *stage, batch []unit) ([]Binary, error) {
	made := make([]Binary, len(batch))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, u := range batch {
		group.Go(func() error {
			var err error
			var ok bool
			if made[i], ok = w.reused(s, u); !ok {
				made[i], err = r.inspect(ctx, s.file(u.base), u)
			}
			made[i].Name, made[i].Path = u.Name, u.dest
			if err != nil {
				return fmt.Errorf("verifying %s: %w", u.Name, err)
			}
			return nil
		})
	}
	return made, group.Wait()
}

func (r Request) inspect(ctx context.Context, path string, u unit) (Binary, error) {
	var b Binary
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, fmt.Errorf("go build ended well but made no binary of package %s; see whether GOBUILDFLAGS or GOFLAGS keep it from writing", u.Package.Path)
	}
	if err != nil {
		return b, err
	}
	b.Size = info.Size()
	if err := checkMachine(path, r.Platform, r.mustBeStatic(u)); err != nil {
		return b, err
	}
	stamps := r.checkable(u.given)
	leaks := r.machinePaths(u.flags)
	patterns := slices.Clone(leaks)
	for _, stamp := range stamps {
		patterns = append(patterns, stamp.Value, stamp.Package()+".")
	}
	sum, found, err := scan(ctx, path, patterns)
	if err != nil {
		return b, err
	}
	b.SHA256 = sum
	for _, leak := range leaks {
		if found[leak] {
			b.Leaks = append(b.Leaks, leak)
		}
	}
	b.Stamped, err = r.checkStamps(ctx, u, stamps, found)
	return b, err
}

// unmistakable is the length from which a value does not stand in a Go binary
// by chance; "Clean" and "linux" do.
const unmistakable = 6

// checkable are the stamps whose presence can be seen: long enough, of a
// package whose name shows that it is linked, and not set again by the user.
func (r Request) checkable(given []string) version.Stamps {
	var out version.Stamps
	for _, s := range r.Stamps {
		again := slices.ContainsFunc(given, func(w string) bool {
			return strings.HasPrefix(strings.TrimPrefix(strings.TrimLeft(w, "-"), "X="), s.Symbol+"=")
		})
		if !again && len(s.Value) >= unmistakable && s.Value != version.Unknown && s.Package() != "main" {
			out = append(out, s)
		}
	}
	return out
}

// checkStamps is false for a program that does not use the stamped package. One
// that does must hold the version and the revision.
func (r Request) checkStamps(ctx context.Context, u unit, stamps version.Stamps, found map[string]bool) (bool, error) {
	stamped := false
	for _, s := range stamps {
		if found[s.Value] {
			stamped = stamped || found[s.Package()+"."]
			continue
		}
		if n := s.Name(); n != version.Version && n != version.Revision {
			continue
		}
		// The table of function names, which -s leaves there, shows most
		// packages that are linked; Go knows for sure, and costs a process.
		if !found[s.Package()+"."] || !r.links(ctx, u, s.Package()) {
			continue
		}
		return false, fmt.Errorf("%s=%q did not reach the binary, which would call itself %q; see whether the package has this variable, "+
			"as a string that nothing else sets", s.Symbol, s.Value, version.Unknown)
	}
	return stamped, nil
}

// links tells whether a package is part of a program. When Go does not answer,
// it is taken to be: a check that cannot be made must not pass.
func (r Request) links(ctx context.Context, u unit, pkg string) bool {
	args := slices.Concat([]string{r.GoBinary, "list", "-deps"}, u.flags, []string{u.path})
	out, err := run.Output(ctx, r.Runner, run.Command{Args: args, Dir: r.Source.Dir, Env: r.environ()})
	return err != nil || slices.Contains(strings.Split(out, "\n"), pkg)
}

// machinePaths are folders whose names tell who built a binary and where. A
// path that the user's own flags hold is meant to be there.
func (r Request) machinePaths(flags []string) []string {
	if !slices.Contains(flags, "-trimpath") || slices.Contains(flags, "-trimpath=false") {
		return nil
	}
	env := r.baseEnv()
	var out []string
	for _, dir := range []string{r.Source.Dir, r.OutDir, moduleCache(env), lookup(env, "HOME")} {
		// A path of one element, such as /src, may be a string of the program.
		if strings.Count(filepath.Clean(dir), "/") < 2 || slices.Contains(out, dir) {
			continue
		}
		if !slices.ContainsFunc(flags, func(f string) bool { return strings.Contains(f, dir) }) {
			out = append(out, dir)
		}
	}
	return out
}

func (r Request) mustBeStatic(u unit) bool {
	return !r.Dynamic && r.Platform.OS == "linux" &&
		!slices.ContainsFunc(u.flags, func(f string) bool { return strings.Contains(f, "buildmode") || strings.Contains(f, "linkmode") })
}
