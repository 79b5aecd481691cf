// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/licenses"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// fixBanner mends banners and tells what it could not mend, but does not fail
// for it, as the script of istio/common-files did.
func (w *wants) fixBanner(string) error { return w.mend("copyright-banner") }

// formatPython mends the layout of Python, as autopep8 does with --aggressive
// twice. What we only report, such as lines to break, autopep8 rewrites where
// it is installed.
func (w *wants) formatPython(string) error {
	w.do("mend: python", w.p.formatPython)
	return w.p.checkOutput()
}

func (p *program) formatPython(ctx context.Context) error {
	l := &linting{p: p, call: &lintCall{fix: true, quiet: true}, root: p.ws.dir}
	linters, err := l.pythonFormat(ctx)
	if err != nil {
		return err
	}
	report, err := l.run(ctx, linters)
	if err != nil {
		return err
	}
	left := report.Findings()
	if err := l.tell(report); err != nil {
		return err
	}
	var files []string
	for _, f := range left {
		if f.Severity == lint.Error && !slices.Contains(files, f.File) {
			files = append(files, f.File)
		}
	}
	if files == nil {
		return nil
	}
	if _, err := exec.LookPath("autopep8"); err != nil {
		p.console.Note("slipway: what is left in %d files can be rewritten by autopep8, which is not installed: install it and run this again, or mend by hand what make lint-python lists", len(files))
		return nil
	}
	for i, f := range files {
		files[i] = "./" + f // a name may begin with a hyphen
	}
	args := append([]string{"autopep8", "--max-line-length", "160", "--aggressive", "--aggressive", "-i"}, files...)
	if err := p.runner.Run(ctx, run.Command{Args: args, Dir: p.ws.dir, Env: run.Environ(p.ws.settings.Full())}); err != nil {
		return fmt.Errorf("rewriting Python by autopep8: %w", err)
	}
	p.console.Note("slipway: what was left in %d files was given to autopep8", len(files))
	return nil
}

// mend runs linters only to mend.
func (w *wants) mend(names ...string) error {
	c := &lintCall{names: names, fix: true, quiet: true}
	for _, name := range names {
		w.do("mend: "+name, func(ctx context.Context) error { return w.p.lint(ctx, c) })
	}
	return w.p.checkOutput()
}

// modules reads the licences of all modules, for a goal that lists them.
func (w *wants) modules(text string, do func(licenses.Options, []licenses.Module) error) error {
	l := &linting{p: w.p, call: &lintCall{}, root: w.p.ws.dir}
	o, err := l.licenseOptions()
	if errors.Is(err, errNoRules) {
		return fail.With(fail.Usage, err)
	}
	if err != nil {
		return err
	}
	w.do(text, func(ctx context.Context) error {
		list, err := licenses.Modules(ctx, l.root, o)
		if err != nil {
			return err
		}
		return do(o, list)
	})
	return w.p.checkOutput()
}

func (w *wants) dumpLicenses(csv bool) error {
	return w.modules("list the licenses of all modules", func(o licenses.Options, list []licenses.Module) error {
		switch {
		case csv:
			return licenses.WriteCSV(w.p.console.Out(), list)
		case w.p.json():
			return w.p.printJSON(list)
		}
		for _, line := range o.Config.Report(list) {
			w.p.console.Result("%s", line)
		}
		return nil
	})
}

func (w *wants) mirrorLicenses(string) error {
	return w.modules("copy the licenses of all modules to the folder licenses", func(_ licenses.Options, list []licenses.Module) error {
		n, err := licenses.Mirror(w.p.ws.abs("licenses"), list)
		if err != nil {
			return fmt.Errorf("writing the folder licenses: %w", err)
		}
		w.p.console.Note("slipway: the folder licenses holds the licenses of %d modules, in %d files", len(list), n)
		return nil
	})
}
