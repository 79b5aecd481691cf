// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

// saveEvery bounds how often the result file is written while running. What
// is lost with a kill is only what Resume asks the registries for anyway.
const saveEvery = 200 * time.Millisecond

// record is the result while it grows. It is safe for use by many goroutines.
type record struct {
	path  string // empty: not kept
	start time.Time

	mu     sync.Mutex
	result Result
	index  map[*target]int
	saved  time.Time
}

// newRecord starts a result with the plan. References that a former run put
// in place keep that state until they are asked for again.
func newRecord(o Options, targets []*target, former *Result) *record {
	start := time.Now()
	layout, _ := filepath.Abs(o.Layout) // openLayout made sure of it
	c := &record{path: o.ResultFile, start: start, index: map[*target]int{}, result: Result{
		Version: resultVersion, Phase: Checking, Layout: layout, Started: start.UTC(),
		NoClobber: o.NoClobber, AllOrNothing: o.AllOrNothing,
	}}
	for i, t := range targets {
		ref := Reference{Reference: t.reference, Image: t.item, Hub: t.hub, Digest: t.digest, State: Untouched}
		if former != nil {
			j := slices.IndexFunc(former.References, func(f Reference) bool { return f.Reference == t.reference })
			if j >= 0 && former.References[j].InPlace() {
				t.moved, ref.State = true, former.References[j].State
			}
		}
		c.index[t] = i
		c.result.References = append(c.result.References, ref)
	}
	return c
}

func (c *record) set(t *target, s State, class registry.Class, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := &c.result.References[c.index[t]]
	ref.State, ref.Class, ref.Message = s, class, message
	ref.Seconds = time.Since(c.start).Seconds()
}

func (c *record) state(t *target) State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result.References[c.index[t]].State
}

func (c *record) class(t *target) registry.Class {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result.References[c.index[t]].Class
}

func (c *record) enter(p Phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Phase = p
}

// finish adds the totals.
func (c *record) finish(client *registry.Client, targets []*target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Phase, c.result.Seconds = Done, time.Since(c.start).Seconds()
	seen := map[string]bool{}
	for _, t := range targets {
		if repo := t.tag.Repository; !seen[repo.Name()] {
			seen[repo.Name()] = true
			c.result.Repositories = append(c.result.Repositories, Repository{
				Repository: repo.Name(), Hub: t.hub, Counts: client.Stats(repo).Snapshot(),
			})
		}
	}
}

func (c *record) snapshot() *Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.result
	r.References = slices.Clone(r.References)
	r.Repositories = slices.Clone(r.Repositories)
	return &r
}

// urgency is how a result file is written.
type urgency int

const (
	soon    urgency = iota // unless it was written just before
	now                    // in any case
	durable                // in any case, and so that it outlives a loss of power
)

// save writes the result file, if there is one.
func (c *record) save(how urgency) error {
	if c.path == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if how == soon && time.Since(c.saved) < saveEvery {
		return nil
	}
	c.saved = time.Now()
	if err := writeResult(c.path, &c.result, how == durable); err != nil {
		return fmt.Errorf("writing result %q: %w", c.path, err)
	}
	return nil
}

// writeResult writes r whole or not at all; with sync it also survives a loss
// of power.
func writeResult(path string, r *Result, sync bool) (err error) {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(append(body, '\n'))
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil || !sync {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename in dir outlive a loss of power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ReadResult reads a result file.
func ReadResult(path string) (*Result, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading result: %w", err)
	}
	r := &Result{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, fmt.Errorf("parsing result %q: %w", path, err)
	}
	if r.Version != resultVersion {
		return nil, fmt.Errorf("reading result %q: its version is %d, this program reads %d: publish again", path, r.Version, resultVersion)
	}
	return r, nil
}
