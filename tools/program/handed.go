// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

// handedOver are goals of Istio's make files that Slipway has no part in yet
// or never will: they test, generate or package one repository and belong to
// it. They go to the repository's own make file, with the settled settings.
// The names are those of the make surface of istio/istio; % stands for any
// text.
func handedOver() []handed {
	return []handed{
		{"gen", "update all generated code"},
		{"gen-check", "gen, then fail when anything changed"},
		{"go-gen", "run go generate"},
		{"proto", "generate Go from protocol buffers"},
		{"operator-proto", ""}, {"dns-proto", ""}, {"echo-proto", ""}, {"workload-proto", ""}, {"zds-proto", ""},
		{"refresh-goldens", "write the golden files of tests anew"},
		{"update-golden", ""},
		{"gen-addons", "write the addon manifests anew"},
		{"update-crds", "fetch the CRDs of istio.io/api"},
		{"copy-templates", "copy profiles and templates between charts"},
		{"update-common", "take over istio/common-files"},
		{"binaries-test", "check versions, sizes and dependencies of binaries"},
		{"benchtest", "run Go benchmarks"}, {"report-benchtest", ""},
		{"coverage", ""},
		{"check-go-tag", ""},
		{"test.integration.%", "run integration tests against a cluster"},
		{"test.integration-fuzz.%", ""},
		{"bookinfo.build", ""}, {"bookinfo.push", ""},
		{"deb", "package the sidecar as .deb"}, {"deb/fpm", ""}, {"rpm/fpm", ""},
		{"tidy-docker", ""},
		{"shell", ""},
	}
}

type handed struct{ name, summary string }
