// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

// State says what became of a reference.
type State string

// The states of a reference.
const (
	Untouched State = "untouched"     // nothing was sent for it
	Uploaded  State = "uploaded"      // all is there by digest, but not tagged
	Present   State = "already-there" // the tag had the wanted digest before the run
	Published State = "published"     // tagged and read back
	Failed    State = "failed"        // see its class and message
)

// Phase is where a run is, or where it was when it was killed.
type Phase string

// The phases of a run.
const (
	Checking  Phase = "checking"
	Uploading Phase = "uploading"
	Tagging   Phase = "tagging"
	Done      Phase = "done"
)

// resultVersion is the version of the result file's form.
const resultVersion = 1

// Result is what a run did, in the form of the result file.
type Result struct {
	Version      int          `json:"version"`
	Phase        Phase        `json:"phase"`
	Layout       string       `json:"layout"` // absolute path
	NoClobber    bool         `json:"noClobber,omitempty"`
	AllOrNothing bool         `json:"allOrNothing,omitempty"`
	Started      time.Time    `json:"started"`
	Seconds      float64      `json:"seconds"` // duration of the run
	References   []Reference  `json:"references"`
	Repositories []Repository `json:"repositories,omitempty"`
}

// Reference is one reference of the plan and its state.
type Reference struct {
	Reference string         `json:"reference"` // as it was given
	Image     string         `json:"image"`
	Hub       string         `json:"hub"`
	Digest    v1.Hash        `json:"digest"`
	State     State          `json:"state"`
	Class     registry.Class `json:"class,omitempty"`
	Message   string         `json:"message,omitempty"`
	Seconds   float64        `json:"seconds,omitempty"` // from the start of the run to this state
}

// Repository is what one repository cost.
type Repository struct {
	Repository string `json:"repository"`
	Hub        string `json:"hub"`
	registry.Counts
}

// InPlace is true when the reference names the wanted digest.
func (r Reference) InPlace() bool { return r.State == Published || r.State == Present }

// items returns the plan of a result.
func (r *Result) items() []Item {
	var items []Item
	index := map[string]int{}
	for _, ref := range r.References {
		key := ref.Image + "@" + ref.Digest.String()
		i, ok := index[key]
		if !ok {
			i = len(items)
			index[key] = i
			items = append(items, Item{Name: ref.Image, Digest: ref.Digest})
		}
		items[i].References = append(items[i].References, ref.Reference)
	}
	return items
}

func (r *Result) count() (inPlace, missing int) {
	for _, ref := range r.References {
		if ref.InPlace() {
			inPlace++
		} else {
			missing++
		}
	}
	return inPlace, missing
}

// code is the exit code: all, some or none in place, and for none whether
// there was a registry at all.
func (r *Result) code() int {
	inPlace, missing := r.count()
	switch {
	case missing == 0:
		return fail.OK
	case inPlace > 0:
		return fail.Partial
	}
	code := fail.Failed
	for _, ref := range r.References {
		switch ref.Class {
		case registry.Unreachable:
			code = fail.Unavailable
		case HeldBack:
		default:
			return fail.Failed
		}
	}
	return code
}

// describe returns the class and text of an error for the result.
func describe(err error) (registry.Class, string) {
	var e *registry.Error
	if errors.As(err, &e) {
		return e.Class, e.Error()
	}
	return registry.Local, strings.TrimSpace(err.Error())
}
