// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/istio-ecosystem/slipway/tools/publish"
	"github.com/istio-ecosystem/slipway/tools/publish/internal/registrytest"
)

const layerSize = 25 << 20

// bigImage writes a layout with one image of one large layer.
func bigImage(b *testing.B) (string, publish.Item) {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "layout")
	l, err := layout.Write(dir, emptyIndex(b))
	if err != nil {
		b.Fatal(err)
	}
	img, err := random.Image(layerSize, 1)
	if err != nil {
		b.Fatal(err)
	}
	if err := l.AppendImage(img); err != nil {
		b.Fatal(err)
	}
	d, err := img.Digest()
	if err != nil {
		b.Fatal(err)
	}
	return dir, publish.Item{Name: "app", Digest: d}
}

func report(b *testing.B, r *publish.Result) {
	b.Helper()
	var requests, bytes int64
	for _, repo := range r.Repositories {
		requests, bytes = requests+repo.Requests, bytes+repo.Bytes
	}
	b.ReportMetric(float64(requests), "requests/op")
	b.ReportMetric(float64(bytes)/1e6, "MB-sent/op")
}

// BenchmarkPush pushes a 25 MB layer to fresh repositories.
func BenchmarkPush(b *testing.B) {
	for _, hubs := range []int{1, 2} {
		b.Run(fmt.Sprintf("hubs=%d", hubs), func(b *testing.B) {
			dir, item := bigImage(b)
			var r *publish.Result
			for b.Loop() {
				b.StopTimer()
				item.References = nil
				for range hubs {
					item.References = append(item.References, registrytest.New(b).Host()+"/t/app:v1")
				}
				b.StartTimer()
				var err error
				if r, err = publish.Publish(b.Context(), publish.Options{Layout: dir, Items: []publish.Item{item}, Keychain: anonymous{}}); err != nil {
					b.Fatal(err)
				}
			}
			report(b, r)
		})
	}
}

// BenchmarkClientCPU pushes the same to registries that are processes of their
// own, so that the CPU time is the client's alone.
func BenchmarkClientCPU(b *testing.B) {
	for _, hubs := range []int{1, 2} {
		b.Run(fmt.Sprintf("hubs=%d", hubs), func(b *testing.B) {
			dir, item := bigImage(b)
			hosts, n := []string{dockerRegistry(b), dockerRegistry(b)}[:hubs], 0
			var spent time.Duration
			for b.Loop() {
				n++
				item.References = nil
				for _, h := range hosts {
					// Fresh repositories: nothing is there.
					item.References = append(item.References, fmt.Sprintf("%s/t%d/app:v1", h, n))
				}
				before := cpu(b)
				if _, err := publish.Publish(b.Context(), publish.Options{Layout: dir, Items: []publish.Item{item}, Keychain: anonymous{}}); err != nil {
					b.Fatal(err)
				}
				spent += cpu(b) - before
			}
			b.ReportMetric(float64(spent.Milliseconds())/float64(n), "cpu-ms/op")
		})
	}
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkNothingChanged pushes what two registries hold already.
func BenchmarkNothingChanged(b *testing.B) {
	for _, tags := range []int{1, 20} {
		b.Run(fmt.Sprintf("references=%d", 2*tags), func(b *testing.B) {
			dir, item := bigImage(b)
			for _, srv := range []*registrytest.Server{registrytest.New(b), registrytest.New(b)} {
				for i := range tags {
					item.References = append(item.References, fmt.Sprintf("%s/t/app%d:v1", srv.Host(), i))
				}
			}
			o := publish.Options{Layout: dir, Items: []publish.Item{item}, Keychain: anonymous{}, ResultFile: filepath.Join(b.TempDir(), "result.json")}
			r, err := publish.Publish(b.Context(), o)
			for err == nil && b.Loop() {
				r, err = publish.Publish(b.Context(), o)
			}
			if err != nil {
				b.Fatal(err)
			}
			report(b, r)
		})
	}
}
