// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/banner"
	"github.com/istio-ecosystem/slipway/tools/lint/golang"
	"github.com/istio-ecosystem/slipway/tools/lint/gosource"
	"github.com/istio-ecosystem/slipway/tools/lint/licenses"
	"github.com/istio-ecosystem/slipway/tools/toolbin"
)

// aLinter is a linter by its name behind lint-.
type aLinter struct {
	name, summary string
	byDefault     bool // part of lint where the repository does not say what lint is
	// make returns the linters of that name. errNoRules tells that the
	// repository has no rules for it.
	make func(*linting, context.Context) ([]lint.Linter, error)
}

var errNoRules = errors.New("the repository has no rules for it")

func linterTable() []aLinter {
	return []aLinter{
		{"python", "check the layout of Python as autopep8 does", true, (*linting).python},
		{"copyright-banner", "check that sources say whose they are and under which license", true, (*linting).banner},
		{"scripts", "check shell scripts: syntax, and ShellCheck where it is installed", true, (*linting).scripts},
		{"go", "check Go with the pinned golangci-lint", true, (*linting).golang},
		{"dockerfiles", "check Dockerfiles with the rules of hadolint", true, (*linting).dockerfiles},
		{"markdown", "check Markdown with the rules of mdl", true, (*linting).markdown},
		{"yaml", "check YAML with the rules of yamllint", true, (*linting).yaml},
		{"licenses", "check the licenses of Go modules", true, (*linting).licenses},
		{"helm-global", "check the charts below manifests as helm lint does", true, (*linting).helmGlobal},
		{"helm", "check all charts as helm lint --strict does", false, (*linting).helm},
		{"links", "check the links of Markdown files", false, (*linting).links},
		{"samples", "check the samples with istioctl validate", false, (*linting).samples},
		{"tests", "check that tests that always skip name an issue", false, (*linting).tests},
		{"env-vars", "check that variables of the environment are registered", false, (*linting).envVars},
		{"sass", "check SCSS with sass-lint, where it is installed", false, (*linting).sass},
		{"typescript", "check TypeScript with tslint, where it is installed", false, (*linting).typescript},
	}
}

func knownLinter(name string) bool {
	return slices.ContainsFunc(linterTable(), func(l aLinter) bool { return l.name == name })
}

// linters makes those that were asked for.
func (l *linting) linters(ctx context.Context) (all []lint.Linter, notes []string, err error) {
	for _, name := range l.call.names {
		for _, known := range linterTable() {
			if known.name != name {
				continue
			}
			some, err := known.make(l, ctx)
			switch {
			case errors.Is(err, errNoRules) && l.call.all:
				notes = append(notes, fmt.Sprintf("lint-%s: left out: %v", name, err))
			case err != nil:
				return nil, nil, fmt.Errorf("lint-%s: %w", name, err)
			}
			all = append(all, some...)
		}
	}
	return all, notes, nil
}

// banner takes the text of the banner from the repository.
func (l *linting) banner(context.Context) ([]lint.Linter, error) {
	name, text, err := l.config("common/scripts/copyright-banner-go.txt", "common/config/copyright-banner.txt")
	if err != nil {
		return nil, err
	}
	if name == "" && l.call.all {
		return nil, fmt.Errorf("%w: there is no common/config/copyright-banner.txt", errNoRules)
	}
	var extra []string
	for line := range strings.Lines(string(text)) {
		if _, id, ok := strings.Cut(line, "SPDX-License-Identifier:"); ok {
			extra = append(extra, "SPDX-License-Identifier: "+strings.TrimSpace(id))
		}
	}
	foreign := strings.Fields(l.p.ws.settings.Get("LINT_BANNER_IGNORE"))
	return []lint.Linter{banner.Linter(foreign, string(text), extra...)}, nil
}

// golang runs the version of golangci-lint that the repository pins.
func (l *linting) golang(context.Context) ([]lint.Linter, error) {
	tool, err := l.golangciLint()
	if err != nil {
		return nil, err
	}
	s := l.p.ws.settings
	return []lint.Linter{golang.Linter(golang.Options{
		Runner: l.p.runner, Version: tool.Version, Config: l.p.ws.lintConfig(), GoTool: s.Get("GO"),
		Cache: filepath.Join(l.cacheDir(), "golangci"), Environ: s.Full(),
		Tool: func(ctx context.Context) (string, error) {
			return toolbin.Ensure(ctx, l.p.runner, l.p.console, l.p.ws.cache(), tool)
		},
	})}, nil
}

// golangciLint is the pinned one: GOLANGCI_LINT_VERSION, else the version that
// the repository's go.mod requires, else the one of Istio's build tools for an
// Istio tree, else ours.
func (l *linting) golangciLint() (toolbin.Tool, error) {
	tool := toolbin.GolangciLint()
	v := l.p.ws.settings.Lookup("GOLANGCI_LINT_VERSION")
	if v.IsSet() && v.Value != "" {
		tool.Version = "v" + strings.TrimPrefix(v.Value, "v")
		if !strings.HasPrefix(tool.Version, "v2.") {
			return tool, fail.With(fail.Usage, fmt.Errorf("GOLANGCI_LINT_VERSION is %q (%s): a version 2 is needed, such as v2.15.0", v.Value, v.Origin))
		}
		return tool, nil
	}
	if text, err := os.ReadFile(filepath.Join(l.root, "go.mod")); err == nil {
		if m, err := modfile.ParseLax("go.mod", text, nil); err == nil {
			for _, r := range m.Require {
				if r.Mod.Path == "github.com/golangci/golangci-lint/v2" {
					tool.Version = r.Mod.Version
					return tool, nil
				}
			}
		}
	}
	if l.p.ws.hasOwnMakefile() {
		tool.Version = toolbin.IstioGolangciLint
	}
	return tool, nil
}

// licenses is quiet in a tree that does not mirror its licences, as Istio's
// make file has it, unless it has rules.
func (l *linting) licenses(context.Context) ([]lint.Linter, error) {
	if _, err := os.Stat(filepath.Join(l.root, "licenses")); err != nil && l.p.ws.hasOwnMakefile() {
		return nil, nil
	}
	o, err := l.licenseOptions()
	if err != nil {
		return nil, err
	}
	return []lint.Linter{licenses.Linter(o)}, nil
}

func (l *linting) licenseOptions() (licenses.Options, error) {
	name, text, err := l.config("common/config/license-lint.yml")
	if err != nil {
		return licenses.Options{}, err
	}
	if name == "" {
		return licenses.Options{}, fmt.Errorf("%w: there is no common/config/license-lint.yml", errNoRules)
	}
	config, err := licenses.ReadConfig(name, text)
	s := l.p.ws.settings
	return licenses.Options{Runner: l.p.runner, Go: s.Get("GO"), Environ: s.Full(), Config: config, ConfigFile: name}, err
}

func (l *linting) tests(context.Context) ([]lint.Linter, error) {
	return []lint.Linter{gosource.Skips()}, nil
}

func (l *linting) envVars(context.Context) ([]lint.Linter, error) {
	dirs := strings.Fields(l.p.ws.settings.Get("LINT_ENV_VARS"))
	return []lint.Linter{gosource.EnvVars(dirs...)}, nil
}
