// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// run is one run of the linter.
type run struct {
	o      Options
	task   lint.Task
	filter *filter
	tree   *tree
	docs   []*document
	uses   []use // of addresses of servers, in the order of files and text
	out    lint.Outcome
}

// use is a place where an address stands.
type use struct {
	doc      *document
	offset   int
	address  string // without the fragment
	fragment string
}

func check(ctx context.Context, o Options, task lint.Task) (lint.Outcome, error) {
	r := &run{o: o.filled(), task: task, tree: newTree(task.Root)}
	var err error
	if r.filter, err = newFilter(r.o, task.Root); err != nil {
		return lint.Outcome{}, err
	}
	if err := r.read(ctx); err != nil {
		return lint.Outcome{}, err
	}
	for _, d := range r.docs {
		if err := ctx.Err(); err != nil {
			return lint.Outcome{}, err
		}
		if r.o.Compat {
			r.compat(d)
		} else {
			r.modern(d)
		}
	}
	r.out.Files = len(r.docs)
	if !r.o.Offline {
		if err := r.remote(ctx); err != nil {
			return lint.Outcome{}, err
		}
	}
	slices.SortStableFunc(r.out.Findings, func(a, b lint.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.out, nil
}

// read reads all files, and their Markdown unless raw text is what counts.
func (r *run) read(ctx context.Context) error {
	docs := make([]*document, len(r.task.Files))
	errs := make([]error, len(r.task.Files))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range r.task.Files {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			text, err := os.ReadFile(r.tree.path(file))
			if err != nil {
				errs[i] = err
				return nil
			}
			docs[i] = newDocument(file, text)
			if !r.o.Compat {
				docs[i].page = r.tree.reader.read(text)
			}
			return nil
		})
	}
	_ = g.Wait() // errors are kept by file
	for i, d := range docs {
		if errs[i] != nil {
			r.out.Failures = append(r.out.Failures, lint.Failure{File: r.task.Files[i], Err: fmt.Sprintf("reading: %v", errs[i])})
		}
		if d != nil {
			r.docs = append(r.docs, d)
			r.tree.pages[d.file] = d.page
		}
	}
	return ctx.Err()
}

// changed tells that what a file holds is to be judged.
func (r *run) changed(file string) bool {
	return r.task.Since == nil || r.task.Since.Files[file]
}

// compat collects what awesome_bot looks at: each address once in a file.
func (r *run) compat(d *document) {
	if !r.changed(d.file) {
		return
	}
	for _, f := range extract(d.text) {
		r.address(d, f.url, f.offset)
	}
}

// address keeps an address of a server.
func (r *run) address(d *document, address string, offset int) {
	if r.filter.skips(address) || !r.changed(d.file) {
		return
	}
	base, fragment, _ := strings.Cut(address, "#")
	r.uses = append(r.uses, use{d, offset, base, fragment})
}

func (r *run) modern(d *document) {
	if d.page.opaque >= 0 {
		if r.changed(d.file) {
			r.add(d, d.page.opaque, verdict{ruleUnreadable, lint.Warning, "this file is nested too deeply, or holds too many brackets and marks in one paragraph, to be read as Markdown; only addresses of other sites are checked"})
		}
		r.compat(d)
		return
	}
	for _, l := range d.page.links {
		r.link(d, l)
	}
	if !r.changed(d.file) {
		return
	}
	for _, f := range d.page.fences {
		if f.toEnd {
			r.add(d, f.offset, verdict{ruleFence, lint.Error, "this code fence is never closed, so all the rest of the file is code: close it with a line of the same marks alone"})
		} else {
			r.add(d, f.offset, verdict{ruleFence, lint.Warning, "this code fence is not closed before its list item or quote ends: close it with a line of the same marks alone"})
		}
	}
	for _, m := range d.page.missing {
		r.add(d, m.offset, verdict{ruleUndefined, lint.Warning, "nothing defines the label [" + m.label + "], so this is shown as text: add a definition, or put it into code"})
	}
}

// link judges a link, or keeps it for the servers.
func (r *run) link(d *document, l pageLink) {
	target := l.target
	if r.filter.skips(target) || strings.Contains(target, "{{") { // a template fills it in
		return
	}
	target = r.filter.mapped(target)
	if strings.HasPrefix(target, "//") {
		target = "https:" + target
	}
	switch scheme, rest := splitScheme(target); scheme {
	case "http", "https":
		if !isExample(target) {
			r.address(d, scheme+":"+rest, l.offset)
		}
		return
	case "mailto":
		if r.changed(d.file) && !isMail(rest) {
			r.add(d, l.offset, verdict{ruleMalformed, lint.Error, target + " holds no mail address: write mailto:NAME@HOST"})
		}
		return
	case "":
	default:
		return
	}
	if target == "" {
		if r.changed(d.file) {
			r.add(d, l.offset, verdict{ruleEmpty, lint.Warning, "this link has no target: give it one, or remove it"})
		}
		return
	}
	if v, to := r.tree.local(d, target); v != nil && (r.changed(d.file) || r.touched(to)) {
		r.add(d, l.offset, *v)
	}
}

// touched tells that a file or folder, or one that it lay in, changed or is gone.
func (r *run) touched(target string) bool {
	if r.task.Since.Files[target] {
		return true
	}
	for _, gone := range r.task.Since.Deleted {
		if gone == target || strings.HasPrefix(gone, target+"/") {
			return true
		}
	}
	return false
}

// splitScheme cuts the scheme off, in small letters. A single letter is the
// drive of a path.
func splitScheme(target string) (scheme, rest string) {
	i := strings.IndexByte(target, ':')
	if i < 2 {
		return "", target
	}
	for k := range i {
		c := target[k] | 0x20
		if (c < 'a' || c > 'z') && (k == 0 || (target[k] < '0' || target[k] > '9') && !strings.ContainsRune("+-.", rune(target[k]))) {
			return "", target
		}
	}
	return strings.ToLower(target[:i]), target[i+1:]
}

// isMail knows the form of NAME@HOST, more of them, and what may follow.
func isMail(rest string) bool {
	rest, _, _ = strings.Cut(rest, "?")
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		return false
	}
	for _, one := range strings.Split(decoded, ",") {
		name, host, ok := strings.Cut(strings.TrimSpace(one), "@")
		if !ok || name == "" || host == "" || strings.ContainsAny(host, " @") {
			return false
		}
	}
	return true
}

// isExample tells that an address is of a name that is reserved for examples
// (RFC 2606, RFC 6761), which no server needs to answer.
func isExample(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	name := "." + strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	for _, reserved := range []string{".example", ".example.com", ".example.net", ".example.org"} {
		if strings.HasSuffix(name, reserved) {
			return true
		}
	}
	return false
}

func (r *run) add(d *document, offset int, v verdict) {
	line, column := d.place(offset)
	r.out.Findings = append(r.out.Findings, lint.Finding{
		File: d.file, Line: line, Column: column, Rule: v.rule, Severity: v.severity, Message: v.message,
	})
}

// remote asks the servers: each address once, wherever it stands.
func (r *run) remote(ctx context.Context) error {
	m, err := openMemo(r.o)
	if err != nil {
		r.out.Notes = append(r.out.Notes, "earlier answers are not used: "+err.Error())
	}
	answers, err := r.askAll(ctx, newAsker(r.o, m))
	if saveErr := m.save(); saveErr != nil {
		r.out.Notes = append(r.out.Notes, saveErr.Error())
	}
	if err != nil {
		return err
	}
	if m.hits > 0 {
		r.out.Notes = append(r.out.Notes, fmt.Sprintf("%d of %d addresses were answered from the cache", m.hits, len(answers)))
	}
	r.report(answers)
	return nil
}

func (r *run) askAll(ctx context.Context, a *asker) (map[string]answer, error) {
	fragments := map[string][]string{}
	wanted := map[[2]string]bool{}
	var order []string
	for _, u := range r.uses {
		f, seen := fragments[u.address]
		if !seen {
			order = append(order, u.address)
		}
		if r.o.CheckAnchors && !r.o.Compat && !special(u.fragment) && !wanted[[2]string{u.address, u.fragment}] {
			wanted[[2]string{u.address, u.fragment}] = true
			f = append(f, u.fragment)
		}
		fragments[u.address] = f
	}
	answers := make(map[string]answer, len(order))
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	for _, address := range order {
		g.Go(func() error {
			found, err := a.ask(gctx, address, fragments[address])
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			answers[address] = found
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return answers, errors.Join(ctx.Err(), err)
	}
	return answers, nil
}

// said is a finding that stands for all places of its file.
type said struct {
	index int // among the findings
	more  []int
}

// report says what the answers mean: once in a file for each address, and once
// at all for each circle of redirects.
func (r *run) report(answers map[string]answer) {
	first := map[string]*said{}
	var order []*said
	for _, u := range r.uses {
		a, shown := answers[u.address], u.address
		if r.o.Compat && u.fragment != "" {
			shown += "#" + u.fragment // awesome_bot takes it for an address of its own
		}
		v := r.o.judge(shown, a)
		if v == nil && u.fragment != "" {
			v = missingRemote(u, a)
		}
		if v == nil {
			continue
		}
		key := u.doc.file + "\x00" + v.message
		if a.Kind == loop {
			key = v.message
		}
		line, _ := u.doc.place(u.offset)
		if s, again := first[key]; again {
			f := r.out.Findings[s.index]
			if f.File == u.doc.file && f.Line != line && !slices.Contains(s.more, line) && len(s.more) < 10 {
				s.more = append(s.more, line)
			}
			continue
		}
		first[key] = &said{index: len(r.out.Findings)}
		order = append(order, first[key])
		r.add(u.doc, u.offset, *v)
	}
	for _, s := range order {
		if len(s.more) > 0 {
			lines := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.more), " ", ", "), "[]")
			r.out.Findings[s.index].Message += " (also on " + plural(len(s.more)) + " " + lines + ")"
		}
	}
}

func plural(n int) string {
	if n == 1 {
		return "line"
	}
	return "lines"
}

func missingRemote(u use, a answer) *verdict {
	if there, known := a.Fragments[u.fragment]; !known || there {
		return nil
	}
	return &verdict{ruleAnchor, lint.Warning, fmt.Sprintf("%s has no anchor #%s; a script may make it, else correct the link", u.address, u.fragment)}
}
