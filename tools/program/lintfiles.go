// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/charts"
	"github.com/istio-ecosystem/slipway/tools/lint/dockerfiles"
	"github.com/istio-ecosystem/slipway/tools/lint/links"
	"github.com/istio-ecosystem/slipway/tools/lint/markdown"
	"github.com/istio-ecosystem/slipway/tools/lint/python"
	"github.com/istio-ecosystem/slipway/tools/lint/shell"
	"github.com/istio-ecosystem/slipway/tools/lint/yaml"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/toolbin"
)

// markdown reads the style that the repository names: in a .mdlrc at its root,
// else where istio/common-files has it.
func (l *linting) markdown(context.Context) ([]lint.Linter, error) {
	s := l.p.ws.settings
	o := markdown.Options{FrontMatter: true, Inline: on(s.Get("MARKDOWN_LINT_COMMENTS"))}
	dialect := s.Lookup("MARKDOWN_LINT_DIALECT")
	var err error
	if o.Dialect, err = markdown.ParseDialect(dialect.Value); err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("MARKDOWN_LINT_DIALECT is %q (%s): %w", dialect.Value, dialect.Origin, err))
	}
	rc, text, err := l.config(".mdlrc")
	if err != nil {
		return nil, err
	}
	configs := []string{"common/config/mdl.rb", ".mdl_style.rb"}
	var c markdown.Config
	if rc != "" {
		read, err := markdown.ReadConfig(rc, text)
		if err != nil {
			return nil, err
		}
		c, o.FrontMatter = *read, read.IgnoreFrontMatter
		if c.Style != "" {
			configs = []string{path.Clean(c.Style)}
		}
	}
	name, text, err := l.config(configs...)
	if err != nil {
		return nil, err
	}
	switch {
	case name != "":
		o.Style, err = markdown.ReadStyle(name, text)
	case c.Style != "":
		o.Style, err = markdown.NamedStyle(c.Style)
	case rc == "" && l.call.all:
		return nil, fmt.Errorf("%w: there is no common/config/mdl.rb", errNoRules)
	default:
		o.Style = markdown.NewStyle()
	}
	if err != nil {
		return nil, err
	}
	o.Style.Select(c.Rules, c.Tags)
	for _, w := range o.Style.Warnings {
		l.p.console.Warn("%s: %s", name, w)
	}
	checker := markdown.New(o)
	files := lint.Named("*.md")
	return []lint.Linter{{Name: "markdown", Files: func(f string) bool { return files(f) && !strings.HasPrefix(f, "manifests/addons/dashboards/") },
		Checker: checker, Rules: checker.Rules(), Config: append(configs, ".mdlrc")}}, nil
}

// dockerfiles judges by hadolint's rules. Dockerfile* is the name.
func (l *linting) dockerfiles(context.Context) ([]lint.Linter, error) {
	configs := []string{"common/config/.hadolint.yml", ".hadolint.yaml", ".hadolint.yml"}
	name, text, err := l.config(configs...)
	if err != nil {
		return nil, err
	}
	var c *dockerfiles.Config
	if name != "" {
		if c, err = dockerfiles.ReadConfig(name, text); err != nil {
			return nil, err
		}
	}
	return []lint.Linter{{Name: "dockerfiles", Files: lint.Named("Dockerfile*"), Checker: dockerfiles.New(c), Rules: "1 " + string(text), Config: configs}}, nil
}

// scripts are judged twice: by a parser of our own, and by ShellCheck.
func (l *linting) scripts(context.Context) ([]lint.Linter, error) {
	_, editor, err := l.config(".editorconfig")
	if err != nil {
		return nil, err
	}
	o := shell.Options{EditorConfig: editor, Program: l.p.ws.settings.Get("SHELLCHECK"), Runner: l.p.runner, Jobs: l.p.flags.Jobs}
	syntax := lint.Linter{Name: "scripts-syntax", Files: lint.Named("*.sh"), Checker: shell.New(o), Rules: o.Rules(), Config: []string{".editorconfig"}}
	return []lint.Linter{syntax, shell.External(o)}, nil
}

func (l *linting) helmOptions() charts.Options {
	return charts.Options{Runner: l.p.runner, Env: run.Environ(l.p.ws.settings.Full()), Program: func(ctx context.Context) (string, error) {
		root, err := l.p.slipwayRoot()
		if err != nil {
			return "", err
		}
		return toolbin.Own(ctx, l.p.runner, l.p.console, l.p.ws.cache(), root, "helm")
	}}
}

func (l *linting) helm(context.Context) ([]lint.Linter, error) {
	o := l.helmOptions()
	o.Strict = true
	return []lint.Linter{charts.Linter("helm", charts.Chosen(), o)}, nil
}

func (l *linting) helmGlobal(context.Context) ([]lint.Linter, error) {
	return []lint.Linter{charts.Linter("helm-global", charts.Chosen("manifests"), l.helmOptions())}, nil
}

// links asks the servers that Markdown files point at.
func (l *linting) links(context.Context) ([]lint.Linter, error) {
	s := l.p.ws.settings
	var allow []string
	for part := range strings.SplitSeq(s.Get("MARKDOWN_LINT_ALLOWLIST"), ",") {
		if part = strings.TrimSpace(part); part != "" {
			allow = append(allow, part)
		}
	}
	o := links.Options{Allow: allow, IgnoreFile: ".linkignore", Offline: on(s.Get("LINT_LINKS_OFFLINE")), Getenv: l.p.inv.getenv, Jobs: 64, PerHost: 2,
		Hosts: map[string]links.Host{"api.github.com": {TokenFrom: "GITHUB_TOKEN"}}}
	if l.cacheFile() != "" {
		o.Cache = filepath.Join(l.cacheDir(), "links.json")
	}
	return []lint.Linter{links.Linter(o)}, nil
}

// samples are judged by the istioctl of the tree.
func (l *linting) samples(context.Context) ([]lint.Linter, error) {
	files := lint.Named("*.yaml")
	return []lint.Linter{{Name: "samples", Files: func(f string) bool { return strings.HasPrefix(f, "samples/") && files(f) }, Rules: "1", Whole: l.validate}}, nil
}

func (l *linting) validate(ctx context.Context, t lint.Task) (lint.Outcome, error) {
	s := l.p.ws.settings
	env := run.Environ(s.Full())
	binary := filepath.Join(l.cacheDir(), "istioctl")
	if _, err := run.Output(ctx, l.p.runner, run.Command{Args: []string{s.Get("GO"), "build", "-o", binary, "./istioctl/cmd/istioctl"}, Dir: t.Root, Env: env}); err != nil {
		return lint.Outcome{}, fmt.Errorf("building istioctl: %w", err)
	}
	tool, err := t.Memory.Sum(filepath.Dir(binary), filepath.Base(binary))
	if err != nil {
		return lint.Outcome{}, fmt.Errorf("reading istioctl: %w", err)
	}
	out := lint.Outcome{}
	for _, f := range t.Files {
		text, err := t.Memory.Sum(t.Root, f)
		if err != nil {
			out.Failures = append(out.Failures, lint.Failure{File: f, Err: err.Error()})
			continue
		}
		if known, ok := t.Memory.Recall(f, tool+text); ok {
			out.Cached++
			out.Findings = append(out.Findings, known.Findings...)
			continue
		}
		var one lint.Outcome
		_, err = run.Output(ctx, l.p.runner, run.Command{Args: []string{binary, "validate", "-x", "-f", f}, Dir: t.Root, Env: env})
		var failed *run.Error
		if errors.As(err, &failed) && failed.Status > 0 {
			one.Findings = []lint.Finding{{File: f, Rule: "istioctl-validate", Message: strings.TrimSpace(failed.Error()), Severity: lint.Error}}
		} else if err != nil {
			return out, fmt.Errorf("running istioctl: %w", err)
		}
		t.Memory.Keep(f, tool+text, one)
		out.Findings = append(out.Findings, one.Findings...)
	}
	out.Files = len(t.Files)
	return out, nil
}

// python judges as autopep8 does with the options of istio/common-files.
func (l *linting) python(context.Context) ([]lint.Linter, error) {
	return l.pythonWith(python.Options{MaxLineLength: 160}, "*.py", "!*_pb2.py")
}

// pythonFormat is for format-python, which rewrites more, and generated files
// too.
func (l *linting) pythonFormat(context.Context) ([]lint.Linter, error) {
	return l.pythonWith(python.Options{MaxLineLength: 160, Aggressive: 2}, "*.py")
}

func (l *linting) pythonWith(o python.Options, names ...string) ([]lint.Linter, error) {
	read, _, err := python.ReadConfig("", func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(l.root, file)) })
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	o = o.Over(read)
	return []lint.Linter{{Name: "python", Files: lint.Named(names...), Checker: python.New(o), Rules: fmt.Sprintf("1 %+v", o), Config: python.ConfigFiles()}}, nil
}

// yaml judges as yamllint does; templates are no YAML yet.
func (l *linting) yaml(context.Context) ([]lint.Linter, error) {
	configs := []string{"common/config/.yamllint.yml", ".yamllint", ".yamllint.yaml", ".yamllint.yml"}
	name, text, err := l.config(configs...)
	switch {
	case err != nil:
		return nil, err
	case name == "" && l.call.all:
		return nil, fmt.Errorf("%w: there is no common/config/.yamllint.yml", errNoRules)
	case name == "": // what yamllint does without a configuration
		name, text = "yamllint", []byte("extends: default\n")
	}
	rules := name + " " + string(text)
	c, err := yaml.ReadConfig(name, text, func(file string) ([]byte, error) {
		more, err := os.ReadFile(filepath.Join(l.root, file))
		configs, rules = append(configs, file), rules+" "+string(more)
		return more, err
	})
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	named := lint.Named("*.yml", "*.yaml")
	return []lint.Linter{{Name: "yaml", Files: func(f string) bool { return named(f) && c.Includes(f) }, Skip: yaml.Template,
		Checker: yaml.New(c), Rules: rules, Config: configs}}, nil
}
