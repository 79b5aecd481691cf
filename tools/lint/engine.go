// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Linter is one kind of check, and what it looks at.
type Linter struct {
	Name  string            // markdown for lint-markdown
	Files func(string) bool // which files of the tree
	// Skip tells from its text that a file is not this linter's matter.
	Skip func([]byte) bool
	// Checker judges one file at a time; Whole judges all of them at once. One
	// of the two is set.
	Checker Checker
	Whole   func(context.Context, Task) (Outcome, error)
	// Rules stands for everything beside the file that decides what is found:
	// configuration, options, version. A change forgets earlier results.
	Rules string
	// Config are the files of the tree that hold the rules: with Since, a
	// change of one of them means all files.
	Config []string
	// Advice makes findings known without failing the run.
	Advice bool
}

// Task is what a linter of the whole set works on.
type Task struct {
	Root   string
	Files  []string // those chosen, sorted
	Since  *Changes // nil: all files count
	Fix    bool
	Note   func(format string, args ...any) // what is going on
	Memory Memory
}

// Memory holds what linters of the whole set found earlier in this tree.
type Memory struct {
	cache *cache
	rules string
}

// Remember returns what do gave the last time if nothing changed: neither key
// nor the content of one of the files inputs. An outcome with failures, and
// one of a linter that was skipped, is not remembered.
func (m Memory) Remember(key string, inputs []string, do func() (Outcome, error)) (Outcome, error) {
	if m.cache == nil {
		return do()
	}
	state, err := m.cache.state(inputs)
	if err != nil {
		return do() // an input that cannot be read is for the linter to name
	}
	if out, ok := m.Recall(key, state); ok {
		return out, nil
	}
	out, err := do()
	if err != nil {
		return out, err
	}
	// What changed meanwhile may have been looked at before or after.
	if now, err := m.cache.state(inputs); err == nil && now == state {
		m.Keep(key, state, out)
	}
	return out, nil
}

// Recall returns what was kept under the key for that state of its inputs.
func (m Memory) Recall(key, state string) (Outcome, bool) {
	if m.cache == nil {
		return Outcome{}, false
	}
	return m.cache.recall(m.rules+"\x00"+key, state)
}

// Keep remembers an outcome for a state of its inputs, in the place of that of
// an earlier state.
func (m Memory) Keep(key, state string, out Outcome) {
	if m.cache != nil && len(out.Failures) == 0 && out.Skipped == "" {
		m.cache.keep(m.rules+"\x00"+key, state, out)
	}
}

// Sum stands for the content of a file of the tree. The file is read only when
// it may have changed.
func (m Memory) Sum(root, file string) (string, error) {
	path := filepath.Join(root, filepath.FromSlash(file))
	if m.cache == nil {
		text, err := os.ReadFile(path)
		return sumOf(text), err
	}
	return m.cache.sum(file, path)
}

// Outcome is what a linter of the whole set found.
type Outcome struct {
	Findings []Finding
	Failures []Failure
	Files    int    // files, packages or charts that were judged
	Cached   int    // of them, those whose earlier result holds
	Skipped  string // why nothing was judged: a tool is missing
	Version  string // of the tool
	Notes    []string
}

// Failure is a file, or a tool, that gave no verdict.
type Failure struct {
	File string `json:"file,omitempty"`
	Err  string `json:"error"`
}

// Options are those of one run.
type Options struct {
	Root  string
	Cache string // file of earlier results; empty: none
	Jobs  int    // files side by side; 0: processors
	Fix   bool   // mend what can be mended first
	// Preview tells what Fix would change, and changes nothing.
	Preview bool
	Since   *Changes
	Note    func(format string, args ...any)
	// Progress is called often with how many of the files are done.
	Progress func(done, total int)
}

// Run asks all linters about the files of the tree, and returns what they say.
// A file that cannot be judged is a failure in the report and ends nothing;
// the error is for what makes the whole report worthless: a cancelled context.
func Run(ctx context.Context, files []string, linters []Linter, o Options) (Report, error) {
	if o.Note == nil {
		o.Note = func(string, ...any) {}
	}
	e := &engine{o: o, cache: openCache(o), results: make([]Result, len(linters))}
	jobs, whole := e.share(files, linters)
	start := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	for _, i := range whole {
		g.Go(func() error { return e.whole(gctx, linters[i], &e.results[i]) })
	}
	g.Go(func() error { return e.files(gctx, linters, jobs) })
	if err := g.Wait(); err != nil {
		return Report{}, err
	}
	for i := range e.results {
		e.finish(linters[i], &e.results[i])
	}
	report := Report{Results: e.results, Seconds: time.Since(start).Seconds()}
	var ran []string
	for _, l := range linters {
		ran = append(ran, l.Name)
	}
	if err := e.cache.save(files, ran); err != nil {
		o.Note("slipway: the results of lint are not remembered: %v", err)
	}
	return report, ctx.Err()
}

type engine struct {
	o       Options
	keys    []string // of results in the cache, for each linter
	cache   *cache
	mu      sync.Mutex
	results []Result
}

// job is a file, and the linters that look at it.
type job struct {
	file    string
	linters []int
}

// share tells which linter looks at which file.
func (e *engine) share(files []string, linters []Linter) (jobs []job, whole []int) {
	byFile := map[string][]int{}
	for i, l := range linters {
		r := &e.results[i]
		r.Linter = l.Name
		e.keys = append(e.keys, resultKey(l))
		all := e.o.Since == nil || e.o.Since.Any(l.Config)
		for _, f := range files {
			if l.Files != nil && l.Files(f) {
				r.chosen = append(r.chosen, f)
				if l.Checker != nil && (all || e.o.Since.Files[f]) {
					byFile[f] = append(byFile[f], i)
				}
			}
		}
		if l.Whole != nil {
			whole = append(whole, i)
		}
	}
	for _, f := range files {
		if on := byFile[f]; on != nil {
			jobs = append(jobs, job{f, on})
		}
	}
	return jobs, whole
}

func (e *engine) files(ctx context.Context, linters []Linter, jobs []job) error {
	workers := e.o.Jobs
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next, done atomic.Int64
	var g errgroup.Group
	for range min(workers, len(jobs)) {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) || ctx.Err() != nil {
					return nil
				}
				e.file(linters, jobs[i])
				if e.o.Progress != nil {
					e.o.Progress(int(done.Add(1)), len(jobs))
				}
			}
		})
	}
	_ = g.Wait() // the workers return no error
	return ctx.Err()
}

// file judges one file: the cache is asked first, then the file is read, once.
func (e *engine) file(linters []Linter, j job) {
	path := filepath.Join(e.o.Root, filepath.FromSlash(j.file))
	entry := e.cache.look(j.file, path)
	text, on := []byte(nil), j.linters
	if e.o.Fix {
		text, on = e.mend(linters, j, path, entry)
	}
	for _, i := range on {
		l, key := linters[i], e.keys[i]
		if known, ok := entry.result(key); ok {
			e.add(i, known, true, 0)
			continue
		}
		start := time.Now()
		if text == nil {
			var err error
			if text, err = e.cache.read(entry, path); err != nil {
				e.fail(i, j.file, fmt.Errorf("reading: %w", err))
				continue
			}
			if known, ok := entry.result(key); ok { // touched, not changed
				e.add(i, known, true, time.Since(start))
				continue
			}
		}
		now := stored{Skipped: l.Skip != nil && l.Skip(text)}
		if !now.Skipped {
			var err error
			if now.Findings, err = l.Checker.Check(j.file, text); err != nil {
				e.fail(i, j.file, err)
				continue
			}
		}
		entry.keep(key, now)
		e.add(i, now, false, time.Since(start))
	}
}

// mend lets all linters mend the file before any of them judges it, since what
// one mends moves the lines of the others. It returns the text, nil when it was
// not read, and the linters that did not fail.
func (e *engine) mend(linters []Linter, j job, path string, entry *entry) (text []byte, on []int) {
	for _, i := range j.linters {
		l := linters[i]
		fixer, ok := l.Checker.(Fixer)
		if !ok || e.clean(entry, i) {
			on = append(on, i)
			continue
		}
		if text == nil {
			var err error
			if text, err = e.cache.read(entry, path); err != nil {
				e.fail(i, j.file, fmt.Errorf("reading: %w", err))
				continue
			}
		}
		if e.clean(entry, i) || l.Skip != nil && l.Skip(text) {
			on = append(on, i)
			continue
		}
		mended, err := fixer.Fix(j.file, text)
		if err != nil {
			e.fail(i, j.file, fmt.Errorf("mending: %w", err))
			continue
		}
		if !bytes.Equal(mended, text) {
			if err := replaceFile(path, entry.stat, mended); err != nil {
				e.fail(i, j.file, fmt.Errorf("writing what was mended: %w", err))
				continue
			}
			text = mended
			e.cache.changed(entry, path, text)
			e.mended(i)
		}
		on = append(on, i)
	}
	return text, on
}

// clean tells that a linter is known to have nothing to mend in the file.
func (e *engine) clean(entry *entry, i int) bool {
	known, ok := entry.result(e.keys[i])
	return ok && !slices.ContainsFunc(known.Findings, func(f Finding) bool { return f.Fixable })
}

// replaceFile puts a whole new file in the place of one, with its mode. It
// refuses when what is there is not what was read: a link, or a file that
// somebody else has changed since.
func replaceFile(path string, read stamp, text []byte) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file (%s)", path, info.Mode().Type())
	case stampOf(info) != read:
		return fmt.Errorf("%s changed while it was looked at; run again", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".lint-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (e *engine) add(i int, s stored, cached bool, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := &e.results[i]
	r.Seconds += took.Seconds()
	if s.Skipped {
		return
	}
	r.Files++
	if cached {
		r.Cached++
	}
	r.Findings = append(r.Findings, s.Findings...)
}

func (e *engine) mended(i int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.results[i].Mended++
}

func (e *engine) fail(i int, file string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.results[i].Failures = append(e.results[i].Failures, Failure{File: file, Err: err.Error()})
}

// whole runs a linter of the whole set. What stops it is a failure of that
// linter alone.
func (e *engine) whole(ctx context.Context, l Linter, r *Result) error {
	start := time.Now()
	out, err := l.Whole(ctx, Task{Root: e.o.Root, Files: r.chosen, Since: e.since(l), Fix: e.o.Fix, Note: e.o.Note,
		Memory: Memory{e.cache, l.Name + "\x00" + l.Rules}})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		out.Failures = append(out.Failures, Failure{Err: err.Error()})
	}
	r.Findings, r.Failures, r.Files, r.Cached = out.Findings, out.Failures, out.Files, out.Cached
	r.Skipped, r.Version, r.Notes = out.Skipped, out.Version, out.Notes
	r.Seconds = time.Since(start).Seconds()
	return nil
}

func (e *engine) since(l Linter) *Changes {
	if e.o.Since == nil || e.o.Since.Any(l.Config) {
		return nil
	}
	return e.o.Since
}

// finish sorts what a linter found, since files end in any order.
func (e *engine) finish(l Linter, r *Result) {
	r.Findings = slices.Clone(r.Findings) // those remembered stay as they are
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Linter = l.Name
		if f.Severity == "" {
			f.Severity = Error
		}
		if l.Advice && f.Severity == Error {
			f.Severity = Warning
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return strings.Compare(a.File, b.File) })
	slices.SortFunc(r.Diffs, func(a, b FileDiff) int { return strings.Compare(a.File, b.File) })
	slices.SortFunc(r.Failures, func(a, b Failure) int { return strings.Compare(a.File, b.File) })
}
