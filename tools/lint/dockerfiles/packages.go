// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfiles

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// fault is a rule that a command breaks.
type fault struct{ code, detail string }

// callFaults checks one simple command of a RUN instruction.
func callFaults(c call) []fault {
	var faults []fault
	add := func(bad bool, code, detail string) {
		if bad {
			faults = append(faults, fault{code, detail})
		}
	}
	add(c.is("ssh", "vim", "shutdown", "service", "ps", "free", "top", "kill", "mount", "ifconfig"), "DL3001", c.name)
	add(c.is("cd"), "DL3003", "")
	add(c.is("sudo"), "DL3004", "")
	add(c.is("apt"), "DL3027", "")
	add(c.is("ln") && slices.ContainsFunc(c.args, func(a string) bool { return a == "/bin/sh" }), "DL4005", "")
	add(c.is("useradd") && !c.has("-l", "--no-log-init") && highID(c), "DL3046", "")
	add(c.is("wget") && !c.has("-q", "--quiet", "-o", "--output-file", "-a", "--append-output", "--progress", "--no-verbose", "-nv"), "DL3047", "")
	switch c.name {
	case "apt-get":
		faults = append(faults, aptGet(c)...)
	case "yum":
		faults = append(faults, rpms(c, "DL3030", "DL3033")...)
	case "dnf", "microdnf", "dnf5":
		faults = append(faults, rpms(c, "DL3038", "DL3041")...)
	case "zypper":
		faults = append(faults, zypper(c)...)
	case "apk":
		faults = append(faults, apk(c)...)
	case "npm":
		faults = append(faults, npm(c)...)
	case "gem":
		faults = append(faults, gem(c)...)
	case "go":
		faults = append(faults, goInstall(c)...)
	default:
		if p, ok := pipCall(c); ok {
			faults = append(faults, pip(p)...)
		}
	}
	return faults
}

// unpinned is the fault of the first package that takes any version.
func unpinned(code string, packages []string, pinned func(string) bool) []fault {
	for _, p := range packages {
		if !pinned(p) {
			return []fault{{code, p}}
		}
	}
	return nil
}

// after are the words that follow a subcommand; nil when it is another.
func after(words []string, subs ...string) []string {
	if len(words) == 0 || !slices.Contains(subs, words[0]) {
		return nil
	}
	return words[1:]
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

func highID(c call) bool {
	for i, a := range c.args {
		value, long := strings.CutPrefix(a, "--uid=")
		if !long {
			if a != "-u" && a != "--uid" || i+1 >= len(c.args) {
				continue
			}
			value = c.args[i+1]
		}
		if n, err := strconv.ParseUint(value, 10, 64); err == nil && n > 99_999 {
			return true
		}
	}
	return false
}

func aptGet(c call) []fault {
	if !slices.Contains(c.words("-t", "--target-release", "--default-release", "-o", "--option", "-c", "--config-file", "-a"), "install") {
		return nil
	}
	words := c.words("-t", "--target-release", "--default-release", "-o", "--option", "-c", "--config-file", "-a")
	faults := unpinned("DL3008", words[slices.Index(words, "install")+1:], func(p string) bool {
		return containsAny(p, "=", "/") || strings.HasSuffix(p, ".deb")
	})
	if !c.has("-y", "--yes", "--assume-yes") && c.count('q') < 2 && !slices.Contains(c.args, "-q=2") && !c.has("-qq") {
		faults = append(faults, fault{"DL3014", ""})
	}
	without := slices.ContainsFunc(c.args, func(a string) bool {
		key, value, ok := strings.Cut(strings.ToLower(strings.TrimPrefix(a, "-o")), "=")
		return ok && key == "apt::install-recommends" && slices.Contains([]string{"false", "0", "no", "off"}, value)
	})
	if !c.has("--no-install-recommends") && !without {
		faults = append(faults, fault{"DL3015", ""})
	}
	return faults
}

func rpms(c call, ask, pin string) []fault {
	words := c.words("--setopt", "--enablerepo", "--disablerepo", "--installroot", "-c", "--releasever", "-x")
	packages, module := after(words, "install", "groupinstall", "localinstall", "reinstall"), false
	if rest := after(words, "module"); rest != nil {
		packages, module = after(rest, "install"), true
	}
	if packages == nil {
		return nil
	}
	var faults []fault
	if !c.has("-y", "--assumeyes") {
		faults = append(faults, fault{ask, ""})
	}
	if words[0] == "groupinstall" || words[0] == "reinstall" {
		return faults
	}
	return append(faults, unpinned(pin, packages, func(p string) bool {
		if module {
			return strings.Contains(p, ":")
		}
		return strings.Contains(p, "-") || strings.HasSuffix(p, ".rpm") || containsAny(p, "/", "=")
	})...)
}

func zypper(c call) []fault {
	words := c.words("-t", "--type", "-r", "--repo", "--from", "-R", "--root")
	var faults []fault
	if after(words, "install", "in", "remove", "rm", "source-install", "si", "patch") != nil &&
		!c.has("-n", "--non-interactive", "--no-confirm", "-y") {
		faults = append(faults, fault{"DL3034", ""})
	}
	if after(words, "dist-upgrade", "dup") != nil {
		faults = append(faults, fault{"DL3035", ""})
	}
	return append(faults, unpinned("DL3037", after(words, "install", "in"), func(p string) bool {
		return containsAny(p, "=", ">", "<") || strings.HasSuffix(p, ".rpm")
	})...)
}

func apk(c call) []fault {
	words := c.words("-t", "--virtual", "-X", "--repository", "-p", "--root", "--keys-dir", "--repositories-file", "--wait", "--arch", "--cache-dir")
	return unpinned("DL3018", after(words, "add"), func(p string) bool {
		return containsAny(p, "=", "~", "<", ">") || strings.HasSuffix(p, ".apk") || strings.HasPrefix(p, "!")
	})
}

func npm(c call) []fault {
	words := c.words("--registry", "--loglevel", "--prefix", "--cache", "--userconfig", "--tag", "-w", "--workspace")
	return unpinned("DL3016", after(words, "install"), func(p string) bool {
		local := containsAny(p, "://", ".tgz", ".tar") || strings.HasPrefix(p, ".") || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "file:")
		if strings.HasPrefix(p, "git") && strings.Contains(p, "://") || strings.HasPrefix(p, "git@") {
			return strings.Contains(p, "#")
		}
		scoped := strings.TrimPrefix(p, "@")
		return local || strings.Contains(scoped, "@") || strings.Contains(p, "#")
	})
}

func gem(c call) []fault {
	if c.has("-v", "--version") {
		return nil
	}
	if end := slices.Index(c.args, "--"); end >= 0 { // options of what is built follow
		c.args = c.args[:end]
	}
	packages := after(c.words("--source", "-s", "--install-dir", "-i", "--bindir", "-n", "--platform", "--document", "-P", "--trust-policy"), "install", "i")
	return unpinned("DL3028", packages, func(p string) bool { return strings.Contains(p, ":") || strings.HasSuffix(p, ".gem") })
}

func goInstall(c call) []fault {
	words := c.words("-tags", "-ldflags", "-gcflags", "-asmflags", "-mod", "-modfile", "-o", "-p", "-C")
	return unpinned("DL3062", after(words, "install"), func(p string) bool {
		first, _, _ := strings.Cut(p, "/")
		if !strings.Contains(first, ".") || strings.Trim(first, ".") == "" || strings.HasSuffix(first, ".go") {
			return true // of the module at hand, or of Go itself
		}
		_, version, ok := strings.Cut(p, "@")
		return ok && version != "" && version != "latest"
	})
}

// pipCall is a call of pip, also as python -m pip.
func pipCall(c call) (call, bool) {
	base := path.Base(c.name)
	if base == "pip" || strings.HasPrefix(base, "pip") && strings.Trim(base[3:], "0123456789.") == "" {
		return c, true
	}
	if strings.HasPrefix(base, "python") && strings.Trim(base[6:], "0123456789.") == "" {
		for i, a := range c.args {
			if a == "-m" && i+1 < len(c.args) && c.args[i+1] == "pip" {
				return call{name: "pip", args: c.args[i+2:], env: c.env}, true
			}
			if !strings.HasPrefix(a, "-") {
				break
			}
		}
	}
	return call{}, false
}

func pip(c call) []fault {
	if c.has("-r", "--requirement", "-c", "--constraint", "--group") {
		return nil
	}
	words := c.words("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-t", "--target", "--prefix", "--root", "--platform",
		"--python-version", "--implementation", "--abi", "--src", "--upgrade-strategy", "--progress-bar", "--proxy", "--retries", "--timeout",
		"--trusted-host", "--cert", "--client-cert", "--cache-dir", "--log", "--exists-action", "--global-option", "--config-settings",
		"--install-option", "--no-binary", "--only-binary", "--python", "--use-feature", "--use-deprecated", "--keyring-provider", "--report", "-C")
	return unpinned("DL3013", after(words, "install"), func(p string) bool {
		local := strings.HasPrefix(p, ".") || containsAny(p, "/", "://") || strings.HasSuffix(p, ".whl") || strings.HasSuffix(p, ".tar.gz") || strings.HasSuffix(p, ".zip")
		return local || containsAny(p, "==", ">=", "<=", "~=", "!=", ">", "<", "@")
	})
}
