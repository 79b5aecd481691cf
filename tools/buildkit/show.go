// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/util/grpcerrors"
	"github.com/moby/buildkit/util/progress/progressui"
	"google.golang.org/grpc/codes"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

// show displays progress until the build ends. It always reads to the end:
// nobody else does, and the build would wait.
func show(ctx context.Context, out io.Writer, r builder.Request, statuses chan *client.SolveStatus) error {
	mode := progressui.DisplayMode(r.Progress)
	if mode == "" {
		mode = progressui.AutoMode
	}
	display, err := progressui.NewDisplay(out, mode, progressui.WithPhase("building "+r.Name), progressui.WithDesc("Building "+r.Name, "Building "+r.Name))
	if err != nil {
		for range statuses { //nolint:revive // reads to the end
		}
		return fail.With(fail.Usage, fmt.Errorf("showing progress as %q: %w", r.Progress, err))
	}
	_, err = display.UpdateFrom(context.WithoutCancel(ctx), statuses)
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
