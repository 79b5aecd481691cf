// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/repo"
	"github.com/istio-ecosystem/slipway/tools/run"
)

func key(parts []string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// unwatchable says why the inputs of these flags cannot all be watched, "" if
// they can.
func (r Request) unwatchable(u userFlags) string {
	if r.CGO {
		return "cgo reads files of the system"
	}
	for _, f := range u.all {
		name, value, _ := strings.Cut(strings.TrimPrefix(f, "-"), "=")
		switch name {
		case "overlay", "toolexec", "modfile", "compiler", "a":
			return "it is built with -" + name
		case "pgo":
			if value != "auto" && value != "off" {
				return "it is built with a profile of its own"
			}
		}
	}
	for _, w := range slices.Concat(r.LDFlags, u.ldflags) {
		if name := strings.TrimLeft(w, "-"); strings.HasPrefix(name, "linkmode") || name == "extld" || strings.HasPrefix(name, "extld=") || strings.HasPrefix(name, "extar") {
			return "it is linked by a program of the system"
		}
	}
	if strings.Contains(goEnv(r.baseEnv(), "GOTOOLCHAIN"), "path") {
		return "GOTOOLCHAIN looks for toolchains in PATH"
	}
	return ""
}

// environment is the key of what Go reads from the environment and from the
// files that stand for it.
func (r Request) environment() string {
	env := r.baseEnv()
	var parts []string
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); forGo(name) {
			parts = append(parts, e)
		}
	}
	slices.Sort(parts)
	parts = append(parts, "go env -w: "+content(goEnvFile(env)))
	if work := r.workFile(); work != "" {
		parts = append(parts, "workspace: "+work, content(work), content(work+".sum"), content(filepath.Join(filepath.Dir(work), "vendor", "modules.txt")))
	}
	return key(parts)
}

// forGo is true for variables that may change what go build makes. What is
// left out is set by us, or is about where Go keeps things and how fast.
func forGo(name string) bool {
	switch name {
	case "GOOS", "GOARCH", "GOARM", "GOARM64", "GOAMD64", // in the flags
		"GOCACHE", "GOCACHEPROG", "GOTMPDIR", "GOBIN", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GOTRACEBACK", "GOTELEMETRY":
		return false
	}
	return strings.HasPrefix(name, "GO") && !strings.HasPrefix(name, "GOOGLE")
}

// content is the hash of a small file, a fixed word when it is not there.
func content(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "none"
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// toolchain is the key of the Go that builds: the release, and the state of the
// programs that compile and link. why is set when it cannot be watched.
func (r Request) toolchain(ctx context.Context) (id, why string) {
	found, err := exec.LookPath(r.GoBinary)
	if err != nil {
		return "", "there is no Go command"
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return "", "the Go command cannot be read"
	}
	root := lookup(r.baseEnv(), "GOROOT")
	if root == "" {
		root = filepath.Dir(filepath.Dir(real))
	}
	release, ok := releaseOf(root)
	if !ok {
		// A wrapper that chooses a Go by rules of its own: ask it.
		root, err = run.Output(ctx, r.Runner, run.Command{Args: []string{r.GoBinary, "env", "GOROOT"}, Dir: r.Source.Dir, Env: r.environ()})
		if err != nil {
			return "", "the Go command does not tell its GOROOT"
		}
		if release, ok = releaseOf(root); !ok {
			return "", "the Go toolchain is no release"
		}
	}
	tools, _ := filepath.Glob(filepath.Join(root, "pkg", "tool", "*", "*"))
	parts := []string{release, root, content(filepath.Join(root, "go.env"))}
	for _, path := range append(tools, real, filepath.Join(root, "bin", "go")) {
		if info, err := os.Stat(path); err == nil {
			inode, _ := repo.Identity(info)
			parts = append(parts, fmt.Sprintf("%s %d %d %d", path, info.Size(), info.ModTime().UnixNano(), inode))
		}
	}
	return key(parts), ""
}

// releaseOf reads the VERSION file that each released Go has.
func releaseOf(root string) (string, bool) {
	raw, err := os.ReadFile(filepath.Join(root, "VERSION"))
	return string(raw), err == nil && strings.HasPrefix(string(raw), "go1")
}
