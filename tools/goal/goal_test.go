// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package goal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/goal"
)

type wants = *[]string

func registry(t *testing.T) *goal.Registry[wants] {
	t.Helper()
	r, err := goal.NewRegistry([]goal.Goal[wants]{
		{Name: "build", Group: "Build", Summary: "build all"},
		{Name: "docker.push", Aliases: []string{"push", "dockerx.push"}, Group: "Images", Summary: "push all"},
		{Name: "docker.%", Aliases: []string{"dockerx.docker.%"}, Group: "Images", Summary: "build one"},
		{Name: "push.docker.%", Group: "Images"},
		{Name: "test.integration.%.kube", Group: "Tests"},
		{Name: "test.integration.%", Group: "Tests"},
		{Name: "lint-go", Group: "Build", Summary: "lint"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFind(t *testing.T) {
	r := registry(t)
	for name, want := range map[string]string{
		"build":                           "build ",
		"push":                            "docker.push ",
		"docker.push":                     "docker.push ",
		"docker.install-cni":              "docker.% install-cni",
		"dockerx.docker.app":              "docker.% app",
		"push.docker.pilot":               "push.docker.% pilot",
		"test.integration.pilot.kube":     "test.integration.%.kube pilot",
		"test.integration.pilot.kube.pre": "test.integration.% pilot.kube.pre",
		"docker.":                         "none",
		"":                                "none",
		"BUILD":                           "none",
	} {
		got := "none"
		if m, ok := r.Find(name); ok {
			got = m.Goal.Name + " " + m.Stem
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	r := registry(t)
	matches, err := r.Resolve([]string{"lint-go", "build", "lint-go"})
	if err != nil || len(matches) != 2 || matches[0].Name != "lint-go" || matches[1].Name != "build" {
		t.Errorf("matches %v, error %v", matches, err)
	}
	_, err = r.Resolve([]string{"biuld", "build", "lint.go", "zzzzzzzz"})
	if fail.Code(err) != fail.Usage {
		t.Fatalf("error %v (code %d)", err, fail.Code(err))
	}
	want := []string{`no goal "biuld"; did you mean build?`, `no goal "lint.go"; did you mean lint-go?`, `no goal "zzzzzzzz"`, "`make help` lists all goals; nothing was run"}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestNamesAreUnique(t *testing.T) {
	_, err := goal.NewRegistry([]goal.Goal[wants]{{Name: "a"}, {Name: "b", Aliases: []string{"a"}}})
	if err == nil || err.Error() != `goal "a" is defined twice` {
		t.Errorf("error %v", err)
	}
}

func TestHelp(t *testing.T) {
	want := []goal.Entry{
		{Group: "Build", Name: "build", Summary: "build all"},
		{Group: "Build", Name: "lint-go", Summary: "lint"},
		{Group: "Images", Name: "docker.push", Summary: "push all", Aliases: []string{"push", "dockerx.push"}},
		{Group: "Images", Name: "docker.%", Summary: "build one", Aliases: []string{"dockerx.docker.%"}},
	}
	if diff := cmp.Diff(want, registry(t).Help()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestNear(t *testing.T) {
	names := []string{"docker.push", "docker.save", "istioctl", "lint", "lint-go", "linux/amd64", "linux/arm64"}
	for name, want := range map[string]string{
		"docker-push": "docker.push",
		"linux/amd46": "linux/amd64 linux/arm64",
		"istioclt":    "istioctl",
		"save":        "docker.save",
		"lnit":        "lint",
		"xyz":         "",
	} {
		if got := strings.Join(goal.Near(name, names, 2), " "); got != want {
			t.Errorf("near %q: %q, want %q", name, got, want)
		}
	}
}
