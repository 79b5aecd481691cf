// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package attest writes down what is in an image (an SBOM in the form of SPDX
// 2.3) and how it was made (provenance in the form of SLSA 1.0), and attaches
// both to the image as referrers of the OCI distribution specification 1.1.
// The same image gives the same bytes: no clock, user, host or path of this
// machine is in them.
package attest
