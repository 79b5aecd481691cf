// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

// Conflict is the class of a tag that may not be moved.
const Conflict registry.Class = "conflict"

// HeldBack is the class of a reference that had no fault of its own.
const HeldBack registry.Class = "held-back"

// check asks for the tag of t.
func (r *run) check(ctx context.Context, t *target) {
	digest, found, err := r.client.TagDigest(ctx, t.tag)
	switch {
	case err != nil:
		r.fail(t, err)
	case found && digest == t.digest:
		r.record.set(t, Present, "", "")
	case found && (r.opts.NoClobber || t.moved):
		r.conflict(t, digest)
	case found:
		r.opts.Console.Verbose("%s is %s now and will be %s", t.reference, digest, t.digest)
		r.record.set(t, Untouched, "", "")
	default:
		r.record.set(t, Untouched, "", "")
	}
}

func (r *run) conflict(t *target, is v1.Hash) {
	message := fmt.Sprintf("%s exists with %s, not %s; a tag that exists is not moved: choose another TAG", t.reference, is, t.digest)
	if t.moved && !r.opts.NoClobber {
		message = fmt.Sprintf("%s was put in place by the run that is resumed, and names %s now, not %s; somebody else pushed it: publish again to replace it", t.reference, is, t.digest)
	}
	r.record.set(t, Failed, Conflict, message)
}

// stopForConflict is true when a tag may not be moved: then nothing is sent.
func (r *run) stopForConflict(pending []*target) bool {
	for _, t := range r.targets {
		if r.record.class(t) == Conflict {
			r.holdBack(pending, "nothing was sent: a tag of the set exists with another digest")
			return true
		}
	}
	return false
}

// holdBack notes why targets are not published that have no fault of their own.
func (r *run) holdBack(targets []*target, why string) {
	for _, t := range targets {
		r.record.set(t, r.record.state(t), HeldBack, why)
	}
}

// fail notes that t could not be published.
func (r *run) fail(t *target, err error) {
	class, message := describe(err)
	if class == registry.Interrupted {
		r.record.set(t, r.record.state(t), class, "interrupted")
		return
	}
	r.record.set(t, Failed, class, r.client.Clean(message))
}
