// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"os"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/ui"
)

func benchItem(b *testing.B) (Item, Options) {
	dir := b.TempDir()
	if err := os.WriteFile(dir+"/e.tar.gz", envoyArchive(b, amd64(64<<20)), 0o600); err != nil {
		b.Fatal(err)
	}
	item := Item{
		Source: Source{Name: "envoy", URL: URL(dir + "/e.tar.gz"), Platform: "linux/amd64", Member: envoyMember},
		Dest:   dir + "/out/release/envoy-v1", Copies: []string{dir + "/out/release/envoy", dir + "/out/envoy"},
	}
	return item, Options{Cache: dir + "/cache", Console: ui.Discard(), Environ: []string{}}
}

// Everything is in place.
func BenchmarkNothingChanged(b *testing.B) {
	item, options := benchItem(b)
	for b.Loop() {
		if _, err := Fetch(b.Context(), item, options); err != nil {
			b.Fatal(err)
		}
	}
}

// Hash, unpack, check and place 64 MB that do not compress, and two copies.
func BenchmarkPlace(b *testing.B) {
	item, options := benchItem(b)
	b.SetBytes(64 << 20)
	for b.Loop() {
		if err := os.RemoveAll(item.Copies[1]); err != nil {
			b.Fatal(err)
		}
		_ = os.RemoveAll(item.Dest)
		_ = os.RemoveAll(item.Copies[0])
		if _, err := Fetch(b.Context(), item, options); err != nil {
			b.Fatal(err)
		}
	}
}
