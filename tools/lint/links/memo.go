// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	memoForm   = 1                  // of the file
	goodHolds  = 7 * 24 * time.Hour // how long a working link is believed
	wrongHolds = time.Hour          // a broken one may be mended any time
)

// memo holds earlier answers. It is safe for concurrent use.
type memo struct {
	path string
	o    Options
	now  func() time.Time

	mu    sync.Mutex
	data  map[string]kept
	fresh map[string]kept
	hits  int
}

type kept struct {
	Answer answer    `json:"answer"`
	When   time.Time `json:"when"`
}

type memoFile struct {
	Form    int             `json:"form"`
	Answers map[string]kept `json:"answers"`
}

// openMemo reads earlier answers. A file that cannot be read is none: the error
// is for telling it.
func openMemo(o Options) (*memo, error) {
	m := &memo{path: o.Cache, o: o, now: time.Now, fresh: map[string]kept{}}
	if o.Cache == "" {
		return m, nil
	}
	var err error
	m.data, err = readMemo(o.Cache)
	return m, err
}

func readMemo(path string) (map[string]kept, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading earlier answers of links: %w", err)
	}
	var file memoFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("reading earlier answers of links in %s: %w", path, err)
	}
	if file.Form != memoForm {
		return nil, nil
	}
	return file.Answers, nil
}

// key tells modes apart, as redirects are followed in one only.
func (m *memo) key(address string) string {
	if m.o.Compat {
		return "compat " + address
	}
	return address
}

// look returns an earlier answer that still holds and knows the fragments.
func (m *memo) look(address string, fragments []string) (answer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.data[m.key(address)]
	if !ok || !m.holds(address, k) {
		return answer{}, false
	}
	for _, f := range fragments {
		if _, known := k.Answer.Fragments[f]; !known && m.good(address, k.Answer) {
			return answer{}, false
		}
	}
	m.hits++
	return k.Answer, true
}

func (m *memo) good(address string, a answer) bool {
	u, err := url.Parse(address)
	if err != nil || a.Kind != "" {
		return false
	}
	if final, err := url.Parse(a.Final); a.Final != "" && err == nil {
		u = final
	}
	return m.o.accepts(u, a.Status)
}

func (m *memo) holds(address string, k kept) bool {
	age := m.now().Sub(k.When)
	return age >= 0 && (age < wrongHolds || age < goodHolds && m.good(address, k.Answer))
}

// keep remembers an answer that a server gave. What a server did not answer, or
// would not this time, says nothing about the next time.
func (m *memo) keep(address string, a answer) {
	if m.path == "" || a.Kind != "" && a.Kind != loop && a.Kind != tooFar || !m.good(address, a) && uncertain(a) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh[m.key(address)] = kept{a, m.now()}
}

// save writes the answers down, beside those that another run wrote meanwhile.
func (m *memo) save() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.path == "" || len(m.fresh) == 0 {
		return nil
	}
	all, err := readMemo(m.path)
	if err != nil || all == nil {
		all = map[string]kept{}
	}
	for key, k := range all {
		if m.now().Sub(k.When) >= goodHolds {
			delete(all, key)
		}
	}
	for key, k := range m.fresh {
		all[key] = k
	}
	text, err := json.Marshal(memoFile{memoForm, all})
	if err != nil {
		return fmt.Errorf("writing down answers of links: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o755); err != nil {
		return fmt.Errorf("making the folder of answers of links: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(m.path), ".links-")
	if err != nil {
		return fmt.Errorf("writing down answers of links: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), m.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing down answers of links: %w", err), os.Remove(f.Name()))
	}
	return nil
}
