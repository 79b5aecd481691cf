// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/version"
)

func TestTruth(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, "0": false, "false": false, "no": false, "off": false, "OFF": false, " 0 ": false,
		"1": true, "2": true, "true": true, "yes": true, "x": true,
	} {
		if got := ParseDebug(value); got != want {
			t.Errorf("DEBUG=%q is %t", value, got)
		}
	}
	for value, want := range map[string]bool{
		"": true, "1": true, "true": true, "Yes": true, "on": true,
		"0": false, "no": false, "false": false, "off": false, "2": false, "x": false,
	} {
		if got := ParseStatic(value); got != want {
			t.Errorf("STATIC=%q is %t", value, got)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                              nil,
		"  -v\t-x \n":                   {"-v", "-x"},
		`-ldflags "-X 'a=b c'" -race`:   {"-ldflags", "-X 'a=b c'", "-race"},
		`-ldflags='-X "a=b c"'`:         {`-ldflags=-X "a=b c"`},
		`a\ b "c\"d" "e\f" 'g\h' "i\\"`: {"a b", `c"d`, `e\f`, `g\h`, `i\`},
		`'' ""`:                         {"", ""},
		`$HOME ; * # x`:                 {"$HOME", ";", "*", "#", "x"},
		`a'b'c`:                         {"abc"},
	} {
		got, err := SplitWords("GOBUILDFLAGS", text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{`-x "`, `'`, `a\`} {
		if got, err := SplitWords("GOBUILDFLAGS", text); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "GOBUILDFLAGS=") {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a "b c" 'd' e\ f`)
	f.Add("0\xfd")
	f.Fuzz(func(t *testing.T, text string) {
		words, err := SplitWords("X", text)
		if err == nil && !strings.ContainsAny(text, `'"\`) {
			if diff := cmp.Diff(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }), words); diff != "" && len(words) > 0 {
				t.Error(diff)
			}
		}
	})
}

// The shape of the command, which people compare with what gobuild.sh ran.
func TestArguments(t *testing.T) {
	stamps := version.Stamps{{Symbol: "p.buildHub", Value: "a b"}}
	tests := []struct {
		name    string
		r       Request
		goflags string
		tags    []string
		want    string
	}{
		{"release", Request{}, "", []string{"a", "b"},
			"go build -buildvcs=false -trimpath -tags=a,b -ldflags=-extldflags -static -s -w -X 'p.buildHub=a b' -o out/ ./x"},
		{"debug", Request{Debug: true}, "", nil,
			"go build -buildvcs=false -gcflags=all=-N -l -ldflags=-extldflags -static -X 'p.buildHub=a b' -o out/ ./x"},
		{"debug with flags for the compiler", Request{Debug: true, GCFlags: "-m", GoBuildFlags: []string{"-gcflags=all=-d=ssa/check/on"}}, "-gcflags=-e", nil,
			"go build -buildvcs=false -gcflags=all=-N -l -gcflags=-N -l -e -gcflags=all=-N -l -d=ssa/check/on -gcflags=-N -l -m -ldflags=-extldflags -static -X 'p.buildHub=a b' -o out/ ./x"},
		{"release with flags for the compiler", Request{GCFlags: "all=-e"}, "", nil,
			"go build -buildvcs=false -trimpath -gcflags=all=-e -ldflags=-extldflags -static -s -w -X 'p.buildHub=a b' -o out/ ./x"},
		{"not static", Request{Dynamic: true}, "", nil,
			"go build -buildvcs=false -trimpath -ldflags=-s -w -X 'p.buildHub=a b' -o out/ ./x"},
		{"all of the user's", Request{Verbose: true, Jobs: 3, LDFlags: []string{"-X", "q.r=s t"}, GoBuildFlags: []string{"-race", "-pgo", "off", "--ldflags", "-compressdwarf=false"}}, "", nil,
			"go build -x -p=3 -buildvcs=false -trimpath -ldflags=-extldflags -static -s -w -X 'p.buildHub=a b' -compressdwarf=false -X 'q.r=s t' -race -pgo off -o out/ ./x"},
		{"module cache", Request{Source: Source{InModuleCache: true}}, "", nil,
			"go build -buildvcs=false -mod=readonly -trimpath -ldflags=-extldflags -static -s -w -X 'p.buildHub=a b' -o out/ ./x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.r.Stamps, tt.r.GoBinary = stamps, "go"
			user, err := readUserFlags(tt.goflags, tt.r.GoBuildFlags)
			must(t, err)
			flags, err := tt.r.flags(user, tt.tags)
			must(t, err)
			if diff := cmp.Diff(tt.want, strings.Join(tt.r.arguments(flags, "out/", []string{"./x"}), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := readUserFlags("", []string{"-ldflags=all=-s"}); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "set LDFLAGS") {
		t.Errorf("a pattern: %v", err)
	}
}

func TestEnvironOfTheGoCommand(t *testing.T) {
	r := Request{Platform: Platform{OS: "linux", Arch: "arm", Variant: "v6"}, Env: []string{"GOOS=windows", "GOARM=5", "CGO_ENABLED=1", "MAKEFLAGS=-n", "A=b"}}
	want := []string{"A=b", "GOOS=linux", "GOARCH=arm", "GOARM=6", "CGO_ENABLED=0"}
	if diff := cmp.Diff(want, r.environ()); diff != "" {
		t.Error(diff)
	}
	r.CGO, r.Source.InModuleCache, r.Platform = true, true, Platform{OS: "linux", Arch: "s390x"}
	want = []string{"GOARM=5", "A=b", "GOOS=linux", "GOARCH=s390x", "CGO_ENABLED=1", "GOWORK=off"}
	if diff := cmp.Diff(want, r.environ()); diff != "" {
		t.Error(diff)
	}
}
