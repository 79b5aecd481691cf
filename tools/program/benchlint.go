// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"os"

	"github.com/istio-ecosystem/slipway/tools/bench"
	"github.com/istio-ecosystem/slipway/tools/bench/lintset"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// benchLint measures the linters beside the programs that they stand in for:
// those of them that are installed, on the workspace and on the files below
// BENCH_CORPUS.
func (w *wants) benchLint(string) error {
	w.measure(func(ctx context.Context) ([]bench.Row, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "slipway-bench-")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		source, err := w.p.ws.source(ctx, w.p)
		if err != nil {
			return nil, err
		}
		corpus := w.p.inv.getenv("BENCH_CORPUS")
		if corpus != "" {
			corpus = w.p.ws.abs(corpus)
		}
		return lintset.Run(ctx, lintset.Options{
			Runner: w.p.runner, Self: []string{self, "make"}, Env: run.Environ(w.p.inv.Environ, "SLIPWAY_MAKEFLAGS=s", "GITHUB_ACTIONS="),
			Tree: source.Dir, Corpus: corpus, Dir: dir,
		})
	})
	return nil
}
