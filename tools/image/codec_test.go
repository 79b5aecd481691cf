// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// mixed is a text of which a part can be compressed, over several blocks.
func mixed(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 0, size)
	for len(content) < size {
		if r.IntN(3) > 0 {
			content = append(content, "the same words again and again "...)
		} else {
			content = strconv.AppendUint(content, r.Uint64(), 36)
		}
	}
	return content
}

func compressed(t testing.TB, c Codec, content []byte, chunk int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := c.writer(&out)
	if err != nil {
		t.Fatal(err)
	}
	for rest := content; len(rest) > 0; rest = rest[min(chunk, len(rest)):] {
		if _, err := w.Write(rest[:min(chunk, len(rest))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The bytes of a layer do not depend on how many processors there are, nor on
// how its content comes.
func TestCodecsDoNotDependOnTheMachine(t *testing.T) {
	content := mixed(5<<20 + 12345)
	for _, name := range []string{"gzip-1", "gzip-6", "gzip-9", "zstd", "none"} {
		codec, err := ParseCodec(name)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for _, processors := range []int{1, 2, 7} {
			old := runtime.GOMAXPROCS(processors)
			for _, chunk := range []int{1000, 1 << 16, len(content)} {
				got := compressed(t, codec, content, chunk)
				if want == nil {
					want = got
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s: %d processors, %d bytes at a time: other bytes", name, processors, chunk)
				}
			}
			runtime.GOMAXPROCS(old)
		}
		plain, err := decompress(bytes.NewReader(want))
		if err != nil {
			t.Fatal(err)
		}
		if back, err := io.ReadAll(plain); err != nil || !bytes.Equal(back, content) {
			t.Errorf("%s: what comes back is not what went in (%v)", name, err)
		}
	}
}

// BenchmarkCodec compresses BENCH_FILE, or 32 MB of mixed text.
func BenchmarkCodec(b *testing.B) {
	content := mixed(32 << 20)
	if path := os.Getenv("BENCH_FILE"); path != "" {
		var err error
		if content, err = os.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range []string{"gzip-1", "gzip-6", "zstd", "none"} {
		for _, processors := range []int{1, runtime.NumCPU()} {
			b.Run(name+"/processors="+strconv.Itoa(processors), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				codec, err := ParseCodec(name)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(content)))
				size := 0
				for b.Loop() {
					size = len(compressed(b, codec, content, 1<<20))
				}
				b.ReportMetric(float64(size)/1e6, "MB")
			})
		}
	}
}
