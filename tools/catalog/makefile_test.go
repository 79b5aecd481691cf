// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/istio-ecosystem/slipway/tools/run"
)

// What is read without an error must be what make itself has.
func TestMakeVarsAgreeWithMake(t *testing.T) {
	for name, content := range map[string]string{
		"plain":        "A = x y\nB := $(A) z\nA = w\n",
		"continued":    "A = x \\\n  y \\\n\tz\nB=${A}\n",
		"comment":      "A = x # not this\n# A = no\nB = y#z\n",
		"append":       "A = x\nA += y\nB += z\n",
		"if not set":   "A = x\nA ?= y\nB ?= z\n",
		"colons":       "A ::= x\nB := y\n",
		"spaces":       "   A   =   x   y   \nexport B=z\n",
		"recipe":       "A = x\nall:\n\tB = no\nB = yes\n",
		"define":       "define A\nB = no\nendef\nB = yes\nA = x\n",
		"override":     "override A = x\nexport override B := y\n",
		"empty":        "A =\nB = $(A)x\n",
		"dollar":       "A = a$$b\nB = x\n",
		"function":     "A = $(wildcard *)\nB = $(words a b)\n",
		"conditional":  "A = x\nifeq (1,2)\nA = y\nB = n\nelse\nB = m\nendif\n",
		"nested":       "ifdef X\nifdef Y\nA = 1\nendif\nendif\nA = 2\nB = 3\n",
		"late":         "B = $(A)\nA = x\n",
		"simple":       "C = 1\nA := $(C)\nA += $(C)\nC = 2\nB := $(A) $(C)\nC = 3\nA += $(C)\n",
		"late simple":  "B := x $(A)\nA = y\n",
		"circle":       "A = $(B)\nB = $(A)\n",
		"target value": "all: A = no\nA = x\nB = $(A)\nall:\n",
		"windows ends": "A = x\r\nB = $(A) y\r\n",
	} {
		vars := readMakeVars(content)
		for _, variable := range []string{"A", "B"} {
			got, set, err := vars.words(variable)
			if err != nil || !set {
				continue // said, not guessed
			}
			if want := makeSays(t, content, variable); strings.Join(got, " ") != want {
				t.Errorf("%s: %s is %q, make says %q", name, variable, got, want)
			}
		}
	}
}

func makeSays(t *testing.T, content, variable string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Makefile")
	content += "\n$(info VALUE=[$(strip $(" + variable + "))])\nslipway-nothing: ;\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run.Output(t.Context(), run.Exec{}, run.Command{
		Args: []string{"make", "-s", "-f", path, "slipway-nothing"},
		Env:  run.Environ([]string{"PATH=" + os.Getenv("PATH")}),
	})
	_, rest, found := strings.Cut(out, "VALUE=[")
	if err != nil || !found {
		t.Fatalf("make: %v, %q", err, out)
	}
	value, _, _ := strings.Cut(rest, "]")
	return strings.Join(strings.FieldsFunc(value, unicode.IsSpace), " ")
}

// The forms that Istio uses must be read, not only those that happen to be.
func TestMakeVarsReadsIstiosForms(t *testing.T) {
	vars := readMakeVars("AGENT:=./a\nLIST:=./b \\\n\t./c\nALL:=$(LIST) \\\n  ${AGENT}\nTAGS=x,y\n")
	for name, want := range map[string]string{"ALL": "./b ./c ./a", "TAGS": "x,y"} {
		if got, set, err := vars.words(name); err != nil || !set || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, %v", name, got, set, err)
		}
	}
	if _, set, err := vars.words("OTHER"); set || err != nil {
		t.Errorf("OTHER: %v, %v", set, err)
	}
}
