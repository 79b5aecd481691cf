// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
)

// words is a linter that finds a word in lines, and counts how often it is
// asked.
type words struct {
	word, better string // better: what Fix puts in its place
	mu           sync.Mutex
	asked        []string
	on           func(file string) error // before the file is judged
}

func (w *words) Check(file string, text []byte) ([]lint.Finding, error) {
	w.mu.Lock()
	w.asked = append(w.asked, file)
	w.mu.Unlock()
	if w.on != nil {
		if err := w.on(file); err != nil {
			return nil, err
		}
	}
	var found []lint.Finding
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if at := strings.Index(line, w.word); at >= 0 {
			found = append(found, lint.Finding{File: file, Line: n, Column: at + 1, Rule: "W1", Message: w.word + " is there", Severity: lint.Error,
				Fixable: w.better != "", Text: fmt.Sprintf("%s has %s in line %d", file, w.word, n)})
		}
	}
	return found, nil
}

// times returns how often a file was judged since it was last asked for.
func (w *words) times() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.asked)
	w.asked = nil
	return n
}

// mender is words that can mend.
type mender struct{ *words }

func (m mender) Fix(_ string, text []byte) ([]byte, error) {
	return bytes.ReplaceAll(text, []byte(m.word), []byte(m.better)), nil
}

func linter(name, rules string, c lint.Checker) lint.Linter {
	return lint.Linter{Name: name, Files: lint.Named("*.txt"), Checker: c, Rules: rules}
}

// tree is a folder with files, and a cache beside it.
type tree struct {
	*testing.T
	root, cache string
	fix         bool
	since       *lint.Changes
}

func newTree(t *testing.T, files ...string) *tree {
	t.Helper()
	tr := &tree{T: t, root: t.TempDir(), cache: filepath.Join(t.TempDir(), "lint", "results.json")}
	for i := 0; i+1 < len(files); i += 2 {
		write(t, tr.root, files[i], files[i+1])
	}
	return tr
}

func (t *tree) run(linters ...lint.Linter) lint.Report {
	t.Helper()
	return t.runOn(nil, linters...)
}

// runOn runs over these files too, that the walk does not give.
func (t *tree) runOn(more []string, linters ...lint.Linter) lint.Report {
	t.Helper()
	files, err := lint.Selection{}.Walk(t.Context(), t.root)
	if err != nil {
		t.Fatal(err)
	}
	r, err := lint.Run(t.Context(), append(files, more...), linters, lint.Options{Root: t.root, Cache: t.cache, Fix: t.fix, Since: t.since, Jobs: 4,
		Note: func(format string, args ...any) { t.Errorf(format, args...) }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// age makes files old enough for their times to tell of a change. The time of
// the last change of attributes cannot be set, so it is waited for, once.
func (t *tree) age() {
	t.Helper()
	time.Sleep(2100 * time.Millisecond)
}

func lines(t *testing.T, r lint.Report) []string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b, "text"); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func TestFindingsAreSortedAndCounted(t *testing.T) {
	var files []string
	for i := range 60 {
		files = append(files, fmt.Sprintf("d%d/%d.txt", i%7, i), "good\nbad\nbad\n")
	}
	tr := newTree(t, append(files, "other.md", "bad")...)
	bad, good := &words{word: "bad"}, &words{word: "good"}
	l := linter("good", "1", good)
	l.Advice = true
	first := tr.run(linter("bad", "1", bad), l)
	if b, g := first.Results[0], first.Results[1]; b.Files != 60 || b.Cached != 0 || len(b.Findings) != 120 || b.Linter != "bad" || g.Count(lint.Warning) != 60 || g.Count(lint.Error) != 0 {
		t.Errorf("results %+v", first.Results)
	}
	if !slices.IsSortedFunc(first.Results[0].Findings, func(a, b lint.Finding) int {
		return strings.Compare(fmt.Sprint(a.File, " ", a.Line), fmt.Sprint(b.File, " ", b.Line))
	}) {
		t.Error("findings are not in the order of files and lines")
	}
	if err := first.Err(false); fail.Code(err) != fail.Failed || err.Error() != "120 findings in bad" {
		t.Errorf("verdict %v, code %d", err, fail.Code(err))
	}
	second := tr.run(linter("bad", "1", bad), l)
	if !slices.Equal(lines(t, first), lines(t, second)) || !slices.Equal(first.Findings(), second.Findings()) {
		t.Error("the second run tells something else")
	}
	if got := second.Results[0]; got.Files != 60 || got.Cached != 60 {
		t.Errorf("%d of %d known in the second run", got.Cached, got.Files)
	}
}

func TestCacheKnowsContents(t *testing.T) {
	tr := newTree(t, "a.txt", "bad\n", "b.txt", "fine\n", "c.txt", "bad bad\n")
	w := &words{word: "bad"}
	l := linter("bad", "1", w)
	tr.age()
	tr.run(l)
	if n := w.times(); n != 3 {
		t.Fatalf("%d files judged first, want 3", n)
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(tr.root, "a.txt"), now, now); err != nil {
		t.Fatal(err)
	}
	if r := tr.run(l); w.times() != 0 || len(r.Findings()) != 2 || r.Results[0].Cached != 3 {
		t.Errorf("a file that was touched is judged again, or forgotten: %+v", r.Results)
	}
	write(t, tr.root, "b.txt", "bad!\n")
	if r := tr.run(l); w.times() != 1 || len(r.Findings()) != 3 {
		t.Errorf("after an edit: %+v", r.Results)
	}
	// Times that lie do not hide a change: that of the last change of
	// attributes tells.
	info, err := os.Stat(filepath.Join(tr.root, "c.txt"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, tr.root, "c.txt", "fine...\n")
	if err := os.Chtimes(filepath.Join(tr.root, "c.txt"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if r := tr.run(l); w.times() != 1 || len(r.Findings()) != 2 {
		t.Errorf("after an edit with the old time: %+v", r.Results)
	}
	// Another file in the place of one, by a rename.
	tmp := write(t, tr.root, "tmp", "bad\n")
	if err := os.Rename(tmp, filepath.Join(tr.root, "c.txt")); err != nil {
		t.Fatal(err)
	}
	if r := tr.run(l); len(r.Findings()) != 3 {
		t.Errorf("after a rename: %+v", r.Results)
	}
	if err := os.Remove(filepath.Join(tr.root, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if r := tr.run(l); len(r.Findings()) != 2 || r.Results[0].Files != 2 {
		t.Errorf("after a file was deleted: %+v", r.Results)
	}
	if text, err := os.ReadFile(tr.cache); err != nil || strings.Contains(string(text), "a.txt") {
		t.Errorf("the cache still knows a file that is gone (%v)", err)
	}
}

// TestQuickEdits edits a file again and again, with the same size, in less
// time than a file system can tell apart.
func TestQuickEdits(t *testing.T) {
	tr := newTree(t)
	l := linter("bad", "1", &words{word: "bad"})
	for i := range 150 {
		text := []string{"bad\n", "fun\n"}[i%2]
		write(t, tr.root, "a.txt", text)
		if r := tr.run(l); len(r.Findings()) != (i+1)%2 {
			t.Fatalf("edit %d: %q has findings %v", i, text, r.Findings())
		}
	}
}

func TestRulesAreForgotten(t *testing.T) {
	tr := newTree(t, "a.txt", "bad\n", "b.txt", "worse\n")
	w := &words{word: "bad"}
	tr.run(linter("bad", "1", w))
	w.times()
	if r := tr.run(linter("bad", "2 other\xff", w)); w.times() != 2 || r.Results[0].Cached != 0 {
		t.Errorf("other rules, and earlier results count: %+v", r.Results)
	}
	if tr.run(linter("bad", "2 other\xff", w)); w.times() != 0 {
		t.Error("rules that are not UTF-8 are not known again")
	}
	// The earlier rules were forgotten: only one set of results stays.
	if tr.run(linter("bad", "1", w)); w.times() != 2 {
		t.Error("results of rules before the last are still there")
	}
	// Another linter forgets nothing.
	other := &words{word: "worse"}
	tr.run(linter("worse", "1", other))
	if tr.run(linter("bad", "1", w)); w.times() != 0 {
		t.Error("a run of another linter made this one forget")
	}
	if r := tr.run(linter("worse", "1", other), linter("bad", "1", w)); w.times() != 0 || other.times() != 2 || len(r.Findings()) != 2 {
		t.Errorf("two linters: %+v", r.Results)
	}
	// One whose name begins like another's.
	tr.run(linter("bad words", "1", other))
	if tr.run(linter("bad", "1", w)); w.times() != 0 {
		t.Error("a linter with a similar name made this one forget")
	}
}

// TestDamagedCache gives the engine texts that are no cache.
func TestDamagedCache(t *testing.T) {
	tr := newTree(t, "a.txt", "bad\n", "b.txt", "fine\n")
	w := &words{word: "bad"}
	whole := lint.Linter{Name: "whole", Files: lint.Named("*.txt"), Rules: "1", Whole: func(_ context.Context, task lint.Task) (lint.Outcome, error) {
		return task.Memory.Remember("all", task.Files, func() (lint.Outcome, error) {
			return lint.Outcome{Findings: []lint.Finding{{File: "a.txt", Message: "whole", Text: "as it was"}}, Files: 2, Version: "3"}, nil
		})
	}}
	l := linter("bad", "1", w)
	want := lines(t, tr.run(l, whole))
	good, err := os.ReadFile(tr.cache)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"", "{", "null", "[]", "0", "\x00\x00\x00", `{"form":2}`, `{"form":2,"files":null,"sums":null,"whole":null}`, `{"form":99,"files":{"a.txt":{}}}`}
	for n := 1; n < len(good); n += len(good)/40 + 1 {
		texts = append(texts, string(good[:n]), string(good[:n])+"\x00"+string(good[n+1:]))
	}
	// Whole, but with gaps where the engine looks.
	for _, pair := range [][2]string{{`"a.txt":{`, `"a.txt":null,"c.txt":{`}, {`"results":{`, `"results":null,"x":{`}, {`"texts":[`, `"texts":["","","",`}, {`"findings":[`, `"findings":null,"x":[`}, {`"whole":{`, `"whole":null,"x":{`}} {
		text := strings.ReplaceAll(string(good), pair[0], pair[1])
		if text == string(good) {
			t.Errorf("the cache does not have %s", pair[0])
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		if err := os.WriteFile(tr.cache, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := lines(t, tr.run(l, whole))
		if strings.Contains(text, `"findings":null`) || strings.Contains(text, `"","","",`) {
			continue // a forged result cannot be told from a real one; it only must not end the run
		}
		if !slices.Equal(got, want) {
			t.Errorf("with the cache %.60q…: findings %q, want %q", text, got, want)
		}
	}
	// A folder where the file should be is said, and fails nothing.
	if err := errors.Join(os.Remove(tr.cache), os.MkdirAll(filepath.Join(tr.cache, "x"), 0o755)); err != nil {
		t.Fatal(err)
	}
	var notes []string
	r, err := lint.Run(t.Context(), []string{"a.txt"}, []lint.Linter{l}, lint.Options{Root: tr.root, Cache: tr.cache, Note: func(f string, a ...any) { notes = append(notes, fmt.Sprintf(f, a...)) }})
	if err != nil || len(r.Findings()) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "not remembered") {
		t.Errorf("report %+v, %v, notes %q", r, err, notes)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(tr.cache), ".lint-*")); left != nil {
		t.Errorf("files are left behind: %q", left)
	}
}

// TestOtherProgramsCache takes a cache that another build of Slipway wrote.
func TestOtherProgramsCache(t *testing.T) {
	tr := newTree(t, "a.txt", "bad\n")
	w := &words{word: "bad"}
	tr.run(linter("bad", "1", w))
	text, err := os.ReadFile(tr.cache)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte(`"by":"`))
	if at < 0 {
		t.Fatal("the cache does not say which program judged")
	}
	text[at+6] ^= 1
	if err := os.WriteFile(tr.cache, text, 0o644); err != nil {
		t.Fatal(err)
	}
	w.times()
	if tr.run(linter("bad", "1", w)); w.times() != 1 {
		t.Error("the results of another program count")
	}
}

func TestManyRunsAtOnce(t *testing.T) {
	var files []string
	for i := range 40 {
		files = append(files, fmt.Sprintf("%d.txt", i), "bad\n")
	}
	tr := newTree(t, files...)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			r, err := lint.Run(t.Context(), []string{"0.txt", fmt.Sprintf("%d.txt", i+1)}, []lint.Linter{linter(fmt.Sprint("l", i%3), "1", &words{word: "bad"})}, lint.Options{Root: tr.root, Cache: tr.cache})
			if err != nil || len(r.Findings()) != 2 {
				t.Errorf("run %d: %+v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(tr.cache), ".lint-*"))
	if left != nil {
		t.Errorf("files are left behind: %q", left)
	}
	w := &words{word: "bad"}
	tr.run(linter("l", "1", w))
	if tr.run(linter("l", "1", w)); w.times() != 40 {
		t.Error("the cache cannot be used after many runs at once")
	}
}

func TestTextsSurvive(t *testing.T) {
	tr := newTree(t, "a.txt", "bad <&>\x01\n")
	l := linter("bad", "1", &words{word: "bad"})
	for range 3 {
		if got := lines(t, tr.run(l)); !slices.Equal(got, []string{"a.txt has bad in line 1"}) {
			t.Errorf("lines %q", got)
		}
	}
}

// TestOddNamesAreNotMixedUp has names that JSON cannot hold.
func TestOddNamesAreNotMixedUp(t *testing.T) {
	tr := newTree(t, "a\xff.txt", "bad\n", "a\xfe.txt", "bad\n", "a\ufffd.txt", "bad\n", "new\nline.txt", "bad\n", "-x.txt", "bad\n", ".txt", "bad\n")
	whole := lint.Linter{Name: "whole", Files: lint.Named("*.txt"), Rules: "1", Whole: func(_ context.Context, task lint.Task) (lint.Outcome, error) {
		return task.Memory.Remember("all", task.Files, func() (lint.Outcome, error) {
			var out lint.Outcome
			for _, f := range task.Files {
				out.Findings = append(out.Findings, lint.Finding{File: f, Message: "whole"})
			}
			return out, nil
		})
	}}
	for i := range 3 {
		r := tr.run(linter("bad", "1", &words{word: "bad"}), whole)
		for _, l := range r.Results {
			var files []string
			for _, f := range l.Findings {
				files = append(files, f.File)
			}
			if want := []string{"-x.txt", ".txt", "a\xfe.txt", "a\xff.txt", "a\ufffd.txt", "new\nline.txt"}; !slices.Equal(files, want) {
				slices.Sort(want)
				if !slices.Equal(files, want) {
					t.Errorf("run %d of %s: files %q, want %q", i, l.Linter, files, want)
				}
			}
		}
	}
}

func TestWholeIsRemembered(t *testing.T) {
	tr := newTree(t, "a.txt", "1", "b.txt", "2", "rules.cfg", "x")
	asked := 0
	var during func()
	make := func(rules string) lint.Linter {
		return lint.Linter{Name: "whole", Files: lint.Named("*.txt"), Rules: rules, Whole: func(_ context.Context, task lint.Task) (lint.Outcome, error) {
			return task.Memory.Remember("all", append(slices.Clone(task.Files), "rules.cfg"), func() (lint.Outcome, error) {
				asked++
				if during != nil {
					during()
				}
				text, err := os.ReadFile(filepath.Join(task.Root, "a.txt"))
				return lint.Outcome{Findings: []lint.Finding{{File: "a.txt", Message: string(text), Text: "has " + string(text)}}, Files: 2, Version: "v"}, err
			})
		}}
	}
	step := func(what string, want int) lint.Result {
		t.Helper()
		asked = 0
		r := tr.run(make("1"))
		if asked != want {
			t.Errorf("%s: asked %d times, want %d", what, asked, want)
		}
		return r.Results[0]
	}
	step("first", 1)
	if r := step("again", 0); r.Cached != 2 || r.Files != 2 || r.Version != "v" || r.Findings[0].Text != "has 1" {
		t.Errorf("remembered %+v", r)
	}
	write(t, tr.root, "b.txt", "3")
	step("a file changed", 1)
	write(t, tr.root, "rules.cfg", "y")
	step("the rules changed", 1)
	write(t, tr.root, "c.txt", "")
	step("a file is new", 1)
	if err := os.Remove(filepath.Join(tr.root, "c.txt")); err != nil {
		t.Fatal(err)
	}
	step("a file is gone", 1)
	// A file that changes while it is looked at: the result belongs to nothing.
	during = func() { write(t, tr.root, "a.txt", "9") }
	write(t, tr.root, "a.txt", "8")
	step("changes during the run", 1)
	during = nil
	write(t, tr.root, "a.txt", "8")
	if r := step("back again", 1); r.Findings[0].Message != "8" {
		t.Errorf("what was found in another content is told: %+v", r.Findings)
	}
	tr.run(linter("other", "1", &words{word: "1"}))
	step("after a run of another linter", 0)
	if err := os.Remove(filepath.Join(tr.root, "rules.cfg")); err != nil {
		t.Fatal(err)
	}
	step("an input that cannot be read", 1)
}

func TestFailures(t *testing.T) {
	tr := newTree(t, "a.txt", "bad\n", "b.txt", "bad\n", "err.txt", "bad\n", "late.txt", "bad\n", "latin.txt", "b\xe4d bad\n", "z.txt", "bad\n")
	w := &words{word: "bad", on: func(file string) error {
		if file == "err.txt" {
			return errors.New("line 1: too deep")
		}
		return nil
	}}
	careful := checkFunc(func(file string, text []byte) ([]lint.Finding, error) {
		if !utf8.Valid(text) {
			return nil, errors.New("this is not UTF-8")
		}
		return nil, nil
	})
	if err := os.Symlink("nowhere", filepath.Join(tr.root, "dangling.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(tr.root, "dir.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	whole := lint.Linter{Name: "whole", Files: lint.Named("*.txt"), Whole: func(context.Context, lint.Task) (lint.Outcome, error) {
		return lint.Outcome{Files: 3}, errors.New("the tool broke")
	}}
	// Files that vanish after the walk, or cannot be read, as far as root can
	// have such: a link to nowhere and a folder.
	more := []string{"dangling.txt", "dir.txt", "gone.txt"}
	for range 2 {
		r := tr.runOn(more, linter("bad", "1", w), linter("careful", "1", careful), whole)
		bad, second := r.Results[0], r.Results[1]
		var failed []string
		for _, f := range bad.Failures {
			failed = append(failed, f.File)
		}
		if want := []string{"dangling.txt", "dir.txt", "err.txt", "gone.txt"}; !slices.Equal(failed, want) {
			t.Errorf("failures %+v, want one for each of %q", bad.Failures, want)
		}
		if bad.Files != 5 || len(bad.Findings) != 5 {
			t.Errorf("%d files judged, %d findings, want 5 of both", bad.Files, len(bad.Findings))
		}
		if bad.Failures[2].Err != "line 1: too deep" {
			t.Errorf("failure %q", bad.Failures[2].Err)
		}
		if n := len(second.Failures); n != 4 || second.Failures[3].File != "latin.txt" {
			t.Errorf("failures %+v", second.Failures)
		}
		if f := r.Results[2].Failures; len(f) != 1 || f[0].Err != "the tool broke" {
			t.Errorf("failures %+v", f)
		}
		err := r.Err(false)
		if fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "bad failed on 4 files or tools") || !strings.Contains(err.Error(), "5 findings in bad") {
			t.Errorf("verdict %v, code %d", err, fail.Code(err))
		}
	}
}

type checkFunc func(string, []byte) ([]lint.Finding, error)

func (f checkFunc) Check(file string, text []byte) ([]lint.Finding, error) { return f(file, text) }

func TestPermissions(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read every file")
	}
	tr := newTree(t, "a.txt", "bad\n", "b.txt", "bad\n")
	l := linter("bad", "1", &words{word: "bad"})
	tr.run(l)
	if err := os.Chmod(filepath.Join(tr.root, "a.txt"), 0); err != nil {
		t.Fatal(err)
	}
	if r := tr.run(l).Results[0]; len(r.Failures) != 1 || r.Failures[0].File != "a.txt" || len(r.Findings) != 1 {
		t.Errorf("result %+v", r)
	}
}

func TestCancelled(t *testing.T) {
	var files []string
	for i := range 200 {
		files = append(files, fmt.Sprintf("%03d.txt", i), "bad\n")
	}
	tr := newTree(t, files...)
	ctx, cancel := context.WithCancel(t.Context())
	w := &words{word: "bad", on: func(string) error { cancel(); return nil }}
	all, err := lint.Selection{}.Walk(t.Context(), tr.root)
	if err != nil {
		t.Fatal(err)
	}
	r, err := lint.Run(ctx, all, []lint.Linter{linter("bad", "1", w)}, lint.Options{Root: tr.root, Cache: tr.cache, Jobs: 2})
	if !errors.Is(err, context.Canceled) || fail.Code(err) != fail.Interrupted || len(r.Results) != 0 {
		t.Errorf("report %+v, error %v", r, err)
	}
	if n := w.times(); n > 10 {
		t.Errorf("%d files were judged after the end", n)
	}
	whole := lint.Linter{Name: "whole", Whole: func(ctx context.Context, _ lint.Task) (lint.Outcome, error) {
		<-ctx.Done()
		return lint.Outcome{}, fmt.Errorf("asking: %w", ctx.Err())
	}}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := lint.Run(ctx, all, []lint.Linter{whole}, lint.Options{Root: tr.root}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	w.on = nil
	if r := tr.run(linter("bad", "1", w)); len(r.Findings()) != 200 {
		t.Errorf("%d findings after a run that was ended", len(r.Findings()))
	}
}

func TestSkip(t *testing.T) {
	tr := newTree(t, "a.txt", "{{ bad }}\n", "b.txt", "bad\n")
	w := &words{word: "bad"}
	l := linter("bad", "1", w)
	l.Skip = func(text []byte) bool { return bytes.Contains(text, []byte("{{")) }
	for range 2 {
		if r := tr.run(l).Results[0]; r.Files != 1 || len(r.Findings) != 1 || len(r.Failures) != 0 {
			t.Errorf("result %+v", r)
		}
	}
	if n := w.times(); n != 1 {
		t.Errorf("asked %d times, want 1", n)
	}
}

func TestFix(t *testing.T) {
	tr := newTree(t, "a.txt", "bad\n", "sub/b.txt", "fine\n", "tool.txt", "#!bad\n")
	if err := os.Chmod(filepath.Join(tr.root, "tool.txt"), 0o750); err != nil {
		t.Fatal(err)
	}
	before := stat(t, tr, "sub/b.txt")
	tr.fix = true
	m := mender{&words{word: "bad", better: "good"}}
	r := tr.run(linter("bad", "1", m)).Results[0]
	if r.Mended != 2 || len(r.Findings) != 0 || len(r.Failures) != 0 || r.Files != 3 {
		t.Errorf("result %+v", r)
	}
	for file, want := range map[string]string{"a.txt": "good\n", "sub/b.txt": "fine\n", "tool.txt": "#!good\n"} {
		if text, err := os.ReadFile(filepath.Join(tr.root, file)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", file, text, err)
		}
	}
	if mode := stat(t, tr, "tool.txt").Mode(); mode != 0o750 {
		t.Errorf("mode %v, want that of before", mode)
	}
	if after := stat(t, tr, "sub/b.txt"); !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("a file in which nothing changed was written")
	}
	again := stat(t, tr, "a.txt")
	if r := tr.run(linter("bad", "1", m)).Results[0]; r.Mended != 0 {
		t.Errorf("mended again: %+v", r)
	}
	if !os.SameFile(again, stat(t, tr, "a.txt")) {
		t.Error("a mended file was written again")
	}
	entries, err := os.ReadDir(tr.root)
	if err != nil || len(entries) != 3 {
		t.Errorf("files are left behind: %v, %v", entries, err)
	}
}

func stat(t *testing.T, tr *tree, file string) os.FileInfo {
	t.Helper()
	info, err := os.Lstat(filepath.Join(tr.root, file))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestFixKnowsResults mends a file whose findings are known from a run
// without fixes.
func TestFixKnowsResults(t *testing.T) {
	tr := newTree(t, "a.txt", "bad\n", "b.txt", "fine\n")
	m := mender{&words{word: "bad", better: "good"}}
	tr.age()
	tr.run(linter("bad", "1", m))
	m.times()
	tr.fix = true
	if r := tr.run(linter("bad", "1", m)).Results[0]; r.Mended != 1 || r.Cached != 1 || len(r.Findings) != 0 {
		t.Errorf("result %+v", r)
	}
	if n := m.times(); n != 1 {
		t.Errorf("%d files judged, want the mended one", n)
	}
}

// TestFixOfTwo mends by two linters: what the second mends moves the lines of
// the first, so both judge after both have mended.
func TestFixOfTwo(t *testing.T) {
	tr := newTree(t, "a.txt", "one\nbad\nodd\n")
	tr.fix = true
	plain := &words{word: "odd"}
	m := mender{&words{word: "bad", better: "x\ny\ngood"}}
	r := tr.run(linter("plain", "1", plain), linter("bad", "1", m))
	if f := r.Findings(); len(f) != 1 || f[0].Line != 5 {
		t.Errorf("findings %+v, want odd in line 5, where it is now", f)
	}
	tr.fix = false
	again := tr.run(linter("plain", "1", plain), linter("bad", "1", m))
	if !slices.Equal(r.Findings(), again.Findings()) || plain.times() != 1 {
		t.Errorf("findings %+v after %+v", again.Findings(), r.Findings())
	}
}

// TestFixRefuses does not put a file in the place of a link, nor over what
// somebody wrote meanwhile.
func TestFixRefuses(t *testing.T) {
	tr := newTree(t, "real.md", "bad\n", "busy.txt", "bad\n", "z.txt", "bad\n")
	if err := os.Symlink("real.md", filepath.Join(tr.root, "link.txt")); err != nil {
		t.Fatal(err)
	}
	tr.fix = true
	l := linter("bad", "1", busy{mender{&words{word: "bad", better: "good"}}, tr})
	r := tr.runOn([]string{"link.txt"}, l).Results[0]
	if len(r.Failures) != 2 || r.Failures[0].File != "busy.txt" || r.Failures[1].File != "link.txt" || r.Mended != 1 {
		t.Errorf("result %+v", r)
	}
	for i, want := range []string{"changed while it was looked at", "is not a regular file"} {
		if len(r.Failures) == 2 && !strings.Contains(r.Failures[i].Err, want) {
			t.Errorf("failure %q does not say %q", r.Failures[i].Err, want)
		}
	}
	if stat(t, tr, "link.txt").Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	for file, want := range map[string]string{"real.md": "bad\n", "busy.txt": "mine, not bad\n", "z.txt": "good\n"} {
		if text, err := os.ReadFile(filepath.Join(tr.root, file)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", file, text, err)
		}
	}
}

// busy is a mender beside which somebody edits a file.
type busy struct {
	mender
	tr *tree
}

func (b busy) Fix(file string, text []byte) ([]byte, error) {
	if file == "busy.txt" {
		write(b.tr.T, b.tr.root, file, "mine, not bad\n")
	}
	return b.mender.Fix(file, text)
}

func TestVerdicts(t *testing.T) {
	skipped := lint.Report{Results: []lint.Result{{Linter: "scripts", Skipped: "shellcheck is not installed"}}}
	if err := skipped.Err(false); err != nil {
		t.Errorf("a linter that was skipped fails a run: %v", err)
	}
	if err := skipped.Err(true); fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "shellcheck is not installed") {
		t.Errorf("verdict %v where linters are required", err)
	}
	advice := lint.Report{Results: []lint.Result{{Linter: "a", Findings: []lint.Finding{{Severity: lint.Warning}, {Severity: lint.Notice}}}}}
	if err := advice.Err(true); err != nil {
		t.Errorf("warnings fail a run: %v", err)
	}
}
