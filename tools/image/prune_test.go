// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/image"
)

// Named images stay whole, whatever the limit; the rest goes, the oldest
// first.
func TestPrune(t *testing.T) {
	w := newWorld(t)
	var last *image.Built
	for n := range 4 {
		f := w.write("f", strings.Repeat(fmt.Sprint(n), 50_000+n), 0o644)
		last = w.mustBuild("FROM scratch\nCOPY f /f", image.Context{"f": f})
		for _, p := range last.Platforms {
			for _, l := range p.Layers { // a build for each day
				path := filepath.Join(w.layout.Dir(), "blobs", "sha256", l.Digest.Hex)
				day := time.Now().Add(time.Duration(n-10) * 24 * time.Hour)
				if err := os.Chtimes(path, day, day); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	size, err := w.layout.Size()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := w.layout.Prune(t.Context(), size); err != nil || p.Freed != 0 {
		t.Errorf("within the limit: %+v (%v)", p, err)
	}
	p, err := w.layout.Prune(t.Context(), size-1)
	if err != nil || p.Freed == 0 || p.Kept != size-p.Freed {
		t.Errorf("one byte above the limit: %+v (%v)", p, err)
	}
	if p, err = w.layout.Prune(t.Context(), 0); err != nil || p.Kept == 0 {
		t.Errorf("emptied: %+v (%v)", p, err)
	}
	if got := w.listing(last); len(got) != 1 {
		t.Errorf("the named image has %v", got)
	}
	if again := w.mustBuild("FROM scratch\nCOPY f /f", image.Context{"f": filepath.Join(w.files, "f")}); again.Descriptor.Digest != last.Descriptor.Digest {
		t.Error("after pruning the build gives another digest")
	}
}

func TestPruneLeavesABuildAlone(t *testing.T) {
	w := newWorld(t)
	w.mustBuild("FROM scratch\nCOPY f /f", image.Context{"f": w.write("f", "f", 0o644)})
	release, err := w.layout.Use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p, err := w.layout.Prune(t.Context(), 0); err != nil || !p.Busy || p.Removed > 0 {
		t.Errorf("while it is used: %+v (%v)", p, err)
	}
	release()
	if p, err := w.layout.Prune(t.Context(), 0); err != nil || p.Busy || p.Removed == 0 {
		t.Errorf("later: %+v (%v)", p, err)
	}
}
