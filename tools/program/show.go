// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/goal"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/settings"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// json tells whether results are wanted as JSON.
func (p *program) json() bool { return p.ws.settings.Get("OUTPUT") == string(ui.JSON) }

func (p *program) printJSON(value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("printing the result as JSON: %w", err)
	}
	p.console.Result("%s", text)
	return nil
}

// checkOutput refuses a form of output that does not exist, before anything is
// printed.
func (p *program) checkOutput() error {
	if _, err := ui.ParseFormat(p.ws.settings.Get("OUTPUT")); err != nil {
		return fail.With(fail.Usage, err)
	}
	return nil
}

func (w *wants) help(string) error {
	w.show(func(context.Context) error {
		registry, err := goal.NewRegistry(goals())
		if err != nil {
			return err
		}
		entries := registry.Help()
		if w.p.json() {
			return w.p.printJSON(entries)
		}
		group := ""
		for _, e := range entries {
			if e.Group != group {
				group = e.Group
				w.p.console.Result("\n%s", group)
			}
			w.p.console.Result("  %-26s %s", e.Name, e.Summary)
		}
		w.p.console.Result("\n%% stands for a name, as in docker.pilot. Flags of make that count: -n -k -s -j -B -i -e.\nSettings: NAME=value behind make, the environment, or .istiorc.mk; make settings shows them.")
		return nil
	})
	return w.p.checkOutput()
}

func (w *wants) showSettings(string) error {
	w.show(func(context.Context) error {
		s := w.p.ws.settings
		if err := s.Check(); err != nil {
			return err
		}
		if !w.p.json() {
			w.p.console.Result("%s", s.Text())
			return nil
		}
		text, err := s.JSON()
		w.p.console.Result("%s", text)
		return err
	})
	return w.p.checkOutput()
}

func (w *wants) showCatalog(string) error {
	c, err := w.p.ws.needCatalog()
	if err != nil {
		return err
	}
	w.show(func(context.Context) error {
		for _, warning := range c.Warnings {
			w.p.console.Warn("%s", warning.String())
		}
		if w.p.json() {
			return c.WriteJSON(w.p.console.Out())
		}
		return c.WriteText(w.p.console.Out())
	})
	return w.p.checkOutput()
}

// showPlan prints the plan of GOALS without doing anything.
func (w *wants) showPlan(string) error {
	goals := strings.Fields(w.p.ws.settings.Get("GOALS"))
	if v := w.p.ws.settings.Lookup("GOALS"); !v.IsSet() {
		goals = strings.Fields(w.p.inv.getenv("GOALS"))
	}
	if len(goals) == 0 {
		return fail.With(fail.Usage, fmt.Errorf(`say for what: make plan GOALS="docker.push"`))
	}
	w.show(func(ctx context.Context) error { return w.p.printPlan(ctx, goals) })
	return w.p.checkOutput()
}

func (p *program) printPlan(ctx context.Context, names []string) error {
	dry := *p
	dry.flags.DryRun = true
	names = p.outputGoals(names)
	registry, err := goal.NewRegistry(goals())
	if err != nil {
		return err
	}
	matches, err := registry.Resolve(names)
	if err != nil {
		return err
	}
	w := &wants{p: &dry, ctx: ctx}
	for _, m := range matches {
		w.goal = m.Name
		if err := m.Goal.Want(w, m.Stem); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	whole := &Plan{Goals: names, Dir: p.ws.dir}
	for i, u := range w.units {
		if u.command != nil {
			whole.Commands = append(whole.Commands, CommandPlan{u.command.goal, u.command.text})
			continue
		}
		plan, _, err := u.artifacts.plan(ctx, &dry)
		if err != nil {
			return err
		}
		w.units[i].plan = plan
		whole.add(plan)
	}
	if p.json() {
		return p.printJSON(whole)
	}
	w.print(p.console)
	return nil
}

func (p *Plan) add(o *Plan) {
	p.Source = o.Source
	p.Compile = append(p.Compile, o.Compile...)
	p.Prebuilts = append(p.Prebuilts, o.Prebuilts...)
	p.Images = append(p.Images, o.Images...)
	p.Warnings = append(p.Warnings, o.Warnings...)
}

func (w *wants) showSetting(name string) error {
	w.show(func(context.Context) error {
		s := w.p.ws.settings
		if v := s.Lookup(name); !v.IsSet() && w.p.inv.getenv(name) == "" {
			if near := goal.Near(name, known(), 1); len(near) > 0 {
				w.p.console.Warn("%s is not set; did you mean %s?", name, near[0])
			}
		}
		value := s.Get(name)
		if v, ok := w.p.inv.lookupEnv(name); ok && !s.Lookup(name).IsSet() {
			value = v
		}
		w.p.console.Result("%s => %s", name, value)
		return nil
	})
	return nil
}

// known are the names of all settings.
func known() []string {
	var names []string
	for _, g := range settings.Groups() {
		for _, k := range g.Settings {
			names = append(names, k.Name)
		}
	}
	return names
}

func (w *wants) showEnviron(string) error {
	w.show(func(context.Context) error {
		for _, kv := range run.Environ(w.p.ws.settings.Full()) {
			w.p.console.Result("%s", kv)
		}
		return nil
	})
	return nil
}

func (w *wants) showGoEnv(string) error {
	w.show(func(ctx context.Context) error {
		for _, verb := range []string{"version", "env"} {
			if err := w.p.runner.Run(ctx, w.p.command(w.p.ws.settings.Get("GO"), verb)); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}
