// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint/licenses"
)

// fixBanner mends banners and tells what it could not mend, but does not fail
// for it, as the script of istio/common-files did.
func (w *wants) fixBanner(string) error { return w.mend("copyright-banner") }

// formatPython mends what lint-python can mend.
func (w *wants) formatPython(string) error { return w.mend("python") }

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
