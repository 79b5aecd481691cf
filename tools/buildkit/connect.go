// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/buildkit/client"
	// Addresses that lead through another program: docker exec and the like.
	_ "github.com/moby/buildkit/client/connhelper/dockercontainer"
	_ "github.com/moby/buildkit/client/connhelper/kubepod"
	_ "github.com/moby/buildkit/client/connhelper/nerdctlcontainer"
	_ "github.com/moby/buildkit/client/connhelper/podmancontainer"
	_ "github.com/moby/buildkit/client/connhelper/ssh"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

// answerTime is how long a builder may take to say what it is. One that has to
// be started by buildx gets longer.
const (
	answerTime = 20 * time.Second
	bootTime   = 5 * time.Minute
)

// connection is a builder that answers.
type connection struct {
	*client.Client

	endpoint  builder.Endpoint
	platforms []string
	// store is false for a Docker engine with its older image store, which
	// cannot export an image as a layout.
	exportsLayouts bool
}

// connect reaches a builder and asks what it can do.
func connect(ctx context.Context, e builder.Endpoint) (*connection, error) {
	c, err := dial(ctx, e)
	if err != nil {
		return nil, unreachable(e, err)
	}
	limit := answerTime
	if e.Kind == builder.Buildx {
		limit = bootTime
	}
	asked, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	workers, err := c.ListWorkers(asked)
	if err != nil {
		return nil, errors.Join(unreachable(e, err), c.Close())
	}
	if len(workers) == 0 {
		return nil, errors.Join(fail.With(fail.Unavailable, fmt.Errorf("%s has no worker: enable one in its configuration", e)), c.Close())
	}
	con := &connection{Client: c, endpoint: e, exportsLayouts: true}
	for _, p := range workers[0].Platforms {
		con.platforms = append(con.platforms, strings.Trim(p.OS+"/"+p.Architecture+"/"+p.Variant, "/"))
	}
	// The engine's own store is named by this label; see moby's worker.
	if _, moby := workers[0].Labels["org.mobyproject.buildkit.worker.moby.host-gateway-ip"]; moby || e.Kind == builder.Docker {
		con.exportsLayouts = workers[0].Labels["org.mobyproject.buildkit.worker.containerd.uuid"] != ""
	}
	return con, nil
}

func unreachable(e builder.Endpoint, err error) error {
	// What Slipway's own program says stands inside of several others' words.
	if _, said, ok := strings.Cut(err.Error(), "stderr=slipway: error: "); ok {
		said, _, _ = strings.Cut(said, `\n`)
		err = errors.New(strings.ReplaceAll(said, `\"`, `"`))
	}
	return fail.With(fail.Unavailable, fmt.Errorf("%s does not answer: %w; start it (make buildkitd, or a Docker engine), or name another builder with BUILDKIT_HOST or BUILDX_BUILDER", e, err))
}

func dial(ctx context.Context, e builder.Endpoint) (*client.Client, error) {
	switch e.Kind {
	case builder.Docker:
		engine, err := newEngine(e.Address)
		if err != nil {
			return nil, err
		}
		return client.New(ctx, "", client.WithContextDialer(engine.dialGRPC), client.WithSessionDialer(engine.dialSession))
	case builder.Buildx:
		if len(e.Dial) == 0 {
			return nil, errors.New("no command to reach it was given")
		}
		return client.New(ctx, "", client.WithContextDialer(commandDialer(e.Dial)))
	case builder.Buildkit:
		options, err := security(e.Address, os.Getenv)
		if err != nil {
			return nil, err
		}
		return client.New(ctx, e.Address, options...)
	}
	return nil, fail.With(fail.Usage, fmt.Errorf("the kind of the builder is %q", e.Kind))
}

// security reads the certificates that buildctl would use: those that
// BUILDKIT_TLS_DIR holds, or that are named one by one.
func security(address string, getenv func(string) string) ([]client.ClientOpt, error) {
	ca, cert, key := getenv("BUILDKIT_TLS_CACERT"), getenv("BUILDKIT_TLS_CERT"), getenv("BUILDKIT_TLS_KEY")
	if dir := getenv("BUILDKIT_TLS_DIR"); dir != "" {
		ca, cert, key = inDir(dir, "ca.pem", ca), inDir(dir, "cert.pem", cert), inDir(dir, "key.pem", key)
	}
	var options []client.ClientOpt
	if ca != "" {
		u, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("reading the address %q: %w", address, err)
		}
		name := getenv("BUILDKIT_TLS_SERVER_NAME")
		if name == "" {
			name = u.Hostname()
		}
		options = append(options, client.WithServerConfig(name, ca))
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("a certificate needs its key: give both BUILDKIT_TLS_CERT and BUILDKIT_TLS_KEY")
	}
	if cert != "" {
		options = append(options, client.WithCredentials(cert, key))
	}
	return options, nil
}

func inDir(dir, name, given string) string {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); given != "" || err != nil {
		return given
	}
	return path
}
