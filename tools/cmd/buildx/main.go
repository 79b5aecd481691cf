// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Command buildx gives Slipway what only the libraries of docker/buildx know.
package main

import (
	_ "github.com/docker/buildx/bake"
	_ "github.com/docker/buildx/builder"
	_ "github.com/docker/buildx/driver/docker"
	_ "github.com/docker/buildx/driver/docker-container"
	_ "github.com/docker/buildx/driver/kubernetes"
	_ "github.com/docker/buildx/driver/remote"
	_ "github.com/docker/cli/cli/command"
)

func main() {}
