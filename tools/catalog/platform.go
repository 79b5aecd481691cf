// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Platform is what a program or an image runs on, in OCI's words.
type Platform struct{ OS, Arch, Variant string }

// String is os/arch or os/arch/variant.
func (p Platform) String() string {
	if p.Variant == "" {
		return p.OS + "/" + p.Arch
	}
	return p.OS + "/" + p.Arch + "/" + p.Variant
}

// MarshalText writes a platform as String does.
func (p Platform) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// goPlatforms is what Go compiles for: the output of `go tool dist list`. A
// test compares the two.
const goPlatforms = `aix/ppc64 android/386 android/amd64 android/arm android/arm64 darwin/amd64 darwin/arm64
dragonfly/amd64 freebsd/386 freebsd/amd64 freebsd/arm freebsd/arm64 illumos/amd64 ios/amd64 ios/arm64 js/wasm linux/386
linux/amd64 linux/arm linux/arm64 linux/loong64 linux/mips linux/mips64 linux/mips64le linux/mipsle linux/ppc64
linux/ppc64le linux/riscv64 linux/s390x netbsd/386 netbsd/amd64 netbsd/arm netbsd/arm64 openbsd/386 openbsd/amd64
openbsd/arm openbsd/arm64 openbsd/ppc64 openbsd/riscv64 plan9/386 plan9/amd64 plan9/arm solaris/amd64 wasip1/wasm
windows/386 windows/amd64 windows/arm64`

// machineNames are what others call an architecture, for suggestions.
func machineNames() map[string]string {
	return map[string]string{
		"x86_64": "amd64", "x86-64": "amd64", "x64": "amd64", "intel": "amd64", "aarch64": "arm64", "armv8": "arm64", "arm64v8": "arm64",
		"armhf": "arm/v7", "armv7": "arm/v7", "armv7l": "arm/v7", "armv6": "arm/v6", "armel": "arm/v6", "i386": "386", "i686": "386", "x86": "386",
		"ppc64el": "ppc64le", "powerpc64le": "ppc64le", "riscv": "riscv64", "macos": "darwin", "osx": "darwin", "win": "windows",
	}
}

// variantsOf lists the variants that OCI knows of an architecture. The first
// one is what the plain architecture means, as containerd normalises it.
// Source: image-spec, "Platform Variants".
func variantsOf(arch string) []string {
	switch arch {
	case "arm":
		return []string{"v7", "v6", "v5"}
	case "arm64":
		return []string{"v8"}
	case "amd64":
		return []string{"v1", "v2", "v3", "v4"}
	}
	return nil
}

// ParsePlatform reads os/arch or os/arch/variant and holds it against what Go
// compiles for. A variant that the plain architecture means anyway is dropped,
// except for arm, where it is said always: linux/arm64/v8 is linux/arm64, and
// linux/arm is linux/arm/v7.
func ParsePlatform(text string) (Platform, error) {
	parts := strings.Split(text, "/")
	known := strings.Fields(goPlatforms)
	if len(parts) < 2 || len(parts) > 3 {
		return Platform{}, fmt.Errorf("platform %q is not of the form os/arch or os/arch/variant%s", text, platformHint(text, known))
	}
	p := Platform{OS: parts[0], Arch: parts[1]}
	if !slices.Contains(known, p.String()) {
		return Platform{}, fmt.Errorf("platform %q is not known%s", text, platformHint(p.String(), known))
	}
	variants := variantsOf(p.Arch)
	if len(parts) == 3 {
		p.Variant = parts[2]
		if !slices.Contains(variants, p.Variant) {
			return Platform{}, fmt.Errorf("platform %q is not known: %s", text, variantHint(p.Arch, variants))
		}
	}
	switch {
	case p.Arch == "arm" && p.Variant == "":
		p.Variant = variants[0]
	case p.Arch != "arm" && len(variants) > 0 && p.Variant == variants[0]:
		p.Variant = ""
	}
	return p, nil
}

func variantHint(arch string, variants []string) string {
	if len(variants) == 0 {
		return arch + " has no variants"
	}
	return fmt.Sprintf("%s has the variants %s", arch, strings.Join(variants, ", "))
}

// platformHint offers a platform for one that is not known.
func platformHint(text string, known []string) string {
	system, arch, both := strings.Cut(text, "/")
	if !both { // "arm64", "linux"
		system, arch = "linux", text
	}
	other := machineNames()
	if name, ok := other[strings.ToLower(arch)]; ok {
		arch = name
	}
	if name, ok := other[strings.ToLower(system)]; ok {
		system = name
	}
	if full := strings.ToLower(system + "/" + arch); slices.Contains(known, full) || strings.HasPrefix(full, "linux/arm/") {
		return fmt.Sprintf("; did you mean %q?", full)
	}
	if near := nearest(text, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; examples: linux/amd64, linux/arm64, linux/arm/v7"
}

// ParsePlatforms reads a list of image platforms separated by commas, as in
// DOCKER_ARCHITECTURES. Spaces around a platform and empty items are ignored,
// duplicates are dropped, the order is kept. All problems come at once; the
// caller says which setting the list came from.
func ParsePlatforms(list string) ([]Platform, error) {
	var platforms []Platform
	var problems []error
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		p, err := parseImagePlatform(item)
		if err != nil {
			problems = append(problems, err)
		} else if !slices.Contains(platforms, p) {
			platforms = append(platforms, p)
		}
	}
	if len(platforms) == 0 && len(problems) == 0 {
		problems = append(problems, errors.New("no platform is named; write os/arch separated by commas, such as linux/amd64,linux/arm64"))
	}
	return platforms, fail.With(fail.Usage, errors.Join(problems...))
}

func parseImagePlatform(item string) (Platform, error) {
	if words := strings.Fields(item); len(words) > 1 {
		return Platform{}, fmt.Errorf("platform %q has white space in it: platforms are separated by commas; try %q", item, strings.Join(words, ","))
	}
	p, err := ParsePlatform(item)
	if err == nil && p.OS != "linux" {
		return Platform{}, fmt.Errorf("platform %q: images are made for linux; for a program alone use TARGET_OS=%s", item, p.OS)
	}
	return p, err
}

// systems are the operating systems that Go compiles for.
func systems() []string {
	var names []string
	for pair := range strings.FieldsSeq(goPlatforms) {
		if system, _, _ := strings.Cut(pair, "/"); !slices.Contains(names, system) {
			names = append(names, system)
		}
	}
	return names
}
