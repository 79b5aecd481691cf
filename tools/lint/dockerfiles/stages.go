// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfiles

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// stage is what is known of a stage so far.
type stage struct {
	line int
	name string
	base *stage // an earlier stage that it builds on
	used bool   // another stage builds on it

	user     string
	userLine int
	workdir  bool
	shell    []string
	env      map[string]string
	labels   map[string]bool

	commands, entrypoints, healthchecks int
	wget, curl, both                    bool

	archives map[string][]int // lines of COPY by the name that the archive has
	lastRun  *lastRun
	left     []leftover
}

// lastRun is the RUN just above.
type lastRun struct {
	flags string
	chain int
}

// leftover is a finding that only matters in a stage whose files end up in an
// image.
type leftover struct {
	code string
	line int
}

func (r *run) begin(s *stage) {
	s.env, s.labels, s.archives = map[string]string{}, map[string]bool{}, map[string][]int{}
	if b := s.base; b != nil {
		b.used = true
		s.user, s.userLine, s.workdir, s.shell = b.user, b.userLine, b.workdir, b.shell
	}
	r.stages = append(r.stages, s)
	if s.name != "" {
		r.names[strings.ToLower(s.name)] = s
	}
	r.stage = s
}

// lineage yields a stage and those that it builds on. No file has more of them
// on top of each other than the limit, unless it means to keep us busy.
func (s *stage) lineage() iter.Seq[*stage] {
	return func(yield func(*stage) bool) {
		for range 64 {
			if s == nil || !yield(s) {
				return
			}
			s = s.base
		}
	}
}

// variable tells whether a variable is set, and its value.
func (s *stage) variable(name string) (string, bool) {
	for b := range s.lineage() {
		if v, ok := b.env[name]; ok {
			return v, true
		}
	}
	return "", false
}

func (s *stage) labelled(name string) bool {
	for b := range s.lineage() {
		if b.labels[name] {
			return true
		}
	}
	return false
}

// named returns the earlier stage of that name.
func (r *run) named(name string) *stage { return r.names[strings.ToLower(name)] }

func (r *run) from(c *instructions.Stage, line int) {
	s := &stage{line: line, name: c.Name}
	if c.Name != "" && r.named(c.Name) != nil {
		r.report("DL3024", line, c.Name)
	}
	image := strings.Trim(c.BaseName, `"'`)
	if c.Platform != "" && !strings.Contains(c.Platform, "BUILDPLATFORM") && !strings.Contains(c.Platform, "TARGETPLATFORM") {
		r.report("DL3029", line, "")
	}
	s.base = r.named(image)
	// What a variable stands for is not known here, so nothing is said of it.
	if s.base == nil && image != "scratch" && !strings.HasPrefix(image, "$") {
		r.image(image, line)
	}
	r.begin(s)
	if strings.Contains(image, "windows") || strings.Contains(image, "nanoserver") {
		s.shell = []string{"cmd"}
	}
}

// image checks the name of an image that is not made by this file.
func (r *run) image(image string, line int) {
	plain := withoutVariables(image)
	name, digest, _ := strings.Cut(plain, "@")
	tag := ""
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name, tag = name[:colon], name[colon+1:]
	}
	switch {
	case tag == "" && digest == "":
		r.report("DL3006", line, image)
	case tag == "latest" && digest == "":
		r.report("DL3007", line, "")
	}
	registry := "docker.io"
	if host, _, ok := strings.Cut(name, "/"); ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		registry = host
	}
	trusted := r.checker.config.Trusted
	if len(trusted) > 0 && !slices.ContainsFunc(trusted, func(pattern string) bool { return trusts(pattern, registry) }) {
		r.report("DL3026", line, image)
	}
}

// trusts matches a registry with a pattern, in which * is any text.
func trusts(pattern, registry string) bool {
	hub := []string{"docker.io", "hub.docker.com", "index.docker.io"}
	if slices.Contains(hub, registry) && slices.Contains(hub, pattern) {
		return true
	}
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(registry, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// withoutVariables puts a $ in the place of each ${NAME…}, which may hold a
// colon.
func withoutVariables(text string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, "${")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteByte('$')
		depth, end := 1, len(after)
		for i := range len(after) {
			if after[i] == '{' {
				depth++
			} else if after[i] == '}' {
				depth--
			}
			if depth == 0 {
				end = i + 1
				break
			}
		}
		text = after[end:]
	}
}

func (r *run) arg(c *instructions.ArgCommand) {
	if r.stage == nil {
		return
	}
	r.stage.lastRun = nil
	for _, a := range c.Args {
		value := ""
		if a.Value != nil {
			value = *a.Value
		}
		r.stage.env[a.Key] = value
	}
}

// stateful checks what depends on the instructions before, and takes over what
// this one changes.
func (r *run) stateful(c instructions.Command, line int, s script, read bool) {
	st := r.stage
	last := st.lastRun
	st.lastRun = nil
	switch c := c.(type) {
	case *instructions.RunCommand:
		st.lastRun = &lastRun{flags: strings.Join(r.flags, " "), chain: s.chain}
		if read && last != nil && last.flags == st.lastRun.flags && last.chain <= 1 && s.chain <= 1 {
			r.report("DL3059", line, "")
		}
		r.downloads(s, line)
		r.unpacks(s)
	case *instructions.UserCommand:
		st.user, st.userLine = c.User, line
	case *instructions.WorkdirCommand:
		st.workdir = true
	case *instructions.ShellCommand:
		st.shell = c.Shell
	case *instructions.EnvCommand:
		r.env(c, line)
	case *instructions.LabelCommand:
		for _, l := range c.Labels {
			st.labels[strings.Trim(l.Key, `"'`)] = true
		}
	case *instructions.CmdCommand:
		r.again(&st.commands, "DL4003", line)
	case *instructions.EntrypointCommand:
		r.again(&st.entrypoints, "DL4004", line)
	case *instructions.HealthCheckCommand:
		r.again(&st.healthchecks, "DL3012", line)
	case *instructions.CopyCommand:
		r.copied(c, line)
	}
}

func (r *run) again(count *int, code string, line int) {
	if *count++; *count > 1 {
		r.report(code, line, "")
	}
}

func (r *run) env(c *instructions.EnvCommand, line int) {
	if name := r.ownReference(c); name != "" {
		r.report("DL3044", line, name)
	}
	for _, kv := range c.Env {
		r.stage.env[kv.Key] = kv.Value
	}
}

// ownReference is a variable that one ENV both sets, for the first time, and
// uses for another.
func (r *run) ownReference(c *instructions.EnvCommand) string {
	set := map[string]bool{}
	for _, kv := range c.Env {
		set[kv.Key] = true
	}
	for _, kv := range c.Env {
		for _, name := range references(kv.Value) {
			if name == kv.Key || !set[name] {
				continue
			}
			if _, before := r.stage.variable(name); !before {
				return name
			}
		}
	}
	return ""
}

// references are the variables that a text names.
func references(text string) []string {
	var names []string
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '$':
			j := i + 1
			if j < len(text) && text[j] == '{' {
				j++
			}
			end := j
			for end < len(text) && (text[end] == '_' || text[end] >= '0' && text[end] <= '9' || text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
				end++
			}
			if end > j {
				names = append(names, text[j:end])
			}
			i = max(i, end-1)
		}
	}
	return names
}

func (r *run) copied(c *instructions.CopyCommand, line int) {
	st := r.stage
	if dest := unquote(c.DestPath); !st.workdir && relative(dest) {
		r.report("DL3045", line, dest)
	}
	if c.From == "" {
		for _, source := range c.SourcePaths {
			source = unquote(source)
			if !isArchive(source) {
				continue
			}
			name := path.Base(unquote(c.DestPath))
			if !isArchive(name) {
				name = path.Base(source)
			}
			st.archives[name] = append(st.archives[name], line)
		}
		return
	}
	earlier := r.named(c.From)
	number, err := strconv.Atoi(c.From)
	switch {
	case earlier == st:
		r.report("DL3023", line, c.From)
	case earlier != nil, strings.Contains(c.From, ":"), strings.Contains(c.From, "$"):
	case err == nil && number >= 0 && number < len(r.stages)-1:
	default:
		r.report("DL3022", line, c.From)
	}
}

func unquote(text string) string { return strings.Trim(text, `"'`) }

// relative tells a path that the working folder decides.
func relative(p string) bool {
	drive := len(p) > 1 && p[1] == ':'
	return p != "" && p[0] != '/' && p[0] != '\\' && p[0] != '$' && !drive
}

func (r *run) downloads(s script, line int) {
	st := r.stage
	for _, c := range s.calls {
		st.wget = st.wget || c.is("wget")
		st.curl = st.curl || c.is("curl")
	}
	if st.wget && st.curl && !st.both {
		st.both = true
		r.report("DL4001", line, "")
	}
}

func (r *run) unpacks(s script) {
	st := r.stage
	if len(st.archives) == 0 {
		return
	}
	for _, c := range s.calls {
		if !unpacker(c) {
			continue
		}
		for _, a := range c.args {
			base := path.Base(a[strings.LastIndexByte(a, '=')+1:])
			for _, line := range st.archives[base] {
				r.report("DL3010", line, base)
			}
			delete(st.archives, base)
		}
	}
}

func unpacker(c call) bool {
	switch c.name {
	case "tar":
		old := len(c.args) > 0 && !strings.HasPrefix(c.args[0], "-") && strings.Contains(c.args[0], "x")
		return old || c.has("-x", "--extract", "--get")
	case "gunzip", "bunzip2", "unlzma", "unxz", "zgz", "uncompress", "zcat", "gzcat":
		return true
	}
	return false
}

// end checks what only the whole file tells.
func (r *run) end() {
	for i, s := range r.stages {
		if i < len(r.stages)-1 && !s.used {
			continue
		}
		for _, l := range s.left {
			r.report(l.code, l.line, "")
		}
	}
	if len(r.stages) == 0 {
		return
	}
	last := r.stages[len(r.stages)-1]
	if name, _, _ := strings.Cut(unquote(last.user), ":"); name == "root" || name == "0" {
		r.report("DL3002", last.userLine, "")
	}
	checks := 0
	for s := last; s != nil; s = s.base {
		checks += s.healthchecks
	}
	if checks == 0 {
		r.report("DL3057", last.line, "")
	}
	for _, name := range slices.Sorted(maps.Keys(r.checker.config.Labels)) {
		if !last.labelled(name) {
			r.report("DL3049", last.line, fmt.Sprintf("%q", name))
		}
	}
}
