// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/version"
)

// userFlags are what GOFLAGS and GOBUILDFLAGS ask for, taken apart, because Go
// takes the last -tags and -ldflags alone and ours would undo theirs.
type userFlags struct {
	tags    []string
	ldflags []string // words for the linker
	gcflags []string // values of -gcflags
	rest    []string // everything else of GOBUILDFLAGS, as it was
	all     []string // every flag of both, -name=value where the value is known
}

// takesValue is true for the flags of `go build` whose value may stand in the
// next word (`go help build`).
func takesValue(name string) bool {
	switch name {
	case "C", "p", "asmflags", "buildmode", "compiler", "covermode", "coverpkg", "gccgoflags", "gcflags",
		"installsuffix", "ldflags", "mod", "modfile", "o", "overlay", "pgo", "pkgdir", "tags", "toolexec":
		return true
	}
	return false
}

func readUserFlags(goflags string, words []string) (userFlags, error) {
	var u userFlags
	env, err := version.Split("GOFLAGS", goflags)
	if err != nil {
		return u, fail.With(fail.Usage, err)
	}
	for _, w := range env {
		name, value, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if _, err := u.take("GOFLAGS", name, value); err != nil {
			return u, err
		}
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") {
			return u, usage("reading GOBUILDFLAGS: %q is not a flag; packages are chosen by the goal", w)
		}
		name, value, has := strings.Cut(strings.TrimLeft(w, "-"), "=")
		spelled := []string{w}
		if !has && takesValue(name) {
			if i++; i == len(words) {
				return u, usage("reading GOBUILDFLAGS: %s needs a value", w)
			}
			value, spelled = words[i], append(spelled, words[i])
		}
		taken, err := u.take("GOBUILDFLAGS", name, value)
		if err != nil {
			return u, err
		}
		if !taken {
			u.rest = append(u.rest, spelled...)
		}
	}
	return u, nil
}

// take notes one flag and tells whether it is one that we pass ourselves.
func (u *userFlags) take(origin, name, value string) (bool, error) {
	u.all = append(u.all, "-"+name+"="+value)
	switch name {
	case "tags":
		u.tags = append(u.tags, splitTags(value)...)
	case "ldflags":
		if !strings.HasPrefix(strings.TrimLeft(value, " '\""), "-") && strings.Contains(value, "=") {
			return false, usage("reading %s: -ldflags=%s has a package pattern; set LDFLAGS, which is for all binaries", origin, value)
		}
		words, err := version.Split(origin+" -ldflags", value)
		if err != nil {
			return false, fail.With(fail.Usage, err)
		}
		u.ldflags = append(u.ldflags, words...)
	case "gcflags":
		u.gcflags = append(u.gcflags, value)
	case "o", "C":
		return false, usage("reading %s: -%s cannot be set, since it is decided by the goal", origin, name)
	case "n":
		return false, usage("reading %s: -n would build nothing; use make -n to see what will be done", origin)
	default:
		return false, nil
	}
	return true, nil
}

func splitTags(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// flags returns the arguments of go build that decide what the binaries are:
// all but -x, -p, -o and the packages.
func (r Request) flags(u userFlags, tags []string) ([]string, error) {
	link, err := version.Join(slices.Concat(r.linkWords(), r.Stamps.Flags(), u.ldflags, r.LDFlags))
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	args := []string{"-buildvcs=false"}
	if r.Source.InModuleCache {
		// The cache is read-only and complete; a GOFLAGS meant for the user's
		// own module (-mod=mod, -mod=vendor) has no place there.
		args = append(args, "-mod=readonly")
	}
	if !r.Debug {
		args = append(args, "-trimpath")
	}
	for _, g := range r.compilerFlags(u) {
		args = append(args, "-gcflags="+g)
	}
	if len(tags) > 0 {
		args = append(args, "-tags="+strings.Join(tags, ","))
	}
	if link != "" {
		args = append(args, "-ldflags="+link)
	}
	return append(args, u.rest...), nil
}

func (r Request) linkWords() []string {
	var words []string
	if !r.Dynamic {
		words = append(words, "-extldflags", "-static")
	}
	if !r.Debug {
		words = append(words, "-s", "-w")
	}
	return words
}

const debugFlags = "-N -l"

// compilerFlags are the values of -gcflags. Go gives a package the flags of
// the last pattern that matches, so in a debug build each carries -N -l.
func (r Request) compilerFlags(u userFlags) []string {
	given := u.gcflags
	if r.GCFlags != "" {
		given = append(slices.Clone(given), r.GCFlags)
	}
	if !r.Debug {
		return given
	}
	all := []string{"all=" + debugFlags}
	for _, g := range given {
		pattern, flags := "", g
		if !strings.HasPrefix(strings.TrimSpace(g), "-") {
			if before, after, ok := strings.Cut(g, "="); ok {
				pattern, flags = before+"=", after
			}
		}
		all = append(all, pattern+debugFlags+" "+flags)
	}
	return all
}

// arguments is the whole command for a batch.
func (r Request) arguments(flags []string, out string, paths []string) []string {
	args := []string{r.GoBinary, "build"}
	if r.Verbose {
		args = append(args, "-x")
	}
	if r.Jobs > 0 {
		args = append(args, "-p="+strconv.Itoa(r.Jobs))
	}
	args = append(args, flags...)
	args = append(args, "-o", out)
	return append(args, paths...)
}

// environ is the whole environment of the Go command.
func (r Request) environ() []string {
	base := r.baseEnv()
	extra := append(r.Platform.environ(base), fmt.Sprintf("CGO_ENABLED=%d", btoi(r.CGO)))
	if r.Source.InModuleCache {
		extra = append(extra, "GOWORK=off") // a go.work above the cache is not about it
	}
	return replaceEnv(base, extra)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
