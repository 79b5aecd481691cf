// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/settings"
)

// settle settles in an empty folder that is no repository.
func settle(t *testing.T, file string, environ, commandLine []string) (*settings.Settings, error) {
	t.Helper()
	dir := t.TempDir()
	if file != "" {
		if err := os.WriteFile(filepath.Join(dir, settings.UserFile), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return settings.Settle(t.Context(), settings.Input{
		Dir: dir, CommandLine: commandLine,
		Environ:  append([]string{"PATH=" + os.Getenv("PATH"), "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}, environ...),
		Defaults: map[string]settings.Default{"VERSION": {Value: "1.31-dev", Origin: "VERSION file"}},
	})
}

func TestOriginsAndLosers(t *testing.T) {
	s, err := settle(t, "HUB = file\nTAG ?= weak\n", []string{"HUB=env", "TAG=envtag"}, []string{"HUB=cmd"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Value, Origin string
		Overridden    []settings.Layer
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	hub, tag := all["HUB"], all["TAG"]
	if hub.Value != "cmd" || hub.Origin != "command line" || tag.Value != "envtag" || tag.Origin != "environment" {
		t.Errorf("HUB %+v, TAG %+v", hub, tag)
	}
	want := []settings.Layer{{Value: "istio", Origin: "default"}, {Value: "file", Origin: ".istiorc.mk:1"}, {Value: "env", Origin: "environment"}}
	if diff := cmp.Diff(want, hub.Overridden); diff != "" {
		t.Errorf("HUB beat -want +got\n%s", diff)
	}
	if v := all["VERSION"]; v.Value != "1.31-dev" || v.Origin != "default: VERSION file" {
		t.Errorf("VERSION %+v", v)
	}
}

func TestDefaults(t *testing.T) {
	s, err := settle(t, "", []string{"TAG=latest", "VERSION=", "PULL_POLICY=Never"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"HUB": "istio", "HUBS": "istio", "PULL_POLICY": "Always", "VERSION": "1.31-dev", "STATIC": "1", "CGO_ENABLED": "0"} {
		if got := s.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if v := s.Lookup("PULL_POLICY"); v.Origin != "TAG is latest" {
		t.Errorf("origin of PULL_POLICY %q", v.Origin)
	}
	if s.Lookup("DEBUG").IsSet() {
		t.Error("DEBUG is set")
	}
}

// TARGET_OUT follows TARGET_OS and TARGET_ARCH however they are set.
func TestBothSpellingsOfTargetGoToOnePlace(t *testing.T) {
	for name, in := range map[string][2][]string{"environment": {{"TARGET_OS=darwin", "TARGET_ARCH=arm64"}, nil}, "command line": {nil, {"TARGET_OS=darwin", "TARGET_ARCH=arm64"}}} {
		s, err := settle(t, "TAG=x\n", in[0], in[1])
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Get("TARGET_OUT"); !strings.HasSuffix(got, "/out/darwin_arm64") {
			t.Errorf("%s: TARGET_OUT is %s", name, got)
		}
	}
}

func TestIdentity(t *testing.T) {
	for _, c := range []struct {
		name, file string
		args       []string
		hubs, tags string // joined with |
		warns      string // part of the warnings
	}{
		{"one hub", "", []string{"HUB=localhost:5000", "TAG=a"}, "localhost:5000", "a", ""},
		{"default hub", "", []string{"TAG=a"}, "istio", "a", ""},
		{"runs of white space", "", []string{"HUBS=reg-a.example/t \t  reg-b.example/t\n", "TAG=a"}, "reg-a.example/t|reg-b.example/t", "a", ""},
		{"comment behind TAG", "TAG = latest  ## my tag\n", nil, "istio", "latest", "PULL_POLICY was not switched to Always"},
		{"slash and comment behind HUB", "HUB = reg.example/team/ # public\nTAG=1\n", nil, "reg.example/team", "1", "ends in a slash"},
		{"duplicates", "", []string{"HUBS=a.example/x a.example/x/", "TAG=1"}, "a.example/x", "1", "twice"},
		{"upper case tag", "", []string{"TAG=RC1"}, "istio", "RC1", ""},
		{"several tags", "", []string{"TAG=x", "TAGS=1.0 latest 1.0"}, "istio", "1.0|latest", ""},
		{"128 characters", "", []string{"TAG=" + strings.Repeat("a", 128)}, "istio", strings.Repeat("a", 128), ""},
		{"IPv6 hub", "", []string{"HUB=[::1]:5000/x", "TAG=1"}, "[::1]:5000/x", "1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := settle(t, c.file, nil, c.args)
			if err != nil {
				t.Fatal(err)
			}
			id, err := s.Identity()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(id.Hubs, "|"); got != c.hubs {
				t.Errorf("hubs %s, want %s", got, c.hubs)
			}
			if got := strings.Join(id.Tags, "|"); got != c.tags {
				t.Errorf("tags %s, want %s", got, c.tags)
			}
			if got := strings.Join(id.Warnings, "\n"); !strings.Contains(got, c.warns) || c.warns == "" && got != "" {
				t.Errorf("warnings %q, want %q in them", got, c.warns)
			}
		})
	}
}

func TestIdentityRefuses(t *testing.T) {
	for _, c := range []struct {
		name, file string
		env        []string
		want       []string // parts of the message
	}{
		{"empty HUB", "", []string{"HUB=", "TAG=1"}, []string{"HUB cannot be empty", "environment", "unset it"}},
		{"no repository", "", nil, []string{"TAG cannot be empty", "not a git repository", "TAG=dev"}},
		{"empty HUBS", "", []string{"HUBS=", "TAG=1"}, []string{"HUBS is set but empty", "environment"}},
		{"slash in TAG", "", []string{"TAG=feature/foo"}, []string{`TAG is "feature/foo"`, "environment", "TAG=feature-foo"}},
		{"129 characters", "", []string{"TAG=" + strings.Repeat("a", 129)}, []string{"it has 129"}},
		{"space in TAG", "TAG = a b\n", nil, []string{`"a b"`, ".istiorc.mk:1", "TAG=a-b"}},
		{"upper case path", "", []string{"HUB=reg.example/TeamA", "TAG=1"}, []string{"HUB", "lower case", "HUB=reg.example/teama"}},
		{"upper case in one word", "", []string{"HUB=TeamA", "TAG=1"}, []string{"lower case", "HUB=teama"}},
		{"scheme", "", []string{"HUB=http://localhost:5000", "TAG=1"}, []string{"no scheme", "HUB=localhost:5000"}},
		{"commas", "", []string{"HUBS=a.example/x,b.example/y", "TAG=1"}, []string{"separated by spaces", `HUBS="a.example/x b.example/y"`}},
		{"two settings on one line", "export HUB=hub-a.example/dev TAG=v1\n", []string{"TAG=1"}, []string{"a space in it", ".istiorc.mk:1", "own line"}},
		{"tag in HUB", "", []string{"HUB=reg.example/x:1", "TAG=1"}, []string{"no tag or digest"}},
		{"empty part", "", []string{"HUB=reg.example//x", "TAG=1"}, []string{"HUB=reg.example/x"}},
		{"only slashes", "", []string{"HUB=///", "TAG=1"}, []string{"a registry and a path"}},
		{"all problems at once", "", []string{"HUBS=A/x http://b", "TAG=-"}, []string{"scheme", "no image tag"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := settle(t, c.file, c.env, nil)
			if err == nil {
				_, err = s.Identity()
			}
			if err == nil || fail.Code(err) != fail.Usage {
				t.Fatalf("error %v (code %d)", err, fail.Code(err))
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestUserFileMistakes(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"shell syntax", "HUB=a\nset -e\n", ".istiorc.mk:2: missing separator: this is no make assignment"},
		{"self reference", "HUB = $(HUB)/x\n", ".istiorc.mk:1: Recursive variable 'HUB' references itself (eventually): use :="},
		{"missing include", "include team.mk\n", "No rule to make target 'team.mk': the file that an include line names is not there"},
		{"endless include", "include .istiorc.mk\n", "includes itself"},
		{"endless call", "F = $(call F,$(1)x)\nA := $(call F,1)\n", "nested more than"},
		{"growth without end", "A := aaaaaaaaaaaaaaaa\n" + strings.Repeat("A := $(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)\n", 9), "MiB"},
		{"not evaluated", "load x.so\n", ".istiorc.mk:1: load is not evaluated by Slipway"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := settle(t, "TAG=1\n"[:0]+c.file, []string{"TAG=1"}, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || fail.Code(err) != fail.Usage {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestUserFileIsAFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, settings.UserFile), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := settings.Settle(t.Context(), settings.Input{Dir: dir, Environ: []string{"TAG=1"}})
	if err == nil || !strings.Contains(err.Error(), ".istiorc.mk: Is a directory: .istiorc.mk must be a file") {
		t.Errorf("error %v", err)
	}
}

func TestShellThatHangs(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, settings.UserFile), []byte("A := 1\nHUB := $(shell sleep 60)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := settings.Settle(t.Context(), settings.Input{Dir: dir, Environ: []string{"TAG=1", "PATH=" + os.Getenv("PATH")}, ShellLimit: 100 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), ".istiorc.mk:2: $(shell sleep 60): it did not end within 100ms") {
		t.Errorf("error %v", err)
	}
}

func TestShellThatFails(t *testing.T) {
	s, err := settle(t, "HUB := $(shell exit 3)x$(.SHELLSTATUS)\nTAG = $(shell no-such-program-here)t\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Get("HUB") != "x3" || s.Get("TAG") != "t" {
		t.Errorf("HUB %q, TAG %q", s.Get("HUB"), s.Get("TAG"))
	}
}

func TestCheckPush(t *testing.T) {
	s, err := settle(t, "", []string{"TAG=1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := id.CheckPush(s); err == nil || !strings.Contains(err.Error(), "pushing to official registry only supported in CI") {
		t.Errorf("error %v", err)
	}
	if s, err = settle(t, "", []string{"TAG=1", "CI="}, nil); err != nil {
		t.Fatal(err)
	}
	if err := id.CheckPush(s); err != nil {
		t.Errorf("in CI: %v", err)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	s, err := settle(t, "MY_TOKEN = hunter2\nTAG=1\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := s.JSON()
	if strings.Contains(string(text)+s.Text(), "hunter2") || !strings.Contains(s.Text(), "MY_TOKEN") {
		t.Errorf("settings print\n%s", s.Text())
	}
}

var update = flag.Bool("update", false, "write .istiorc.mk.example anew")

// The example file lists every known setting, and is itself a valid fragment,
// also with every line in force.
func TestExampleFile(t *testing.T) {
	const path = "../../.istiorc.mk.example"
	if *update {
		if err := os.WriteFile(path, []byte(settings.Example()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings.Example(), string(text)); diff != "" {
		t.Errorf("%s is old: run go test ./tools/settings -update\n%s", path, diff)
	}
	if _, err := settle(t, string(text), []string{"TAG=1"}, nil); err != nil {
		t.Errorf("as it is: %v", err)
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range settings.Groups() {
		for _, k := range g.Settings {
			if seen[k.Name] || k.Summary == "" || k.Default != "" && k.Unset {
				t.Errorf("%+v is listed twice, has no summary, or is unset with a default", k)
			}
			seen[k.Name] = true
		}
	}
}
