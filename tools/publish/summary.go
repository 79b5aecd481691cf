// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/istio-ecosystem/slipway/tools/publish/registry"
)

// announce prints the full list of names before anything is sent.
func (r *run) announce() {
	c := r.opts.Console
	c.Note("publishing %s to %s:", plural(len(r.targets), "reference"), plural(len(r.hubs()), "hub"))
	for _, t := range r.targets {
		c.Note("  %s  %s", t.reference, t.digest)
	}
}

// summarise prints what failed, and the table of hubs.
func (r *run) summarise(result *Result) {
	for _, ref := range result.References {
		switch {
		case ref.State == Failed:
			r.opts.Console.Error("%s: %s", ref.Reference, ref.Message)
		case !ref.InPlace() && ref.Message != "":
			r.opts.Console.Warn("%s: %s", ref.Reference, ref.Message)
		}
	}
	for line := range strings.Lines(result.Table()) {
		r.opts.Console.Note("%s", strings.TrimRight(line, "\n"))
	}
}

// Table is the result by hub, as lines of text.
func (r *Result) Table() string {
	type row struct {
		states  map[State]int
		counts  registry.Counts
		seconds float64
	}
	rows, order := map[string]*row{}, []string{}
	for _, ref := range r.References {
		if rows[ref.Hub] == nil {
			rows[ref.Hub] = &row{states: map[State]int{}}
			order = append(order, ref.Hub)
		}
		rows[ref.Hub].states[ref.State]++
		rows[ref.Hub].seconds = max(rows[ref.Hub].seconds, ref.Seconds)
	}
	for _, repo := range r.Repositories {
		if rows[repo.Hub] == nil {
			continue
		}
		c := &rows[repo.Hub].counts
		c.Requests, c.Retries, c.Bytes = c.Requests+repo.Requests, c.Retries+repo.Retries, c.Bytes+repo.Bytes
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "HUB\tPUBLISHED\tALREADY THERE\tNOT TAGGED\tUNTOUCHED\tFAILED\tSENT\tREQUESTS\tRETRIES\tTIME")
	for _, hub := range order {
		x := rows[hub]
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d\t%s\n", hub,
			x.states[Published], x.states[Present], x.states[Uploaded], x.states[Untouched], x.states[Failed],
			size(x.counts.Bytes), x.counts.Requests, x.counts.Retries,
			time.Duration(x.seconds*float64(time.Second)).Round(time.Millisecond))
	}
	_ = w.Flush()
	return b.String()
}

func (r *run) hubs() map[string]bool {
	hubs := map[string]bool{}
	for _, t := range r.targets {
		hubs[t.hub] = true
	}
	return hubs
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}
