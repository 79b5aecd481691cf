// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// asProgram names the environment variable that makes the test binary the
// program itself: what environment and signals do to it shows only in a
// process of its own.
const asProgram = "SLIPWAY_TEST_BUILDX"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// answer is what a run of the program left.
type answer struct {
	out, err string
	code     int
}

// call runs a command in this process.
func call(t *testing.T, in io.Reader, args ...string) answer {
	t.Helper()
	var out, problems bytes.Buffer
	code := run(t.Context(), args, streams{in, &out, &problems})
	return answer{out.String(), problems.String(), code}
}

// process runs a command in a process of its own, with more environment.
func process(t *testing.T, env []string, args ...string) answer {
	t.Helper()
	var out, problems bytes.Buffer
	cmd := program(t, env, args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return answer{out.String(), problems.String(), cmd.ProcessState.ExitCode()}
}

func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(append(os.Environ(), env...), asProgram+"=1")
	return cmd
}

// want checks the exit code and that the message says all of the texts.
func (a answer) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if a.code != code {
		t.Errorf("exit code %d, want %d; standard error:\n%s", a.code, code, a.err)
	}
	for _, text := range texts {
		if !strings.Contains(a.err, text) {
			t.Errorf("standard error does not say %q:\n%s", text, a.err)
		}
	}
	if code != fail.OK && a.out != "" {
		t.Errorf("standard output of a failure:\n%s", a.out)
	}
}

func TestCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		say  string
	}{
		"nothing":          {nil, "no command is given"},
		"unknown command":  {[]string{"push"}, `the command is "push": use dial, inspect or bake`},
		"unknown flag":     {[]string{"dial", "--node", "x"}, "-node"},
		"dial a target":    {[]string{"dial", "--builder", "b", "x"}, `dial takes flags only, and got ["x"]`},
		"inspect a target": {[]string{"inspect", "x"}, `inspect takes flags only`},
		"bad platform":     {[]string{"dial", "--platform", "a/b/c/d"}, `--platform is "a/b/c/d"`},
	} {
		t.Run(name, func(t *testing.T) {
			call(t, nil, c.args...).want(t, fail.Usage, c.say)
		})
	}
}
