// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/istio-ecosystem/slipway/tools/repo"
)

// watch answers whether a unit is still what its inputs make. It computes what
// all units share once.
type watch struct {
	r    Request
	user userFlags

	shared     *inputs // Toolchain and Environment, once known
	unwatched  string  // why nothing can be recorded, if so
	walks      map[string]repo.Snapshot
	recordable map[int]record // by index: records whose file is intact
}

func newWatch(r Request, user userFlags) *watch {
	return &watch{r: r, user: user, walks: map[string]repo.Snapshot{}, recordable: map[int]record{}}
}

// split fills the results of fresh units and returns the others.
func (w *watch) split(ctx context.Context, units []unit, results []*Binary) []unit {
	var stale []unit
	for _, u := range units {
		rec, why := w.fresh(ctx, u)
		if why != "" {
			w.r.Console.Verbose("slipway: building %s for %s: %s", u.Name, w.r.Platform, why)
			stale = append(stale, u)
			continue
		}
		b := rec.Binary
		b.Name, b.Path, b.Fresh = u.Name, u.dest, true
		results[u.index] = &b
	}
	return stale
}

func (w *watch) fresh(ctx context.Context, u unit) (record, string) {
	rec, why := readRecord(ctx, u)
	if why != "" {
		return rec, why
	}
	w.recordable[u.index] = rec
	source, err := w.source(ctx, rec.Roots)
	if err != nil {
		return rec, "its sources cannot be read: " + err.Error()
	}
	now := w.inputs(ctx, u, source)
	if w.unwatched != "" {
		return rec, w.unwatched
	}
	return rec, rec.Inputs.differs(now)
}

// inputs are the keys of a unit now.
func (w *watch) inputs(ctx context.Context, u unit, source string) inputs {
	if w.shared == nil {
		var in inputs
		in.Toolchain, w.unwatched = w.r.toolchain(ctx)
		in.Environment = w.r.environment()
		if why := w.r.unwatchable(w.user); why != "" {
			w.unwatched = why
		}
		w.shared = &in
	}
	in := *w.shared
	in.Source = source
	in.Flags = key(slices.Concat(u.flags, w.r.Platform.environ(w.r.baseEnv())))
	in.Package = key([]string{w.r.Source.Module, w.r.Source.Dir, u.path})
	return in
}

// source is the key of the sources; the walk is done once per set of roots.
func (w *watch) source(ctx context.Context, roots []string) (string, error) {
	if w.r.Source.InModuleCache {
		return w.r.Source.Module + "@" + w.r.Source.Version + " " + w.r.Source.Sum, nil
	}
	id := strings.Join(roots, "\x00")
	snapshot, ok := w.walks[id]
	if !ok {
		var err error
		if snapshot, err = w.walk(ctx, roots); err != nil {
			return "", err
		}
		w.walks[id] = snapshot
	}
	return snapshot.Key, nil
}

func (w *watch) walk(ctx context.Context, roots []string) (repo.Snapshot, error) {
	return repo.Walk(ctx, roots, append([]string{w.r.OutDir}, w.r.Outputs...))
}

// sourceState is what the sources were before a batch was built.
type sourceState struct {
	roots []string
	key   string
	why   string // why it cannot be recorded
}

// begin notes the state of the sources before go build reads them.
func (w *watch) begin(ctx context.Context) sourceState {
	var s sourceState
	if w.r.Source.InModuleCache {
		s.key, _ = w.source(ctx, nil)
		return s
	}
	var err error
	if s.roots, err = w.r.roots(ctx); err != nil {
		s.why = err.Error()
		return s
	}
	for range 2 {
		begun := time.Now()
		snapshot, err := w.walk(ctx, s.roots)
		switch {
		case err != nil:
			s.why = err.Error()
			return s
		case len(snapshot.Loose) > 0:
			s.why = "links leave the tree: " + strings.Join(snapshot.Loose, ", ")
			return s
		case snapshot.Settled(begun):
			s.key, s.why = snapshot.Key, ""
			return s
		}
		// A file was written just now. One more tick, and a later write shows.
		s.why = "the sources are being written to"
		time.Sleep(2 * repo.Tick)
	}
	return s
}

// keep records the units of a batch, unless an input cannot be watched. The
// state is that from before the build: what was written meanwhile has a later
// change time, so the next call sees it, whether Go read the old or the new.
// That a record cannot be written is no failure: the next call builds again.
func (w *watch) keep(ctx context.Context, before sourceState, batch []unit, made []Binary) {
	why := before.why
	for i, u := range batch {
		in := w.inputs(ctx, u, before.key)
		if why == "" {
			why = w.unwatched
		}
		if why != "" {
			_ = os.Remove(recordPath(u))
			continue
		}
		state, err := stateOf(u.dest)
		if err == nil {
			err = writeRecord(u, record{recordFormat, in, before.roots, made[i], state})
		}
		if err != nil {
			w.r.Console.Verbose("slipway: %s will be built again next time: %v", u.Name, err)
		}
	}
	if why != "" {
		w.r.Console.Verbose("slipway: %s will be built again next time: %s", names(batch), why)
	}
}

// seed puts the binaries that are there into the stage. Go then sees the ones
// that it would make again, and spares itself the linking, which is most of the
// work. Only a file that is as it was recorded may be used, since Go trusts the
// build id in its header.
func (w *watch) seed(s *stage, batch []unit) {
	for _, u := range batch {
		if _, ok := w.recordable[u.index]; ok {
			_ = os.Link(u.dest, s.file(u.base)) // if not, Go links anew
		}
	}
}

// reused returns the recorded binary when go build left the seed as it was.
func (w *watch) reused(s *stage, u unit) (Binary, bool) {
	rec, ok := w.recordable[u.index]
	if !ok {
		return Binary{}, false
	}
	old, err1 := os.Lstat(u.dest)
	now, err2 := os.Lstat(s.file(u.base))
	if err1 != nil || err2 != nil || !os.SameFile(old, now) {
		return Binary{}, false
	}
	b := rec.Binary
	b.Fresh = true
	return b, true
}
