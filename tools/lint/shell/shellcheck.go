// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// batch is how many scripts one ShellCheck is given.
const batch = 256

// External returns the linter that asks ShellCheck about all scripts.
// Without the program, it is skipped, and says so.
func External(o Options) lint.Linter {
	if o.Program == "" {
		o.Program = "shellcheck"
	}
	if o.Runner == nil {
		o.Runner = run.Exec{}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	return lint.Linter{Name: "scripts", Files: lint.Named("*.sh"), Rules: "1", Config: []string{".shellcheckrc"},
		Whole: func(ctx context.Context, t lint.Task) (lint.Outcome, error) {
			return checking{o: o, task: t}.run(ctx)
		}}
}

type checking struct {
	o       Options
	task    lint.Task
	version string
	outside string // rules of the user, not of the tree
}

func (c checking) run(ctx context.Context) (lint.Outcome, error) {
	if len(c.task.Files) == 0 {
		return lint.Outcome{}, nil
	}
	program, err := exec.LookPath(c.o.Program)
	if err != nil {
		return lint.Outcome{Skipped: "shellcheck is not installed, so nobody looked at the scripts; its packages are at https://github.com/koalaman/shellcheck#installing"}, nil
	}
	about, err := run.Output(ctx, c.o.Runner, run.Command{Args: []string{program, "--version"}, Dir: c.task.Root})
	if err != nil {
		return lint.Outcome{}, fmt.Errorf("asking ShellCheck for its version: %w", err)
	}
	c.version = versionOf(about)
	c.outside = outsideRules(c.task.Root)
	out := lint.Outcome{Version: c.version}
	groups, failures := c.groups()
	out.Failures = failures
	var open []group
	for _, g := range groups {
		if known, ok := c.task.Memory.Recall(g.key, g.state); ok && g.state != "" {
			out.Findings = append(out.Findings, c.wanted(g, known.Findings)...)
			out.Files += len(g.files)
			out.Cached += len(g.files)
			continue
		}
		open = append(open, g)
	}
	err = c.check(ctx, program, open, &out)
	return out, err
}

func versionOf(about string) string {
	for line := range strings.Lines(about) {
		if v, ok := strings.CutPrefix(line, "version:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

// outsideRules stands for configuration that ShellCheck finds above the tree,
// in the home folder and in its environment.
func outsideRules(root string) string {
	names := []string{}
	if abs, err := filepath.Abs(root); err == nil {
		for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
			names = append(names, filepath.Join(dir, ".shellcheckrc"), filepath.Join(dir, "shellcheckrc"))
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		names = append(names, filepath.Join(home, ".shellcheckrc"))
	}
	if config, err := os.UserConfigDir(); err == nil {
		names = append(names, filepath.Join(config, "shellcheckrc"))
	}
	sum := sha256.New()
	for _, n := range names {
		if text, err := os.ReadFile(n); err == nil { // most are not there
			fmt.Fprintf(sum, "%q\n", text)
		}
	}
	fmt.Fprintf(sum, "%q", os.Getenv("SHELLCHECK_OPTS"))
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// group are scripts whose findings depend on each other: ShellCheck follows a
// source command into a file only when it is given that file too.
type group struct {
	files []string
	size  int
	key   string
	state string              // of all contents; empty: not to be remembered
	links map[string][]string // from a script to those that it may source
}

// groups reads the scripts, and puts those together that may source each
// other.
func (c checking) groups() ([]group, []lint.Failure) {
	var failures []lint.Failure
	byBase := map[string][]string{}
	for _, f := range c.task.Files {
		byBase[path.Base(f)] = append(byBase[path.Base(f)], f)
	}
	texts, links, union := map[string]int{}, map[string][]string{}, newUnion()
	sources := map[string]bool{}
	for _, f := range c.task.Files {
		text, err := os.ReadFile(filepath.Join(c.task.Root, filepath.FromSlash(f)))
		if err != nil {
			failures = append(failures, lint.Failure{File: f, Err: fmt.Sprintf("reading: %v", err)})
			continue
		}
		texts[f] = len(text)
		names, follows := sourced(text)
		sources[f] = follows
		for _, name := range names {
			for _, other := range byBase[name] {
				if other != f {
					links[f] = append(links[f], other)
					union.join(f, other)
				}
			}
		}
	}
	byHead := map[string]*group{}
	var heads []string
	for _, f := range c.task.Files {
		if _, read := texts[f]; !read {
			continue
		}
		head := union.head(f)
		if byHead[head] == nil {
			byHead[head] = &group{links: links}
			heads = append(heads, head)
		}
		g := byHead[head]
		g.files = append(g.files, f)
		g.size += texts[f] + 2000 // each costs something however short it is
	}
	var groups []group
	for _, head := range heads {
		g := byHead[head]
		g.key = strings.Join(append([]string{"shellcheck", c.version, c.outside}, g.files...), "\x00")
		if !c.affected(*g) {
			_, _ = c.task.Memory.Recall(g.key, "") // so that what is known stays in the memory
			continue
		}
		g.state = c.state(g.files, slices.ContainsFunc(g.files, func(f string) bool { return sources[f] }))
		groups = append(groups, *g)
	}
	return groups, failures
}

// affected tells that something in the group changed; without Since, all did.
func (c checking) affected(g group) bool {
	return c.task.Since == nil || slices.ContainsFunc(g.files, func(f string) bool { return c.counts(f, g) })
}

// counts tells that findings of a script are to be told: it changed, or what
// it sources did.
func (c checking) counts(file string, g group) bool {
	s := c.task.Since
	return s == nil || s.Files[file] || slices.ContainsFunc(g.links[file], func(f string) bool { return s.Files[f] })
}

func (c checking) wanted(g group, found []lint.Finding) []lint.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f lint.Finding) bool { return !c.counts(f.File, g) })
}

// state stands for all that decides what is found in the files. Scripts that
// may be followed into files that are not given to ShellCheck have none.
func (c checking) state(files []string, sources bool) string {
	if opts := os.Getenv("SHELLCHECK_OPTS"); sources && (strings.Contains(opts, "-x") || strings.Contains(opts, "external")) {
		return ""
	}
	sum := sha256.New()
	for _, f := range files {
		content, err := c.task.Memory.Sum(c.task.Root, f)
		if err != nil {
			return ""
		}
		fmt.Fprintf(sum, "%s\x00%s\n", f, content)
	}
	for _, dir := range foldersOf(files) {
		for _, name := range []string{".shellcheckrc", "shellcheckrc"} {
			rc := path.Join(dir, name)
			text, err := os.ReadFile(filepath.Join(c.task.Root, filepath.FromSlash(rc)))
			if err != nil {
				continue // most folders have none
			}
			if sources && bytes.Contains(text, []byte("external-sources")) {
				return ""
			}
			fmt.Fprintf(sum, "%s\x00%q\n", rc, text)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16])
}

// foldersOf are the folders of files, and those above up to the root.
func foldersOf(files []string) []string {
	var dirs []string
	for _, f := range files {
		for dir := path.Dir(f); !slices.Contains(dirs, dir); dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// check runs ShellCheck over the groups, in batches of about the same size.
func (c checking) check(ctx context.Context, program string, open []group, out *lint.Outcome) error {
	batches := share(open, c.o.Jobs)
	results := make([][]lint.Finding, len(batches))
	errs := make([]error, len(batches))
	var g errgroup.Group
	g.SetLimit(c.o.Jobs)
	for i, b := range batches {
		g.Go(func() error {
			results[i], errs[i] = c.batch(ctx, program, b)
			return nil
		})
	}
	_ = g.Wait() // each batch has its own error
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, b := range batches {
		if errs[i] != nil {
			out.Failures = append(out.Failures, lint.Failure{Err: errs[i].Error()})
		}
		byFile := map[string][]lint.Finding{}
		for _, f := range results[i] {
			byFile[f.File] = append(byFile[f.File], f)
		}
		for _, g := range b {
			var found []lint.Finding
			for _, f := range g.files {
				found = append(found, byFile[f]...)
			}
			out.Files += len(g.files)
			out.Findings = append(out.Findings, c.wanted(g, found)...)
			if errs[i] == nil && g.state != "" {
				c.task.Memory.Keep(g.key, g.state, lint.Outcome{Findings: found, Files: len(g.files), Version: c.version})
			}
		}
	}
	return nil
}

// share puts groups into batches: the largest first, each to the batch that
// has least.
func share(groups []group, jobs int) [][]group {
	files := 0
	for _, g := range groups {
		files += len(g.files)
	}
	// A process costs something, so that a few scripts share one.
	n := max((files+batch-1)/batch, min(jobs, (files+3)/4))
	sorted := slices.Clone(groups)
	slices.SortStableFunc(sorted, func(a, b group) int { return b.size - a.size })
	batches, sizes := make([][]group, n), make([]int, n)
	for _, g := range sorted {
		least := slices.Index(sizes, slices.Min(sizes))
		batches[least] = append(batches[least], g)
		sizes[least] += g.size
	}
	return slices.DeleteFunc(batches, func(b []group) bool { return len(b) == 0 })
}

type comment struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	EndLine int    `json:"endLine"`
	Column  int    `json:"column"`
	Level   string `json:"level"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// batch runs one ShellCheck.
func (c checking) batch(ctx context.Context, program string, groups []group) ([]lint.Finding, error) {
	// Sourced files are looked for beside the script too, wherever we are.
	args := []string{program, "--format=json1", "--source-path=SCRIPTDIR", "--"}
	for _, g := range groups {
		args = append(args, g.files...)
	}
	var stdout, stderr bytes.Buffer
	err := c.o.Runner.Run(ctx, run.Command{Args: args, Dir: c.task.Root, Stdout: &stdout, Stderr: &stderr})
	if e, ok := errors.AsType[*run.Error](err); ok && e.Status == 1 {
		err = nil // it ran, and found something
	}
	var report struct{ Comments []comment }
	if problem := json.Unmarshal(stdout.Bytes(), &report); problem != nil {
		if err == nil {
			err = fmt.Errorf("reading what ShellCheck found: %w", problem)
		}
		report.Comments = nil
	}
	if err != nil {
		said := strings.TrimSpace(stderr.String())
		err = fmt.Errorf("ShellCheck gave no verdict on all scripts: %w: %s", trimmed(err, len(args)), said[max(0, len(said)-2000):])
	}
	found := make([]lint.Finding, 0, len(report.Comments))
	for _, r := range report.Comments {
		found = append(found, r.finding())
	}
	return found, err
}

// trimmed leaves the command out of an error when it names hundreds of files.
func trimmed(err error, words int) error {
	if e, ok := errors.AsType[*run.Error](err); ok && words > 20 {
		return e.Err
	}
	return err
}

func (r comment) finding() lint.Finding {
	code := fmt.Sprintf("SC%d", r.Code)
	level := r.Level
	if level != "error" && level != "warning" {
		level = "note" // what gcc has for the others
	}
	message := strings.NewReplacer("\r", " ", "\n", " ").Replace(r.Message)
	return lint.Finding{
		File: path.Clean(filepath.ToSlash(r.File)), Line: r.Line, Column: r.Column, EndLine: r.EndLine, Rule: code, Message: strings.TrimSpace(message),
		Severity: lint.Error, Doc: "https://www.shellcheck.net/wiki/" + code,
		Text: fmt.Sprintf("%s:%d:%d: %s: %s [%s]", r.File, r.Line, r.Column, level, message, code),
	}
}

// sourced are the names of files, without folders, on lines that may source
// them, and whether there is such a line at all. It takes too many rather than
// too few.
func sourced(text []byte) (names []string, found bool) {
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte("source")) && !bytes.Contains(line, []byte(". ")) && !bytes.Contains(line, []byte(".\t")) {
			continue
		}
		for word := range strings.FieldsFuncSeq(string(line), func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()<>\"'`=", r) }) {
			found = true
			if base := path.Base(word); strings.Contains(base, ".") && !slices.Contains(names, base) && len(names) < 1000 {
				names = append(names, base)
			}
		}
	}
	return names, found
}

// union puts names into sets.
type union struct{ parent map[string]string }

func newUnion() union { return union{map[string]string{}} }

func (u union) head(name string) string {
	for u.parent[name] != "" {
		if next := u.parent[u.parent[name]]; next != "" {
			u.parent[name] = next
		}
		name = u.parent[name]
	}
	return name
}

func (u union) join(a, b string) {
	if a, b = u.head(a), u.head(b); a != b {
		u.parent[a] = b
	}
}
