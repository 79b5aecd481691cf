// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// compile runs go build for a batch, and again when the network failed it.
func (r Request) compile(ctx context.Context, s *stage, batch []unit) error {
	paths := make([]string, len(batch))
	for i, u := range batch {
		paths[i] = u.path
	}
	command := run.Command{
		// The slash makes go build take the name for a folder.
		Args: r.arguments(batch[0].flags, s.dir+"/", paths),
		Dir:  r.Source.Dir,
		Env:  r.environ(),
	}
	r.Console.Verbose("[%s] %s", r.Platform, command)
	var said string
	n := 0
	err := retry(ctx, func() (string, error) {
		if n++; n > 1 {
			r.Console.Note("[%s] the network failed go build; attempt %d of %d", r.Platform, n, attempts)
		}
		screen := r.Console.Prefixed(r.Platform.String())
		defer func() { _ = screen.Close() }()
		tail := &tail{}
		command.Stdout, command.Stderr = screen, io.MultiWriter(screen, tail)
		err := r.Runner.Run(ctx, command)
		said = string(tail.text)
		return said, err
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	return explainBuild(r, said, err)
}

// findGo says what to do when there is no Go command.
func (r Request) findGo() error {
	_, err := exec.LookPath(r.GoBinary)
	if lookErr := (*exec.Error)(nil); errors.As(err, &lookErr) {
		err = lookErr.Err
	}
	if err != nil {
		return noGo(r.GoBinary, err)
	}
	return nil
}

// explainBuild adds what to do about failures that are none of the code. The
// compiler's own words are on the screen already.
func explainBuild(r Request, said string, err error) error {
	// The command holds every stamp; who wants it asks with VERBOSE.
	if e := (*run.Error)(nil); errors.As(err, &e) && !errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("go build: %w; its messages are above, VERBOSE=1 shows the command", e.Err)
	}
	switch {
	case strings.Contains(said, "no space left on device"):
		return fmt.Errorf("%w; the disk of %q or of Go's cache is full, the binaries that were there are as before", err, r.OutDir)
	case strings.Contains(said, "unsupported GOOS/GOARCH pair"):
		return fail.With(fail.Usage, fmt.Errorf("%w; `go tool dist list` lists the platforms", err))
	case unreachable(said):
		return fail.With(fail.Unavailable, fmt.Errorf("%w; modules could not be downloaded: go online, or set GOPROXY to a proxy that can be reached", err))
	}
	return err
}

// tail keeps the end of what a program says.
type tail struct{ text []byte }

const tailLimit = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - tailLimit; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}
