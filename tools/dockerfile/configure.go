// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile

import (
	"fmt"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// configure applies instructions that only change the configuration.
func (s *stageState) configure(command instructions.Command) error {
	config, line := &s.result.Config, lineOf(command.Location())
	switch c := command.(type) {
	case *instructions.CmdCommand:
		config.Cmd = s.commandLine(c.ShellDependantCmdLine)
		config.ArgsEscaped = true // BuildKit sets it too
		s.cmdSet = true
		s.step(line, "CMD %q", config.Cmd)
	case *instructions.EntrypointCommand:
		config.Entrypoint = s.commandLine(c.ShellDependantCmdLine)
		if !s.cmdSet {
			config.Cmd = nil
		}
		s.step(line, "ENTRYPOINT %q", config.Entrypoint)
	case *instructions.UserCommand:
		config.User = c.User
		s.step(line, "USER %s", c.User)
	case *instructions.LabelCommand:
		s.label(c, line)
	case *instructions.ExposeCommand:
		return s.expose(c, line)
	case *instructions.VolumeCommand:
		return s.volume(c, line)
	case *instructions.StopSignalCommand:
		config.StopSignal = c.Signal
		s.step(line, "STOPSIGNAL %s", c.Signal)
	case *instructions.ShellCommand:
		config.Shell = c.Shell
		s.step(line, "SHELL %v", c.Shell)
	case *instructions.HealthCheckCommand:
		h := c.Health
		config.Healthcheck = &v1.HealthConfig{Test: h.Test, Interval: h.Interval, Timeout: h.Timeout, StartPeriod: h.StartPeriod, Retries: h.Retries}
		s.result.StartInterval = h.StartInterval
		s.step(line, "HEALTHCHECK %+v", *h)
	case *instructions.OnbuildCommand:
		config.OnBuild = append(config.OnBuild, c.Expression) // no history entry in BuildKit either
	case *instructions.MaintainerCommand:
		s.result.Author = c.Maintainer
		s.step(line, "MAINTAINER %s", c.Maintainer)
	default:
		return fmt.Errorf("this instruction is not known to Slipway")
	}
	return nil
}

func (s *stageState) commandLine(c instructions.ShellDependantCmdLine) []string {
	if !c.PrependShell {
		return c.CmdLine
	}
	shell := s.result.Config.Shell
	if len(shell) == 0 {
		shell = []string{"/bin/sh", "-c"}
	}
	return append(append([]string{}, shell...), strings.Join(c.CmdLine, " "))
}

func (s *stageState) label(c *instructions.LabelCommand, line int) {
	labels := map[string]string{}
	for k, v := range s.result.Config.Labels {
		labels[k] = v
	}
	var texts []string
	for _, kv := range c.Labels {
		labels[kv.Key] = kv.Value
		texts = append(texts, kv.String())
	}
	s.result.Config.Labels = labels
	s.step(line, "LABEL %s", strings.Join(texts, " "))
}

func (s *stageState) volume(c *instructions.VolumeCommand, line int) error {
	volumes := map[string]struct{}{}
	for v := range s.result.Config.Volumes {
		volumes[v] = struct{}{}
	}
	for _, v := range c.Volumes {
		if v == "" {
			return fmt.Errorf("a volume cannot be an empty string")
		}
		volumes[v] = struct{}{}
	}
	s.result.Config.Volumes = volumes
	s.step(line, "VOLUME %v", c.Volumes)
	return nil
}

// workdir joins relative paths to the folder so far. The folder is made when
// it is not there, which the image builder finds out.
func (s *stageState) workdir(c *instructions.WorkdirCommand) error {
	dir := c.Path
	if !path.IsAbs(dir) {
		dir = path.Join("/", s.result.Config.WorkingDir, dir)
	}
	dir = path.Clean(dir)
	s.result.Config.WorkingDir = dir
	s.step(lineOf(c.Location()), "WORKDIR %s", dir)
	if dir != "/" {
		s.result.Steps[len(s.result.Steps)-1].Mkdir = &Mkdir{Path: dir, Owner: s.result.Config.User}
	}
	return nil
}
