// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

func lintGoals() []aGoal {
	all := []aGoal{
		{Name: "lint", Group: groupLint, Summary: "run all linters that the repository has rules for", Want: (*wants).lint},
		{Name: "lint-all", Group: groupLint, Summary: "run the linters of istio/common-files", Want: (*wants).lintAll},
		{Name: "lint-fix", Group: groupLint, Summary: "mend what linters can mend, then run them", Want: func(w *wants, _ string) error {
			err := w.lint("")
			if n := len(w.units); n > 0 && w.units[n-1].lint != nil {
				w.units[n-1].lint.fix = true
			}
			return err
		}},
		{Name: "format-python", Group: groupLint, Summary: "format Python", Want: (*wants).formatPython},
		{Name: "fix-copyright-banner", Group: groupLint, Summary: "put the banner of the repository into sources without one", Want: (*wants).fixBanner},
		{Name: "dump-licenses", Group: groupLint, Summary: "list modules by the category of their license", Want: func(w *wants, _ string) error { return w.dumpLicenses(false) }},
		{Name: "dump-licenses-csv", Group: groupLint, Summary: "list modules and their licenses as CSV", Want: func(w *wants, _ string) error { return w.dumpLicenses(true) }},
		{Name: "mirror-licenses", Group: groupLint, Summary: "copy the licenses of all modules to the folder licenses", Want: (*wants).mirrorLicenses},
	}
	for _, l := range linterTable() {
		all = append(all, aGoal{Name: "lint-" + l.name, Group: groupLint, Summary: l.summary, Want: func(w *wants, _ string) error {
			return w.lintWith(l.name)
		}})
	}
	return all
}

// lintCall is the linters that the goals of a call ask for. They run as one:
// each file is read once, and there is one report.
type lintCall struct {
	names []string
	fix   bool
	// all tells that a linter without rules in this repository stays silent:
	// nobody asked for it by name.
	all bool
	// quiet is for goals that mend and give no verdict.
	quiet bool
}

// lintWith adds linters to the call of lint, or begins one.
func (w *wants) lintWith(names ...string) error {
	if n := len(w.units); n == 0 || w.units[n-1].lint == nil {
		c := &lintCall{}
		w.do("", func(ctx context.Context) error { return w.p.lint(ctx, c) })
		w.units[len(w.units)-1].lint = c
	}
	u := w.units[len(w.units)-1]
	for _, name := range names {
		if !slices.Contains(u.lint.names, name) {
			u.lint.names = append(u.lint.names, name)
		}
	}
	u.command.text = "lint: " + strings.Join(u.lint.names, ", ")
	return w.p.checkOutput()
}

// lint runs what the repository's own make file has behind its goal lint, by
// our own linters; without one, all linters that there are rules for.
func (w *wants) lint(string) error {
	names, err := w.p.ws.ownLint()
	switch {
	case err != nil:
		return err
	case names != nil:
		return w.lintWith(names...)
	case w.p.ws.hasOwnMakefile() && ownRule("lint").MatchString(w.p.ws.makefileText()):
		return w.handOver("")
	}
	for _, l := range linterTable() {
		if l.byDefault {
			names = append(names, l.name)
		}
	}
	err = w.lintWith(names...)
	w.units[len(w.units)-1].lint.all = true
	return err
}

func (w *wants) lintAll(string) error {
	err := w.lintWith("dockerfiles", "scripts", "yaml", "helm", "copyright-banner", "go", "python", "markdown", "sass", "typescript", "licenses")
	w.units[len(w.units)-1].lint.all = true
	return err
}

func ownRule(goal string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(goal) + `:(?:[^=\n][^\n#]*)?(?:##[^\n]*)?\n(?:\t[^\n]*\n)*`)
}

func (ws *workspace) makefileText() string {
	text, _ := os.ReadFile(filepath.Join(ws.dir, coreMakefile)) // a missing one has no rules
	return strings.ReplaceAll(string(text), "\\\n", " ") + "\n"
}

// ownLint reads the rule of lint in the repository's make file: nil if there
// is none, or if it does something that no linter of ours does.
func (ws *workspace) ownLint() ([]string, error) {
	rule := ownRule("lint").FindString(ws.makefileText())
	if rule == "" {
		return nil, nil
	}
	head, recipe, _ := strings.Cut(rule, "\n")
	head, _, _ = strings.Cut(head, "#")
	var names []string
	for _, need := range strings.Fields(strings.TrimPrefix(head, "lint:")) {
		name, ok := strings.CutPrefix(need, "lint-")
		switch {
		case need == "lint-all":
			names = append(names, "dockerfiles", "scripts", "yaml", "helm", "copyright-banner", "go", "python", "markdown", "sass", "typescript", "licenses")
		case ok && knownLinter(name):
			names = append(names, name)
		default:
			return nil, nil
		}
	}
	for line := range strings.Lines(recipe) {
		words := strings.Fields(strings.TrimLeft(line, "\t @-+"))
		switch {
		case len(words) == 0:
		case strings.HasSuffix(words[0], "check_samples.sh"):
			names = append(names, "samples")
		case words[0] == "testlinter" && len(words) == 1:
			names = append(names, "tests")
		case words[0] == "envvarlinter":
			names = append(names, "env-vars")
		default:
			return nil, nil
		}
	}
	return names, nil
}

// lint runs the linters and prints what they found.
func (p *program) lint(ctx context.Context, c *lintCall) error {
	l := &linting{p: p, call: c, root: p.ws.dir}
	linters, notes, err := l.linters(ctx)
	if err != nil {
		return err
	}
	for _, n := range notes {
		p.console.Verbose("%s", n)
	}
	report, err := l.run(ctx, linters)
	if err != nil {
		return err
	}
	return l.tell(report)
}

// run gives the linters the files of the tree.
func (l *linting) run(ctx context.Context, linters []lint.Linter) (lint.Report, error) {
	p, s := l.p, l.p.ws.settings
	o := lint.Options{Root: l.root, Jobs: p.flags.Jobs, Note: p.console.Note, Cache: l.cacheFile()}
	o.Preview = !l.call.fix && s.Get("LINT_FIX") == "diff"
	o.Fix = l.call.fix || !o.Preview && on(s.Get("LINT_FIX"))
	files, unread, err := l.files(ctx)
	if err != nil {
		return lint.Report{}, err
	}
	if ref := s.Get("LINT_SINCE"); ref != "" {
		if o.Since, err = lint.Since(ctx, p.runner, l.root, ref); err != nil {
			return lint.Report{}, err
		}
	}
	if p.console.Terminal() {
		o.Progress = func(done, total int) { p.console.Status("lint: %d of %d files", done, total) }
	}
	report, err := lint.Run(ctx, files, linters, o)
	if unread != nil {
		report.Results = append(report.Results, lint.Result{Linter: "files", Failures: unread})
	}
	return report, err
}

// files are those that linters look at. Folders that cannot be read are
// failures beside them.
func (l *linting) files(ctx context.Context) (files []string, unread []lint.Failure, err error) {
	s := l.p.ws.settings
	selection := lint.Selection{Ignore: s.Get("FINDFILES_IGNORE"), Origin: s.Lookup("FINDFILES_IGNORE").Origin, Runner: l.p.runner}
	switch v := s.Get("LINT_FILES"); v {
	case "", "all":
	case "git":
		selection.Git = true
	default:
		return nil, nil, fail.With(fail.Usage, fmt.Errorf("LINT_FILES is %q (%s): use all, or git for the files that git does not ignore", v, s.Lookup("LINT_FILES").Origin))
	}
	files, err = selection.Walk(ctx, l.root)
	if err != nil {
		if files == nil {
			return nil, nil, fail.With(fail.Usage, err)
		}
		unread = append(unread, lint.Failure{Err: err.Error()})
	}
	files, err = l.more(ctx, files)
	return files, unread, err
}

// linting is one call of lint.
type linting struct {
	p    *program
	call *lintCall
	root string
}

// more adds what lies in folders that the walk leaves out, for the linters
// that look there all the same.
func (l *linting) more(ctx context.Context, files []string) ([]string, error) {
	if !slices.Contains(l.call.names, "helm-global") || slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, "manifests/") }) {
		return files, nil
	}
	charts, err := lint.WalkAll(ctx, l.root, "manifests")
	if err != nil {
		return files, err
	}
	return slices.Compact(slices.Sorted(slices.Values(append(files, charts...)))), nil
}

// cacheFile is where results are remembered: in out, so that each checkout has
// its own and clean removes it; where nothing can be written there, as in the
// module cache, in the user's cache.
func (l *linting) cacheFile() string {
	if v := l.p.ws.settings.Get("LINT_CACHE"); v == "no" || v == "0" || v == "false" {
		return ""
	}
	return filepath.Join(l.cacheDir(), "results.json")
}

func (l *linting) cacheDir() string {
	dir := filepath.Join(l.root, "out", "lint")
	if err := os.MkdirAll(dir, 0o755); err == nil {
		return dir
	}
	return filepath.Join(l.p.ws.cache(), "lint", strings.ReplaceAll(strings.Trim(filepath.ToSlash(l.root), "/"), "/", "%"))
}

// tell prints the report in the form asked for, and gives the verdict.
func (l *linting) tell(report lint.Report) error {
	p, s := l.p, l.p.ws.settings
	format, err := ui.ParseFormat(s.Get("OUTPUT"))
	if err != nil {
		return fail.With(fail.Usage, err)
	}
	asked := format
	if format == ui.Text && p.inv.getenv("GITHUB_ACTIONS") == "true" {
		format = ui.GitHub
	}
	if file := s.Get("LINT_OUTPUT_FILE"); file != "" {
		as := asked
		if guess := formatOf(file); guess != "" && asked == ui.Text {
			as = guess
		}
		if err := writeReport(p.ws.abs(file), report, as); err != nil {
			return err
		}
		if format != ui.GitHub {
			format = ui.Text
		}
	}
	if dir := s.Get("ARTIFACTS"); dir != "" {
		if err := writeReport(filepath.Join(p.ws.abs(dir), "junit-lint.xml"), report, ui.JUnit); err != nil {
			return err
		}
	}
	if err := report.Write(p.console.Out(), format); err != nil {
		return fmt.Errorf("printing the report: %w", err)
	}
	for _, r := range report.Results {
		for _, f := range r.Failures {
			p.console.Error("%s", strings.TrimPrefix(fmt.Sprintf("%s: lint-%s: %s", f.File, r.Linter, f.Err), ": "))
		}
		for _, n := range r.Notes {
			p.console.Verbose("lint-%s: %s", r.Linter, n)
		}
	}
	for _, line := range report.Summary() {
		p.console.Note("%s", line)
	}
	if l.call.quiet { // what could not be read was not mended, either
		for i := range report.Results {
			report.Results[i].Findings = nil
		}
	}
	return report.Err(on(s.Get("CI")) || on(s.Get("LINT_REQUIRE")))
}

func formatOf(file string) ui.Format {
	switch path.Ext(file) {
	case ".sarif":
		return ui.SARIF
	case ".json":
		return ui.JSON
	case ".xml":
		return ui.JUnit
	}
	return ""
}

func writeReport(file string, report lint.Report, format ui.Format) error {
	var b strings.Builder
	if err := report.Write(&b, format); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := writeWhole(file, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("writing the report %s: %w", file, err)
	}
	return nil
}

// on tells whether a switch is set to something that means yes.
func on(value string) bool {
	return value != "" && value != "0" && value != "no" && value != "false"
}

// config returns the first of the files that is there, with its text; none is
// an empty name.
func (l *linting) config(names ...string) (string, []byte, error) {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(l.root, filepath.FromSlash(name)))
		switch {
		case err == nil:
			return name, text, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", nil, fmt.Errorf("reading the rules of a linter: %w", err)
		}
	}
	return "", nil, nil
}
