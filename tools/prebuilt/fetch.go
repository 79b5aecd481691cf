// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// From tells where a program was found.
type From string

// The places, the nearest first.
const (
	FromUser     From = "user"     // a file of the user at a path that the user named
	FromPlace    From = "place"    // it was in its place already
	FromFile     From = "file"     // a local file or archive
	FromCache    From = "cache"    // downloaded by an earlier run
	FromDownload From = "download" // downloaded now
	FromCargo    From = "cargo"    // built from a checkout
)

// Fetched is a program in its place.
type Fetched struct {
	Path     string `json:"path"`
	SHA256   string `json:"sha256"` // of the program
	Size     int64  `json:"size"`
	From     From   `json:"from"`
	Download string `json:"download,omitempty"` // sha256 of what it was taken from
	// Verified is true when the download was compared with a checksum from
	// the Source, the lock or an oci: digest.
	Verified bool `json:"verified"`
}

// Fetch puts a program into its places and returns the first. It does nothing
// when it is there, whole and from the wanted source.
//
// Errors have the code fail.Usage for a source that cannot be meant,
// fail.Unavailable when the program cannot be reached (then their text names
// the ways to supply it, and the rest can still be built), and none when what
// arrived is not what was wanted.
func Fetch(ctx context.Context, item Item, options Options) (Fetched, error) {
	j, err := newJob(item, options)
	if err != nil {
		return Fetched{}, err
	}
	if options.Client == nil {
		defer j.opt.Client.CloseIdleConnections() // it is ours
	}
	done, err := j.fetch(ctx)
	if err != nil {
		return Fetched{}, j.explain(err)
	}
	return done, nil
}

// job is one call of Fetch.
type job struct {
	Item
	id   string // identity of the source in records
	opt  Options
	want pin
}

// pin is a checksum that a download must have, and who says so.
type pin struct {
	sha256, by string
}

func newJob(item Item, options Options) (*job, error) {
	if err := item.check(); err != nil {
		return nil, err
	}
	opt, err := options.complete()
	if err != nil {
		return nil, err
	}
	j := &job{Item: item, id: item.URL.Identity(), opt: opt}
	if kind, _ := item.URL.kind(); kind == kindFile {
		// A relative path means another file elsewhere.
		j.id = "file:" + item.URL.localPath(opt.Dir)
	}
	if entry, ok := opt.Lock.Find(item.URL); ok {
		j.want = pin{entry.SHA256, opt.Lock.Path()}
	}
	if item.SHA256 != "" {
		j.want = pin{item.SHA256, "the catalog or a setting"}
	}
	return j, nil
}

func (j *job) fetch(ctx context.Context) (Fetched, error) {
	if j.theirs() {
		return j.useTheirs(ctx)
	}
	if rec, ok := j.placed(ctx, true); ok {
		return j.finish(ctx, rec, FromPlace)
	}
	if kind, _ := j.URL.kind(); kind == kindFile {
		p, err := j.local(ctx)
		if err != nil {
			return Fetched{}, err
		}
		return j.place(ctx, p)
	}
	unlock, err := j.lockKey(ctx)
	if err != nil {
		return Fetched{}, err
	}
	defer unlock()
	// Another process may have done it all while we waited.
	if rec, ok := j.placed(ctx, true); ok {
		return j.finish(ctx, rec, FromPlace)
	}
	p, err := j.obtain(ctx)
	if err != nil {
		return Fetched{}, err
	}
	return j.place(ctx, p)
}

// finish copies the placed program to its other places and tells the lock.
func (j *job) finish(ctx context.Context, rec record, from From) (Fetched, error) {
	if err := j.copies(ctx, rec); err != nil {
		return Fetched{}, err
	}
	kind, _ := j.URL.kind()
	if j.opt.UpdateLock && kind != kindFile && from != FromUser {
		j.opt.Lock.add(Entry{URL: j.URL.Identity(), SHA256: rec.Payload.SHA256, Size: rec.Payload.Size})
	}
	return Fetched{
		Path: j.Dest, SHA256: rec.File.SHA256, Size: rec.File.Size, From: from,
		Download: rec.Payload.SHA256, Verified: j.verified() && from != FromUser,
	}, nil
}

func (j *job) verified() bool { return j.want.sha256 != "" || j.URL.digested() }

// explain adds to an error what it is about, and for a program that cannot be
// had, what else can be done.
func (j *job) explain(err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("fetching %s: %w", j.Name, err)
	}
	var network *netError
	var text strings.Builder
	if errors.As(err, &network) {
		err = fail.With(fail.Unavailable, err)
		if len(j.Ways) > 0 {
			fmt.Fprintf(&text, "\n  supply it by: %s", strings.Join(j.Ways, "\n            or: "))
		}
	}
	return fmt.Errorf("fetching %s from %s%s: %w%s", j.title(), j.URL, j.givenBy(), err, text.String())
}

func (j *job) title() string { return strings.TrimSpace(j.Name + " " + j.Version) }

func (j *job) givenBy() string {
	if j.Origin == "" {
		return ""
	}
	return ", given by " + j.Origin
}

// Look tells where Fetch would find the program, and changes nothing. It reads
// no file unless one looks altered.
func Look(ctx context.Context, item Item, options Options) (From, error) {
	j, err := newJob(item, options)
	if err != nil {
		return "", err
	}
	if j.theirs() {
		return FromUser, nil
	}
	if _, ok := j.placed(ctx, false); ok {
		return FromPlace, nil
	}
	if kind, _ := j.URL.kind(); kind == kindFile {
		return FromFile, nil
	}
	if _, ok := j.inCache(ctx); ok {
		return FromCache, nil
	}
	return FromDownload, nil
}

func (j *job) note(format string, args ...any) {
	j.opt.Console.Note("%s: %s", j.Name, fmt.Sprintf(format, args...))
}
