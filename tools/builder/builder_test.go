// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package builder_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   map[string]string
		files []string // sockets that are there
		use   string   // builder that docker buildx use has chosen
		only  builder.Kind
		want  string // kind and address
		lacks []string
	}{
		{name: "nothing", env: map[string]string{"HOME": "/h"}, lacks: []string{"/run/buildkit/buildkitd.sock", "/var/run/docker.sock", "/h/.docker/run/docker.sock", "BUILDKIT_HOST", "make buildkitd"}},
		{name: "given", env: map[string]string{"BUILDKIT_HOST": "tcp://b:1"}, files: []string{"/run/buildkit/buildkitd.sock"}, want: "buildkit tcp://b:1"},
		{name: "given, not there", env: map[string]string{"BUILDKIT_HOST": "unix:///x"}, files: []string{"/run/buildkit/buildkitd.sock"}, lacks: []string{"BUILDKIT_HOST is unix:///x", "no such socket"}},
		{name: "buildx by name", env: map[string]string{"BUILDX_BUILDER": "pool"}, files: []string{"/var/run/docker.sock"}, want: "buildx pool"},
		{name: "usual socket before the engine", files: []string{"/run/buildkit/buildkitd.sock", "/var/run/docker.sock"}, want: "buildkit unix:///run/buildkit/buildkitd.sock"},
		{name: "rootless first", env: map[string]string{"XDG_RUNTIME_DIR": "/r"}, files: []string{"/r/buildkit/buildkitd.sock", "/run/buildkit/buildkitd.sock"}, want: "buildkit unix:///r/buildkit/buildkitd.sock"},
		{name: "chosen by docker buildx use", env: map[string]string{"HOME": "/h"}, use: `{"Key":"unix:///var/run/docker.sock","Name":"mine"}`, files: []string{"/var/run/docker.sock"}, want: "buildx mine"},
		{name: "the engine's own is no choice", env: map[string]string{"HOME": "/h"}, use: `{"Name":"default"}`, files: []string{"/var/run/docker.sock"}, want: "docker unix:///var/run/docker.sock"},
		{name: "engine by address", env: map[string]string{"DOCKER_HOST": "tcp://d:2375"}, want: "docker tcp://d:2375"},
		{name: "only docker", env: map[string]string{"BUILDKIT_HOST": "tcp://b:1"}, files: []string{"/var/run/docker.sock"}, only: builder.Docker, want: "docker unix:///var/run/docker.sock"},
		{name: "docker takes in buildx", env: map[string]string{"BUILDX_BUILDER": "pool"}, only: builder.Docker, want: "buildx pool"},
		{name: "only buildkit", files: []string{"/var/run/docker.sock"}, only: builder.Buildkit, lacks: []string{"/run/buildkit/buildkitd.sock"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := builder.World{
				Getenv: func(name string) string { return c.env[name] },
				Exists: func(path string) bool { return strings.Contains(strings.Join(c.files, " ")+" ", path+" ") },
				Read: func(path string) ([]byte, error) {
					if c.use != "" && path == "/h/.docker/buildx/current" {
						return []byte(c.use), nil
					}
					return nil, fs.ErrNotExist
				},
			}
			e, err := builder.Find(w, c.only)
			if c.want == "" {
				if fail.Code(err) != fail.Unavailable {
					t.Fatalf("found %v (%v)", e, err)
				}
				for _, want := range c.lacks {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q lacks %q", err, want)
					}
				}
				return
			}
			if got := string(e.Kind) + " " + e.Address; err != nil || got != c.want {
				t.Errorf("found %s (%v), want %s", got, err, c.want)
			}
		})
	}
}

// program stands in for the buildkit and buildx programs.
type program struct {
	out, problems string
	err           error
	got           run.Command
}

func (p *program) Run(_ context.Context, c run.Command) error {
	p.got = c
	_, _ = c.Stdout.Write([]byte(p.out))
	if c.Stderr != nil {
		_, _ = c.Stderr.Write([]byte(p.problems))
	}
	return p.err
}

func TestAnswersOfThePrograms(t *testing.T) {
	var told strings.Builder
	ask := func(p *program) error {
		_, warnings, err := builder.Program{Path: "x", Runner: p, Stderr: &told}.Build(t.Context(), builder.Request{Name: "n"})
		if len(warnings) > 0 && warnings[0] != "w" {
			t.Errorf("warnings %v", warnings)
		}
		return err
	}
	if err := ask(&program{err: errors.New("killed")}); fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "killed") {
		t.Errorf("no answer: %v", err)
	}
	if err := ask(&program{out: `{"error":"Dockerfile:3: no","code":2,"warnings":["w"]}`, err: errors.New("exit status 2")}); fail.Code(err) != fail.Usage || err.Error() != "Dockerfile:3: no" {
		t.Errorf("an error: %v", err)
	}
	if err := ask(&program{out: `{}`}); err == nil {
		t.Error("an answer without an image is no error")
	}
	if err := ask(&program{out: `{"built":{"Name":"n"}}`}); err != nil {
		t.Errorf("an image: %v", err)
	}
}

func TestBake(t *testing.T) {
	targets, err := json.Marshal(map[string]any{"targets": []builder.BakeTarget{{Name: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &program{out: string(targets)}
	got, err := builder.Baker{Path: "x", Dir: "d", Runner: p}.Bake(t.Context(), []string{"f.hcl"}, map[string]string{"TAG": "1", "HUB": "h"}, []string{"a"})
	if err != nil || len(got) != 1 || got[0].Name != "a" {
		t.Errorf("%v (%v)", got, err)
	}
	if text := strings.Join(p.got.Args, " "); text != "x bake -f f.hcl --var HUB=h --var TAG=1 a" || p.got.Dir != "d" {
		t.Errorf("ran %q in %q", text, p.got.Dir)
	}
	p = &program{problems: "slipway: error: no such file\n", err: errors.New("exit status 2")}
	if _, err := (builder.Baker{Path: "x", Runner: p}).Bake(t.Context(), nil, nil, nil); fail.Code(err) != fail.Usage || !strings.HasSuffix(err.Error(), "no such file") {
		t.Errorf("an error: %v", err)
	}
}

func TestTextsOfBake(t *testing.T) {
	c := builder.BakeCache{Type: "registry", Attrs: map[string]string{"ref": "h/c:1", "mode": "max", "compression": "a,b"}}
	if got := c.String(); got != `type=registry,"compression=a,b",mode=max,ref=h/c:1` {
		t.Errorf("cache %s", got)
	}
	s := builder.BakeSecret{ID: "t", Src: "/f", Env: "E"}
	if got := s.String(); got != "id=t,src=/f,env=E" {
		t.Errorf("secret %s", got)
	}
}
