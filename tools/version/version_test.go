// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/repo"
)

const sha = "0123456789012345678901234567890123456789"

// row is the seven values in their order.
func row(s Stamps) string {
	var values []string
	for _, name := range []string{Version, Revision, Status, Tag, Hub, OS, Arch} {
		values = append(values, s.Get(name))
	}
	return strings.Join(values, "|")
}

func TestFromCheckout(t *testing.T) {
	noGit := errors.New("git says no")
	base := Input{Version: "1.32-dev", Hub: "istio", OS: "linux", Arch: "arm64"}
	with := func(change func(*Input)) Input {
		in := base
		change(&in)
		return in
	}
	tests := []struct {
		name  string
		in    Input
		facts repo.Facts
		err   error
		want  string
		warns int
	}{
		{"clean", base, repo.Facts{Head: sha, Describe: "1.31.0"}, nil,
			"1.32-dev|" + sha + "|Clean|1.31.0|istio|linux|arm64", 0},
		{"only untracked files", base, repo.Facts{Head: sha, Describe: "0123456", Dirty: true}, nil,
			"1.32-dev|" + sha + "-dirty|Clean|0123456|istio|linux|arm64", 0},
		{"a tracked change", base, repo.Facts{Head: sha, Describe: "0123456", Dirty: true, Modified: true}, nil,
			"1.32-dev|" + sha + "-dirty|Modified|0123456|istio|linux|arm64", 0},
		{"dirty but ignored", with(func(i *Input) { i.IgnoreDirty = true }), repo.Facts{Head: sha, Describe: "0123456", Dirty: true, Modified: true}, nil,
			"1.32-dev|" + sha + "|Clean|0123456|istio|linux|arm64", 0},
		{"no version, no hub", with(func(i *Input) { i.Version, i.Hub = "", "" }), repo.Facts{Head: sha, Dirty: true}, nil,
			sha + "-dirty|" + sha + "-dirty|Clean||registry.istio.io/release|linux|arm64", 0},
		{"no git", base, repo.Facts{}, noGit,
			"1.32-dev|unknown|Modified||istio|linux|arm64", 1},
		{"no git, ignored", with(func(i *Input) { i.IgnoreDirty = true }), repo.Facts{}, noGit,
			"1.32-dev|unknown|Clean||istio|linux|arm64", 1},
		{"facts beside an error do not count", base, repo.Facts{Head: sha, Describe: "x"}, noGit,
			"1.32-dev|unknown|Modified||istio|linux|arm64", 1},
		{"no git, but a file", with(func(i *Input) {
			i.Version = ""
			i.BuildInfo = Stamps{{"buildGitRevision", "abc"}, {DefaultPackage + ".buildStatus", "Clean"}, {"buildOS", "plan9"}}
		}), repo.Facts{}, noGit,
			"abc|abc|Clean||istio|linux|arm64", 0},
		{"the file wins over git", with(func(i *Input) {
			i.BuildInfo = Stamps{{"buildVersion", "1.32.0"}, {"buildGitRevision", "abc"}, {"buildStatus", "Clean"}, {"buildTag", ""}, {"buildHub", "h"}}
		}), repo.Facts{Head: sha, Describe: "x", Dirty: true, Modified: true}, nil,
			"1.32.0|abc|Clean||h|linux|arm64", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, warnings := FromCheckout(tt.in, tt.facts, tt.err)
			if diff := cmp.Diff(tt.want, row(got)); diff != "" {
				t.Errorf("stamps (-want +got):\n%s", diff)
			}
			if len(warnings) != tt.warns {
				t.Errorf("warnings: %q", warnings)
			}
			if tt.warns > 0 && !strings.Contains(warnings[0], "git says no") {
				t.Errorf("the warning does not say why: %q", warnings)
			}
		})
	}
}

func TestExtraKeysOfTheFileStay(t *testing.T) {
	s, _ := FromCheckout(Input{Package: "example.com/v", BuildInfo: Stamps{{"main.note", "a b=c"}, {"buildDate", "x"}}}, repo.Facts{Head: sha}, nil)
	want := Stamps{{"main.note", "a b=c"}, {"example.com/v.buildDate", "x"}}
	if diff := cmp.Diff(want, s[7:]); diff != "" {
		t.Error(diff)
	}
	if s[0].Symbol != "example.com/v.buildVersion" {
		t.Errorf("symbol %q", s[0].Symbol)
	}
}

func TestFromModule(t *testing.T) {
	in := Input{OS: "linux", Arch: "amd64", Hub: "h"}
	for _, tt := range []struct{ version, hash, revision string }{
		{"v0.0.0-20260827124520-eed52ebb66ad", "", "eed52ebb66ad"},
		{"v1.2.4-0.20260827124520-eed52ebb66ad", "", "eed52ebb66ad"},
		{"v2.0.0-rc.1.0.20260827124520-eed52ebb66ad+incompatible", "", "eed52ebb66ad"},
		{"v0.0.0-20260827124520-eed52ebb66ad", sha, sha},
		{"v1.31.0", "", "v1.31.0"},
		{"v1.31.0", sha, sha},
	} {
		got := row(FromModule(in, tt.version, tt.hash))
		if want := tt.revision + "|" + tt.revision + "|Clean|" + tt.version + "|h|linux|amd64"; got != want {
			t.Errorf("FromModule(%q, %q) = %s, want %s", tt.version, tt.hash, got, want)
		}
	}
}

func TestFor(t *testing.T) {
	s := FromModule(Input{OS: "linux", Arch: "amd64"}, "v1.0.0", "")
	other := s.For("darwin", "arm64")
	if other.Get(OS) != "darwin" || other.Get(Arch) != "arm64" || s.Get(OS) != "linux" || other.Get(Tag) != "v1.0.0" {
		t.Errorf("%v from %v", other, s)
	}
}

func TestReadBuildInfo(t *testing.T) {
	tests := []struct {
		name, text string
		want       Stamps
		err        string
	}{
		{"as the script prints", "istio.io/istio/pkg/version.buildVersion=1.32-dev\nistio.io/istio/pkg/version.buildTag=\n",
			Stamps{{"istio.io/istio/pkg/version.buildVersion", "1.32-dev"}, {"istio.io/istio/pkg/version.buildTag", ""}}, ""},
		{"values are kept as they stand", "main.a= x=\"y\" 'z' \n\nbuildHub=b\r\n", Stamps{{"main.a", ` x="y" 'z' `}, {"buildHub", "b"}}, ""},
		{"no end of line", "buildHub=b", Stamps{{"buildHub", "b"}}, ""},
		{"no equal sign", "buildHub=b\nbuildTag\n", nil, `info:2: "buildTag" is not KEY=VALUE`},
		{"a comment is not a variable", "# x=y\n", nil, `info:1: "# x" is not the name of a variable`},
		{"empty key", "=y\n", nil, `info:1: "" is not the name`},
		{"space before the sign", "buildHub =y\n", nil, `info:1: "buildHub " is not the name`},
		{"twice", "buildHub=a\n\nbuildHub=b\n", nil, "info:3: buildHub was set before, in line 1"},
		{"null", "buildHub=a\x00b\n", nil, "info:1: the value of buildHub holds a null byte"},
		{"empty", "\n", nil, "unset BUILDINFO"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "info")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadBuildInfo(path)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || fail.Code(err) != fail.Usage {
					t.Fatalf("code %d: %v, want %q", fail.Code(err), err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := ReadBuildInfo(filepath.Join(t.TempDir(), "none")); fail.Code(err) != fail.Usage {
		t.Errorf("a missing file: %v", err)
	}
}

func TestFromFile(t *testing.T) {
	for text, want := range map[string]string{"1.32": "1.32-dev", "1.32\n": "1.32-dev", " 1.32 \n\n": "1.32-dev"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := FromFile(dir); got != want || err != nil {
			t.Errorf("%q gives %q, %v", text, got, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "VERSION"), []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := FromFile(dir); !saysNotDetected(err) || !strings.Contains(err.Error(), "is empty") {
			t.Errorf("an empty file: %v", err)
		}
	}
	if _, err := FromFile(t.TempDir()); !saysNotDetected(err) || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("a missing file: %v", err)
	}
}

func saysNotDetected(err error) bool {
	return err != nil && fail.Code(err) == fail.Usage && strings.HasPrefix(err.Error(),
		"VERSION not detected. Make sure it's stored in the VERSION file or defined in VERSION variable")
}

func TestQuoting(t *testing.T) {
	for _, words := range [][]string{
		nil, {"-s", "-w"}, {"-X", "main.a=b c"}, {"a'b"}, {`a"b c`}, {`'`}, {`it's "quoted"`[:5] + "x"}, {""}, {"\t"}, {`a'b"c`}, {"a\nb"}, {"é ü"},
	} {
		joined, err := Join(words)
		if err != nil {
			t.Errorf("%q: %v", words, err)
			continue
		}
		back, err := Split("LDFLAGS", joined)
		if diff := cmp.Diff(words, back); diff != "" || err != nil {
			t.Errorf("%q became %s: %v\n%s", words, joined, err, diff)
		}
	}
	for _, word := range []string{`a'b "c`, `'"`, `"'`} {
		if _, err := Join([]string{word}); err == nil {
			t.Errorf("%q has no notation but no error came", word)
		}
	}
	if _, err := Split("LDFLAGS", `-X 'main.a=b`); err == nil || !strings.Contains(err.Error(), "LDFLAGS=") {
		t.Errorf("a quote without end: %v", err)
	}
}

func FuzzQuoting(f *testing.F) {
	f.Add("a b", `c"d`)
	f.Fuzz(func(t *testing.T, a, b string) {
		joined, err := Join([]string{a, b})
		if err != nil {
			if !strings.Contains(a+b, `'`) || !strings.Contains(a+b, `"`) {
				t.Errorf("%q %q: %v", a, b, err)
			}
			return
		}
		back, err := Split("X", joined)
		if err != nil || len(back) != 2 || back[0] != a || back[1] != b {
			t.Errorf("%q %q became %s, read as %q: %v", a, b, joined, back, err)
		}
	})
}

// The linker itself is the judge of the quoting: what goes in must come out of
// a running program.
func TestTheLinkerReadsWhatWeWrite(t *testing.T) {
	dir := t.TempDir()
	source := "package main\n\nimport \"os\"\n\nvar note = \"unset\"\n\nfunc main() { os.Stdout.WriteString(note) }\n"
	for name, text := range map[string]string{"go.mod": "module example.com/x\n\ngo 1.24\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, value := range []string{"plain", "a b", "a=b=c", `say "hi" now`, "it's here", "", "ä\tb", "$HOME `x` ;&|"} {
		flags, err := Stamps{{"main.note", value}, {"main.other", "x"}}.LDFlags()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", "run", "-ldflags", flags, ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", flags, err)
		}
		if string(out) != value {
			t.Errorf("%q arrived as %q", value, out)
		}
	}
}
