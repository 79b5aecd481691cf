// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"

	"github.com/docker/buildx/builder"
	"github.com/docker/buildx/driver"
	"github.com/docker/buildx/util/platformutil"
)

// inspected is the answer of the command inspect.
type inspected struct {
	Name   string          `json:"name"`
	Driver string          `json:"driver"` // docker, docker-container, kubernetes, remote
	Nodes  []inspectedNode `json:"nodes"`
}

// inspectedNode is one BuildKit of a builder.
type inspectedNode struct {
	Name      string   `json:"name"`
	Endpoint  string   `json:"endpoint"`  // an address, or the name of a Docker context
	Status    string   `json:"status"`    // running, inactive, starting, stopping, stopped, or error
	Platforms []string `json:"platforms"` // those that the user gave first; empty when unknown
	Version   string   `json:"version"`   // of BuildKit; empty when unknown
	Error     string   `json:"error"`     // why it does not answer, if that is known
}

// inspectCommand prints what a builder is. It starts nothing.
func inspectCommand(ctx context.Context, args []string, s streams) error {
	set := flag.NewFlagSet("inspect", flag.ContinueOnError)
	name := set.String("builder", "", "")
	if err := parse(set, args, false); err != nil {
		return err
	}
	b, err := find(*name, s.err)
	if err != nil {
		return err
	}
	nodes, err := b.load(ctx)
	if err != nil {
		return err
	}
	answer := inspected{Name: b.Name, Driver: b.Driver, Nodes: make([]inspectedNode, len(nodes))}
	for i, n := range nodes {
		answer.Nodes[i] = inspectNode(ctx, n)
		if b.Dynamic { // kubernetes: the pods are named in place of the entry
			answer.Nodes[i].Name, answer.Nodes[i].Endpoint = b.NodeGroup.Nodes[i].Name, b.NodeGroup.Nodes[i].Endpoint
		}
	}
	return printJSON(s.out, answer)
}

func inspectNode(ctx context.Context, n builder.Node) inspectedNode {
	answer := inspectedNode{
		Name: n.Name, Endpoint: n.Endpoint, Version: n.Version, Platforms: platformutil.Format(n.Platforms), Status: status(n),
	}
	if answer.Platforms == nil {
		answer.Platforms = []string{}
	}
	if why := trouble(ctx, n); why != nil {
		answer.Error = why.Error()
	}
	return answer
}

func status(n builder.Node) string {
	if n.Err != nil || n.DriverInfo == nil {
		return "error"
	}
	return n.DriverInfo.Status.String()
}

// trouble says why a node does not answer. The remote driver keeps that for
// itself and calls the node inactive, so it is dialed once more.
func trouble(ctx context.Context, n builder.Node) error {
	if n.Err != nil {
		return n.Err
	}
	if !isRemote(n) || n.DriverInfo == nil || n.DriverInfo.Status == driver.Running {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := n.Driver.Dial(asked)
	if err == nil {
		_ = conn.Close() // it was opened to see whether that works
	}
	return err
}

// isRemote is true for a node that somebody else starts.
func isRemote(n builder.Node) bool {
	return n.Driver != nil && n.Driver.Factory().Name() == "remote"
}
