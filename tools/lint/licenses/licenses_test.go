// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package licenses

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// Real texts come with the Go modules and with Debian; what is said here is
// short, and still recognised.
const (
	mit = `MIT License

Copyright (c) 2020 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`
	gplHeader = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.

This program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU General Public License for more details.

You should have received a copy of the GNU General Public License along with this program. If not, see <https://www.gnu.org/licenses/>.
`
	apacheHeader = `Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with the License. You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language governing permissions and limitations under the License.
`
)

func config() Config {
	return Config{
		Unrestricted: []string{"Apache-2.0", "MIT", "BSD-3-Clause"}, Reciprocal: []string{"MPL-2.0"},
		Restricted: []string{"GPL-3.0-only", "GPL-3.0-or-later"}, Allowed: []string{"example.com/allowed"},
	}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		named []string
		path  string
		want  []string // severity and rule
	}{
		"fine":                        {files: map[string]string{"LICENSE": mit}},
		"none":                        {files: map[string]string{"README": mit}, want: []string{"error unlicensed"}},
		"none, but looked at":         {files: map[string]string{"README": mit}, path: "example.com/allowed"},
		"unknown text":                {files: map[string]string{"LICENSE.txt": "Do what you like on Sundays."}, want: []string{"error unrecognized"}},
		"restricted":                  {files: map[string]string{"COPYING": gplHeader}, want: []string{"error restricted"}},
		"restricted below":            {files: map[string]string{"LICENSE": mit, "third/LICENSE": gplHeader}, want: []string{"error restricted"}},
		"of test data":                {files: map[string]string{"LICENSE": mit, "testdata/LICENSE": gplHeader}},
		"source named so":             {files: map[string]string{"LICENSE": mit, "license.go": "package x"}},
		"C125 two":                    {files: map[string]string{"APLv2": apacheHeader, "GPLv3": gplHeader}, want: []string{"error restricted", "warning several"}},
		"C125 two, one named":         {files: map[string]string{"APLv2": apacheHeader, "GPLv3": gplHeader}, named: []string{"APLv2"}},
		"C126 pointer":                {files: map[string]string{"LICENSE": "Parts are under LICENSE-APACHE, parts under LICENSE-MIT.", "LICENSE-APACHE": apacheHeader, "LICENSE-MIT": mit}, want: []string{"warning several"}},
		"C126 pointer to one missing": {files: map[string]string{"LICENSE": "See LICENSE-OTHER.", "LICENSE-MIT": mit}, want: []string{"error unrecognized"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := Module{Path: "example.com/m", Version: "v1.0.0", Dir: t.TempDir()}
			if c.path != "" {
				m.Path = c.path
			}
			for file, text := range c.files {
				file = filepath.Join(m.Dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.read(c.named); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range (Options{Config: config(), ConfigFile: "license-lint.yml"}).judge(m.Dir, []Module{m}) {
				got = append(got, string(f.Severity)+" "+f.Rule)
				if !strings.HasPrefix(f.String(), strings.ToUpper(string(f.Severity))+": ") || strings.Contains(f.String(), "\n") { // C124
					t.Errorf("line %q", f.String())
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v; files %+v", got, c.want, m.Files)
			}
		})
	}
}

func TestCategory(t *testing.T) {
	for id, want := range map[string]Category{
		"MIT": Unrestricted, "Apache-2.0-Header": Unrestricted, "MPL-2.0": Reciprocal, "GPL-3.0": Restricted, "GPL-3.0-or-later": Restricted, "GPL-3.0-Header": Restricted, "Beerware": Unrecognised,
	} {
		if got := config().Category(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
}

func TestReadConfig(t *testing.T) {
	if _, err := ReadConfig("x.yml", []byte("unrestricted_license:\n- MIT\n")); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a slip in a key: %v", err)
	}
	if _, err := ReadConfig("x.yml", []byte("unrestricted_licenses: [MIT]\nrestricted_licenses: [MIT]\n")); err == nil {
		t.Error("one license in two categories is no error")
	}
	if c, err := ReadConfig("x.yml", []byte("# nothing\n")); err != nil || c.Category("MIT") != Unrecognised {
		t.Errorf("an empty file: %v", err)
	}
}

// A module that needs one other, which is on the machine, since this package
// links it; a second one is only named in go.sum by its go.mod.
func TestModules(t *testing.T) {
	root := t.TempDir()
	ours, err := os.ReadFile("../../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	var sums string
	for line := range strings.Lines(string(ours)) {
		if strings.HasPrefix(line, "github.com/google/licensecheck v0.3.1") {
			sums += line
		}
	}
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.21\n\nrequire github.com/google/licensecheck v0.3.1\n", "go.sum": sums} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Runner: run.Exec{}, Go: "go", Environ: append(os.Environ(), "GOPROXY=off"), Config: config(), ConfigFile: "license-lint.yml"}
	modules, err := Modules(t.Context(), root, o)
	if err != nil || len(modules) != 1 || len(modules[0].Files) != 1 || !slices.Equal(modules[0].Files[0].Licences, []string{"BSD-3-Clause"}) {
		t.Fatalf("%v, %d modules", err, len(modules))
	}
	o.Config = Config{}
	if found := o.judge(root, modules); len(found) != 1 || found[0].Line != 5 {
		t.Errorf("found %v", found)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/m\nrequire (\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Modules(t.Context(), root, o); fail.Code(err) != fail.Unavailable {
		t.Errorf("a broken go.mod: %v", err)
	}
}

// Istio's modules under Istio's configuration are clean, as license-lint says.
func TestIstio(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_REAL") == "" {
		t.Skip("reads a few hundred modules; SLIPWAY_TEST_REAL=1 runs it")
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	istio, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(cache)), "istio.io", "istio@*"))
	if len(istio) == 0 {
		t.Fatal("the Istio module is not in the module cache")
	}
	root := istio[len(istio)-1]
	text, err := os.ReadFile(filepath.Join(root, "common/config/license-lint.yml"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Runner: run.Exec{}, Go: "go", Environ: os.Environ(), ConfigFile: "common/config/license-lint.yml"}
	if o.Config, err = ReadConfig(o.ConfigFile, text); err != nil {
		t.Fatal(err)
	}
	modules, err := Modules(t.Context(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d modules", len(modules))
	for _, f := range o.judge(root, modules) {
		if f.Severity == lint.Error {
			t.Errorf("%s", f)
		} else {
			t.Logf("%s", f)
		}
	}
}
