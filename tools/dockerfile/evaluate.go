// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/shell"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Evaluate carries out the target stage on paper. It refuses, naming each
// file:line, when there are obstacles. Configurations of base images come
// from configOf. A plan is evaluated once.
func (p *Plan) Evaluate(configOf ConfigOf) (*Result, error) {
	if err := obstaclesError(p.obstacles); err != nil {
		return nil, err
	}
	e := evaluation{plan: p, configOf: configOf, done: map[int]*Result{}}
	for _, i := range p.reachable {
		result, err := e.stage(i)
		if err != nil {
			return nil, err
		}
		e.done[i] = result
	}
	if err := obstaclesError(e.obstacles); err != nil {
		return nil, err
	}
	result := e.done[p.target]
	result.Unused = e.unused()
	return result, nil
}

// obstaclesError lists all obstacles at once.
func obstaclesError(obstacles []Obstacle) error {
	var lines []error
	for _, o := range obstacles {
		lines = append(lines, errors.New(o.String()))
	}
	return fail.With(fail.Usage, errors.Join(lines...))
}

type evaluation struct {
	plan      *Plan
	configOf  ConfigOf
	done      map[int]*Result
	obstacles []Obstacle // ONBUILD instructions of bases
}

// unused lists build arguments that no ARG asked for, but for those that are
// always allowed.
func (e *evaluation) unused() []string {
	declared := map[string]bool{}
	declare := func(c *instructions.ArgCommand) {
		for _, a := range c.Args {
			declared[a.Key] = true
		}
	}
	for _, c := range e.plan.file.global {
		declare(&c)
	}
	for _, stage := range e.plan.file.stages { // also stages that are left out: the same arguments go to all targets
		for _, command := range stage.Commands {
			if c, ok := command.(*instructions.ArgCommand); ok {
				declare(c)
			}
		}
	}
	var names []string
	for name := range e.plan.options.Args {
		_, platform := platformArgs(e.plan.options)[name]
		if !declared[name] && !platform && !isProxyArg(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isProxyArg tells arguments that may be given without ARG and are never
// recorded, by the Dockerfile reference.
func isProxyArg(name string) bool {
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY", "SOURCE_DATE_EPOCH":
		return true
	}
	return false
}

// stageState is one stage while its instructions are applied.
type stageState struct {
	*evaluation
	lex    *shell.Lex
	result *Result
	env    vars // what expansion sees: ENV and ARG, the later one wins
	cmdSet bool // CMD stood in this stage, so ENTRYPOINT leaves it
}

// defaultPath is what BuildKit gives images from scratch.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (e *evaluation) stage(i int) (*Result, error) {
	base := e.plan.bases[i]
	s := &stageState{evaluation: e, lex: shell.NewLex(e.plan.file.escape), result: &Result{Root: base}, env: vars{}}
	var triggers []string
	switch base.Kind {
	case Scratch:
		s.result.Config = v1.Config{Env: []string{defaultPath}, WorkingDir: "/"}
	case FromStage:
		parent := e.done[base.Stage]
		s.result.Root = parent.Root
		s.result.Config = *parent.Config.DeepCopy()
		s.result.Author, s.result.StartInterval = parent.Author, parent.StartInterval
		s.result.Steps = slices.Clone(parent.Steps)
	case FromImage:
		config, err := e.configOf(base.Reference, base.Platform)
		if err != nil {
			return nil, e.plan.errorf(base.Line, "FROM %s: %w", base.Reference, err)
		}
		s.result.Config = *config.Config.DeepCopy()
		s.result.Author, s.result.StartInterval = config.Author, config.StartInterval
		triggers, s.result.Config.OnBuild = config.Config.OnBuild, nil
	}
	for _, kv := range s.result.Config.Env {
		name, value, _ := strings.Cut(kv, "=")
		s.env[name] = value
	}
	if err := s.onBuild(base, triggers); err != nil {
		return nil, err
	}
	for _, command := range e.plan.file.stages[i].Commands {
		if err := s.apply(command); err != nil {
			return nil, fail.With(fail.Usage, e.plan.errorf(lineOf(command.Location()), "%s: %w", shorten(fmt.Sprint(command)), err))
		}
	}
	return s.result, nil
}

// onBuild applies what the base image asks its children to do.
func (s *stageState) onBuild(base Base, triggers []string) error {
	for _, text := range triggers {
		file, err := Parse(base.Reference+" (ONBUILD)", []byte("FROM scratch\n"+text))
		if err != nil {
			return err
		}
		for _, command := range file.stages[0].Commands {
			if reason := obstacle(command); reason != "" {
				s.obstacles = append(s.obstacles, Obstacle{s.plan.file.name, base.Line, "ONBUILD " + shorten(text) + " of " + base.Reference, reason})
				continue
			}
			if err := s.apply(command); err != nil {
				return s.plan.errorf(base.Line, "ONBUILD %s of %s: %w", shorten(text), base.Reference, err)
			}
		}
	}
	return nil
}

func (s *stageState) word(word string) (string, error) {
	value, _, err := s.lex.ProcessWord(word, s.env)
	return value, err
}

// apply expands one instruction and folds it into the result.
func (s *stageState) apply(command instructions.Command) error {
	if c, ok := command.(instructions.SupportsSingleWordExpansion); ok {
		if _, isArg := command.(*instructions.ArgCommand); !isArg { // ARG expands its default only when that is used
			if err := c.Expand(s.word); err != nil {
				return err
			}
		}
	}
	switch c := command.(type) {
	case *instructions.CopyCommand:
		return s.copy(c)
	case *instructions.AddCommand:
		return s.add(c)
	case *instructions.ArgCommand:
		return s.arg(c)
	case *instructions.EnvCommand:
		return s.setEnv(c)
	case *instructions.WorkdirCommand:
		return s.workdir(c)
	default:
		return s.configure(command)
	}
}

func (s *stageState) step(line int, format string, args ...any) {
	s.result.Steps = append(s.result.Steps, Step{CreatedBy: fmt.Sprintf(format, args...), Line: line})
}

func (s *stageState) arg(c *instructions.ArgCommand) error {
	var recorded []string
	for _, a := range c.Args {
		value, err := s.argValue(a)
		if err != nil {
			return err
		}
		text := a.Key
		if value != nil {
			s.env[a.Key] = *value
			text += "=" + *value
		}
		if !isProxyArg(a.Key) {
			recorded = append(recorded, text)
		}
	}
	s.step(lineOf(c.Location()), "ARG %s", strings.Join(recorded, " "))
	return nil
}

// argValue is what was passed, else the default, else what a global ARG or the
// platform says, else nothing.
func (s *stageState) argValue(a instructions.KeyValuePairOptional) (*string, error) {
	if given, ok := s.plan.options.Args[a.Key]; ok {
		return &given, nil
	}
	if a.Value != nil {
		value, err := s.word(*a.Value)
		return &value, err
	}
	if global, ok := s.plan.global[a.Key]; ok {
		return &global, nil
	}
	return nil, nil
}

func (s *stageState) setEnv(c *instructions.EnvCommand) error {
	var texts []string
	for _, kv := range c.Env {
		s.env[kv.Key] = kv.Value
		texts = append(texts, kv.String())
		entry := kv.Key + "=" + kv.Value
		at := slices.IndexFunc(s.result.Config.Env, func(e string) bool { return strings.HasPrefix(e, kv.Key+"=") })
		if at < 0 {
			s.result.Config.Env = append(s.result.Config.Env, entry)
		} else {
			s.result.Config.Env[at] = entry
		}
	}
	s.step(lineOf(c.Location()), "ENV %s", strings.Join(texts, " "))
	return nil
}
