// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

// walkBudget is how many nodes of templates are looked at in one chart. The
// largest chart of Istio has some 20,000.
const walkBudget = 5_000_000

// values reports names of values that the chart's templates speak of and that
// neither values.yaml nor values.schema.json has. left are the values as the
// templates left them; nil when the chart does not render.
func (r *reader) values(left map[string]any) {
	c, top, err := r.job.load()
	if err != nil {
		return // Helm says why
	}
	w := r.walker(c, top, left)
	for _, t := range c.Templates {
		if !strings.HasPrefix(path.Base(t.Name), "_") {
			w.call(c.Name()+"/"+t.Name, &ref{root: true})
		}
	}
	if left == nil && w.replaced || w.budget < 0 {
		return // what the names are is settled in a rendering that failed
	}
	own := c.Name() + "/templates/"
	optional := r.optional(c)
	seen := map[string]bool{}
	for _, n := range w.named {
		at := fmt.Sprint(n.file, n.pos)
		if seen[at] || !strings.HasPrefix(n.file, own) || w.optional[n.path] || optional(n.path, n.key) {
			continue
		}
		seen[at] = true
		if len(seen) > maxFaults {
			return
		}
		p := r.job.inFile(strings.TrimPrefix(n.file, c.Name()+"/"))
		before := w.texts[n.file][:min(n.pos, len(w.texts[n.file]))]
		p.line = strings.Count(before, "\n") + 1
		p.column = columnOf(w.texts[n.file], p.line, len(before)-strings.LastIndexByte(before, '\n')-1)
		r.job.found(charts.RuleValues, p, severityError, undeclared(n, r.chart.Schema != nil))
	}
}

func undeclared(n named, hasSchema bool) string {
	where := "values.yaml does not have it"
	if hasSchema {
		where = "neither values.yaml nor values.schema.json has it"
	}
	message := fmt.Sprintf(".Values.%s: %s", n.path, where)
	if near := nearest(n.key, n.siblings); near != "" {
		message += fmt.Sprintf("; did you mean %s?", near)
	}
	return message
}

func (r *reader) walker(c *chart.Chart, top common.Values, left map[string]any) *walker {
	w := &walker{
		trees: map[string]*parse.Tree{}, texts: map[string]string{},
		done: map[string]bool{}, optional: map[string]bool{}, budget: walkBudget,
	}
	w.values = known{schema: readSchema(c.Schema)}
	for _, m := range []map[string]any{asMap(top["Values"]), left} {
		if len(m) > 0 {
			w.values.maps = append(w.values.maps, m)
		}
	}
	w.values.open = len(w.values.maps) == 0 && !w.values.schema.closed()
	var files []string
	var walk func(c *chart.Chart)
	walk = func(c *chart.Chart) {
		for _, t := range c.Templates {
			name := c.ChartFullPath() + "/" + t.Name
			files = append(files, name)
			w.texts[name] = string(t.Data)
		}
		for _, d := range c.Dependencies() {
			walk(d)
		}
	}
	walk(c)
	// Of templates with the same name the last one that is read counts, and
	// Helm reads deep folders first and names in falling order.
	slices.SortFunc(files, func(a, b string) int {
		if d := strings.Count(b, "/") - strings.Count(a, "/"); d != 0 {
			return d
		}
		return strings.Compare(b, a)
	})
	for _, name := range files {
		trees, err := parseTemplate(name, w.texts[name])
		if err != nil {
			continue
		}
		for n, t := range trees {
			// as text/template has it, an empty template does not replace one
			if w.trees[n] == nil || !parse.IsEmptyTree(t.Root) {
				w.trees[n] = t
			}
		}
	}
	return w
}

var (
	commented  = regexp.MustCompile(`(?m)^\s*#[#\s]*(?:-\s+)?["']?([A-Za-z_][\w.-]*)["']?:(?:\s|$)`)
	documented = regexp.MustCompile(`(?m)^\s*##?\s*@(?:param|extra)\s+(\S+)`)
)

// optional returns the test for names that need not be declared: those of the
// request, of the annotation in Chart.yaml, and those that values.yaml has in
// comments only.
func (r *reader) optional(c *chart.Chart) func(name, key string) bool {
	patterns := slices.Clone(r.job.optional)
	patterns = append(patterns, strings.FieldsFunc(c.Metadata.Annotations[charts.OptionalAnnotation], func(r rune) bool {
		return r == ',' || r == ' ' || r == '\n' || r == '\t'
	})...)
	text, _ := os.ReadFile(filepath.Join(r.job.dir, "values.yaml"))
	for _, m := range documented.FindAllSubmatch(text, -1) {
		patterns = append(patterns, string(m[1]))
	}
	keys := map[string]bool{}
	for _, m := range commented.FindAllSubmatch(text, -1) {
		keys[string(m[1])] = true
	}
	return func(name, key string) bool {
		return keys[key] || slices.ContainsFunc(patterns, func(p string) bool { return covers(p, name) })
	}
}

// covers says whether a pattern of OptionalAnnotation covers a name: it, one
// above it, or one below it, which nobody can have without it.
func covers(pattern, name string) bool {
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "."), "Values.")
	parts := strings.Split(name, ".")
	wanted := strings.Split(pattern, ".")
	for i, w := range wanted[:min(len(wanted), len(parts))] {
		if w != "*" && w != parts[i] {
			return false
		}
	}
	return true
}

// nearest is the name that is most like key; empty when none is.
func nearest(key string, names []string) string {
	best, limit := "", 1+len(key)/4
	for _, n := range names {
		if d := distance(key, n, limit); d <= limit && (best == "" || d < limit) {
			best, limit = n, d
		}
	}
	return best
}

// distance is how many characters must be put in, left out, replaced or
// swapped with the next to make b of a; more than limit is not counted on.
func distance(a, b string, limit int) int {
	s, t := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if len(s)-len(t) > limit || len(t)-len(s) > limit {
		return limit + 1
	}
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for k := range rows[0] {
		rows[0][k] = k
	}
	for i := 1; i <= len(s); i++ {
		for k := 1; k <= len(t); k++ {
			cost := 1
			if s[i-1] == t[k-1] {
				cost = 0
			}
			d := min(rows[i-1][k]+1, rows[i][k-1]+1, rows[i-1][k-1]+cost)
			if i > 1 && k > 1 && s[i-1] == t[k-2] && s[i-2] == t[k-1] {
				d = min(d, rows[i-2][k-2]+1)
			}
			rows[i][k] = d
		}
	}
	return rows[len(s)][len(t)]
}
