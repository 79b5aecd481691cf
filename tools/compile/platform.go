// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"regexp"
	"strings"
)

// Platform is what a binary runs on, in OCI's words: os/arch[/variant].
type Platform struct{ OS, Arch, Variant string }

func (p Platform) String() string {
	if p.Variant == "" {
		return p.OS + "/" + p.Arch
	}
	return p.OS + "/" + p.Arch + "/" + p.Variant
}

// ParsePlatform reads os/arch or os/arch/variant.
func ParsePlatform(s string) (Platform, error) {
	parts := strings.Split(s, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return Platform{}, usage("reading platform %q: write os/arch or os/arch/variant, such as linux/arm64", s)
	}
	p := Platform{OS: parts[0], Arch: parts[1]}
	if len(parts) == 3 {
		p.Variant = parts[2]
	}
	return p, p.check()
}

var platformWord = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

func (p Platform) check() error {
	if !platformWord.MatchString(p.OS) || !platformWord.MatchString(p.Arch) {
		return usage("reading platform %q: write os/arch, such as linux/arm64", p)
	}
	if p.Variant == "" || p.level() != "" {
		return nil
	}
	names := []string{"none"}
	if _, _, known := levels(p.Arch); known != nil {
		names = nil
		for _, pair := range known {
			names = append(names, pair[0])
		}
	}
	return usage("reading platform %q: %s has no variant %q; known: %s", p, p.Arch, p.Variant, strings.Join(names, ", "))
}

// levels maps the variants of an architecture to the level that Go builds for,
// names the variable that holds it, and the default: the oldest that Istio
// supports. OCI's v8 of arm64 is Go's v8.0.
func levels(arch string) (variable, fallback string, known [][2]string) {
	switch arch {
	case "arm":
		return "GOARM", "7", [][2]string{{"v5", "5"}, {"v6", "6"}, {"v7", "7"}}
	case "amd64":
		return "GOAMD64", "v1", [][2]string{{"v1", "v1"}, {"v2", "v2"}, {"v3", "v3"}, {"v4", "v4"}}
	case "arm64":
		return "GOARM64", "v8.0", [][2]string{
			{"v8", "v8.0"}, {"v8.0", "v8.0"}, {"v8.1", "v8.1"}, {"v8.2", "v8.2"}, {"v8.3", "v8.3"}, {"v8.4", "v8.4"},
			{"v8.5", "v8.5"}, {"v9", "v9.0"}, {"v9.0", "v9.0"},
		}
	}
	return "", "", nil
}

// level is what Go calls the platform's variant, "" when there is none or Go
// does not know it.
func (p Platform) level() string {
	_, _, known := levels(p.Arch)
	for _, pair := range known {
		if pair[0] == p.Variant {
			return pair[1]
		}
	}
	return ""
}

// environ is what tells Go the platform. All of it is set, so nothing that was
// meant for another build is taken from base; but a level in base stays when
// the platform names none.
func (p Platform) environ(base []string) []string {
	env := []string{"GOOS=" + p.OS, "GOARCH=" + p.Arch}
	variable, fallback, _ := levels(p.Arch)
	if variable == "" {
		return env
	}
	level := p.level()
	if level == "" {
		level = lookup(base, variable)
	}
	if level == "" {
		level = fallback
	}
	return append(env, variable+"="+level)
}

// lookup returns the value of a variable in an environment; the last wins.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}
