// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// write puts a file into a tree.
func write(t *testing.T, root, file, text string) string {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// command runs a program in a folder and returns what it prints.
func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q in %s: %v\n%s", args, dir, err, stderr.String())
	}
	return string(out)
}

func needsFind(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "find", "--version").Output()
	if err != nil || !strings.Contains(string(out), "GNU") {
		t.Skip("GNU find is not installed: the choice of files is not compared with it")
	}
}

// found is what the rule of istio/common-files finds.
func found(t *testing.T, root, ignore string) []string {
	t.Helper()
	if strings.TrimSpace(ignore) != "" {
		ignore = " -o " + ignore
	}
	out := command(t, root, "sh", "-c", `find . \( -path ./common-protos -o -path ./.git -o -path ./out -o -path ./.github -o -path ./licenses -o -path ./vendor`+ignore+` \) -prune -o -type f -print0`)
	var files []string
	for f := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if f != "" {
			files = append(files, strings.TrimPrefix(f, "./"))
		}
	}
	slices.Sort(files)
	return files
}

func walked(t *testing.T, root, ignore string) []string {
	t.Helper()
	files, err := lint.Selection{Ignore: ignore}.Walk(t.Context(), root)
	if err != nil {
		t.Fatalf("FINDFILES_IGNORE=%s: %v", ignore, err)
	}
	return files
}

func oddNames() []string {
	return []string{"a", "b", "A", "B.go", "x.go", "y.md", "-n", "-name", "sp ace", "new\nline", "café", "É", "\xff\xfe", "a\xff", "[x]", "[!a]", `back\slash`,
		"*", "?", "vendor", "out", "licenses", "common-protos", ".git", ".github", ".hidden", "testdata", "node_modules", "a.b", "z]", "日本", "CON", "a:b", "%41", "#", "~"}
}

// grow makes a tree with folders, files, links and a pipe.
func grow(t *testing.T, r *rand.Rand, dir string, depth int) {
	t.Helper()
	for range 1 + r.IntN(6) {
		name := filepath.Join(dir, oddNames()[r.IntN(len(oddNames()))])
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		var err error
		switch k := r.IntN(10); {
		case k < 4 && depth > 0:
			if err = os.Mkdir(name, 0o755); err == nil {
				grow(t, r, name, depth-1)
			}
		case k == 8:
			err = os.Symlink([]string{"/", "..", "a", "gone"}[r.IntN(4)], name)
		case k == 9:
			err = exec.CommandContext(t.Context(), "mkfifo", "--", name).Run()
		default:
			err = os.WriteFile(name, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// pattern makes one of a name or a path: some of its characters become
// wildcards.
func pattern(r *rand.Rand, text string) string {
	var b strings.Builder
	for _, c := range text {
		switch r.IntN(14) {
		case 0:
			b.WriteByte('?')
		case 1:
			b.WriteByte('*')
		case 2:
			b.WriteString([]string{"[a-z]", "[!a]", "[^x-z]", "[]a]", "[a-]", "[a", "[[:alpha:]]", "[![:upper:].]", "[[:punct:]]", "[/.]", `[\]a]`, "[", "[[:digit:]-z]"}[r.IntN(13)])
		case 3:
			b.WriteString(strings.ToUpper(string(c)))
		case 4:
			b.WriteString(`\` + string(c))
		default:
			b.WriteRune(c)
		}
	}
	if r.IntN(4) == 0 {
		b.WriteByte('*')
	}
	return b.String()
}

// expression makes tests of find. Depth bounds how they nest.
func expression(r *rand.Rand, paths []string, depth int) string {
	if depth > 0 {
		sub := func() string { return expression(r, paths, depth-1) }
		switch r.IntN(8) {
		case 0:
			return sub() + []string{" -o ", " -or "}[r.IntN(2)] + sub()
		case 1:
			return sub() + []string{" -a ", " -and ", " "}[r.IntN(3)] + sub()
		case 2:
			return []string{"! ", "-not "}[r.IntN(2)] + sub()
		case 3:
			return `\( ` + sub() + ` \)`
		}
	}
	path := "./x"
	if len(paths) > 0 {
		path = paths[r.IntN(len(paths))]
		if r.IntN(2) == 0 && filepath.Dir(path) != "." {
			path = filepath.Dir(path)
		}
		path = "./" + strings.TrimPrefix(path, "./")
	}
	path = strings.ToValidUTF8(path, "?")
	switch k := r.IntN(9); {
	case k < 3:
		return []string{"-path ", "-wholename ", "-ipath ", "-iwholename "}[r.IntN(4)] + run.Quote([]string{pattern(r, path)})
	case k < 7:
		return []string{"-name ", "-iname "}[r.IntN(2)] + run.Quote([]string{strings.ReplaceAll(pattern(r, filepath.Base(path)), "/", "")})
	}
	return "-type " + []string{"d", "f", "l"}[r.IntN(3)]
}

// TestFilesAreThoseOfFind compares random trees and tests with find itself.
func TestFilesAreThoseOfFind(t *testing.T) {
	needsFind(t)
	kept, pruned := 0, 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := t.TempDir()
		grow(t, r, root, 4)
		all := found(t, root, "")
		if got := walked(t, root, ""); !slices.Equal(got, all) {
			t.Errorf("seed %d: files\n%q\nfind has\n%q", seed, got, all)
		}
		for range 15 {
			ignore := expression(r, all, 3)
			want := found(t, root, ignore)
			if got := walked(t, root, ignore); !slices.Equal(got, want) {
				t.Errorf("seed %d: FINDFILES_IGNORE=%s: files\n%q\nfind has\n%q\nof\n%q", seed, ignore, got, want, all)
			}
			kept += len(want)
			pruned += len(all) - len(want)
		}
	}
	t.Logf("%d files kept, %d left out", kept, pruned)
	if kept < 500 || pruned < 500 {
		t.Errorf("%d files kept and %d left out: the trees do not show much", kept, pruned)
	}
}

// TestPatternsAreThoseOfFind compares patterns alone, over many short names.
func TestPatternsAreThoseOfFind(t *testing.T) {
	needsFind(t)
	root := t.TempDir()
	letters := []string{"a", "b", "B", "-", "]", "[", "!", "^", ".", `\`, "é", "*", "?", ":"}
	for _, x := range letters {
		for _, y := range append(letters, "") {
			if name := x + y; name != "." && name != ".." {
				write(t, root, name, "")
			}
		}
	}
	r := rand.New(rand.NewPCG(7, 7))
	parts := append(letters, "[", "]", "[!", "[^", "*", "?", "[a-b]", "[[:alpha:]", "[b-a]", "[!]", "[]", `\`, "[[:upper:]]", "[a-", `[\`, "[[.a.]]", "[é]")
	for range 400 {
		var p string
		for range 1 + r.IntN(5) {
			p += parts[r.IntN(len(parts))]
		}
		ignore := []string{"-name ", "-iname ", "! -name "}[r.IntN(3)] + run.Quote([]string{p})
		want := found(t, root, ignore)
		if got := walked(t, root, ignore); !slices.Equal(got, want) {
			t.Errorf("FINDFILES_IGNORE=%s: %d files, find has %d; they differ in %q", ignore, len(got), len(want), differ(got, want))
		}
	}
}

// differ is what only one of the two has.
func differ(a, b []string) []string {
	var only []string
	for _, pair := range [][2][]string{{a, b}, {b, a}} {
		for _, f := range pair[0] {
			if !slices.Contains(pair[1], f) {
				only = append(only, f)
			}
		}
	}
	return only
}

func TestKnownTree(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{"a.md", "out/a.md", "vendor/a.md", "x/vendor/a.md", "x/out/b.md", ".github/a.md", "x/.github/c.md", ".git/HEAD", "licenses/l", "common-protos/p", "third/sp ace.md", "third/deep/a\nb.md", "-x.md", "bad\xff.md"} {
		write(t, root, f, "")
	}
	for link, to := range map[string]string{"link.md": "a.md", "dir": "x", "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for ignore, want := range map[string][]string{
		"":                                     {"-x.md", "a.md", "bad\xff.md", "third/deep/a\nb.md", "third/sp ace.md", "x/.github/c.md", "x/out/b.md", "x/vendor/a.md"},
		"-path ./third":                        {"-x.md", "a.md", "bad\xff.md", "x/.github/c.md", "x/out/b.md", "x/vendor/a.md"},
		"-path ./third -o -path ./x/vendor":    {"-x.md", "a.md", "bad\xff.md", "x/.github/c.md", "x/out/b.md"},
		`-path './third/*' -name 's*'`:         {"-x.md", "a.md", "bad\xff.md", "third/deep/a\nb.md", "x/.github/c.md", "x/out/b.md", "x/vendor/a.md"},
		`-name x -o \( -type f ! -name 'a*'\)`: nil,
		"-type d":                              nil, // find tests the folder where it starts
		"-name '.*'":                           nil,
	} {
		got, err := lint.Selection{Ignore: ignore}.Walk(t.Context(), root)
		if strings.HasSuffix(ignore, `'\)`) {
			if err == nil {
				t.Errorf("%s: the parenthesis is part of a word, and nobody says so", ignore)
			}
			continue
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: files %q, %v, want %q", ignore, got, err, want)
		}
	}
	all, err := lint.WalkAll(t.Context(), root, "vendor")
	if err != nil || !slices.Equal(all, []string{"vendor/a.md"}) {
		t.Errorf("all below vendor: %q, %v", all, err)
	}
	if all, err := lint.WalkAll(t.Context(), root, "manifests"); all != nil || err != nil {
		t.Errorf("all below a folder that is not there: %q, %v", all, err)
	}
}

func TestWrongIgnore(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a", "")
	for ignore, want := range map[string]string{
		"-newer x":               `"-newer" is not known here`,
		"-path ./x -o -empty":    `"-empty" is not known here`,
		"-prune":                 `"-prune" is not known here`,
		"-regex '.*'":            `"-regex" is not known here`,
		"-name x -exec rm {} +":  `"-exec" is not known here`,
		"-name x -delete":        `"-delete" is not known here`,
		"-type p":                "-type p is not known here",
		"./third_party":          `"./third_party" is not known here`,
		"-path":                  "nothing follows -path",
		"-path ./x -o":           "a test is missing at the end",
		"!":                      "a test is missing at the end",
		`\( -name x`:             "a ( is not closed",
		`-name x \)`:             `")" is out of place`,
		`\( \)`:                  `")" is not known here`,
		"-o -name x":             `"-o" is not known here`,
		"-name 'x":               "without closing quote",
		"( -name x )":            "",
		"-name x; touch escaped": "",
		"-name $(touch escaped)": "",
	} {
		_, err := lint.Selection{Ignore: ignore, Origin: "from Makefile.overrides.mk"}.Walk(t.Context(), root)
		if err == nil {
			t.Errorf("%s: no error", ignore)
			continue
		}
		for _, part := range []string{want, "FINDFILES_IGNORE", fmt.Sprintf("%q", ignore), "from Makefile.overrides.mk"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q does not say %q", ignore, err, part)
			}
		}
	}
	for _, dir := range []string{root, "."} {
		if _, err := os.Stat(filepath.Join(dir, "escaped")); err == nil {
			t.Error("a command in FINDFILES_IGNORE was run")
		}
	}
}

func TestFoldersThatCannotBeRead(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a/a.md", "")
	write(t, root, "b/b.md", "")
	write(t, root, "c/c.md", "")
	if os.Geteuid() == 0 {
		// Root reads every folder, so the tree itself is one that is not there.
		if files, err := (lint.Selection{}).Walk(t.Context(), filepath.Join(root, "gone")); err == nil || files != nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("files %q, error %v, want one that names the folder", files, err)
		}
		t.Skip("root may read every folder: one without permission is not tried")
	}
	for _, dir := range []string{"a", "c"} {
		if err := os.Chmod(filepath.Join(root, dir), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, dir), 0o755) })
	}
	files, err := lint.Selection{}.Walk(t.Context(), root)
	if !slices.Equal(files, []string{"b/b.md"}) {
		t.Errorf("files %q, want those of the folder that can be read", files)
	}
	for _, dir := range []string{"a", "c"} {
		if err == nil || !strings.Contains(err.Error(), filepath.Join(root, dir)) {
			t.Errorf("error %v does not name %s", err, dir)
		}
	}
}

func TestWalkIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := t.TempDir()
	write(t, root, "a", "")
	if files, err := (lint.Selection{}).Walk(ctx, root); !errors.Is(err, context.Canceled) {
		t.Errorf("files %q, error %v", files, err)
	}
}

func TestFilesThatGitIgnores(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	command(t, root, "git", "init", "-q")
	for _, f := range []string{"kept.md", "ignored.md", "tracked.log", "new.log", "build/a.md", "sub/.gitignore", "sub/x.tmp", "sub/x.md", "sp ace.md", "new\nline.md", "bad\xff.md", "excluded.md", "gone.md", "vendor/v.md", "out/o.md"} {
		write(t, root, f, "")
	}
	write(t, root, ".gitignore", "ignored.md\n*.log\n/build/\n")
	write(t, root, "sub/.gitignore", "*.tmp\n")
	write(t, root, ".git/info/exclude", "excluded.md\n")
	command(t, root, "git", "add", "-f", "tracked.log", "kept.md", "gone.md", "vendor")
	if err := os.Remove(filepath.Join(root, "gone.md")); err != nil {
		t.Fatal(err)
	}
	got, err := lint.Selection{Git: true, Runner: run.Exec{}, Ignore: "-name 'sp*'"}.Walk(t.Context(), root)
	want := []string{".gitignore", "bad\xff.md", "kept.md", "new\nline.md", "sub/.gitignore", "sub/x.md", "tracked.log"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("files %q, %v, want %q", got, err, want)
	}
	// Below the root of a repository, names are as seen from the folder.
	got, err = lint.Selection{Git: true, Runner: run.Exec{}}.Walk(t.Context(), filepath.Join(root, "sub"))
	if want := []string{".gitignore", "x.md"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("files below sub %q, %v, want %q", got, err, want)
	}
	if _, err := (lint.Selection{Git: true, Runner: run.Exec{}}).Walk(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "asking git for the files") {
		t.Errorf("error %v outside of a repository", err)
	}
}

func TestNamed(t *testing.T) {
	chosen := lint.Named("*.go", "Dockerfile*", "!*.gen.go", "!*.pb.go")
	for file, want := range map[string]bool{"a.go": true, "x/y/a.go": true, "a.gen.go": false, "x/a.pb.go": false, "Dockerfile": true, "d/Dockerfile.base": true, "xDockerfile": false, "a.golang": false, ".go": true} {
		if chosen(file) != want {
			t.Errorf("%s: chosen %v", file, !want)
		}
	}
}
