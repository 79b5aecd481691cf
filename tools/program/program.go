// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/goal"
	"github.com/istio-ecosystem/slipway/tools/goal/makeflags"
	"github.com/istio-ecosystem/slipway/tools/graph"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// Invocation is one call of make or mage, as plain data.
type Invocation struct {
	Goals          []string // empty: the default goal
	MakeFlags      string   // value of MAKEFLAGS; empty under mage
	Environ        []string // NAME=value
	Dir            string   // the repository: where make or mage was called
	Stdout, Stderr io.Writer
}

// DefaultGoal is what make without a goal makes.
const DefaultGoal = "default"

// Main carries a call out and returns the exit code of the program. INT, TERM
// and HUP end it, with all programs that it has started.
func Main(ctx context.Context, inv Invocation) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	p := newProgram(inv)
	err := p.run(ctx)
	if ctx.Err() != nil {
		err = fail.With(fail.Interrupted, errors.New("interrupted"))
	}
	if err != nil {
		p.console.Error("%v", err)
	}
	return fail.Code(err)
}

// program is the state of one call.
type program struct {
	inv     Invocation
	flags   makeflags.Flags
	console *ui.Console
	runner  run.Runner
	ws      *workspace
}

func newProgram(inv Invocation) *program {
	flags := makeflags.Parse(inv.MakeFlags)
	return &program{
		inv: inv, flags: flags, runner: run.Exec{},
		console: ui.New(inv.Stdout, inv.Stderr, ui.Options{
			Quiet: flags.Silent, Verbose: inv.getenv("VERBOSE") == "1", GitHub: inv.getenv("GITHUB_ACTIONS") == "true",
			Terminal: terminal(inv.Stderr) && inv.getenv("TERM") != "dumb",
		}),
	}
}

// terminal tells that somebody may be looking.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0
}

// getenv reads the environment of the call; the last of equal names counts.
func (inv Invocation) getenv(name string) string {
	for _, kv := range slices.Backward(inv.Environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func (inv Invocation) lookupEnv(name string) (string, bool) {
	for _, kv := range slices.Backward(inv.Environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

func (p *program) run(ctx context.Context) error {
	switch {
	case p.flags.Touch:
		return fail.With(fail.Usage, errors.New("make -t is refused: nothing here is up to date by its time alone"))
	case p.flags.Question:
		return fail.With(fail.Failed, errors.New("make -q does nothing; use make -n to see what would be done"))
	}
	registry, err := goal.NewRegistry(goals())
	if err != nil {
		return err
	}
	names := p.inv.Goals
	if len(names) == 0 {
		names = []string{DefaultGoal}
	}
	matches, err := registry.Resolve(p.outputGoals(names))
	if err != nil {
		return err
	}
	if p.ws, err = openWorkspace(ctx, p); err != nil {
		return err
	}
	w := &wants{p: p, ctx: ctx}
	for _, m := range matches {
		w.goal = m.Name
		if err := m.Goal.Want(w, m.Stem); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return p.carryOut(ctx, w, names)
}

// carryOut plans each unit of work, and then prints the plans or runs them.
// Nothing runs before everything is planned.
func (p *program) carryOut(ctx context.Context, w *wants, names []string) error {
	if err := p.fetchSources(ctx, w); err != nil {
		return err
	}
	var steps []graph.Step
	var roots []string
	for i, u := range w.units {
		if u.command != nil {
			steps = append(steps, graph.Step{Key: u.key(i), Run: p.commandStep(*u.command)})
			roots = append(roots, u.key(i))
			continue
		}
		plan, more, err := u.artifacts.plan(ctx, p)
		if err != nil {
			return err
		}
		plan.Goals = names
		u.plan, u.job = plan, more
		w.units[i] = u
		more.key = u.key(i)
		steps = append(steps, more.steps()...)
		roots = append(roots, more.key)
	}
	if p.flags.DryRun {
		w.print(p.console)
		return nil
	}
	g, err := graph.New(steps, graph.Options{Jobs: p.jobs(), KeepGoing: p.flags.KeepGoing || p.flags.IgnoreErrors})
	if err != nil {
		return err
	}
	return g.Run(ctx, roots...)
}

// fetchSources downloads the module that is to be compiled when it is not on
// this machine, and settles the settings again: some have their default from
// files of the module, and the first build has to be the same as the second.
func (p *program) fetchSources(ctx context.Context, w *wants) error {
	if p.flags.DryRun || p.ws.catalog == nil || !slices.ContainsFunc(w.units, func(u unit) bool { return u.artifacts != nil }) {
		return nil
	}
	if root, _ := p.ws.sourceRoot(p); root != "" {
		return nil
	}
	if _, err := p.ws.source(ctx, p); err != nil {
		return err
	}
	ws, err := openWorkspace(ctx, p)
	if err == nil {
		p.ws = ws
	}
	return err
}

func (p *program) commandStep(c command) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := c.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.goal, err)
		}
		return nil
	}
}

// jobs is the N of -jN; without a number, or where make does not tell it, the
// number of processors.
func (p *program) jobs() int {
	if p.flags.Jobs > 0 {
		return p.flags.Jobs
	}
	return runtime.NumCPU()
}
