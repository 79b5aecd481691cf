// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Lock is a file of known checksums. It is YAML, so JSON as well:
//
//	version: 1
//	files:
//	- url: https://blob.istio.io/istio-build/proxy/envoy-alpha-….tar.gz
//	  sha256: …
//	  size: 41298372
//
// A nil Lock knows nothing. It is safe for use by many goroutines.
type Lock struct {
	path    string
	mu      sync.Mutex
	entries map[string]Entry
	changed bool
}

// Entry is what a URL holds, for ever.
type Entry struct {
	URL    string `yaml:"url"` // as URL.Identity has it
	SHA256 string `yaml:"sha256"`
	Size   int64  `yaml:"size,omitempty"` // bytes; 0: not known
}

const lockVersion = 1

const lockHeader = `# Checksums of programs that are downloaded. mage prebuilt:lock adds what is
# missing and changes nothing; remove an entry to have it written anew.
`

// ReadLock reads a lock; a file that does not exist is an empty one. Errors
// have the code fail.Usage.
func ReadLock(path string) (*Lock, error) {
	l := &Lock{path: path, entries: map[string]Entry{}}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, usage("reading the lock: %w", err)
	}
	var file struct {
		Version int         `yaml:"version"`
		Files   []yaml.Node `yaml:"files"`
	}
	if err := strictYAML(content, &file); err != nil {
		return nil, usage("reading the lock %q: %w", path, err)
	}
	if file.Version != lockVersion {
		return nil, usage("reading the lock %q: its version is %d, and this Slipway knows %d", path, file.Version, lockVersion)
	}
	for _, n := range file.Files {
		if err := l.read(&n); err != nil {
			return nil, usage("%s:%d: %w", path, n.Line, err)
		}
	}
	return l, nil
}

func (l *Lock) read(n *yaml.Node) error {
	var e Entry
	raw, err := yaml.Marshal(n)
	if err != nil {
		return err
	}
	if err := strictYAML(raw, &e); err != nil {
		return err
	}
	_, twice := l.entries[e.URL]
	switch {
	case e.URL == "":
		return errors.New("an entry has no url")
	case !isSHA256(e.SHA256):
		return fmt.Errorf("the sha256 of %q is %q: it must be 64 lower-case hex digits", e.URL, e.SHA256)
	case e.Size < 0:
		return fmt.Errorf("the size of %q is %d", e.URL, e.Size)
	case twice:
		return fmt.Errorf("%q is there twice", e.URL)
	}
	l.entries[e.URL] = e
	return nil
}

// strictYAML refuses keys that nobody reads: a misspelled one would switch a
// check off.
func strictYAML(content []byte, v any) error {
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	return d.Decode(v)
}

// Path is where the lock was read from.
func (l *Lock) Path() string {
	if l == nil {
		return ""
	}
	return l.path
}

// Find returns what is known of a URL.
func (l *Lock) Find(u URL) (Entry, bool) {
	if l == nil {
		return Entry{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[u.Identity()]
	return e, ok
}

// Entries returns all entries, sorted by URL.
func (l *Lock) Entries() []Entry {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Entry, 0, len(l.entries))
	for _, e := range l.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.URL, b.URL) })
	return all
}

// Retain drops the entries of all other URLs: those of versions that are no
// longer used.
func (l *Lock) Retain(used []URL) {
	keep := map[string]bool{}
	for _, u := range used {
		keep[u.Identity()] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for u := range l.entries {
		if !keep[u] {
			delete(l.entries, u)
			l.changed = true
		}
	}
}

// Save writes the lock, sorted, if it was changed.
func (l *Lock) Save() error {
	files := l.Entries()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.changed {
		return nil
	}
	content := bytes.NewBufferString(lockHeader)
	out := yaml.NewEncoder(content)
	out.SetIndent(2)
	err := out.Encode(struct {
		Version int     `yaml:"version"`
		Files   []Entry `yaml:"files"`
	}{lockVersion, files})
	if err != nil {
		return fmt.Errorf("writing the lock %q: %w", l.path, err)
	}
	if err := replaceFile(l.path, content.Bytes()); err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	l.changed = false
	return nil
}

// add writes an entry for a URL that has none.
func (l *Lock) add(e Entry) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.entries[e.URL]; !ok {
		l.entries[e.URL] = e
		l.changed = true
	}
}
