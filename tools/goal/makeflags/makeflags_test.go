// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makeflags_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/goal/makeflags"
)

// The texts are recorded from the make named in front of them.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       makeflags.Flags
	}{
		{"nothing", "", makeflags.Flags{}},
		{"4.3 letters and jobs", "Beis -j4 --jobserver-auth=3,4 -- HUB=a",
			makeflags.Flags{AlwaysMake: true, EnvOverrides: true, IgnoreErrors: true, Silent: true, Jobs: 4, Overrides: []string{"HUB=a"}}},
		{"3.81 letters and jobs", "s --jobserver-fds=3,4 -j -ieB -- HUB=a",
			makeflags.Flags{AlwaysMake: true, EnvOverrides: true, IgnoreErrors: true, Silent: true, Overrides: []string{"HUB=a"}}},
		{"4.3 only variables", " -- HUB=x", makeflags.Flags{Overrides: []string{"HUB=x"}}},
		{"3.81 only variables", "HUB=x", makeflags.Flags{Overrides: []string{"HUB=x"}}},
		{"3.81 keeps the operator", "T_X:=hi", makeflags.Flags{Overrides: []string{"T_X:=hi"}}},
		{"3.81 split letters", "skj -eB", makeflags.Flags{Silent: true, KeepGoing: true, EnvOverrides: true, AlwaysMake: true}},
		{"3.81 long words first", " --no-print-directory -s", makeflags.Flags{Silent: true}},
		{"3.81 bare values are no flags", "k I inc l 3", makeflags.Flags{KeepGoing: true}},
		{"4.3 order is reversed", " -- C=3 B=2 A=1", makeflags.Flags{Overrides: []string{"A=1", "B=2", "C=3"}}},
		{"4.3 quoting", `k -- TAG:=1 HUB=it's\ "q"\ $$(TAG)\ $$$$x\ \\\ b`,
			makeflags.Flags{KeepGoing: true, Overrides: []string{`HUB=it's "q" $(TAG) $$x \ b`, "TAG:=1"}}},
		{"4.3 append to the environment", ` -- HUB=e\ $$(TAG)`, makeflags.Flags{Overrides: []string{"HUB=e $(TAG)"}}},
		{"4.3 newline, empty, odd names", " -- A.B=3 E= X=n\nl", makeflags.Flags{Overrides: []string{"X=n\nl", "E=", "A.B=3"}}},
		{"value with a flag in it", ` -- HUB=-n\ -k`, makeflags.Flags{Overrides: []string{"HUB=-n -k"}}},
		{"variable named like a flag", "n -- s=1", makeflags.Flags{DryRun: true, Overrides: []string{"s=1"}}},
		{"4.4 fifo job server", "ks -j8 --jobserver-auth=fifo:/tmp/GMfifo12 -- TAG=1", makeflags.Flags{KeepGoing: true, Silent: true, Jobs: 8, Overrides: []string{"TAG=1"}}},
		{"4.4 include folder", "n -I/usr/knife", makeflags.Flags{DryRun: true}},
		{"question and touch", "qt", makeflags.Flags{Question: true, Touch: true}},
		{"backslash at the end", ` -- A=b\\`, makeflags.Flags{Overrides: []string{`A=b\`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, makeflags.Parse(c.text)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`kn -j4 -- A=b\ c`)
	f.Fuzz(func(_ *testing.T, text string) { makeflags.Parse(text) })
}
