// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package shimtest runs the real Makefile under the installed make, in front
// of a small stand-in for the program that prints what it was handed.
package shimtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The stand-in: a module that needs nothing but Mage.
const (
	standinModule = "module example.com/standin\n\ngo 1.26.0\n\ntool github.com/magefile/mage\n\nrequire github.com/magefile/mage v1.17.2 // indirect\n"
	standinTarget = `package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"example.com/standin/tools/text"
)

// Make prints what it was handed.
func Make() {
	fmt.Printf("%s goals=%q flags=%q\n", text.Mark, os.Getenv("SLIPWAY_GOALS"), flags())
	for _, name := range strings.Fields(os.Getenv("SHOW")) {
		fmt.Printf("%s=%q\n", name, os.Getenv(name))
	}
	if child := os.Getenv("CHILD"); child != "" {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		_ = os.WriteFile(child, []byte(fmt.Sprint(os.Getpid(), " ", cmd.Process.Pid)), 0o644)
		_ = cmd.Wait()
	}
	code, _ := strconv.Atoi(os.Getenv("CODE"))
	os.Exit(code)
}

// flags leaves the job server out, whose numbers differ from run to run.
func flags() string {
	var keep []string
	for _, w := range strings.Fields(os.Getenv("SLIPWAY_MAKEFLAGS")) {
		if !strings.HasPrefix(w, "--jobserver") {
			keep = append(keep, w)
		}
	}
	return strings.Join(keep, " ")
}
`
	standinText = "package text\n\nconst Mark = \"one\"\n"
)

func TestShim(t *testing.T) {
	out, err := exec.Command("make", "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "GNU Make 4.3") {
		t.Skip("the expected texts are those of GNU make 4.3, which is not installed")
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	env := goEnv(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		TestWork:      false,
		UpdateScripts: os.Getenv("UPDATE") == "1",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, env...)
			e.Setenv("MAKEFLAGS", "")
			e.Setenv("PATH", os.Getenv("PATH"))
			return standin(filepath.Join(e.WorkDir, "root"), makefile)
		},
	})
}

// goEnv keeps Go's caches, and its modules from the cache alone.
func goEnv(t *testing.T) []string {
	t.Helper()
	var env []string
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOROOT"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Skipf("asking Go: %v", err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return append(env, "GOPROXY=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod")
}

func standin(root string, makefile []byte) error {
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		return err
	}
	var mage strings.Builder
	for line := range strings.Lines(string(sums)) {
		if strings.HasPrefix(line, "github.com/magefile/mage v1.17.2") {
			mage.WriteString(line)
		}
	}
	for name, text := range map[string]string{
		"Makefile": string(makefile), "go.mod": standinModule, "go.sum": mage.String(),
		"magefiles/make.go": standinTarget, "tools/text/text.go": standinText, "tools/text/text_test.go": "package text\n",
		"tools/text/testdata/x": "1\n", "common/data.txt": "1\n", "docker/x": "", "lint/x": "",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
