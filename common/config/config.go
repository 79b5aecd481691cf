// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package config embeds the data of this folder.
package config

import _ "embed" // the files below

// Catalog is the catalog of this repository, catalog.yaml.
//
//go:embed catalog.yaml
var Catalog []byte
