// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/buildkit"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // FILE:LINE: RULE
	}{
		{"clean", "FROM alpine:3 AS a\nRUN true\n", nil},
		{"maintainer and casing", "from alpine:3 AS a\nMAINTAINER me\nRUN true\n", []string{"Dockerfile:1: ConsistentInstructionCasing", "Dockerfile:1: FromAsCasing", "Dockerfile:2: MaintainerDeprecated"}},
		{"undefined argument", "FROM $NOPE\n", []string{"Dockerfile:1: InvalidDefaultArgInFrom", "Dockerfile:1: UndefinedArgInFrom", "Dockerfile:1: error"}},
		{"undefined variable", "FROM alpine:3\nCOPY $nope /x\n", []string{"Dockerfile:2: UndefinedVar"}},
		{"secret in an argument", "FROM alpine:3\nARG API_TOKEN\n", []string{"Dockerfile:2: SecretsUsedInArgOrEnv"}},
		{"shell form", "FROM alpine:3\nCMD run it\n", []string{"Dockerfile:2: JSONArgsRecommended"}},
		{"two commands", "FROM alpine:3\nCMD [\"a\"]\nCMD [\"b\"]\n", []string{"Dockerfile:2: MultipleInstructionsDisallowed"}},
		{"relative folder", "FROM alpine:3\nWORKDIR x\n", []string{"Dockerfile:2: WorkdirRelativePath"}},
		{"old form", "FROM alpine:3\nENV a b\n", []string{"Dockerfile:2: LegacyKeyValueFormat"}},
		{"unknown instruction", "FROM alpine:3\nCOPPY a b\n", []string{"Dockerfile:2: error"}},
		{"skipped by the file", "# check=skip=MaintainerDeprecated\nFROM alpine:3\nMAINTAINER me\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "Dockerfile")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			findings, err := buildkit.Check(t.Context(), []builder.CheckFile{{Path: path, File: "Dockerfile"}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, strings.Join(strings.SplitN(f.String(), ": ", 3)[:2], ": "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
