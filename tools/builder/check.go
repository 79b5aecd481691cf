// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// CheckFile is a Dockerfile to check.
type CheckFile struct {
	Path string            `json:"path"` // on this machine
	File string            `json:"file"` // how findings name it
	Args map[string]string `json:"args,omitempty"`
}

// Finding is what a rule of BuildKit's build checks says about a line.
type Finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // 0: the whole file
	Rule    string `json:"rule"` // "error" for a file that cannot be built
	Message string `json:"message"`
	URL     string `json:"url,omitempty"`
}

// String is FILE:LINE: RULE: MESSAGE.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Message)
}

// Checked is what the buildkit program answers to a check.
type Checked struct {
	Findings []Finding `json:"findings"`
	Error    string    `json:"error,omitempty"`
	Code     int       `json:"code,omitempty"`
}

// Check has Dockerfiles checked. No builder is needed for that.
func (p Program) Check(ctx context.Context, files []CheckFile) ([]Finding, error) {
	question, err := json.Marshal(files)
	if err != nil {
		return nil, fmt.Errorf("checking Dockerfiles: %w", err)
	}
	var out bytes.Buffer
	ran := p.Runner.Run(ctx, run.Command{Args: []string{p.Path, "check"}, Env: p.Env, Stdin: bytes.NewReader(question), Stdout: &out, Stderr: p.Stderr})
	var answer Checked
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return nil, fail.With(fail.Unavailable, errors.Join(errors.New("the buildkit program gave no answer"), ran))
	}
	if answer.Error != "" {
		return nil, fail.With(answer.Code, errors.New(answer.Error))
	}
	return answer.Findings, nil
}
