// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// mountSmall mounts a file system of one megabyte, which is less than a Go
// program needs.
func mountSmall(t *testing.T, dir, options string) {
	t.Helper()
	if os.Geteuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("mounting a small file system needs root on Linux")
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("this machine does not let us mount: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
}

func TestFullDisk(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	w.OutDir, w.Outputs = t.TempDir(), nil
	mountSmall(t, w.OutDir, "size=1m")
	old := filepath.Join(w.OutDir, "ctl")
	must(t, os.WriteFile(old, []byte("#!/bin/sh\necho the old one\n"), 0o755))
	err := w.fails()
	if !strings.Contains(err.Error(), "is full") {
		t.Errorf("%v", err)
	}
	if got := w.run("ctl"); got != "the old one" {
		t.Errorf("the old binary says %q", got)
	}
	stages, err := filepath.Glob(filepath.Join(w.OutDir, recordDir, stagePrefix+"*"))
	if err != nil || len(stages) > 0 {
		t.Errorf("stages are left: %q %v", stages, err)
	}
}

func TestReadOnlyOutputFolder(t *testing.T) {
	w := newWorld(t, mesh(), ctl)
	w.OutDir = t.TempDir()
	if os.Geteuid() == 0 {
		mountSmall(t, w.OutDir, "size=8m,ro")
	} else {
		must(t, os.Chmod(w.OutDir, 0o555))
		t.Cleanup(func() { _ = os.Chmod(w.OutDir, 0o755) })
	}
	err := w.fails()
	if !strings.Contains(err.Error(), "making the output folder") || !strings.Contains(err.Error(), w.OutDir) {
		t.Errorf("%v", err)
	}
	if _, builds := w.ran.take(); len(builds) != 0 {
		t.Errorf("it was found after %d builds only", len(builds))
	}
}

// A running program can be replaced: the file is renamed, not written.
func TestRunningProgramIsReplaced(t *testing.T) {
	tree := mesh()
	tree["cmd/echo/main.go"] = "package main\n\nimport (\n\t_ \"embed\"\n\t\"os\"\n)\n\n//go:embed text.txt\nvar text string\n\n" +
		"func main() { os.Stdout.WriteString(text); os.Stdin.Read(make([]byte, 1)) }\n"
	w := newWorld(t, tree, echo)
	w.build()
	running := exec.Command(filepath.Join(w.OutDir, "echo"))
	stdin, err := running.StdinPipe()
	must(t, err)
	must(t, running.Start())
	w.put("cmd/echo/text.txt", "new\n")
	w.build()
	must(t, stdin.Close())
	must(t, running.Wait())
	if got := w.run("echo"); got != "new" {
		t.Errorf("it says %q", got)
	}
}

func TestAbandonedStagesAreSwept(t *testing.T) {
	out := t.TempDir()
	old, young := filepath.Join(out, recordDir, stagePrefix+"old"), filepath.Join(out, recordDir, stagePrefix+"young")
	for _, dir := range []string{old, young} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	past := time.Now().Add(-2 * abandoned)
	must(t, os.Chtimes(old, past, past))
	s, err := newStage(out)
	must(t, err)
	defer s.remove()
	if _, err := os.Stat(old); err == nil {
		t.Error("an old stage is left")
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the stage of a build that may be running is gone: %v", err)
	}
}

// Two builds into one folder at once both end with whole binaries.
func TestTwoBuildsAtOnce(t *testing.T) {
	w := newWorld(t, mesh(), ctl, echo)
	done := make(chan error, 2)
	for i := range 2 {
		r := w.Request
		r.Packages = append([]Package{}, w.Packages[i:]...) // one builds both, one only echo
		go func() {
			_, err := Build(t.Context(), r)
			done <- err
		}()
	}
	for range 2 {
		must(t, <-done)
	}
	if w.run("echo") != "hello" || !strings.Contains(w.run("ctl"), stampLine) {
		t.Error("a binary is broken")
	}
	w.build()
	w.ran.take()
	w.wantFresh("after both")
}
