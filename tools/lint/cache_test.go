// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFreshFilesAreReadAgain holds that what the file system says of a file is
// not trusted when the file changed just before it was read: it may change
// again, and look the same.
func TestFreshFilesAreReadAgain(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a.txt")
	if err := os.WriteFile(path, []byte("bad"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := Options{Root: root, Cache: filepath.Join(t.TempDir(), "results.json")}
	for _, c := range []struct {
		after   time.Duration // of the run, after the change of the file
		trusted bool
	}{{0, false}, {racy - time.Millisecond, false}, {-time.Hour, false}, {racy + time.Second, true}} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		first := openCache(Options{Root: root})
		first.path, first.now = o.Cache, stampOf(info).modified().Add(c.after)
		e := first.look("a.txt", path)
		if _, err := first.read(e, path); err != nil {
			t.Fatal(err)
		}
		e.keep("l 1", stored{Findings: []Finding{{Message: "m", Text: "t"}}})
		if _, err := first.sum("a.txt", path); err != nil {
			t.Fatal(err)
		}
		if err := first.save([]string{"a.txt"}, []string{"l"}); err != nil {
			t.Fatal(err)
		}
		second := openCache(o)
		e = second.look("a.txt", path)
		if _, known := e.result("l 1"); known != c.trusted {
			t.Errorf("%v after the change: the result is taken without a look at the file: %v", c.after, known)
		}
		if k := second.data.Sums["a.txt"]; (k.Stat == e.stat) != c.trusted {
			t.Errorf("%v after the change: the content is taken without a look at the file: %v", c.after, !c.trusted)
		}
		// Read again, it is what it was, and so is the result.
		if _, err := second.read(e, path); err != nil {
			t.Fatal(err)
		}
		if r, known := e.result("l 1"); !known || r.Findings[0].Text != "t" {
			t.Errorf("%v after the change: the result of the same content is gone", c.after)
		}
	}
}
