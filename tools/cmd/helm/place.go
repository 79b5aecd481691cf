// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

// place is a place in a file of the tree. Where the file lies in an archive,
// inner is its path there and the numbers are of the file inside.
type place struct {
	file   string
	inner  string
	line   int
	column int // in characters, from 1
}

// locate finds the file of a template by the name that Helm gives it:
// CHART/charts/DEPENDENCY/templates/FILE.
func (j *job) locate(root, name string) (place, bool) {
	rest, ok := strings.CutPrefix(name, root+"/")
	dir := j.dir
	for ok {
		inside, below := strings.CutPrefix(rest, "charts/")
		if !below {
			return place{file: filepath.Join(dir, filepath.FromSlash(rest))}, true
		}
		dep, after, _ := strings.Cut(inside, "/")
		at := dependency(dir, dep)
		if isArchive(at) {
			return place{file: at, inner: after}, true
		}
		dir, rest, ok = at, after, at != "" && after != ""
	}
	return place{}, false
}

func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tgz") || strings.HasSuffix(name, ".tar.gz")
}

// dependency finds the entry of the charts folder that holds a dependency of
// the chart in dir, by its name or alias.
func dependency(dir, name string) string {
	names := []string{name}
	if meta, err := chartutil.LoadChartfile(filepath.Join(dir, "Chart.yaml")); err == nil {
		for _, d := range meta.Dependencies {
			if d != nil && d.Alias == name {
				names = append(names, d.Name)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "charts"))
	if err != nil {
		return ""
	}
	for _, n := range names {
		for _, e := range entries {
			at := filepath.Join(dir, "charts", e.Name())
			meta, err := chartutil.LoadChartfile(filepath.Join(at, "Chart.yaml"))
			if err == nil && meta.Name == n || isArchive(at) && strings.HasPrefix(e.Name(), n+"-") {
				return at
			}
		}
	}
	return ""
}

// templateNames are the names of all templates of the chart and of the charts
// in it, the longest first.
func templateNames(c *chart.Chart) []string {
	var names []string
	var walk func(c *chart.Chart)
	walk = func(c *chart.Chart) {
		for _, t := range c.Templates {
			names = append(names, c.ChartFullPath()+"/"+t.Name)
		}
		for _, d := range c.Dependencies() {
			walk(d)
		}
	}
	walk(c)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	return names
}

var position = regexp.MustCompile(`^:(\d+)(?::(\d+))?`)

// mention is a place in a template that an error names.
type mention struct {
	name         string
	line, column int // column in bytes from 0, -1 when there is none
	start, end   int // of the mention in the text
}

// mentions finds the places that an error of the template engine names, in the
// order of the text: NAME:LINE or NAME:LINE:COLUMN.
func mentions(text string, names []string) []mention {
	var all []mention
	for _, name := range names {
		for from := 0; ; {
			i := strings.Index(text[from:], name)
			if i < 0 {
				break
			}
			start := from + i
			from = start + len(name)
			m := position.FindStringSubmatch(text[from:])
			if m == nil {
				continue
			}
			found := mention{name: name, line: number(m[1]), column: -1, start: start, end: from + len(m[0])}
			if m[2] != "" {
				found.column = number(m[2])
			}
			// a longer name ends in this one
			if !slices.ContainsFunc(all, func(o mention) bool { return o.start <= found.start && found.end <= o.end }) {
				all = append(all, found)
			}
		}
	}
	slices.SortFunc(all, func(a, b mention) int { return a.start - b.start })
	return all
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// columnOf turns a column in bytes from 0, as text/template counts, into one in
// characters from 1.
func columnOf(text string, line, column int) int {
	if column < 0 {
		return 0
	}
	for range line - 1 {
		_, after, ok := strings.Cut(text, "\n")
		if !ok {
			return 0
		}
		text = after
	}
	text, _, _ = strings.Cut(text, "\n")
	if column > len(text) {
		return 0
	}
	return utf8.RuneCountInString(text[:column]) + 1
}
