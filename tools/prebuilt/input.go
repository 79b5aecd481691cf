// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"path/filepath"
	"slices"
	"strings"
)

// Input is all that decides which Envoy and ztunnel are wanted. The names and
// defaults are those of bin/init.sh and bin/build_ztunnel.sh of istio/istio;
// as there, an empty value counts as unset.
type Input struct {
	Lookup         func(name string) string // settings and environment; "" for unset
	Pins           map[string]Pin           // istio.deps
	Root           string                   // the repository, where relative paths start
	TargetOut      string                   // absolute
	TargetOutLinux string                   // absolute
	Arch           string                   // TARGET_ARCH
	LocalOS        string                   // GOOS_LOCAL
}

// choice is a value and the setting that gave it, "" for a default of ours.
type choice struct{ value, origin string }

// first returns the value of the first of the settings that is set.
func (in Input) first(otherwise choice, names ...string) choice {
	for _, name := range names {
		if v := in.Lookup(name); v != "" {
			return choice{v, name}
		}
	}
	return otherwise
}

// on is the one truth of BUILD_ZTUNNEL and DEBUG_IMAGE: everything but unset
// and empty.
func (in Input) on(name string) bool { return in.Lookup(name) != "" }

// version is the version that a setting or else istio.deps gives.
func (in Input) version(pin string, names ...string) choice {
	p := in.Pins[pin]
	return in.first(choice{p.Version, p.Origin}, names...)
}

// joined is a URL below a base.
func joined(base choice, file string, version choice) choice {
	origins := slices.DeleteFunc([]string{base.origin, version.origin}, func(s string) bool { return s == "" })
	return choice{strings.TrimRight(base.value, "/") + "/" + file, strings.Join(origins, " and ")}
}

// place is where a program goes: PATH, else DIR/NAME, by settings that begin
// with prefix. named is true when the user gave any of the three.
func (in Input) place(prefix, dir, name string) (path string, named bool) {
	d := in.first(choice{dir, ""}, prefix+"_DIR")
	n := in.first(choice{name, ""}, prefix+"_NAME")
	p := in.first(choice{filepath.Join(d.value, n.value), ""}, prefix+"_PATH")
	return in.abs(p.value), d.origin != "" || n.origin != "" || p.origin != ""
}

func (in Input) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(in.Root, path)
}

// checkVersion refuses a version that cannot be a part of a URL and of a file
// name. It is called where the version is used.
func checkVersion(what string, v choice, names string) error {
	switch {
	case v.value == "":
		return usage("there is no version of %s: istio.deps does not give it, and %s is not set", what, names)
	case strings.ContainsAny(v.value, "/\\ \t\r\n?#"):
		return usage("the version of %s is %q, by %s: it becomes part of a file name, and cannot hold a space or any of /\\?#", what, v.value, v.origin)
	}
	return nil
}

// check refuses what would put files in the wrong place.
func (in Input) check() error {
	for name, value := range map[string]string{"TARGET_OUT": in.TargetOut, "TARGET_OUT_LINUX": in.TargetOutLinux} {
		if !filepath.IsAbs(value) {
			return usage("%s is %q: it must be an absolute path", name, value)
		}
	}
	if in.Arch == "" || strings.ContainsAny(in.Arch, "/ \t") {
		return usage("TARGET_ARCH is %q: it must be a processor, such as amd64 or arm64", in.Arch)
	}
	return nil
}

// others drops the destination and repeated paths from a list of copies.
func others(dest string, paths ...string) []string {
	var out []string
	for _, p := range paths {
		if p = filepath.Clean(p); p != dest && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
