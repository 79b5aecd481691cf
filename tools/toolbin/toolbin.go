// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolbin provides the pinned programs that Slipway runs as processes
// of their own. Each is compiled once by the Go command at a pinned version
// into a cache shared by all workspaces.
package toolbin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// A Tool is a program in a Go module.
type Tool struct {
	Name    string // of the executable
	Package string // main package
	Version string // module version
	// Module is the module's path, for one that go install refuses since its
	// go.mod excludes versions: it is compiled as a dependency then.
	Module string
}

// GolangciLint is the linter that lint-go runs. It is under the GPL: it is
// run, never linked.
func GolangciLint() Tool {
	return Tool{
		Name:    "golangci-lint",
		Package: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint",
		Version: "v2.15.0",
	}
}

// IstioGolangciLint is the version in the tools container of Istio's
// release-1.31 (docker/build-tools/Dockerfile of istio/tools).
const IstioGolangciLint = "v2.11.3"

// Buildkitd is the daemon that builds images with RUN, for tests and for
// machines that have none. It needs runc, and root or user namespaces.
func Buildkitd() Tool {
	return Tool{Name: "buildkitd", Package: "github.com/moby/buildkit/cmd/buildkitd", Version: "v0.34.2", Module: "github.com/moby/buildkit"}
}

// Ensure returns the path of the tool below the folder cache, and compiles it
// when it is not there. The tool is built for this machine whatever GOOS and
// GOARCH say. Two runs at once both end with a whole program.
func Ensure(ctx context.Context, r run.Runner, console *ui.Console, cache string, t Tool) (string, error) {
	dir := filepath.Join(cache, "tools", t.Name, t.Version, runtime.Version())
	path := filepath.Join(dir, t.Name)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the tool cache: %w", err)
	}
	build, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return "", fmt.Errorf("making the tool cache: %w", err)
	}
	defer func() { _ = os.RemoveAll(build) }()
	if err := t.prepare(build); err != nil {
		return "", err
	}
	console.Note("slipway: compiling %s %s (once; a few minutes)", t.Name, t.Version)
	for _, args := range t.commands(build) {
		if err == nil {
			// outside of any module of ours
			err = r.Run(ctx, run.Command{Args: args, Dir: build, Env: run.Environ(os.Environ(),
				"GOBIN="+build, "GOOS=", "GOARCH=", "GOARM=", "GOFLAGS=", "CGO_ENABLED=0", "GOWORK=off")})
		}
	}
	if err != nil {
		return "", fail.With(fail.Unavailable, fmt.Errorf("installing %s %s: %w", t.Name, t.Version, err))
	}
	if err := os.Rename(filepath.Join(build, t.Name), path); err != nil {
		return "", fmt.Errorf("placing %s: %w", t.Name, err)
	}
	return path, nil
}

// prepare writes the module in which a tool is compiled as a dependency.
func (t Tool) prepare(dir string) error {
	if t.Module == "" {
		return nil
	}
	text := fmt.Sprintf("module tool\n\ngo %s\n\ntool %s\n\nrequire %s %s\n", strings.TrimPrefix(runtime.Version(), "go"), t.Package, t.Module, t.Version)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
		return fmt.Errorf("preparing to compile %s: %w", t.Name, err)
	}
	return nil
}

// commands compile the tool into dir, where they run.
func (t Tool) commands(dir string) [][]string {
	flags := []string{"-trimpath", "-ldflags", "-s -w"}
	if t.Module == "" {
		return [][]string{slices.Concat([]string{"go", "install"}, flags, []string{t.Package + "@" + t.Version})}
	}
	return [][]string{{"go", "mod", "tidy"}, slices.Concat([]string{"go", "build"}, flags, []string{"-o", filepath.Join(dir, t.Name), t.Package})}
}
