// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/containerd/platforms"
	"github.com/docker/buildx/builder"
	"github.com/docker/buildx/driver"
	"github.com/docker/buildx/util/platformutil"
	"github.com/docker/buildx/util/progress"
	"github.com/moby/buildkit/util/progress/progressui"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// dialCommand makes standard input and output a connection to the BuildKit of
// a builder, which it starts when it does not run.
func dialCommand(ctx context.Context, args []string, s streams) error {
	set := flag.NewFlagSet("dial", flag.ContinueOnError)
	name := set.String("builder", "", "")
	text := set.String("platform", "", "")
	if err := parse(set, args, false); err != nil {
		return err
	}
	platform, err := parsePlatform(*text)
	if err != nil {
		return err
	}
	b, err := find(*name, s.err)
	if err != nil {
		return err
	}
	if err := b.use(); err != nil {
		ui.New(s.err, s.err, ui.Options{}).Warn("%v", err)
	}
	nodes, err := b.load(ctx)
	if err != nil {
		return err
	}
	conn, err := b.dial(ctx, nodes, platform, s.err)
	if err != nil {
		return err
	}
	return proxy(ctx, conn, s.in, s.out)
}

// parsePlatform reads a platform; empty is none.
func parsePlatform(text string) (*ocispecs.Platform, error) {
	if text == "" {
		return nil, nil // no platform is a value here
	}
	p, err := platforms.Parse(text)
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("--platform is %q: %w; use a form like linux/arm64", text, err))
	}
	p = platforms.Normalize(p)
	return &p, nil
}

// dial connects to the first node that builds the platform and answers. Nodes
// that run come first, so that no other is started without need.
func (b *userBuilder) dial(ctx context.Context, nodes []builder.Node, want *ocispecs.Platform, out io.Writer) (net.Conn, error) {
	candidates := order(nodes, want)
	if len(candidates) == 0 {
		return nil, b.noNode(nodes, want)
	}
	var failures []error
	unfit := 0
	for _, n := range candidates {
		conn, fits, err := b.dialNode(ctx, n, want, out)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			failures = append(failures, fmt.Errorf("node %s at %s: %w", n.Name, n.Endpoint, err))
		case !fits:
			unfit++
		default:
			return conn, nil
		}
	}
	if unfit == len(candidates) {
		return nil, b.noNode(nodes, want)
	}
	return nil, fail.With(fail.Unavailable, fmt.Errorf("dialing %s: %w", b, errors.Join(failures...)))
}

// order sorts the nodes that may serve: those that run before those that have
// to be started, and those that are known to build the platform before those
// of which that is not known. Nodes known not to build it are left out.
func order(nodes []builder.Node, want *ocispecs.Platform) []builder.Node {
	var ranked [4][]builder.Node
	for _, n := range nodes {
		if n.Driver == nil {
			continue
		}
		rank := 0
		if !running(n) {
			rank = 2
		}
		if want != nil && !builds(n.Platforms, *want) {
			if running(n) || len(n.Platforms) > 0 {
				continue
			}
			rank++
		}
		ranked[rank] = append(ranked[rank], n)
	}
	return slices.Concat(ranked[:]...)
}

func running(n builder.Node) bool {
	return n.Err == nil && n.DriverInfo != nil && n.DriverInfo.Status == driver.Running
}

// builds is true when the platform is one of those offered, of the same
// variant. That a machine may also run an older variant does not count: which
// node is meant must not depend on luck.
func builds(offered []ocispecs.Platform, want ocispecs.Platform) bool {
	return slices.ContainsFunc(offered, func(p ocispecs.Platform) bool {
		return platforms.OnlyStrict(want).Match(platforms.Normalize(p))
	})
}

// dialNode starts a node if need be and connects to it. fits is false, with no
// connection, when it turns out that it does not build the platform.
func (b *userBuilder) dialNode(ctx context.Context, n builder.Node, want *ocispecs.Platform, out io.Writer) (conn net.Conn, fits bool, err error) {
	if !running(n) {
		offered, err := boot(ctx, n, b.Name, out)
		if err != nil {
			if why := trouble(ctx, n); why != nil && !errors.Is(err, why) {
				err = fmt.Errorf("%w: %w", err, why)
			}
			return nil, false, fmt.Errorf("starting it: %w", err)
		}
		if want != nil && !builds(slices.Concat(n.Platforms, offered), *want) {
			return nil, false, nil
		}
	}
	conn, err = n.Driver.Dial(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("connecting: %w", err)
	}
	return conn, true, nil
}

// boot starts a node and returns the platforms that it builds.
func boot(ctx context.Context, n builder.Node, name string, out io.Writer) ([]ocispecs.Platform, error) {
	printer, err := progress.NewPrinter(ctx, out, progressui.PlainMode, progress.WithDesc("starting builder "+name, "builder:"+name))
	if err != nil {
		return nil, fmt.Errorf("preparing the progress: %w", err)
	}
	c, err := driver.Boot(ctx, ctx, n.Driver, printer)
	if printed := printer.Wait(); err == nil {
		err = printed
	}
	if err != nil {
		return nil, err
	}
	workers, err := c.ListWorkers(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking for its platforms: %w", err)
	}
	var offered []ocispecs.Platform
	for _, w := range workers {
		offered = append(offered, w.Platforms...)
	}
	return offered, nil
}

// noNode says that no node can serve, and what the nodes can do. A builder
// whose nodes do not build the platform is an impossible plan; one whose nodes
// are broken is unavailable.
func (b *userBuilder) noNode(nodes []builder.Node, want *ocispecs.Platform) error {
	code := fail.Usage
	lines := make([]string, 0, len(nodes))
	for _, n := range nodes {
		line := fmt.Sprintf("node %s at %s: %s", n.Name, n.Endpoint, strings.Join(platformutil.Format(n.Platforms), ", "))
		if n.Err != nil {
			line, code = fmt.Sprintf("node %s at %s: %v", n.Name, n.Endpoint, n.Err), fail.Unavailable
		}
		lines = append(lines, line)
	}
	what := "is there to be dialed"
	if want != nil {
		what = "builds " + platforms.Format(*want)
	}
	return fail.With(code, fmt.Errorf("no node of %s %s:\n%s", b, what, strings.Join(lines, "\n")))
}
