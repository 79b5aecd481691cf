// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
)

// complete returns the targets that may be tagged now, and notes on the others
// why they may not: a hub that lacks a part of the set gets no tag.
func (r *run) complete() []*target {
	lacking := map[string]bool{}
	for _, t := range r.targets {
		if s := r.record.state(t); s != Uploaded && s != Present {
			lacking[t.hub] = true
		}
	}
	var ready []*target
	for _, t := range r.inState(Uploaded) {
		switch {
		case lacking[t.hub]:
			r.record.set(t, Uploaded, HeldBack, fmt.Sprintf("no tag was put: hub %s could not take the whole set", t.hub))
		case r.opts.AllOrNothing && len(lacking) > 0:
			r.record.set(t, Uploaded, HeldBack, "no tag was put: another hub could not take the whole set, and all or nothing was asked for")
		default:
			ready = append(ready, t)
		}
	}
	return ready
}

// tag puts the tag of t and reads it back.
func (r *run) tag(ctx context.Context, t *target) {
	if r.opts.NoClobber {
		// Registries cannot put a tag only if it is absent. Asking again leaves
		// a gap of one request instead of the whole upload.
		digest, found, err := r.client.TagDigest(ctx, t.tag)
		if err != nil {
			r.fail(t, err)
			return
		}
		if found && digest != t.digest {
			r.conflict(t, digest)
			return
		}
	}
	if err := r.client.PutManifest(ctx, t.tag.Repository, t.manifest, t.tag.TagStr()); err != nil {
		r.fail(t, err)
		return
	}
	if err := r.client.VerifyTag(ctx, t.tag, t.digest); err != nil {
		r.fail(t, err)
		return
	}
	r.record.set(t, Published, "", "")
	if err := r.record.save(soon); err != nil {
		r.opts.Console.Warn("%v", err)
	}
}
