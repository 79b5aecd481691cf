// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/publish/registry"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// Item is one image or index of the layout and where it goes.
type Item struct {
	Name       string  // the image's name, as in the references: `install-cni`
	Digest     v1.Hash // of its manifest or index in the layout
	References []string
}

// Options of one run. Layout, Items and Console are needed.
type Options struct {
	Layout       string // folder of an OCI layout
	Items        []Item
	Jobs         int      // requests in flight, in all; 0: 16
	PerHost      int      // requests in flight to one registry; 0: 6
	Insecure     []string // registries that may be spoken to in plain HTTP
	NoClobber    bool     // never move a tag that exists
	AllOrNothing bool     // no tag anywhere unless every hub took the whole set
	Keychain     authn.Keychain
	ResultFile   string // where the result is kept, also while running; empty: nowhere
	// MountFrom names, by registry, repositories of ours that may hold some of
	// the blobs: the base image's, or those of an earlier run.
	MountFrom map[string][]string
	Retry     registry.Retry
	Console   *ui.Console
	Transport http.RoundTripper // nil: one of our own
}

// Publish pushes all items to all their references. The result is not nil
// unless the options are wrong; it says for each reference what became of it.
// The error has the exit code that the package comment names.
func Publish(ctx context.Context, o Options) (*Result, error) {
	return publish(ctx, o, nil)
}

// Resume reads the result file of a former run and finishes what is missing,
// from the layout that run used (or o.Layout, when the layout was moved).
// Items of o are not used; NoClobber and AllOrNothing hold if either run set
// them. A reference that the former run had published and that has another
// digest now was moved by somebody else: the run stops before it sends
// anything.
func Resume(ctx context.Context, resultFile string, o Options) (*Result, error) {
	former, err := ReadResult(resultFile)
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	if o.Layout == "" {
		o.Layout = former.Layout
	}
	if o.ResultFile == "" {
		o.ResultFile = resultFile
	}
	o.NoClobber = o.NoClobber || former.NoClobber
	o.AllOrNothing = o.AllOrNothing || former.AllOrNothing
	o.Items = former.items()
	return publish(ctx, o, former)
}

func publish(ctx context.Context, o Options, former *Result) (*Result, error) {
	if o.Console == nil {
		o.Console = ui.Discard()
	}
	targets, err := plan(o.Items)
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	mounts, err := mountSources(o.MountFrom)
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	images, err := openLayout(o.Layout)
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	client := registry.New(registry.Options{
		Jobs: o.Jobs, PerHost: o.PerHost, Insecure: o.Insecure, Keychain: o.Keychain,
		Retry: o.Retry, Transport: o.Transport, Log: o.Console.Verbose,
	})
	if o.Transport == nil {
		defer client.CloseIdle()
	}
	r := &run{opts: o, client: client, layout: images, targets: targets, mounts: mounts, started: time.Now()}
	r.record = newRecord(o, targets, former)
	return r.execute(ctx)
}

// run is one run of the phases.
type run struct {
	opts    Options
	client  *registry.Client
	layout  *layoutDir
	targets []*target
	mounts  mounts
	record  *record
	started time.Time
}

func (r *run) execute(ctx context.Context) (*Result, error) {
	if err := r.record.save(now); err != nil {
		return nil, err // a result that cannot be kept must be known before the push
	}
	r.announce()
	sent, err := r.phases(ctx)
	r.record.finish(r.client, r.targets)
	how := now
	if sent {
		how = durable
	}
	if saveErr := r.record.save(how); err == nil {
		err = saveErr
	}
	result := r.record.snapshot()
	r.summarise(result)
	return result, r.verdict(ctx, result, err)
}

// phases runs the phases; sent is false when the registries were only asked.
// An error is one that concerns the run as a whole; those of single references
// are in the record.
func (r *run) phases(ctx context.Context) (sent bool, err error) {
	r.each(r.targets, func(t *target) { r.check(ctx, t) })
	pending := r.inState(Untouched)
	if r.stopForConflict(pending) || len(pending) == 0 || ctx.Err() != nil {
		return false, nil
	}
	work, err := r.prepare(pending)
	if err != nil {
		r.holdBack(pending, "nothing was sent: the layout is not complete")
		return false, err
	}
	r.record.enter(Uploading)
	if err := r.record.save(durable); err != nil {
		return false, err
	}
	r.upload(ctx, work)
	if ctx.Err() != nil {
		return true, nil
	}
	r.record.enter(Tagging)
	if err := r.record.save(now); err != nil {
		return true, err
	}
	r.each(r.complete(), func(t *target) { r.tag(ctx, t) })
	return true, nil
}

// each calls f for all targets side by side; the client bounds the requests.
func (r *run) each(targets []*target, f func(*target)) {
	var wg sync.WaitGroup
	for _, t := range targets {
		wg.Go(func() { f(t) })
	}
	wg.Wait()
}

func (r *run) inState(s State) []*target {
	var out []*target
	for _, t := range r.targets {
		if r.record.state(t) == s {
			out = append(out, t)
		}
	}
	return out
}

// verdict is the error of the run, with its exit code.
func (r *run) verdict(ctx context.Context, result *Result, err error) error {
	done, missing := result.count()
	if missing == 0 && err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("publishing: stopped with %d of %d references in place%s: %w", done, done+missing, r.hint(), ctx.Err())
	}
	code := result.code()
	if err != nil {
		if code != fail.Partial {
			code = fail.Failed
		}
		return fail.With(code, fmt.Errorf("publishing: %w", err))
	}
	return fail.With(code, fmt.Errorf("publishing: %d of %d references are not in place%s", missing, done+missing, r.hint()))
}

func (r *run) hint() string {
	if r.opts.ResultFile == "" {
		return ""
	}
	return fmt.Sprintf("; resume from %s finishes without building again", r.opts.ResultFile)
}
