// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package gosource_test

import (
	"slices"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/gosource"
)

func lines(t *testing.T, l lint.Linter, text string) []int {
	t.Helper()
	found, err := l.Checker.Check("pilot/a.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, f := range found {
		lines = append(lines, f.Line)
	}
	return lines
}

func TestSkips(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []int
	}{
		"no skip":            {"\tt.Log()\n", nil},
		"with an issue":      {"\tt.Skip(\"https://github.com/istio/istio/issues/12\")\n", nil},
		"issue in a text":    {"\tt.Skipf(\"flaky, see https://github.com/istio/istio/issues/12\")\n", nil},
		"without an issue":   {"\tt.Skip(\"later\")\n", []int{4}},
		"pull request":       {"\tt.Skip(\"https://github.com/istio/istio/pull/12\")\n", []int{4}},
		"without a reason":   {"\tt.Skip()\n", []int{4}},
		"now":                {"\tt.SkipNow()\n", []int{4}},
		"under a condition":  {"\tif true {\n\t\tt.Skip(\"not here\")\n\t}\n", nil},
		"in a function":      {"\tf(func() { t.Skip() })\n", nil},
		"another's settings": {"\tt.Settings().Skip(1)\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text := "package a\n\nfunc TestX(t *T) {\n" + c.body + "}\n"
			if got := lines(t, gosource.Skips(), text); !slices.Equal(got, c.want) {
				t.Errorf("lines %v, want %v", got, c.want)
			}
		})
	}
}

func TestEnvVars(t *testing.T) {
	l := gosource.EnvVars("pilot", "security")
	for name, c := range map[string]struct {
		text string
		want []int
	}{
		"none":            {"package a\n", nil},
		"both":            {"package a\nimport \"os\"\nvar x = os.Getenv(\"A\")\nvar y, _ = os.LookupEnv(\"B\")\n", []int{3, 4}},
		"as a value":      {"package a\nimport \"os\"\nvar get = os.Getenv\n", []int{3}},
		"another name":    {"package a\nimport sys \"os\"\nvar x = sys.Getenv(\"A\")\n", []int{3}},
		"another package": {"package a\nimport os \"example.com/os\"\nvar x = os.Getenv(\"A\")\n", nil},
		"set":             {"package a\nimport \"os\"\nvar x = os.Setenv(\"LookupEnv\", \"A\")\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lines(t, l, c.text); !slices.Equal(got, c.want) {
				t.Errorf("lines %v, want %v", got, c.want)
			}
		})
	}
	for file, want := range map[string]bool{"pilot/a.go": true, "pilot/a_test.go": false, "pkg/a.go": false, "pilots/a.go": false, "security/b/c.go": true} {
		if l.Files(file) != want {
			t.Errorf("%s is chosen: %v", file, !want)
		}
	}
}

func TestSyntaxErrorIsAFailure(t *testing.T) {
	if _, err := gosource.Skips().Checker.Check("a_test.go", []byte("package a\nfunc t.Skip(")); err == nil {
		t.Error("no error for a file that does not parse")
	}
}
