// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/gzip"

	"github.com/istio-ecosystem/slipway/tools/bench"
	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/image"
	"github.com/istio-ecosystem/slipway/tools/publish"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// measure adds a goal that prints benchmark rows.
func (w *wants) measure(rows func(ctx context.Context) ([]bench.Row, error)) {
	w.do("measure and print", func(ctx context.Context) error {
		list, err := rows(ctx)
		if err != nil {
			return err
		}
		return bench.Print(w.p.console.Out(), list, w.p.inv.getenv("BENCH_REQUIRE") == "1")
	})
}

// quietly runs a program of a benchmark; only its failure is of interest.
func (p *program) quietly(dir string, args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		return p.runner.Run(ctx, run.Command{Args: args, Dir: dir, Env: run.Environ(p.ws.settings.Environ(), "VERBOSE=0")})
	}
}

// benchStart compares make settings, and make -n of a build, with make -n of a
// make file of two lines: what make itself costs.
func (w *wants) benchStart(string) error {
	w.measure(func(ctx context.Context) ([]bench.Row, error) {
		dir, err := os.MkdirTemp("", "slipway-bench-")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte("all:\n\techo hello\n"), 0o644); err != nil {
			return nil, err
		}
		peer := w.p.quietly(dir, "make", "-n")
		var rows []bench.Row
		for _, c := range []struct {
			name  string
			args  []string
			limit time.Duration
		}{
			{"make settings, nothing changed", []string{"make", "-s", "settings", "TAG=x"}, 50 * time.Millisecond},
			{"make -n docker.push", []string{"make", "-n", "docker.push", "HUB=localhost:5000"}, 100 * time.Millisecond},
			{"make help", []string{"make", "-s", "help"}, 50 * time.Millisecond},
		} {
			ours, theirs, err := bench.Pair(ctx, 20, w.p.quietly(w.p.ws.dir, c.args...), peer)
			if err != nil {
				return nil, err
			}
			rows = append(rows, bench.Within(c.name, ours.Wall, theirs.Wall, c.limit))
		}
		return rows, nil
	})
	return nil
}

// benchBuild compares build with nothing changed with the go build of the same
// list.
func (w *wants) benchBuild(string) error {
	c, err := w.p.ws.needCatalog()
	if err != nil {
		return err
	}
	a := &artifacts{groups: []catalog.Group{catalog.GroupLinux}}
	_, j, err := a.plan(w.ctx, w.p)
	if err != nil {
		return err
	}
	w.measure(func(ctx context.Context) ([]bench.Row, error) {
		make := w.p.quietly(w.p.ws.dir, "make", "-s", "build-linux")
		peer, clean, err := w.goBuild(j, c)
		if err != nil {
			return nil, err
		}
		defer clean()
		if err := errors.Join(make(ctx), peer(ctx)); err != nil { // both warm
			return nil, err
		}
		ours, theirs, err := bench.Pair(ctx, 7, make, peer)
		if err != nil {
			return nil, err
		}
		return []bench.Row{
			bench.Within("build-linux, nothing changed", ours.Wall, theirs.Wall, 300*time.Millisecond),
			bench.AtLeast("build-linux beside go build of the same list", ours.Wall, theirs.Wall, 10),
		}, nil
	})
	return nil
}

// goBuild is what gobuild.sh would run: one go build for each set of tags.
func (w *wants) goBuild(j *job, _ *catalog.Catalog) (build func(context.Context) error, clean func(), err error) {
	dir, err := os.MkdirTemp("", "slipway-bench-")
	if err != nil {
		return nil, nil, err
	}
	sets := map[string][]string{}
	for _, compile := range j.compiles {
		for _, pkg := range compile.packages {
			tags := strings.Join(pkg.Tags, ",")
			sets[tags] = append(sets[tags], pkg.Path)
		}
	}
	return func(ctx context.Context) error {
		for tags, paths := range sets {
			c := run.Command{
				Args: append([]string{"go", "build", "-trimpath", "-tags=" + tags, "-ldflags", "-extldflags -static -s -w", "-o", dir + "/"}, paths...),
				Dir:  j.source.Dir, Env: run.Environ(w.p.ws.settings.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=-buildvcs=false"),
			}
			if err := w.p.runner.Run(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}, func() { _ = os.RemoveAll(dir) }, nil
}

// benchFile is the program that goes into the measured image: BENCH_FILE, or
// the largest binary that was built.
func (w *wants) benchFile() (string, error) {
	if path := w.p.inv.getenv("BENCH_FILE"); path != "" {
		return w.p.ws.abs(path), nil
	}
	files, _ := filepath.Glob(filepath.Join(w.p.ws.out("linux", w.p.ws.settings.Get("TARGET_ARCH")), "*"))
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		return info.Size()
	}
	if len(files) == 0 {
		return "", errors.New("there is no binary to put into an image: run make istioctl first, or set BENCH_FILE")
	}
	return slices.MaxFunc(files, func(a, b string) int { return int(size(a) - size(b)) }), nil
}

// benchImages measures one image with one binary, pushed to registries that
// are processes of their own, in CPU time of this process: beside hashing and
// compressing the same bytes once, which nobody can do without, and beside the
// way of Istio's daemonless builder, which compresses for the digest and again
// for each hub.
func (w *wants) benchImages(string) error {
	w.measure(func(ctx context.Context) ([]bench.Row, error) {
		file, err := w.benchFile()
		if err != nil {
			return nil, err
		}
		b, err := newImageBench(w.p, file)
		if err != nil {
			return nil, err
		}
		defer b.close()
		const name1, name2, name3, name4 = "image cold beside sha256 and gzip-1 alone, CPU", "push to two hubs beside one hub, whole run, CPU",
			"image to two hubs beside compressing for each hub, CPU", "build and push again, nothing changed"
		if err := b.serve(ctx); err != nil {
			w.p.console.Note("slipway: %v", err)
			cold, floor, err := bench.Pair(ctx, 5, b.ours(0), b.floor)
			missing := func(name, goal string) bench.Row {
				return bench.Row{Name: name, Goal: goal, Missing: "docker-registry"}
			}
			return []bench.Row{bench.AtMost(name1, cold.CPU, floor.CPU, 1.3), missing(name2, "ours/peer <= 1.05"),
				missing(name3, "peer/ours >= 3.5"), missing(name4, "ours <= 50ms")}, err
		}
		var cold, one, two, floor, crane []bench.Cost
		for range 5 {
			for _, m := range []struct {
				into *[]bench.Cost
				do   func(context.Context) error
			}{{&floor, b.floor}, {&cold, b.ours(0)}, {&one, b.ours(1)}, {&crane, b.crane(2)}, {&two, b.ours(2)}} {
				cost, err := bench.Measure(ctx, m.do)
				if err != nil {
					return nil, err
				}
				*m.into = append(*m.into, cost)
			}
		}
		again, err := bench.Measure(ctx, b.again)
		if err != nil {
			return nil, err
		}
		both := bench.Median(two)
		return []bench.Row{
			bench.AtMost(name1, bench.Median(cold).CPU, bench.Median(floor).CPU, 1.3),
			bench.AtMost(name2, both.CPU, bench.Median(one).CPU, 1.05),
			bench.AtLeast(name3, both.CPU, bench.Median(crane).CPU, 3.5),
			bench.Within(name4, again.Wall, both.Wall, 50*time.Millisecond),
		}, nil
	})
	return nil
}

// imageBench is an image with one binary, and registries to push it to.
type imageBench struct {
	p      *program
	file   string
	dir    string
	hosts  []string
	stop   []func()
	result *dockerfile.Result
	runs   int
	built  v1.Hash
	layout string
}

func newImageBench(p *program, file string) (*imageBench, error) {
	dir, err := os.MkdirTemp(filepath.Join(p.ws.dir, "out"), "bench-")
	if err != nil {
		return nil, err
	}
	f, err := dockerfile.Parse("bench", []byte("FROM scratch\nCOPY program /usr/local/bin/program\n"))
	if err != nil {
		return nil, err
	}
	plan, err := f.Plan(dockerfile.Options{Platform: v1.Platform{OS: "linux", Architecture: p.ws.settings.Get("TARGET_ARCH")}})
	if err != nil {
		return nil, err
	}
	b := &imageBench{p: p, file: file, dir: dir}
	if b.result, err = plan.Evaluate(nil); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *imageBench) close() {
	for _, stop := range b.stop {
		stop()
	}
	_ = os.RemoveAll(b.dir)
}

// floor reads the file and does nothing but what an image cannot do without:
// SHA-256 of the content, gzip, SHA-256 of the result, writing it down.
func (b *imageBench) floor(context.Context) error {
	in, err := os.Open(b.file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(filepath.Join(b.dir, "floor"))
	if err != nil {
		return err
	}
	content, compressed := sha256.New(), sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(compressed, out), 1<<20)
	z, err := gzip.NewWriterLevel(buffered, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(content, z)}, struct{ io.Reader }{in}, make([]byte, 1<<20))
	return errors.Join(err, z.Close(), buffered.Flush(), out.Close())
}

// ours builds the image in a layout of its own and pushes it to n hubs.
func (b *imageBench) ours(n int) func(context.Context) error {
	return func(ctx context.Context) error {
		b.runs++
		layout, err := image.OpenLayout(filepath.Join(b.dir, fmt.Sprint("layout", b.runs)))
		if err != nil {
			return err
		}
		built, err := b.build(ctx, layout)
		if err != nil {
			return err
		}
		b.layout, b.built = layout.Dir(), built.Descriptor.Digest
		if n == 0 {
			return nil
		}
		return b.push(ctx, n)
	}
}

func (b *imageBench) build(ctx context.Context, layout *image.Layout) (*image.Built, error) {
	codec, err := image.ParseCodec("gzip-1")
	if err != nil {
		return nil, err
	}
	return image.Build(ctx, image.Request{
		Name: "bench", File: "bench", Layout: layout, Bases: &image.Bases{Layout: layout}, Codec: codec,
		Platforms: []image.PlatformInput{{
			Platform: v1.Platform{OS: "linux", Architecture: b.p.ws.settings.Get("TARGET_ARCH")}, Result: b.result, Context: image.Context{"program": b.file},
		}},
	})
}

func (b *imageBench) push(ctx context.Context, n int) error {
	item := publish.Item{Name: "bench", Digest: b.built}
	for i := range n {
		item.References = append(item.References, fmt.Sprintf("%s/run%d/bench:1", b.hosts[i], b.runs))
	}
	_, err := publish.Publish(ctx, publish.Options{Layout: b.layout, Items: []publish.Item{item}, Console: ui.Discard()})
	return err
}

// again builds and pushes what is there already.
func (b *imageBench) again(ctx context.Context) error {
	layout, err := image.OpenLayout(b.layout)
	if err != nil {
		return err
	}
	if _, err := b.build(ctx, layout); err != nil {
		return err
	}
	return b.push(ctx, 2)
}

// crane does as Istio's daemonless builder does: the tar in memory, a layer
// that is compressed for its digest, for its size, and for each upload.
func (b *imageBench) crane(hubs int) func(context.Context) error {
	return func(context.Context) error {
		content, err := os.ReadFile(b.file)
		if err != nil {
			return err
		}
		archive, err := tarOf("usr/local/bin/program", content)
		if err != nil {
			return err
		}
		opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }
		layer, err := tarball.LayerFromOpener(opener, tarball.WithCompressionLevel(gzip.BestSpeed))
		if err != nil {
			return err
		}
		b.runs++
		return b.cranePush(layer, hubs)
	}
}
