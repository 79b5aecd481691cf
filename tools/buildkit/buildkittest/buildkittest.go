// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package buildkittest starts a real buildkitd for tests.
package buildkittest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/toolbin"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// Daemon is a buildkitd that lives as long as the test.
type Daemon struct {
	Endpoint builder.Endpoint
	process  *os.Process
}

// Kill ends the daemon at once, as a crash would.
func (d *Daemon) Kill() { _ = d.process.Kill() }

// Start starts buildkitd, which speaks plain HTTP to the given registries. The
// test is skipped where it cannot run: it needs root on Linux, and runc. The
// program is SLIPWAY_BUILDKITD, or one on PATH, or, with SLIPWAY_TEST_REAL=1,
// one that is compiled for the purpose.
func Start(t testing.TB, registries ...string) *Daemon {
	t.Helper()
	program := find(t)
	dir, err := os.MkdirTemp("", "buildkitd-")
	if err != nil {
		t.Fatal(err)
	}
	socket, log := filepath.Join(dir, "sock"), filepath.Join(dir, "log")
	config := fmt.Sprintf("root = %q\n[grpc]\naddress = [%q]\n[worker.oci]\nenabled = true\nsnapshotter = \"overlayfs\"\n[worker.containerd]\nenabled = false\n",
		filepath.Join(dir, "root"), "unix://"+socket)
	for _, r := range registries {
		config += fmt.Sprintf("[registry.%q]\nhttp = true\n", r)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config", filepath.Join(dir, "config.toml"))
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = out.Close()
		_ = os.RemoveAll(dir)
	})
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		if time.Since(begun) > 30*time.Second {
			text, _ := os.ReadFile(log)
			t.Fatalf("buildkitd does not start:\n%s", text)
		}
	}
	return &Daemon{Endpoint: builder.Endpoint{Kind: builder.Buildkit, Address: "unix://" + socket, Origin: "test"}, process: cmd.Process}
}

func find(t testing.TB) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("buildkitd needs root")
	}
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("buildkitd needs runc")
	}
	if program := os.Getenv("SLIPWAY_BUILDKITD"); program != "" {
		return program
	}
	if program, err := exec.LookPath("buildkitd"); err == nil {
		return program
	}
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		t.Skip("no buildkitd on PATH or in SLIPWAY_BUILDKITD; with SLIPWAY_TEST_REAL=1 one is compiled")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	program, err := toolbin.Ensure(t.Context(), run.Exec{}, ui.Discard(), filepath.Join(cache, "slipway"), toolbin.Buildkitd())
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Busybox returns the path of a statically linked busybox, which is all that a
// RUN in an image from scratch needs, or skips the test.
func Busybox(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("no busybox on PATH")
	}
	if text, err := exec.Command("file", "-L", path).Output(); err == nil && strings.Contains(string(text), "dynamically") {
		t.Skip("busybox is not statically linked")
	}
	return path
}
