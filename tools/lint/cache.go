// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// cache remembers what each linter found in a file, by the file's content and
// the linter's rules, for one tree. Whether the content is still the same is
// told from what the file system says (size, times, inode), as git does; a
// file that changed so lately that its times cannot tell is read again.
type cache struct {
	path string
	root string
	now  time.Time

	mu    sync.Mutex
	dirty bool
	used  map[string]bool // keys of Whole and names of Sums that this run asked for
	data  cacheData
}

// cacheForm is raised when entries get another meaning.
const cacheForm = 2

type cacheData struct {
	Form  int               `json:"form"`
	By    string            `json:"by"` // the program that judged: another may judge otherwise
	Files map[string]*entry `json:"files"`
	Sums  map[string]known  `json:"sums"`
	Whole map[string]memo   `json:"whole"`
}

// known is the content of an input of a linter of the whole set.
type known struct {
	Stat stamp  `json:"stat"`
	Sum  string `json:"sum"`
}

// entry is what is known of one file. A file is in the hands of one worker at
// a time.
type entry struct {
	Stat    stamp             `json:"stat"`
	Sum     string            `json:"sum"`
	Results map[string]stored `json:"results,omitempty"`

	stat  stamp // now; zero when it could not be had
	same  bool  // Stat holds: the content is that of Sum
	cache *cache
}

type stored struct {
	Findings []Finding `json:"findings,omitempty"`
	Texts    []string  `json:"texts,omitempty"` // Finding.Text is not in its JSON
	Skipped  bool      `json:"skipped,omitempty"`
}

type memo struct {
	Inputs  string `json:"inputs"`
	Outcome stored `json:"outcome"`
	Files   int    `json:"files"`
	Version string `json:"version,omitempty"`
}

// racy is how long a file system may give two states of a file the same time.
const racy = 2 * time.Second

// openCache reads the cache. One that cannot be read is begun anew: it only
// saves time.
func openCache(o Options) *cache {
	c := &cache{path: o.Cache, root: o.Root, now: time.Now(), used: map[string]bool{}}
	by := programID()
	if text, err := os.ReadFile(o.Cache); err == nil && json.Unmarshal(text, &c.data) == nil && c.data.Form == cacheForm && c.data.By == by {
		for file, e := range c.data.Files {
			if e == nil {
				delete(c.data.Files, file)
				continue
			}
			for key, r := range e.Results {
				e.Results[key] = r.withTexts()
			}
		}
		for key, m := range c.data.Whole {
			m.Outcome = m.Outcome.withTexts()
			c.data.Whole[key] = m
		}
	} else {
		c.data = cacheData{}
	}
	c.data.Form, c.data.By = cacheForm, by
	if c.data.Files == nil {
		c.data.Files = map[string]*entry{}
	}
	if c.data.Sums == nil {
		c.data.Sums = map[string]known{}
	}
	if c.data.Whole == nil {
		c.data.Whole = map[string]memo{}
	}
	return c
}

// programID stands for the code of this program. The linker puts an id of all
// that was compiled near the start of it, so the rest need not be read. A
// program that cannot be read has none: then the form alone counts.
func programID() string {
	const head = 32 << 10
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, head))
	if err != nil {
		return ""
	}
	return sumOf(text)
}

// withTexts gives findings the lines that were stored beside them.
func (s stored) withTexts() stored {
	for i, text := range s.Texts {
		if i < len(s.Findings) {
			s.Findings[i].Text = text
		}
	}
	s.Texts = nil
	return s
}

func (s stored) splitTexts() stored {
	for i, f := range s.Findings {
		if f.Text != "" {
			if s.Texts == nil {
				s.Texts = make([]string, len(s.Findings))
			}
			s.Texts[i] = f.Text
		}
	}
	return s
}

// look returns what is known of a file.
func (c *cache) look(file, path string) *entry {
	c.mu.Lock()
	e := c.data.Files[file]
	if e == nil {
		e = &entry{}
		c.data.Files[file] = e
	}
	c.mu.Unlock()
	e.cache = c
	info, err := os.Stat(path)
	if err != nil {
		return e
	}
	e.stat = stampOf(info)
	e.same = e.Sum != "" && e.stat == e.Stat
	return e
}

// result returns what was found in this content under these rules.
func (e *entry) result(key string) (stored, bool) {
	if !e.same {
		return stored{}, false
	}
	r, ok := e.Results[key]
	return r, ok
}

// read reads the file, and forgets earlier results if it has changed.
func (c *cache) read(e *entry, path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if text == nil {
		text = []byte{}
	}
	c.seen(e, text)
	return text, nil
}

// seen takes over what the content is now.
func (c *cache) seen(e *entry, text []byte) {
	sum := sumOf(text)
	if sum != e.Sum {
		e.Results = nil
	}
	e.Sum, e.Stat, e.same = sum, e.stat, true
	if c.now.Sub(e.stat.modified()) < racy {
		e.Stat = stamp{} // it may change again without another time
	}
	c.mark()
}

// changed takes over a file that we wrote.
func (c *cache) changed(e *entry, path string, text []byte) {
	if info, err := os.Stat(path); err == nil {
		e.stat = stampOf(info)
	}
	c.seen(e, text)
}

// keep takes over what a linter found. What it found under other rules is
// forgotten.
func (e *entry) keep(key string, s stored) {
	if e.Results == nil {
		e.Results = map[string]stored{}
	}
	for other := range e.Results {
		if linterOf(other) == linterOf(key) {
			delete(e.Results, other)
		}
	}
	e.Results[key] = s
	e.cache.mark()
}

// resultKey is that of what a linter found in a file under its rules.
func resultKey(l Linter) string { return l.Name + " " + sumOf([]byte(l.Rules)) }

func linterOf(key string) string { return key[:max(0, strings.LastIndexByte(key, ' '))] }

func (c *cache) mark() {
	c.mu.Lock()
	c.dirty = true
	c.mu.Unlock()
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func (c *cache) recall(key, state string) (Outcome, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[key] = true
	m, ok := c.data.Whole[key]
	if !ok || m.Inputs != state {
		return Outcome{}, false
	}
	return Outcome{Findings: m.Outcome.Findings, Files: m.Files, Cached: m.Files, Version: m.Version}, true
}

func (c *cache) keep(key, state string, out Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data.Whole[key] = memo{Inputs: state, Outcome: stored{Findings: out.Findings}, Files: out.Files, Version: out.Version}
	c.dirty = true
}

// state stands for names and contents of files.
func (c *cache) state(inputs []string) (string, error) {
	sum := sha256.New()
	for _, file := range inputs {
		path := filepath.Join(c.root, filepath.FromSlash(file))
		content, err := c.sum(file, path)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s\x00%s\n", file, content)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// sum is that of a file's content, without reading it when it is known. Two
// workers may both come to know it.
func (c *cache) sum(file, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	now := stampOf(info)
	c.mu.Lock()
	k := c.data.Sums[file]
	c.used[file] = true
	c.mu.Unlock()
	if k.Stat == now {
		return k.Sum, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	k = known{Stat: now, Sum: sumOf(text)}
	if c.now.Sub(now.modified()) < racy {
		k.Stat = stamp{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data.Sums[file] = k
	c.dirty = true
	return k.Sum, nil
}

// save writes the cache, without files that are gone, and without what linters
// that ran no longer ask for.
func (c *cache) save(files []string, ran []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.path == "" || !c.dirty {
		return nil
	}
	c.tidy(files, ran)
	for _, e := range c.data.Files {
		for key, r := range e.Results {
			e.Results[key] = r.splitTexts()
		}
	}
	for key, m := range c.data.Whole {
		m.Outcome = m.Outcome.splitTexts()
		c.data.Whole[key] = m
	}
	text, err := json.Marshal(c.data)
	if err != nil {
		return fmt.Errorf("writing down results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o755); err != nil {
		return fmt.Errorf("making the folder of results: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(c.path), ".lint-")
	if err != nil {
		return fmt.Errorf("writing down results: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing down results: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// tidy drops what nobody will ask for again, and what JSON cannot hold: names
// that are not UTF-8 would come back as others.
func (c *cache) tidy(files []string, ran []string) {
	there := make(map[string]bool, len(files))
	for _, f := range files {
		there[f] = true
	}
	for file, e := range c.data.Files {
		if !there[file] || e.Sum == "" || !utf8.ValidString(file) {
			delete(c.data.Files, file)
		}
	}
	for file := range c.data.Sums {
		if !there[file] && !c.used[file] || !utf8.ValidString(file) {
			delete(c.data.Sums, file)
		}
	}
	for key, m := range c.data.Whole {
		name, _, _ := strings.Cut(key, "\x00")
		odd := func(f Finding) bool { return !utf8.ValidString(f.File) }
		if !c.used[key] && slices.Contains(ran, name) || !utf8.ValidString(key) || slices.ContainsFunc(m.Outcome.Findings, odd) {
			delete(c.data.Whole, key)
		}
	}
}
