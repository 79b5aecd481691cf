// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/image"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Program is the buildkit program, ready to run.
type Program struct {
	Path   string
	Runner run.Runner
	Env    []string  // the whole environment: logins, secrets and proxies come from it
	Stderr io.Writer // progress goes here; a terminal gets a moving display
}

// Build has an image built and put into the layout. Warnings are for the user.
func (p Program) Build(ctx context.Context, r Request) (built *image.Built, warnings []string, err error) {
	question, err := json.Marshal(r)
	if err != nil {
		return nil, nil, fmt.Errorf("asking for image %s: %w", r.Name, err)
	}
	var out bytes.Buffer
	ran := p.Runner.Run(ctx, run.Command{
		Args: []string{p.Path, "build"}, Env: p.Env,
		Stdin: bytes.NewReader(question), Stdout: &out, Stderr: p.Stderr,
	})
	var answer Response
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return nil, nil, fail.With(fail.Unavailable, errors.Join(fmt.Errorf("the buildkit program gave no answer for image %s", r.Name), ran))
	}
	if answer.Error != "" {
		return nil, answer.Warnings, fail.With(answer.Code, errors.New(answer.Error))
	}
	if answer.Built == nil {
		return nil, answer.Warnings, fmt.Errorf("the buildkit program answered with no image for %s", r.Name)
	}
	return answer.Built, answer.Warnings, nil
}
