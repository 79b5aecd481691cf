// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

func TestParsePlatforms(t *testing.T) {
	for list, want := range map[string]string{
		"linux/amd64":                             "linux/amd64",
		"linux/arm64,linux/amd64":                 "linux/arm64 linux/amd64",
		" linux/amd64 , linux/arm64/v8,":          "linux/amd64 linux/arm64",
		"linux/arm64,linux/arm64/v8,linux/arm64":  "linux/arm64",
		"linux/arm,linux/arm/v7,linux/arm/v6":     "linux/arm/v7 linux/arm/v6",
		"linux/amd64/v1,linux/amd64/v3":           "linux/amd64 linux/amd64/v3",
		"linux/s390x,linux/ppc64le,linux/riscv64": "linux/s390x linux/ppc64le linux/riscv64",
		"linux/amd46":                             `error: platform "linux/amd46" is not known; did you mean "linux/amd64"?`,
		"amd64":                                   `error: platform "amd64" is not of the form os/arch or os/arch/variant; did you mean "linux/amd64"?`,
		"linux/x86_64,linux/aarch64":              "error: platform \"linux/x86_64\" is not known; did you mean \"linux/amd64\"?\nplatform \"linux/aarch64\" is not known; did you mean \"linux/arm64\"?",
		"linux/armhf":                             `error: platform "linux/armhf" is not known; did you mean "linux/arm/v7"?`,
		"Linux/AMD64":                             `error: platform "Linux/AMD64" is not known; did you mean "linux/amd64"?`,
		"linux/arm64/v9x":                         `error: platform "linux/arm64/v9x" is not known: arm64 has the variants v8`,
		"linux/s390x/v1":                          `error: platform "linux/s390x/v1" is not known: s390x has no variants`,
		"linux/amd64 linux/arm64":                 `error: platform "linux/amd64 linux/arm64" has white space in it: platforms are separated by commas; try "linux/amd64,linux/arm64"`,
		"darwin/arm64":                            `error: platform "darwin/arm64": images are made for linux; for a program alone use TARGET_OS=darwin`,
		"":                                        "error: no platform is named; write os/arch separated by commas, such as linux/amd64,linux/arm64",
		" , ":                                     "error: no platform is named; write os/arch separated by commas, such as linux/amd64,linux/arm64",
		"/":                                       `error: platform "/" is not known; examples: linux/amd64, linux/arm64, linux/arm/v7`,
		"a/b/c/d":                                 `error: platform "a/b/c/d" is not of the form os/arch or os/arch/variant; examples: linux/amd64, linux/arm64, linux/arm/v7`,
		"linux/amd64,zzzzzzzzz/q,linux/arm64,!!!/y": "error: platform \"zzzzzzzzz/q\" is not known; examples: linux/amd64, linux/arm64, linux/arm/v7\nplatform \"!!!/y\" is not known; examples: linux/amd64, linux/arm64, linux/arm/v7",
	} {
		platforms, err := catalog.ParsePlatforms(list)
		var got []string
		for _, p := range platforms {
			got = append(got, p.String())
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = "error: " + err.Error()
			if fail.Code(err) != fail.Usage {
				t.Errorf("%q: exit code %d", list, fail.Code(err))
			}
		}
		if text != want {
			t.Errorf("%q: %s", list, text)
		}
	}
}

// What we know as platforms is what the installed Go can compile for.
func TestPlatformsAreThoseOfGo(t *testing.T) {
	out, err := run.Output(t.Context(), run.Exec{}, run.Command{Args: []string{"go", "tool", "dist", "list"}})
	if err != nil {
		t.Skipf("the toolchain does not tell its platforms: %v", err)
	}
	var unknown []string
	for _, pair := range strings.Fields(out) {
		p, err := catalog.ParsePlatform(pair)
		if err != nil || !strings.HasPrefix(p.String(), pair) {
			unknown = append(unknown, pair)
		}
	}
	if len(unknown) > 0 || !slices.Contains(strings.Fields(out), "linux/amd64") {
		t.Errorf("not known: %q", unknown)
	}
}
