// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package deps

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/go-containerregistry/pkg/authn"
	_ "github.com/google/go-containerregistry/pkg/name"
	_ "github.com/google/go-containerregistry/pkg/registry"
	_ "github.com/google/go-containerregistry/pkg/v1/layout"
	_ "github.com/google/go-containerregistry/pkg/v1/mutate"
	_ "github.com/google/go-containerregistry/pkg/v1/random"
	_ "github.com/google/go-containerregistry/pkg/v1/remote"
	_ "github.com/google/go-containerregistry/pkg/v1/tarball"
	_ "github.com/google/go-containerregistry/pkg/v1/validate"
	_ "github.com/klauspost/compress/gzip"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/magefile/mage/mg"
	_ "github.com/moby/buildkit/frontend/dockerfile/instructions"
	_ "github.com/moby/buildkit/frontend/dockerfile/parser"
	_ "github.com/moby/buildkit/frontend/dockerfile/shell"
	_ "github.com/moby/patternmatcher"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/crypto/x509roots/fallback/bundle"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "mvdan.cc/sh/v3/interp"
	_ "mvdan.cc/sh/v3/syntax"
)
