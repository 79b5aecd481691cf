// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package casecheck holds the table of field reports against the tests that it
// names.
package casecheck
