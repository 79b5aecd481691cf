// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/python"
)

// corpus is some of the Python files of this machine; with
// SLIPWAY_TEST_REAL=1 many.
func corpus(t testing.TB) []string {
	t.Helper()
	want := 20
	if os.Getenv("SLIPWAY_TEST_REAL") == "1" {
		want = 1000
	}
	var all []string
	for _, root := range []string{"/usr/lib/python3", "/usr/lib/python3.11"} {
		_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(p, ".py") || !d.Type().IsRegular() {
				return nil // what cannot be read is no part of the corpus
			}
			if info, err := d.Info(); err == nil && info.Size() > 0 && info.Size() < 40_000 {
				all = append(all, p)
			}
			return nil
		})
	}
	if len(all) == 0 {
		t.Skip("no Python library on this machine")
	}
	slices.Sort(all)
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(want, len(all))]
}

// oracle is a tool to compare with, in the version that is stood in for.
func oracle(t *testing.T, name, version string) string {
	t.Helper()
	tool, err := exec.LookPath("/usr/bin/" + name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	out, err := exec.Command(tool, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), version) {
		t.Skipf("%s is not of version %s: %s", name, version, out)
	}
	return tool
}

func places(out string) []string {
	var found []string
	for _, line := range strings.Split(out, "\n") {
		if place, code, ok := strings.Cut(line, ": "); ok && len(code) > 4 {
			parts := strings.Split(place, ":")
			if len(parts) >= 3 {
				found = append(found, strings.Join(parts[len(parts)-2:], ":")+" "+code[:4])
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestAgainstPycodestyle(t *testing.T) {
	tool := oracle(t, "pycodestyle", "2.10.0")
	files := corpus(t)
	for _, file := range files {
		compareStyle(t, tool, file)
	}
}

func compareStyle(t *testing.T, tool, file string) {
	t.Helper()
	out, _ := exec.Command(tool, "--max-line-length=160", "--ignore=E226,E24,W50,W690", file).Output()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found, err := python.New(python.Options{MaxLineLength: 160}).Check(file, raw)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		if len(f.Rule) == 4 {
			got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Rule))
		}
	}
	slices.Sort(got)
	got = slices.Compact(got)
	want := slices.Compact(places(string(out)))
	var missing []string
	for _, w := range want {
		if !slices.Contains(got, w) {
			missing = append(missing, w)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%s: not found: %v", file, missing)
	}
}

func TestAgainstAutopep8(t *testing.T) {
	tool := oracle(t, "autopep8", "2.0.")
	files := corpus(t)
	wrong := 0
	for _, file := range files {
		if !sameVerdict(t, tool, file) {
			wrong++
			t.Logf("%s: another verdict", file)
		}
	}
	if wrong*500 > len(files) {
		t.Errorf("%d of %d verdicts differ", wrong, len(files))
	}
}

func sameVerdict(t *testing.T, tool, file string) bool {
	t.Helper()
	out, _ := exec.Command(tool, "--max-line-length", "160", "-d", "--ignore-local-config", "--global-config", "/dev/null", file).Output()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found, err := python.New(python.Options{MaxLineLength: 160}).Check(file, raw)
	if err != nil {
		t.Fatal(err)
	}
	fails := slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Severity == lint.Error })
	return fails == (len(out) > 0)
}

// TestMutations compares with both tools on files with a line that is broken.
func TestMutations(t *testing.T) {
	style, fixer := oracle(t, "pycodestyle", "2.10.0"), oracle(t, "autopep8", "2.0.")
	r := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	wrong, all := 0, 0
	for i, file := range corpus(t) {
		raw, err := os.ReadFile(file)
		if err != nil || len(raw) > 15_000 {
			continue
		}
		mutant := filepath.Join(dir, fmt.Sprintf("m%d.py", i))
		if err := os.WriteFile(mutant, mutate(r, raw), 0o600); err != nil {
			t.Fatal(err)
		}
		compareStyle(t, style, mutant)
		all++
		if !sameVerdict(t, fixer, mutant) {
			wrong++
			t.Logf("mutant of %s: another verdict", file)
		}
	}
	if wrong > 0 && wrong*200 > all {
		t.Errorf("%d of %d verdicts differ", wrong, all)
	}
}

func mutate(r *rand.Rand, raw []byte) []byte {
	lines := bytes.SplitAfter(raw, []byte("\n"))
	i := r.IntN(len(lines))
	line := lines[i]
	at := 0
	if len(line) > 1 {
		at = r.IntN(len(line) - 1)
	}
	insert := []string{" ", "  ", "\t", "\n", ";", ",", ":", "#", "(", ")", "'", "\"\"\"", "\\\n", "=", " == None", "\r\n", "\f", "é", "lambda: ", "not a in b"}
	switch r.IntN(4) {
	case 0:
		lines[i] = nil
	case 1:
		if len(line) > 1 {
			lines[i] = slices.Concat(line[:at], line[at+1:])
		}
	default:
		lines[i] = slices.Concat(line[:at], []byte(insert[r.IntN(len(insert))]), line[at:])
	}
	return bytes.Join(lines, nil)
}

func TestFixOfRealFiles(t *testing.T) {
	p := python.New(python.Options{MaxLineLength: 160})
	for _, file := range corpus(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkFix(t, p, raw)
	}
}

func checkFix(t *testing.T, p *python.Checker, raw []byte) {
	t.Helper()
	fixed, err := p.Fix("a.py", raw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Fix("a.py", fixed)
	if err != nil || !bytes.Equal(again, fixed) {
		t.Errorf("fixed again, it changes: %v\n%q\n%q", err, fixed, again)
	}
	if _, err := p.Check("a.py", fixed); err != nil {
		t.Error(err)
	}
}

func FuzzFix(f *testing.F) {
	for _, s := range []string{
		"", "\n", "x=1", "if a: b; c\n", "def f(a = 1) :\n\treturn a\n", "x = '''a\n b''' \n", "\\\n", "(\n", "\f\n#\n", "é=1\r\n\r",
		"@a\n\n\ndef f(): pass\nx = [\n 1,2]\n", "import a,b\n", "# coding: latin-1\n\xff = 1\n", "not a in b\n", "0x_1 1__0 1.e5j\n",
	} {
		f.Add([]byte(s))
	}
	p := python.New(python.Options{Aggressive: 2})
	f.Fuzz(func(t *testing.T, raw []byte) { checkFix(t, p, raw) })
}
