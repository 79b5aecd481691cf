// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/istio-ecosystem/slipway/tools/settings/makevars"
)

// observed are the variables whose value, origin, flavour and export are
// compared with make.
var observed = []string{"HUB", "HUBS", "TAG", "PULL_POLICY", "A", "B", "C", "a-b", "x.y"}

// input is one generated case.
type input struct {
	fragment, nested string
	env, args        []string
}

func (in input) String() string {
	return fmt.Sprintf("fragment:\n%s\n(quoted %q)\nnested: %q\nenv: %q\nargs: %q", in.fragment, in.fragment, in.nested, in.env, in.args)
}

// oracleMake is the reference with a report at its end.
func oracleMake(t *testing.T) string {
	var b strings.Builder
	b.WriteString(oracleText(t))
	for _, name := range observed {
		fmt.Fprintf(&b, "$(info @@%[1]s<<<$(%[1]s)>>>$(origin %[1]s) $(flavor %[1]s))\n", name)
	}
	b.WriteString(".DEFAULT_GOAL := report--\nreport--: ; @env -0 | tr '\\n' '\\1' | tr '\\0' '\\n' | sed 's/^/@env@/'\n")
	return b.String()
}

type verdict struct {
	values  map[string]string // name -> value>>>origin flavour
	env     map[string]string
	failure string // file:line: message
}

var stopLine = regexp.MustCompile(`(?s)(?:^|\n)(?:(\S+?):(\d+): |make: )\*\*\* (.*)\.  Stop\.\n`)

var valueEnd = regexp.MustCompile(`>>>[a-z ]+ (simple|recursive|undefined)\n`)

func askMake(ctx context.Context, dir string, in input) (verdict, error) {
	cmd := exec.CommandContext(ctx, "make", append([]string{"-f", "../oracle.mk"}, in.args...)...)
	cmd.Dir, cmd.Env = dir, in.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if m := stopLine.FindStringSubmatch(stderr.String()); m != nil {
		return verdict{failure: fmt.Sprintf("%s:%s: %s", m[1], m[2], m[3])}, nil
	}
	if err != nil {
		return verdict{}, fmt.Errorf("make: %w\n%s", err, stderr.String())
	}
	if !utf8.Valid(stdout.Bytes()) {
		return verdict{}, errors.New("make printed memory of its own: a dollar at the end of an argument of a function does that")
	}
	if strings.Contains(stderr.String(), "make: -c: No such file") {
		return verdict{}, errors.New("make has no shell yet when it reads its command line; we have one")
	}
	v := verdict{values: map[string]string{}, env: map[string]string{}}
	for _, name := range observed {
		_, rest, ok := strings.Cut("\n"+stdout.String(), "\n@@"+name+"<<<")
		if !ok {
			return verdict{}, fmt.Errorf("make printed nothing for %s:\n%s%s", name, stdout.String(), stderr.String())
		}
		end := valueEnd.FindStringIndex(rest)
		if end == nil {
			return verdict{}, fmt.Errorf("make printed no end of %s:\n%s", name, stdout.String())
		}
		v.values[name] = rest[:end[1]-1]
	}
	for line := range strings.Lines(stdout.String()) {
		if entry, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "@env@"); ok {
			name, value, _ := strings.Cut(entry, "=")
			if slices.Contains(observed, name) {
				v.env[name] = strings.ReplaceAll(value, "\x01", "\n")
			}
		}
	}
	return v, nil
}

func askOurs(ctx context.Context, dir, oracle string, in input) (verdict, error) {
	opts := makevars.Options{Environ: in.env, Dir: dir}
	for _, a := range in.args {
		if a == "-e" {
			opts.EnvOverrides = true
		} else {
			opts.CommandLine = append(opts.CommandLine, a)
		}
	}
	v := verdict{values: map[string]string{}, env: map[string]string{}}
	fail := func(err error) (verdict, error) {
		var e *makevars.Error
		if !errors.As(err, &e) {
			return verdict{}, err
		}
		line := ""
		if e.File != "" {
			line = strconv.Itoa(e.Line)
		}
		return verdict{failure: fmt.Sprintf("%s:%s: %s", e.File, line, e.Message)}, nil
	}
	e, err := makevars.New(ctx, opts)
	if err != nil {
		return fail(err)
	}
	if err := e.Eval(ctx, "../oracle.mk", oracle); err != nil {
		return fail(err)
	}
	for _, name := range observed {
		text, err := e.Expand(ctx, fmt.Sprintf("$(%[1]s)>>>$(origin %[1]s) $(flavor %[1]s)", name))
		if err != nil {
			return fail(err)
		}
		v.values[name] = text
	}
	if err := e.Missing(); err != nil {
		return fail(err)
	}
	env, err := e.Environ(ctx)
	if err != nil {
		return fail(err)
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(observed, name) {
			v.env[name] = value
		}
	}
	return v, nil
}

func (v verdict) diff(o verdict) string {
	if v.failure != "" || o.failure != "" {
		// Errors behind the fragment, in the oracle's own lines, differ in
		// their line only.
		if strip(v.failure) == strip(o.failure) {
			return ""
		}
		return fmt.Sprintf("make fails with %q, we with %q", v.failure, o.failure)
	}
	for _, name := range observed {
		if strings.TrimSuffix(v.values[name], "\n") != strings.TrimSuffix(o.values[name], "\n") {
			return fmt.Sprintf("%s: make %q, we %q", name, v.values[name], o.values[name])
		}
		if strings.ContainsAny(name, "-.") {
			continue // the shell that prints the environment drops such names
		}
		a, inA := v.env[name]
		b, inB := o.env[name]
		if a != b || inA != inB {
			return fmt.Sprintf("environment %s: make %q (%v), we %q (%v)", name, a, inA, b, inB)
		}
	}
	return ""
}

var oracleLine = regexp.MustCompile(`^(\.\./oracle\.mk:\d+:|::)`)

func strip(failure string) string { return oracleLine.ReplaceAllString(failure, "oracle:") }

func gnuMake(t *testing.T) {
	t.Helper()
	out, err := exec.Command("make", "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "GNU Make 4.3") {
		t.Skip("GNU make 4.3 is not installed, so there is nothing to compare with")
	}
}

// compare runs one input through make and through us.
func compare(t *testing.T, root, oracle string, in input) string {
	t.Helper()
	dir := filepath.Join(root, "w")
	write(t, filepath.Join(dir, ".istiorc.mk"), in.fragment)
	write(t, filepath.Join(dir, "nested.mk"), in.nested)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	theirs, err := askMake(ctx, dir, in)
	if err != nil {
		t.Logf("skipped: %v\n%s", err, in)
		return ""
	}
	ours, err := askOurs(ctx, dir, oracle, in)
	if err != nil {
		return fmt.Sprintf("we end with %v", err)
	}
	return theirs.diff(ours)
}

// TestDifferential compares generated inputs with the installed make.
// SLIPWAY_FUZZ_N says how many, SLIPWAY_FUZZ_SEED where to begin; without them
// it is the same short slice each time, so that only a change can break it.
func TestDifferential(t *testing.T) {
	gnuMake(t)
	n, seed := 300, uint64(1)
	if s := os.Getenv("SLIPWAY_FUZZ_N"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("SLIPWAY_FUZZ_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	root, oracle := t.TempDir(), oracleText(t)
	write(t, filepath.Join(root, "oracle.mk"), oracleMake(t))
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	mismatches := 0
	for i := range n {
		in := g.input()
		if diff := compare(t, root, oracle, in); diff != "" {
			in = shrink(in, func(smaller input) bool { return compare(t, root, oracle, smaller) != "" })
			t.Errorf("input %d of seed %d: %s\n%s", i, seed, compare(t, root, oracle, in), in)
			if mismatches++; mismatches >= 10 {
				t.Fatal("too many mismatches")
			}
		}
	}
	t.Logf("%d inputs of seed %d compared with make, %d mismatches", n, seed, mismatches)
}

// Differences that were found once, each with what make does; the values come
// from the installed make.
func TestFormerDifferences(t *testing.T) {
	gnuMake(t)
	root, oracle := t.TempDir(), oracleText(t)
	write(t, filepath.Join(root, "oracle.mk"), oracleMake(t))
	env := func(more ...string) []string { return append([]string{"PATH=/usr/bin:/bin", "TAG=v1"}, more...) }
	for name, in := range map[string]input{
		"-e shows only once a variable is touched":                  {fragment: "A ?= x\n", env: env("A=1", "B=2"), args: []string{"-e"}},
		"an error in a define is reported at its end":               {fragment: "define HUBS :=\n$(A)\nendef\n", env: env("A=$(A)")},
		"a dollar at the end stays":                                 {fragment: "A = x$\nB := $(A)\n", env: env()},
		"a last line without an end is not counted":                 {fragment: "ifdef PATH\nA = \\\n x", env: env()},
		"a missing include is reported last":                        {fragment: "include nope.mk\nTAG =\n", env: env()},
		"patsubst without % keeps white space":                      {fragment: "A := $(patsubst a,b,a  c\ta)\n", env: env()},
		"an unbalanced computed name ends the text":                 {fragment: "A = x$($(B)y\nC := $(A)z\n", env: env("B=b")},
		"a variable for one target has no recipe":                   {fragment: "a: A = t\n\tTAG = recipe\n", env: env()},
		"arguments beyond those of a function are dropped":          {fragment: "A := $(call subst,a,b,aa,c)\n", env: env()},
		"a static pattern needs a %":                                {fragment: "a: b: c\n", env: env()},
		"sort puts letters beyond ASCII first":                      {fragment: "A := $(sort z é a)\n", env: env()},
		"an empty command has no status":                            {fragment: "A != \nB := $(.SHELLSTATUS)\n", env: env()},
		"a private variable is exported, and not seen by others":    {fragment: "private A = p\nexport B = [$(A)]\n", env: env("A=1")},
		"the first operand is expanded before the second is sought": {fragment: "ifeq ($(error first),x\n", env: env()},
		"a semicolon out of a variable begins a recipe":             {fragment: "A = ; x\n$(A)\n", env: env()},
		"a name of white space is a name":                           {fragment: "E = $(notdir a/ b/)\n$(E) := x\n", env: env()},
		"a carriage return is part of an included name":             {fragment: "-include nest*.mk\r", nested: "A = n\n", env: env()},
		"eval may redefine what is being expanded":                  {fragment: "", env: env("B=$(eval B = b $(C))$(B)")},
		"the command line knows no folder yet":                      {fragment: "", env: env("C=$(abspath /a ./x)"), args: []string{"A:=$(C)"}},
		"an empty variable does not refer to itself":                {fragment: "", env: env("B=$(eval B = )$(B:%=x%)")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := compare(t, root, oracle, in); diff != "" {
				t.Errorf("%s\n%s", diff, in)
			}
		})
	}
}

// shrink drops lines, variables and arguments while the case still fails.
func shrink(in input, fails func(input) bool) input {
	for changed := true; changed; {
		changed = false
		lines := strings.SplitAfter(in.fragment, "\n")
		for i := range lines {
			smaller := in
			smaller.fragment = strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
			if smaller.fragment != in.fragment && fails(smaller) {
				in, changed = smaller, true
				break
			}
		}
		for i := range in.args {
			smaller := in
			smaller.args = slices.Delete(slices.Clone(in.args), i, i+1)
			if fails(smaller) {
				in, changed = smaller, true
				break
			}
		}
		for i := range in.env {
			smaller := in
			smaller.env = slices.Delete(slices.Clone(in.env), i, i+1)
			if !strings.HasPrefix(in.env[i], "PATH=") && fails(smaller) {
				in, changed = smaller, true
				break
			}
		}
	}
	return in
}
