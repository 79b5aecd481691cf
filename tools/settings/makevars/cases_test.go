// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/goal/makeflags"
	"github.com/istio-ecosystem/slipway/tools/settings/makevars"
)

// settingsCase is one recorded answer of GNU make 4.3.
type settingsCase struct {
	Name               string
	Env                map[string]string
	Args               []string
	Istiorc            *string
	Files              map[string]string
	IstiorcIsDirectory bool
	Git                string
	Want               map[string]string
	WantError          *struct {
		ExitCode      int
		Message, File string
		Line          int
	}
}

func readCases(t *testing.T) []settingsCase {
	t.Helper()
	content, err := os.ReadFile("testdata/settings-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []settingsCase
	if err := json.Unmarshal(content, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=dev", "-c", "user.email=dev@example.com", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_DIR=", "GIT_WORK_TREE=")
	cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "GIT_DIR") || strings.HasPrefix(e, "GIT_WORK_TREE") })
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func commit(t *testing.T, dir, text string) {
	t.Helper()
	write(t, filepath.Join(dir, "tracked"), text)
	git(t, dir, "add", "tracked")
	git(t, dir, "commit", "-q", "-m", text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// prepare makes the folder in which the case runs, and more environment.
func prepare(t *testing.T, state string) (dir string, env map[string]string) {
	t.Helper()
	root := t.TempDir()
	dir, env = filepath.Join(root, "repo"), map[string]string{"GIT_CEILING_DIRECTORIES": root}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if state == "none" {
		return dir, env
	}
	git(t, dir, "init", "-q")
	if state == "no-commits" {
		return dir, env
	}
	commit(t, dir, "one")
	switch state {
	case "repo":
	case "git-not-on-path":
		bin := filepath.Join(root, "bin")
		for _, name := range []string{"sh", "make", "echo", "cat"} {
			if path, err := exec.LookPath(name); err == nil {
				_ = os.MkdirAll(bin, 0o755)
				_ = os.Symlink(path, filepath.Join(bin, name))
			}
		}
		env["PATH"] = bin
	case "dirty":
		write(t, filepath.Join(dir, "tracked"), "changed")
	case "tagged":
		git(t, dir, "tag", "1.2.3")
	case "detached":
		commit(t, dir, "two")
		git(t, dir, "checkout", "-q", "HEAD~1")
	case "shallow":
		commit(t, dir, "two")
		commit(t, dir, "three")
		git(t, root, "clone", "-q", "--depth=1", "file://"+dir, "shallow")
		dir = filepath.Join(root, "shallow")
	case "worktree":
		commit(t, dir, "two")
		git(t, dir, "worktree", "add", "-q", filepath.Join(root, "wt"), "HEAD~1")
		dir = filepath.Join(root, "wt")
	case "subdirectory":
		dir = filepath.Join(dir, "sub")
		write(t, filepath.Join(dir, "keep"), "")
	case "other-owner":
		env["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
	case "broken-head":
		write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/nope\n")
	case "submodule-file":
		git(t, root, "clone", "-q", "--separate-git-dir="+filepath.Join(root, "elsewhere"), dir, "sub")
		dir = filepath.Join(root, "sub")
	default:
		t.Fatalf("unknown git state %q", state)
	}
	return dir, env
}

func (c settingsCase) environ(extra map[string]string) []string {
	all := map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/nonexistent", "USER": "dev", "LC_ALL": "C.UTF-8"}
	maps.Copy(all, extra)
	maps.Copy(all, c.Env)
	var env []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		env = append(env, k+"="+all[k])
	}
	return env
}

// oracleText is the reference make file without the lines that print.
func oracleText(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("testdata/settings-oracle.mk")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(content), "$(foreach v,")
	return text
}

func TestRecordedCases(t *testing.T) {
	oracle := oracleText(t)
	cases := readCases(t)
	if len(cases) != 72 {
		t.Errorf("%d cases, want 72", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dir, extra := prepare(t, c.Git)
			if c.Istiorc != nil {
				write(t, filepath.Join(dir, ".istiorc.mk"), *c.Istiorc)
			}
			if c.IstiorcIsDirectory {
				write(t, filepath.Join(dir, ".istiorc.mk", "x"), "")
			}
			for name, text := range c.Files {
				write(t, filepath.Join(dir, name), text)
			}
			opts := makevars.Options{Environ: c.environ(extra), Dir: dir}
			opts.CommandLine = makeflags.Parse(c.Env["MAKEFLAGS"]).Overrides
			for _, a := range c.Args {
				if a == "-e" {
					opts.EnvOverrides = true
				} else {
					opts.CommandLine = append(opts.CommandLine, a)
				}
			}
			got, err := settle(t, opts, oracle)
			if c.WantError != nil {
				var e *makevars.Error
				if !errors.As(err, &e) || e.Message != c.WantError.Message || c.WantError.File != "" && (e.File != c.WantError.File || e.Line != c.WantError.Line) {
					t.Errorf("error %v, want %+v", err, *c.WantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range c.Want {
				if strings.Contains(want, "<HEAD>") {
					want = strings.ReplaceAll(want, "<HEAD>", git(t, dir, "rev-parse", "HEAD"))
				}
				if got[name] != want {
					t.Errorf("%s is %q, want %q", name, got[name], want)
				}
			}
		})
	}
}

var settled = []string{"HUB", "HUBS", "TAG", "PULL_POLICY"}

func settle(t *testing.T, opts makevars.Options, oracle string) (map[string]string, error) {
	e, err := makevars.New(t.Context(), opts)
	if err != nil {
		return nil, err
	}
	if err := e.Eval(t.Context(), "oracle.mk", oracle); err != nil {
		return nil, err
	}
	if err := e.Missing(); err != nil {
		return nil, err
	}
	got := map[string]string{}
	for _, name := range settled {
		if got[name], err = e.Value(t.Context(), name); err != nil {
			return nil, err
		}
	}
	return got, nil
}
