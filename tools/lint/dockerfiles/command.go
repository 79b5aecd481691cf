// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfiles

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// command checks what an instruction says by itself; ONBUILD comes here too.
// For RUN, it returns the script, and whether it could be read.
func (r *run) command(c instructions.Command, line int) (s script, read bool) {
	switch c := c.(type) {
	case *instructions.RunCommand:
		return r.run(c, line)
	case *instructions.WorkdirCommand:
		if relative(unquote(c.Path)) {
			r.report("DL3000", line, "")
		}
	case *instructions.ExposeCommand:
		for _, p := range c.Ports {
			if !validPorts(p) {
				r.report("DL3011", line, p)
			}
		}
	case *instructions.MaintainerCommand:
		r.report("DL4000", line, "")
	case *instructions.CmdCommand:
		if c.PrependShell {
			r.report("DL3025", line, "CMD")
		}
	case *instructions.EntrypointCommand:
		if c.PrependShell {
			r.report("DL3025", line, "ENTRYPOINT")
		}
	case *instructions.AddCommand:
		for _, source := range c.SourcePaths {
			if source = unquote(source); !isArchive(source) && !isAddress(source) {
				r.report("DL3020", line, source)
				break
			}
		}
	case *instructions.CopyCommand:
		if len(c.SourcePaths)+len(c.SourceContents) > 1 && !strings.HasSuffix(unquote(c.DestPath), "/") {
			r.report("DL3021", line, "")
		}
	case *instructions.LabelCommand:
		r.labels(c, line)
	}
	return script{}, false
}

// validPorts takes 80, 80/tcp, 80-90 and variables.
func validPorts(text string) bool {
	if strings.Contains(text, "$") {
		return true
	}
	text, _, _ = strings.Cut(unquote(text), "/")
	for part := range strings.SplitSeq(text, "-") {
		if n, err := strconv.Atoi(part); err != nil || n < 0 || n > 65535 {
			return false
		}
	}
	return true
}

// isArchive tells what ADD unpacks.
func isArchive(name string) bool {
	return slices.Contains([]string{
		".tar", ".gz", ".tgz", ".bz2", ".tb2", ".tbz", ".tbz2", ".xz", ".txz", ".lz", ".tlz", ".lzma", ".Z", ".tZ", ".tpz", ".zst", ".tzst",
	}, path.Ext(name))
}

// isAddress tells what ADD downloads.
func isAddress(source string) bool {
	for _, prefix := range []string{"http://", "https://", "ftp://", "git://", "git@", "ssh://"} {
		if strings.HasPrefix(source, prefix) {
			return true
		}
	}
	return false
}

func (r *run) run(c *instructions.RunCommand, line int) (s script, read bool) {
	name, posix := r.shell()
	if !posix && c.PrependShell {
		return script{}, false
	}
	s, problem := readScript(c, name)
	if problem != "" {
		r.report("DL1000", line, problem)
		return script{}, false
	}
	if s.pipes && !r.pipefail() {
		r.report("DL4006", line, "")
	}
	reported := map[string]bool{}
	for _, call := range s.calls {
		for _, fault := range callFaults(call) {
			if !reported[fault.code] {
				reported[fault.code] = true
				r.report(fault.code, line, fault.detail)
			}
		}
	}
	r.caches(s, line)
	return s, true
}

// shell is the one that runs what RUN is given. A shell that is none of the
// POSIX family is not read.
func (r *run) shell() (name string, posix bool) {
	name = "sh"
	if len(r.stage.shell) > 0 {
		name = strings.ToLower(path.Base(strings.ReplaceAll(r.stage.shell[0], `\`, "/")))
	} else if r.windows {
		name = "cmd"
	}
	name = strings.TrimSuffix(name, ".exe")
	return name, slices.Contains([]string{"sh", "bash", "ash", "dash", "ksh", "mksh", "zsh", "busybox"}, name)
}

// pipefail tells that SHELL sets the option in a shell that has it.
func (r *run) pipefail() bool {
	words := r.stage.shell
	if len(words) == 0 || !slices.Contains([]string{"bash", "zsh", "ash"}, path.Base(words[0])) {
		return false
	}
	for i, w := range words[1:] {
		option := strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.HasSuffix(w, "o")
		if option && i+2 < len(words) && words[i+2] == "pipefail" {
			return true
		}
	}
	return false
}

// mounted tells that RUN keeps a folder out of the image.
func (r *run) mounted(dirs ...string) bool {
	for _, f := range r.flags {
		options, ok := strings.CutPrefix(f, "--mount=")
		if !ok {
			continue
		}
		kind, target := "bind", ""
		for option := range strings.SplitSeq(options, ",") {
			switch key, value, _ := strings.Cut(option, "="); key {
			case "type":
				kind = value
			case "target", "dst", "destination":
				target = path.Clean(unquote(value))
			}
		}
		if kind != "cache" && kind != "tmpfs" {
			continue
		}
		for _, d := range dirs {
			if target == d || strings.HasPrefix(d, target+"/") || strings.HasPrefix(target, d+"/") {
				return true
			}
		}
	}
	return false
}

// caches checks what package managers leave behind.
func (r *run) caches(s script, line int) {
	some := func(test func(call) bool) bool { return slices.ContainsFunc(s.calls, test) }
	removed := func(dirs ...string) bool {
		return some(func(c call) bool {
			return c.is("rm") && slices.ContainsFunc(c.words(), func(w string) bool {
				return slices.ContainsFunc(dirs, func(d string) bool { return w == d || strings.HasPrefix(w, d+"/") || strings.HasPrefix(w, d+"*") })
			})
		})
	}
	keep := func(code string) { r.stage.left = append(r.stage.left, leftover{code, line}) }

	if some(func(c call) bool { return c.is("apt-get", "apt") && c.sub("update") }) &&
		!removed("/var/lib/apt/lists", "/var/lib/apt") && !r.mounted("/var/lib/apt", "/var/lib/apt/lists") {
		keep("DL3009")
	}
	if some(func(c call) bool { return c.is("yarn") && c.sub("install") }) && !r.mounted("/root/.cache/yarn", "/usr/local/share/.cache/yarn") &&
		!r.mentions("yarn") && !some(func(c call) bool { return c.is("yarn") && slices.Equal(c.words(), []string{"cache", "clean"}) }) {
		keep("DL3060")
	}
	clean := func(names []string, words ...string) bool {
		return some(func(c call) bool {
			return slices.Contains(names, c.name) && c.sub(words...)
		})
	}
	installs := func(names ...string) bool {
		return some(func(c call) bool {
			return slices.Contains(names, c.name) && c.sub("install", "in", "groupinstall", "localinstall", "reinstall", "module")
		})
	}
	if yum := []string{"yum"}; installs(yum...) && !clean(yum, "clean") && !removed("/var/cache/yum") && !r.mounted("/var/cache/yum") {
		r.report("DL3032", line, "")
	}
	if zypper := []string{"zypper"}; installs(zypper...) && !clean(zypper, "clean", "cc") && !removed("/var/cache/zypp") && !r.mounted("/var/cache/zypp") {
		r.report("DL3036", line, "")
	}
	if dnf := []string{"dnf", "microdnf", "dnf5"}; installs(dnf...) && !clean(dnf, "clean") &&
		!removed("/var/cache/dnf", "/var/cache/yum", "/var/cache/libdnf5") && !r.mounted("/var/cache/dnf", "/var/cache/yum", "/var/cache/libdnf5") {
		r.report("DL3040", line, "")
	}
	if some(func(c call) bool { return c.is("apk") && c.sub("add") && !c.has("--no-cache") }) && !r.mounted("/var/cache/apk", "/etc/apk/cache") {
		r.report("DL3019", line, "")
	}
	pip := func(c call) bool {
		c, ok := pipCall(c)
		return ok && c.sub("install") && !c.has("--no-cache-dir") && !slices.ContainsFunc(c.env, func(e string) bool { return strings.HasPrefix(e, "PIP_NO_CACHE_DIR=") })
	}
	if off, _ := r.stage.variable("PIP_NO_CACHE_DIR"); some(pip) && off == "" && !r.mounted("/root/.cache/pip") {
		r.report("DL3042", line, "")
	}
}

// mentions tells that a cache mount of RUN has the word in its target or name.
func (r *run) mentions(word string) bool {
	return slices.ContainsFunc(r.flags, func(f string) bool {
		return strings.HasPrefix(f, "--mount=") && strings.Contains(f, "type=cache") && strings.Contains(f, word)
	})
}
