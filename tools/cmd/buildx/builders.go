// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/docker/buildx/builder"
	// The drivers register themselves.
	_ "github.com/docker/buildx/driver/docker"
	_ "github.com/docker/buildx/driver/docker-container"
	_ "github.com/docker/buildx/driver/kubernetes"
	_ "github.com/docker/buildx/driver/remote"
	"github.com/docker/buildx/policy"
	"github.com/docker/buildx/store/storeutil"
	"github.com/docker/buildx/util/confutil"
	"github.com/docker/cli/cli/command"
	"github.com/docker/cli/cli/flags"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// answerTime is how long the nodes of a builder may take to say how they are.
const answerTime = 20 * time.Second

// userBuilder is a builder of the user, with what is needed to look it up.
type userBuilder struct {
	*builder.Builder

	cli  command.Cli
	name string // as the user gave it
}

// String is how people are told of it.
func (b *userBuilder) String() string {
	if b.name == "" {
		return fmt.Sprintf("the current builder %q", b.Name)
	}
	return fmt.Sprintf("builder %q", b.Name)
}

// find reads the description of a builder by its name, or of the one that
// docker buildx use has chosen when the name is empty. It speaks to nobody.
// An unknown name is an error of usage that lists the known ones.
func find(name string, stderr io.Writer) (*userBuilder, error) {
	cli, err := command.NewDockerCli(command.WithCombinedStreams(stderr))
	if err != nil {
		return nil, fmt.Errorf("preparing Docker's client: %w", err)
	}
	if err := cli.Initialize(flags.NewClientOptions()); err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("reading Docker's configuration: %w; see DOCKER_CONFIG, DOCKER_CONTEXT and DOCKER_HOST", err))
	}
	// The kubernetes driver chooses a pod by the folder, as docker buildx does.
	folder, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the current folder: %w", err)
	}
	b, err := builder.New(cli, builder.WithName(name), builder.WithContextPathHash(folder))
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("finding builder %q: %w; known: %s (from %s and Docker's contexts)",
			name, err, strings.Join(known(cli), ", "), confutil.NewConfig(cli).Dir()))
	}
	return &userBuilder{Builder: b, cli: cli, name: name}, nil
}

// known are the names of the builders that exist, sorted. It is for messages,
// so what cannot be read is left out.
func known(cli command.Cli) []string {
	txn, release, err := storeutil.GetStore(cli)
	if err != nil {
		return nil
	}
	defer release()
	all, err := builder.GetBuilders(cli, txn)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(all))
	for _, b := range all {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// load asks all nodes how they are. The error of one node stays with the node.
func (b *userBuilder) load(ctx context.Context) ([]builder.Node, error) {
	// The drivers keep clients that were made here, so the context must live
	// on when all went well; only the timer ends.
	asked, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(answerTime, func() { cancel(fmt.Errorf("no answer in %v: %w", answerTime, context.DeadlineExceeded)) })
	defer timer.Stop()
	verify := policy.DefaultImageVerifier(confutil.NewConfig(b.cli))
	nodes, err := b.LoadNodes(asked, builder.WithData(), builder.WithImageVerifier(verify))
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if asked.Err() != nil {
			err = errors.Join(err, context.Cause(asked))
		}
		return nil, fail.With(fail.Unavailable, fmt.Errorf("asking %s how it is: %w; start its engine, or choose another builder", b, err))
	}
	return nodes, nil
}

// use notes that the builder was used, for those who remove unused ones.
func (b *userBuilder) use() error {
	txn, release, err := storeutil.GetStore(b.cli)
	if err != nil {
		return fmt.Errorf("noting the use of %s: %w", b, err)
	}
	defer release()
	if err := txn.UpdateLastActivity(b.NodeGroup); err != nil {
		return fmt.Errorf("noting the use of %s: %w", b, err)
	}
	return nil
}
