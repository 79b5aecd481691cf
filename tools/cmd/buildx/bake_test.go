// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

var update = flag.Bool("update", false, "write the answers into testdata/bake")

// bakeCase is a file of testdata/bake, laid out in the current folder.
type bakeCase struct {
	args []string
	want []byte
}

func layOut(t *testing.T, file string) bakeCase {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c bakeCase
	t.Chdir(t.TempDir())
	for _, f := range archive.Files {
		switch f.Name {
		case "args":
			c.args = append([]string{"bake"}, strings.Fields(string(f.Data))...)
		case "want":
			c.want = f.Data
		default:
			write(t, f.Name, string(f.Data))
		}
	}
	return c
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func bakeCases(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/bake/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for i := range files {
		if files[i], err = filepath.Abs(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestBake(t *testing.T) {
	for _, file := range bakeCases(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := layOut(t, file)
			got := call(t, nil, c.args...)
			got.want(t, fail.OK)
			if *update {
				replaceWant(t, file, got.out)
				return
			}
			if diff := cmp.Diff(string(c.want), got.out); diff != "" {
				t.Errorf("the answer differs (-want +got):\n%s", diff)
			}
			for range 5 { // maps have no order; the answer has
				if again := call(t, nil, c.args...); again.out != got.out {
					t.Fatalf("not the same answer:\n%s", cmp.Diff(got.out, again.out))
				}
			}
		})
	}
}

func replaceWant(t *testing.T, file, text string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
	archive.Files = append(archive.Files, txtar.File{Name: "want", Data: []byte(text)})
	write(t, file, string(txtar.Format(archive)))
}

// printed is a target as docker buildx bake --print writes it.
type printed struct {
	Context    string              `json:"context"`
	Contexts   map[string]string   `json:"contexts"`
	Dockerfile string              `json:"dockerfile"`
	Inline     string              `json:"dockerfile-inline"`
	Args       map[string]string   `json:"args"`
	Labels     map[string]string   `json:"labels"`
	Tags       []string            `json:"tags"`
	Platforms  []string            `json:"platforms"`
	Target     string              `json:"target"`
	NoCache    bool                `json:"no-cache"`
	Pull       bool                `json:"pull"`
	CacheFrom  []map[string]string `json:"cache-from"`
	CacheTo    []map[string]string `json:"cache-to"`
	Output     []map[string]string `json:"output"`
	Secret     []map[string]string `json:"secret"`
	Network    string              `json:"network"`
}

// TestBakeAsDockerBuildx holds our answers against those of the real docker
// buildx, which is the program docker-buildx on PATH or the one that
// SLIPWAY_DOCKER_BUILDX names.
func TestBakeAsDockerBuildx(t *testing.T) {
	docker := dockerBuildx(t)
	for _, file := range bakeCases(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := layOut(t, file)
			t.Setenv("BUILDX_CONFIG", t.TempDir())
			// It would ask the agent, which has no part in this.
			cmd := exec.Command(docker, append([]string{"bake", "--print", "--set", "*.ssh="}, c.args[1:]...)...)
			cmd.Env = append(os.Environ(), "BUILDX_BAKE_DISABLE_VARS_ENV_LOOKUP=1")
			var problems bytes.Buffer
			cmd.Stderr = &problems
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("docker buildx: %v\n%s", err, problems.String())
			}
			var theirs struct{ Target map[string]printed }
			if err := json.Unmarshal(out, &theirs); err != nil {
				t.Fatal(err)
			}
			got := map[string]printed{}
			for _, target := range answered(t, call(t, nil, c.args...)) {
				got[target.Name] = asPrinted(target)
			}
			for name, target := range theirs.Target {
				target.Context = local(target.Context)
				for alias, c := range target.Contexts {
					target.Contexts[alias] = local(c)
				}
				theirs.Target[name] = target
			}
			if diff := cmp.Diff(theirs.Target, got); diff != "" {
				t.Errorf("docker buildx bake --print says otherwise (-theirs +ours):\n%s", diff)
			}
		})
	}
}

func dockerBuildx(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("SLIPWAY_DOCKER_BUILDX"); path != "" {
		return path
	}
	path, err := exec.LookPath("docker-buildx")
	if err != nil {
		t.Skip("no docker-buildx on PATH or in SLIPWAY_DOCKER_BUILDX")
	}
	return path
}

func answered(t *testing.T, a answer) []target {
	t.Helper()
	a.want(t, fail.OK)
	var got baked
	if err := json.Unmarshal([]byte(a.out), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, a.out)
	}
	return got.Targets
}

// asPrinted turns a target of ours into the form of docker buildx.
func asPrinted(t target) printed {
	p := printed{
		Context: t.Context, Contexts: orNil(t.Contexts), Dockerfile: t.Dockerfile, Inline: t.DockerfileInline,
		Args: orNil(t.Args), Labels: orNil(t.Labels), Target: t.Target, NoCache: t.NoCache, Pull: t.Pull, Network: t.Network,
	}
	p.Tags, p.Platforms = slices.Concat(t.Tags), slices.Concat(t.Platforms)
	for _, c := range t.CacheFrom {
		p.CacheFrom = append(p.CacheFrom, with(c.Attrs, "type", c.Type))
	}
	for _, c := range t.CacheTo {
		p.CacheTo = append(p.CacheTo, with(c.Attrs, "type", c.Type))
	}
	for _, o := range t.Outputs {
		p.Output = append(p.Output, with(o.Attrs, "type", o.Type, "dest", o.Dest))
	}
	for _, s := range t.Secrets {
		p.Secret = append(p.Secret, with(nil, "id", s.ID, "src", s.Src, "env", s.Env))
	}
	return p
}

func orNil(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// with adds the pairs that have a value.
func with(m map[string]string, pairs ...string) map[string]string {
	all := maps.Clone(m)
	if all == nil {
		all = map[string]string{}
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all[pairs[i]] = pairs[i+1]
		}
	}
	return all
}

// HUB and TAG in the environment change nothing unless they are passed: the
// result must be the same on every machine.
func TestBakeDoesNotReadTheEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.hcl", `
variable "HUB" { default = "docker.io/istio" }
variable "TAG" { default = "dev" }
variable "HUBS" {
  type = list(string)
  default = ["one"]
}
variable "NONE" {}
target "app" {
  args = { NONE = NONE }
  tags = concat(["${HUB}/app:${TAG}"], HUBS)
}`)
	write(t, "compose.yaml", `
services:
  app:
    image: ${HUB:-docker.io/istio}/app:${TAG:-dev}
    environment:
      HUBS:
    build:
      context: .
      args:
        HUB:
        HUBS:
`)
	env := []string{"HUB=evil", "TAG=evil", "HUBS=evil", "HUBS_JSON=[\"evil\"]", "NONE=evil", "BUILDX_BAKE_DISABLE_VARS_ENV_LOOKUP=0", "BUILDX_BAKE_FILE=other.hcl"}
	for name, c := range map[string]struct {
		args []string
		tags []string
	}{
		"HCL":             {[]string{"-f", "a.hcl"}, []string{"docker.io/istio/app:dev", "one"}},
		"HCL, passed":     {[]string{"-f", "a.hcl", "--var", "TAG=1.30", "--var", "HUBS=x,y"}, []string{"docker.io/istio/app:1.30", "x", "y"}},
		"compose":         {[]string{"-f", "compose.yaml"}, []string{"docker.io/istio/app:dev"}},
		"compose, passed": {[]string{"-f", "compose.yaml", "--var", "TAG=1.30"}, []string{"docker.io/istio/app:1.30"}},
		"by usual name":   {nil, []string{"docker.io/istio/app:dev"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := process(t, env, append(append([]string{"bake"}, c.args...), "app")...)
			if diff := cmp.Diff(c.tags, answered(t, got)[0].Tags); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if strings.Contains(got.out, "evil") {
				t.Errorf("the environment leaked:\n%s", got.out)
			}
		})
	}
}

func TestBakeFromStandardInput(t *testing.T) {
	t.Chdir(t.TempDir())
	got := answered(t, call(t, strings.NewReader(`{"target": {"app": {"tags": ["x"]}}}`), "bake", "-f", "-", "app"))
	if len(got) != 1 || got[0].Name != "app" || !slices.Equal(got[0].Tags, []string{"x"}) {
		t.Errorf("got %+v", got)
	}
}

func TestBakeErrors(t *testing.T) {
	const good = "group \"default\" {\n targets = [\"b\", \"a\"]\n}\ntarget \"a\" {}\ntarget \"b\" {}\n"
	for name, c := range map[string]struct {
		file string
		args []string
		say  []string
	}{
		"no such target":        {good, []string{"-f", "b.hcl", "c"}, []string{`no target or group "c" in b.hcl`, "targets: a, b; groups: default"}},
		"one of two":            {good, []string{"-f", "b.hcl", "a", "c"}, []string{`"c"`}},
		"a pattern of nothing":  {good, []string{"-f", "b.hcl", "x*"}, []string{`"x*"`, "targets: a, b"}},
		"a broken pattern":      {good, []string{"-f", "b.hcl", "[a"}, []string{`"[a"`, "syntax error in pattern"}},
		"no default":            {"target \"a\" {}\n", []string{"-f", "b.hcl"}, []string{`"default"`, "targets: a"}},
		"an empty file":         {"", []string{"-f", "b.hcl", "a"}, []string{"b.hcl are empty"}},
		"no targets at all":     {"variable \"X\" {}\n", []string{"-f", "b.hcl", "a"}, []string{"there are no targets"}},
		"a group of nothing":    {"group \"g\" {\n targets = [\"x\"]\n}\ntarget \"a\" {}\n", []string{"-f", "b.hcl", "g"}, []string{"target x", "targets: a; groups: g"}},
		"no such file":          {good, []string{"-f", "none.hcl", "a"}, []string{"none.hcl"}},
		"no file at all":        {good, []string{"a"}, []string{"no bake file is given", "-f"}},
		"not HCL":               {"target {", []string{"-f", "b.hcl", "a"}, []string{"b.hcl:1"}},
		"an undefined variable": {"target \"a\" {\n tags = [NOPE]\n}\n", []string{"-f", "b.hcl", "a"}, []string{"NOPE", "b.hcl:2"}},
		"a wrong type":          {"variable \"N\" {\n type = number\n default = 1\n}\ntarget \"a\" {}\n", []string{"-f", "b.hcl", "--var", "N=many", "a"}, []string{"N"}},
		"a value refused": {"variable \"N\" {\n default = \"x\"\n validation {\n condition = N != \"\"\n error_message = \"N must be set\"\n }\n}\ntarget \"a\" {}\n",
			[]string{"-f", "b.hcl", "--var", "N=", "a"}, []string{"N must be set"}},
		"a circle":                 {"target \"a\" {\n contexts = { x = \"target:b\" }\n}\ntarget \"b\" {\n contexts = { x = \"target:a\" }\n}\n", []string{"-f", "b.hcl", "a"}, []string{"infinite loop"}},
		"set without a value":      {good, []string{"-f", "b.hcl", "--set", "a.args.HOME", "a"}, []string{`"a.args.HOME" has no value`}},
		"set of an unknown target": {good, []string{"-f", "b.hcl", "--set", "z.tags=x", "a"}, []string{"'z'", "targets: a, b"}},
		"set of an unknown key":    {good, []string{"-f", "b.hcl", "--set", "a.colour=x", "a"}, []string{"colour"}},
		"var without a value":      {good, []string{"-f", "b.hcl", "--var", "TAG", "a"}, []string{`"TAG" is not NAME=VALUE`}},
		"var without a name":       {good, []string{"-f", "b.hcl", "--var", "=x", "a"}, []string{`"=x" is not NAME=VALUE`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "b.hcl", c.file)
			call(t, nil, append([]string{"bake"}, c.args...)...).want(t, fail.Usage, c.say...)
		})
	}
}
