// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"errors"
	"fmt"
	"go/build"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// unit is one binary on its way.
type unit struct {
	Package
	index int      // in the request
	path  string   // as go build gets it
	tags  []string // sorted, the user's included
	base  string   // file name that `go build -o dir/` gives it
	flags []string // all that decide what it is
	given []string // words for the linker that the user added
	dest  string   // where it goes
}

// plan splits the request into units and the names that cannot be built for
// the platform.
func (r Request) plan(u userFlags) (units []unit, skipped []string, err error) {
	for i, p := range r.Packages {
		tags := slices.Concat(p.Tags, u.tags)
		slices.Sort(tags)
		tags = slices.Compact(tags)
		if why, err := r.excluded(p, tags); err != nil {
			return nil, nil, err
		} else if why != "" {
			if p.Named {
				return nil, nil, usage("building %s for %s: %s", p.Name, r.Platform, why)
			}
			r.Console.Note("slipway: %s is left out of %s: %s", p.Name, r.Platform, why)
			skipped = append(skipped, p.Name)
			continue
		}
		flags, err := r.flags(u, tags)
		if err != nil {
			return nil, nil, fmt.Errorf("building %s: %w", p.Name, err)
		}
		dest := filepath.Join(r.OutDir, p.Output)
		if info, err := os.Lstat(dest); err == nil && info.IsDir() {
			return nil, nil, usage("building %s: there is a folder at %q, where the binary goes", p.Name, dest)
		}
		path := r.localPath(p.Path)
		units = append(units, unit{
			Package: p, index: i, path: path, tags: tags, base: r.outputBase(path), flags: flags,
			given: slices.Concat(u.ldflags, r.LDFlags), dest: dest,
		})
	}
	return units, skipped, nil
}

// batches groups units that one go build can make: the same flags, and no two
// files of one name.
func batches(units []unit) [][]unit {
	var out [][]unit
next:
	for _, u := range units {
		for i, batch := range out {
			sameFlags := slices.Equal(batch[0].flags, u.flags)
			if sameFlags && !slices.ContainsFunc(batch, func(o unit) bool { return o.base == u.base }) {
				out[i] = append(batch, u)
				continue next
			}
		}
		out = append(out, []unit{u})
	}
	return out
}

// localPath writes an import path of the source's own module as ./…, so that
// go build needs no look-up and both forms mean the same.
func (r Request) localPath(p string) string {
	if rest, ok := strings.CutPrefix(p, r.Source.Module); ok && r.Source.Module != "" && (rest == "" || rest[0] == '/') {
		return "." + rest
	}
	return p
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// outputBase is the name of the file that go build makes: the last element of
// the import path that is no major version.
func (r Request) outputBase(p string) string {
	full := p
	if p == "." || strings.HasPrefix(p, "./") {
		full = path.Join(r.Source.Module, p)
	}
	base := path.Base(full)
	if dir := path.Dir(full); majorVersion.MatchString(base) && dir != "." {
		base = path.Base(dir)
	}
	if r.Platform.OS == "windows" {
		base += ".exe"
	}
	return base
}

// excluded tells why a package cannot be built for the platform, "" if it can.
// A package that is not there, or is no program, is an error.
func (r Request) excluded(p Package, tags []string) (string, error) {
	if len(p.OS) > 0 && !slices.Contains(p.OS, r.Platform.OS) {
		return "it is for " + strings.Join(p.OS, ", ") + " only", nil
	}
	local := r.localPath(p.Path)
	if local != "." && !strings.HasPrefix(local, "./") {
		return "", nil // a dependency's: Go will tell
	}
	dir := filepath.Join(r.Source.Dir, filepath.FromSlash(local))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", usage("building %s: there is no package %q in %q; is this the right repository?", p.Name, p.Path, r.Source.Dir)
	}
	pkg, err := r.importDir(dir, r.Platform.OS, tags)
	var none *build.NoGoError
	switch {
	case errors.As(err, &none):
		return r.whyNone(p, dir, tags)
	case err == nil && pkg.Name != "main":
		return "", usage("building %s: package %q is %q and not main, so it is no program", p.Name, p.Path, pkg.Name)
	}
	return "", nil // what is wrong with the files, the compiler says best
}

// whyNone names the systems that a package without files here does have files
// for.
func (r Request) whyNone(p Package, dir string, tags []string) (string, error) {
	var other []string
	for _, os := range []string{"linux", "darwin", "windows", "freebsd"} {
		if _, err := r.importDir(dir, os, tags); err == nil {
			other = append(other, os)
		}
	}
	if len(other) == 0 {
		return "", usage("building %s: %q holds no Go file that is built with the tags %q", p.Name, p.Path, strings.Join(tags, ","))
	}
	return "build constraints make it " + strings.Join(other, ", ") + " only", nil
}

func (r Request) importDir(dir, os string, tags []string) (*build.Package, error) {
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.BuildTags, ctx.CgoEnabled = os, r.Platform.Arch, tags, r.CGO
	return ctx.ImportDir(dir, 0)
}
