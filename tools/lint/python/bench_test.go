// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python_test

import (
	"os"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/lint/python"
)

// BenchmarkCheck judges twenty files of Python's library, one after the other.
func BenchmarkCheck(b *testing.B) {
	var texts [][]byte
	for _, file := range corpus(b) {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, text)
		b.SetBytes(int64(len(text)))
	}
	p := python.New(python.Options{MaxLineLength: 160})
	for b.Loop() {
		for _, text := range texts {
			if _, err := p.Check("a.py", text); err != nil {
				b.Fatal(err)
			}
		}
	}
}
