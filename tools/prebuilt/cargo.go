// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// CargoBuild is a ztunnel that is built from a checkout.
type CargoBuild struct {
	Repo     string   `json:"repo"`             // absolute path of the checkout
	Origin   string   `json:"origin"`           // the setting that asked for it
	Profile  string   `json:"profile"`          // cargo's, such as dev or release
	Target   string   `json:"target,omitempty"` // cargo's triple; empty: cargo's default
	Platform string   `json:"platform"`         // linux/amd64: what it must run on
	Places   []string `json:"places"`           // absolute paths, at least one
}

// Check tells, without building, whether there is a checkout.
func (b CargoBuild) Check() error {
	info, err := os.Stat(filepath.Join(b.Repo, "Cargo.toml"))
	if err == nil && info.Mode().IsRegular() && len(b.Places) > 0 {
		return nil
	}
	return usage("%s asks for a ztunnel built from source, and there is no checkout with a Cargo.toml at %q: clone ztunnel there, set BUILD_ZTUNNEL_REPO to where it is, or unset %s to use the pinned download",
		b.Origin, b.Repo, b.Origin)
}

// Command is what is run in the checkout.
func (b CargoBuild) Command() []string {
	args := []string{"cargo", "build", "--profile", b.Profile}
	if b.Target != "" {
		args = append(args, "--target", b.Target)
	}
	// Only cargo knows where its output goes: a configuration file or the
	// environment can move it.
	return append(args, "--message-format", "json-render-diagnostics")
}

// BuildZtunnel runs cargo, which does only what changed, and puts the program
// into its places. Errors have the code fail.Usage for a missing checkout and
// fail.Unavailable for a missing cargo.
func BuildZtunnel(ctx context.Context, b CargoBuild, options Options) (Fetched, error) {
	if err := b.Check(); err != nil {
		return Fetched{}, err
	}
	if options.Cache == "" {
		options.Cache = b.Repo // a build does not use it
	}
	opt, err := options.complete()
	if err != nil {
		return Fetched{}, err
	}
	program, err := b.build(ctx, opt)
	if err != nil {
		return Fetched{}, err
	}
	j := &job{
		Item: Item{Source: Source{Name: "ztunnel", Platform: b.Platform}, Dest: b.Places[0], Copies: b.Places[1:]},
		id:   "cargo:" + b.Repo, opt: opt,
	}
	done, err := j.install(ctx, program)
	if err != nil {
		return Fetched{}, fmt.Errorf("using the ztunnel that was built at %q: %w (BUILD_ZTUNNEL_TARGET=%s would build for %s)", program, err, triple(b.Platform), b.Platform)
	}
	return done, nil
}

func (b CargoBuild) build(ctx context.Context, opt Options) (string, error) {
	opt.Console.Note("ztunnel: building %s with cargo, profile %s", b.Repo, b.Profile)
	messages := opt.Console.Prefixed("ztunnel")
	defer func() { _ = messages.Close() }()
	out, err := run.Output(ctx, opt.Runner, run.Command{
		Args: b.Command(), Dir: b.Repo, Env: run.Environ(opt.Environ), Stderr: messages,
	})
	if err != nil {
		if fail.Code(err) == fail.Unavailable {
			return "", fmt.Errorf("building ztunnel: %w; install Rust (https://rustup.rs), or unset %s to use the pinned download", err, b.Origin)
		}
		return "", fmt.Errorf("building ztunnel: %w", err)
	}
	program, err := executable(out)
	if err != nil {
		return "", fmt.Errorf("building ztunnel at %q: %w", b.Repo, err)
	}
	return program, nil
}

// executable finds the program in what cargo says about its artifacts, one
// JSON object a line.
func executable(messages string) (string, error) {
	found := ""
	lines := bufio.NewScanner(strings.NewReader(messages))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m struct {
			Reason string `json:"reason"`
			Target struct {
				Name string   `json:"name"`
				Kind []string `json:"kind"`
			} `json:"target"`
			Executable string `json:"executable"`
		}
		// A build script may print a line of its own.
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		if m.Reason == "compiler-artifact" && m.Target.Name == "ztunnel" && slices.Contains(m.Target.Kind, "bin") && m.Executable != "" {
			found = m.Executable
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("reading what cargo says: %w", err)
	}
	if found == "" {
		return "", errors.New("cargo built no program called ztunnel; is this a checkout of ztunnel?")
	}
	return found, nil
}

// install copies a program that was just built, unless it is in place.
func (j *job) install(ctx context.Context, program string) (Fetched, error) {
	now, err := stateOf(program)
	if err != nil {
		return Fetched{}, err
	}
	rec, known := readRecord(j.Dest)
	if known && rec.Source == j.id && rec.Origin != nil && *rec.Origin == now {
		if ok, looksSame := rec.intact(ctx, j.Dest); ok {
			if !looksSame {
				rec.refresh(j.Dest)
			}
			return j.finish(ctx, rec, FromPlace)
		}
	}
	got, err := digestOf(ctx, program)
	if err != nil {
		return Fetched{}, err
	}
	return j.place(ctx, payload{path: program, digest: got, origin: &now, from: FromCargo})
}

// triple is the cargo target for a platform.
func triple(platform string) string {
	switch arch := strings.Split(platform, "/")[1]; arch {
	case "amd64":
		return "x86_64-unknown-linux-musl"
	case "arm64":
		return "aarch64-unknown-linux-musl"
	default:
		return arch + "-unknown-linux-gnu"
	}
}
