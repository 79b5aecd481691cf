// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/util/grpcerrors"
	"github.com/moby/buildkit/util/progress/progressui"
	"google.golang.org/grpc/codes"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

// display shows the progress of several solves as one.
type display struct {
	request builder.Request
	out     io.Writer
	solves  int
	merged  chan *client.SolveStatus
	open    sync.WaitGroup
}

func newDisplay(r builder.Request, solves int, out io.Writer) *display {
	d := &display{request: r, out: out, solves: solves, merged: make(chan *client.SolveStatus)}
	d.open.Add(solves)
	go func() {
		d.open.Wait()
		close(d.merged)
	}()
	return d
}

// channel is where one solve sends its progress, and which it closes. With
// several solves their steps are named after name.
func (d *display) channel(name string) chan<- *client.SolveStatus {
	statuses := make(chan *client.SolveStatus)
	go func() {
		defer d.open.Done()
		for status := range statuses {
			if d.solves > 1 {
				for _, v := range status.Vertexes {
					v.Name = "[" + name + "] " + v.Name
				}
			}
			d.merged <- status
		}
	}()
	return statuses
}

// show displays progress until all solves have ended. It always reads to the
// end: nobody else does, and the builds would wait.
func (d *display) show(ctx context.Context) error {
	mode := progressui.DisplayMode(d.request.Progress)
	if mode == "" {
		mode = progressui.AutoMode
	}
	what := "Building " + d.request.Name
	shown, err := progressui.NewDisplay(d.out, mode, progressui.WithPhase(what), progressui.WithDesc(what, what))
	if err != nil {
		for range d.merged {
			continue // read to the end
		}
		return fail.With(fail.Usage, fmt.Errorf("showing progress as %q: %w", d.request.Progress, err))
	}
	_, err = shown.UpdateFrom(context.WithoutCancel(ctx), d.merged)
	return err
}

// explain turns what BuildKit says into words that name the place in the
// Dockerfile, and tells a builder that went away from a build that failed.
func (s *solve) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fail.With(fail.Interrupted, fmt.Errorf("building %s: %w", s.request.Name, context.Cause(ctx)))
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "failed to solve: "), "dockerfile.v0: ")
	at := s.request.File
	if sources := errdefs.Sources(err); len(sources) > 0 && len(sources[len(sources)-1].Ranges) > 0 {
		at = fmt.Sprintf("%s:%d", at, sources[len(sources)-1].Ranges[0].Start.Line)
	} else if gone(err) {
		return fail.With(fail.Unavailable, fmt.Errorf("building %s: %s went away during the build: %s; nothing of the image was kept, run again once it is back",
			s.request.Name, s.con.endpoint, text))
	}
	return fail.With(fail.Failed, fmt.Errorf("%s: building %s: %s", at, s.request.Name, text))
}

// gone tells a broken connection from an answer.
func gone(err error) bool {
	code := grpcerrors.Code(err)
	return code == codes.Unavailable || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
