// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

// oddPaths are file names that are hard to write down.
func oddPaths() []string {
	return []string{"a.md", "sp ace/b c.md", "50%.md", "a:b.md", "x/a:b.md", "new\nline.md", "#1?.md", "a,b.md", "ümlaut.md", "bad\xff.md", `back\slash`, "<&>\"'.md", "esc\x1b[31m.md", "-x", "[1].md", "*", "+ +", "日本.md", "a;b=c@d!$(e)", "\x7f"}
}

func report() lint.Report {
	a := lint.Result{Linter: "markdown", Files: 30, Cached: 2, Mended: 1, Seconds: 0.25, Notes: []string{"a note"}}
	for i, f := range oddPaths() {
		a.Findings = append(a.Findings, lint.Finding{Linter: "markdown", File: f, Line: i, Column: i % 3, Rule: "MD009", Name: "no-trailing-spaces", Message: "Trailing spaces: 100%, <b> & \"q\"\x00\x1b[0m\r\nnext ]]> \xfe", Severity: lint.Error, Doc: "https://example.com/rules#md009", Fixable: i%2 == 0})
	}
	a.Findings = append(a.Findings,
		lint.Finding{Linter: "markdown", File: "a.md", Line: 9, EndLine: 12, Column: 4, Message: "no rule", Severity: lint.Warning},
		lint.Finding{Linter: "markdown", File: "z.md", Rule: "MD001", Message: "whole file", Severity: lint.Notice, Text: "z.md as the tool says\n  in two lines"},
		lint.Finding{Linter: "markdown", Rule: "MD002", Message: "no file at all", Severity: lint.Error})
	return lint.Report{Seconds: 1.5, Results: []lint.Result{
		a,
		{Linter: "go", Version: "golangci-lint v2.15.0", Failures: []lint.Failure{{File: "sp ace/go.mod", Err: "it broke\n\x1b[1mhard\x00"}, {Err: "no file"}}},
		{Linter: "scripts", Skipped: "shellcheck is not installed: 100%"},
		{Linter: "yaml", Files: 3},
	}}
}

func written(t *testing.T, r lint.Report, format ui.Format) string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	r := lint.Report{Results: []lint.Result{{Linter: "a", Findings: []lint.Finding{
		{File: "a.md", Line: 3, Column: 7, Rule: "MD009", Message: "Trailing spaces", Severity: lint.Error},
		{File: "a.md", Line: 3, Message: "no rule", Severity: lint.Error},
		{File: "a.md", Message: "no line", Severity: lint.Warning},
		{File: "a.md", Text: "as the tool has it\n- x\n+ y", Severity: lint.Notice},
		{File: "esc\x1b[31m\r\u009b.md", Message: "tab\tstays\xff", Severity: lint.Error},
	}}}}
	want := "a.md:3:7: MD009 Trailing spaces\na.md:3: no rule\na.md: no line (warning)\nas the tool has it\n- x\n+ y\nesc\ufffd[31m\ufffd\ufffd.md: tab\tstays\ufffd\n"
	if got := written(t, r, ui.Text); got != want {
		t.Errorf("text\n%q\nwant\n%q", got, want)
	}
	// When all is well there is nothing to read.
	if got := written(t, lint.Report{Results: []lint.Result{{Linter: "licenses", Files: 9}, {Linter: "go", Files: 3, Notes: []string{"a note"}}}}, ui.Text); got != "" {
		t.Errorf("without findings: %q", got)
	}
	for c := range strings.SplitSeq(written(t, report(), ui.Text), "") {
		if r := []rune(c)[0]; unicode.IsControl(r) && r != '\n' {
			t.Errorf("the control character %q gets to the terminal", r)
		}
	}
}

func TestJSON(t *testing.T) {
	r := report()
	text := written(t, r, ui.JSON)
	var back struct {
		lint.Report
		Errors, Warnings, Notices int
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if back.Errors != len(oddPaths())+1 || back.Warnings != 1 || back.Notices != 1 {
		t.Errorf("counts %d, %d, %d", back.Errors, back.Warnings, back.Notices)
	}
	valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
	for i := range r.Results {
		if r.Results[i].Findings == nil {
			t.Errorf("%s: findings are null for a reader", r.Results[i].Linter)
		}
		for j := range r.Results[i].Findings {
			f := &r.Results[i].Findings[j]
			f.File, f.Message, f.Text = valid(f.File), valid(f.Message), ""
		}
	}
	if !reflect.DeepEqual(back.Results, r.Results) || back.Seconds != r.Seconds {
		t.Errorf("read back\n%+v\nwant\n%+v", back.Results, r.Results)
	}
	if strings.Contains(text, `\u003c`) {
		t.Error("< is escaped for a browser")
	}
	if text := written(t, lint.Report{Results: []lint.Result{{Linter: "a"}}}, ui.JSON); strings.Contains(text, "null") {
		t.Errorf("without findings: %s", text)
	}
}

// schemaSource is a module that has the schema of SARIF by OASIS beside its
// tests. It is read where the go command puts it, and not kept here.
const schemaSource = "github.com/securego/gosec/v2@v2.29.0"

func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", schemaSource)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil {
		t.Skipf("the schema of SARIF cannot be had from %s: %v", schemaSource, err)
	}
	f, err := os.Open(filepath.Join(module.Dir, "report/sarif/testdata/sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSARIFIsValid(t *testing.T) {
	schema := sarifSchema(t)
	check := func(text string) error {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(doc)
	}
	for _, r := range []lint.Report{report(), {}, {Results: []lint.Result{{Linter: "a"}}}} {
		if err := check(written(t, r, ui.SARIF)); err != nil {
			t.Errorf("%v", err)
		}
	}
	// The validator does find faults.
	text := written(t, report(), ui.SARIF)
	for from, to := range map[string]string{`"level": "error"`: `"level": "bad"`, `"version": "2.1.0"`: `"version": "2"`, `"startLine": 9`: `"startLine": 0`, `"uri": "a.md"`: `"uri": "%zz"`, `"ruleIndex": 0`: `"ruleIndices": 0`} {
		if broken := strings.Replace(text, from, to, 1); broken == text || check(broken) == nil {
			t.Errorf("%s instead of %s is not noticed", to, from)
		}
	}
}

func TestSARIF(t *testing.T) {
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct{ ID, Name, HelpURI string }
				}
			}
			Invocations []struct {
				ExecutionSuccessful        bool
				ToolExecutionNotifications []struct {
					Level   string
					Message struct{ Text string }
				}
			}
			AutomationDetails struct{ ID string }
			Results           []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
						Region           *struct{ StartLine, StartColumn, EndLine int }
					}
				}
			}
		}
	}
	r := report()
	if err := json.Unmarshal([]byte(written(t, r, ui.SARIF)), &log); err != nil {
		t.Fatal(err)
	}
	if len(log.Runs) != 4 {
		t.Fatalf("%d runs, want one for each linter", len(log.Runs))
	}
	base, err := url.Parse("file:///src/")
	if err != nil {
		t.Fatal(err)
	}
	first := log.Runs[0]
	for i, result := range first.Results {
		f := r.Results[0].Findings[i]
		if first.Tool.Driver.Rules[result.RuleIndex].ID != result.RuleID {
			t.Errorf("finding %d: rule %d is not %s", i, result.RuleIndex, result.RuleID)
		}
		if f.File == "" {
			if len(result.Locations) != 0 {
				t.Errorf("a finding without a file has the place %+v", result.Locations)
			}
			continue
		}
		place := result.Locations[0].PhysicalLocation
		ref, err := url.Parse(place.ArtifactLocation.URI)
		if err != nil || ref.IsAbs() || place.ArtifactLocation.URIBaseID != "%SRCROOT%" {
			t.Errorf("%q: the address %q is wrong: %v", f.File, place.ArtifactLocation.URI, err)
			continue
		}
		if got := base.ResolveReference(ref); got.Path != "/src/"+f.File || got.RawQuery != "" || got.Fragment != "" {
			t.Errorf("%q: the address %q leads to %q", f.File, place.ArtifactLocation.URI, got.Path)
		}
		if (f.Line > 0) != (place.Region != nil) || f.Line > 0 && (place.Region.StartLine != f.Line || place.Region.StartColumn != f.Column || place.Region.EndLine < f.Line) {
			t.Errorf("%q: region %+v of %+v", f.File, place.Region, f)
		}
	}
	if rules := first.Tool.Driver.Rules; len(rules) != 4 || rules[0].ID != "MD009" || rules[0].HelpURI == "" || rules[1].ID != "markdown" {
		t.Errorf("rules %+v", rules)
	}
	broke, skipped := log.Runs[1].Invocations[0], log.Runs[2].Invocations[0]
	if broke.ExecutionSuccessful || len(broke.ToolExecutionNotifications) != 2 || log.Runs[1].Tool.Driver.Version != "golangci-lint v2.15.0" {
		t.Errorf("failures: %+v", log.Runs[1])
	}
	if !skipped.ExecutionSuccessful || !strings.Contains(skipped.ToolExecutionNotifications[0].Message.Text, "shellcheck is not installed") {
		t.Errorf("skipped: %+v", skipped)
	}
}

func TestJUnit(t *testing.T) {
	r := report()
	slices.SortStableFunc(r.Results[0].Findings, func(a, b lint.Finding) int { return strings.Compare(a.File, b.File) })
	text := written(t, r, ui.JUnit)
	for _, c := range text {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			t.Errorf("the control character %q is in the file", c)
		}
	}
	type problem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	var suites struct {
		XMLName                 xml.Name `xml:"testsuites"`
		Tests, Failures, Errors int      `xml:",attr"`
		Suites                  []struct {
			Name                             string `xml:"name,attr"`
			Tests, Failures, Errors, Skipped int    `xml:",attr"`
			Cases                            []struct {
				Name    string   `xml:"name,attr"`
				Class   string   `xml:"classname,attr"`
				File    string   `xml:"file,attr"`
				Failure *problem `xml:"failure"`
				Error   *problem `xml:"error"`
				Skipped *problem `xml:"skipped"`
				Output  string   `xml:"system-out"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	text = strings.NewReplacer(` tests="`, ` Tests="`, ` failures="`, ` Failures="`, ` errors="`, ` Errors="`, ` skipped="`, ` Skipped="`).Replace(text)
	d := xml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&suites); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Token(); err != nil && !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %v", err)
	}
	if len(suites.Suites) != 4 {
		t.Fatalf("%d suites, want one for each linter", len(suites.Suites))
	}
	tests, failures, errs := 0, 0, 0
	for i, s := range suites.Suites {
		if s.Name != "lint-"+r.Results[i].Linter || s.Tests != len(s.Cases) {
			t.Errorf("suite %d is %s with %d of %d cases", i, s.Name, s.Tests, len(s.Cases))
		}
		var failed, broke, skipped int
		for _, c := range s.Cases {
			if c.Class != s.Name {
				t.Errorf("class %q in %s", c.Class, s.Name)
			}
			if c.Name == "" && i > 0 {
				t.Errorf("%s: a case without a name", s.Name)
			}
			for n, p := range map[*int]*problem{&failed: c.Failure, &broke: c.Error, &skipped: c.Skipped} {
				if p != nil {
					*n++
				}
			}
		}
		if failed != s.Failures || broke != s.Errors || skipped != s.Skipped {
			t.Errorf("%s: %d, %d, %d of failures, errors and skipped, said to be %d, %d, %d", s.Name, failed, broke, skipped, s.Failures, s.Errors, s.Skipped)
		}
		tests, failures, errs = tests+s.Tests, failures+failed, errs+broke
	}
	if tests != suites.Tests || failures != suites.Failures || errs != suites.Errors || failures != len(oddPaths())+1 || errs != 2 {
		t.Errorf("sums %d, %d, %d are not %d, %d, %d", suites.Tests, suites.Failures, suites.Errors, tests, failures, errs)
	}
	for _, c := range suites.Suites[0].Cases {
		if c.File == "a.md" && (c.Failure == nil || c.Failure.Message != "1 finding" || !strings.Contains(c.Failure.Text, `<b> & "q"`) || !strings.Contains(c.Failure.Text, "]]>") || !strings.Contains(c.Output, "no rule")) {
			t.Errorf("the case of a.md: %+v, %q", c.Failure, c.Output)
		}
	}
	if c := suites.Suites[3].Cases; len(c) != 1 || c[0].Failure != nil || c[0].Name != "3 files" {
		t.Errorf("a linter without findings: %+v", c)
	}
}

func TestAnnotations(t *testing.T) {
	r := lint.Report{Results: []lint.Result{
		{Linter: "markdown", Findings: []lint.Finding{
			{File: "a,b:c%\r\n.md", Line: 2, Column: 3, EndLine: 4, Rule: "MD:1,2", Message: "50%: a, b\r\nnext ::error::x", Severity: lint.Error},
			{File: "a.md", Message: "m", Severity: lint.Warning},
			{File: "a.md", Line: 1, Message: "m", Severity: lint.Notice},
		}},
		{Linter: "go", Failures: []lint.Failure{{File: "go.mod", Err: "broke"}}},
		{Linter: "scripts", Skipped: "missing"},
	}}
	want := []string{
		"::error file=a%2Cb%3Ac%25%0D%0A.md,line=2,col=3,endLine=4,title=markdown MD%3A1%2C2::50%25: a, b%0D%0Anext ::error::x",
		"::warning file=a.md,title=markdown::m",
		"::notice file=a.md,line=1,title=markdown::m",
		"::error file=go.mod,title=go::broke",
		"::warning title=scripts::skipped: missing",
	}
	if got := strings.Split(strings.TrimSuffix(written(t, r, ui.GitHub), "\n"), "\n"); !slices.Equal(got, want) {
		t.Errorf("annotations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Whatever names and messages hold, each is one line that is a command.
	text := written(t, report(), ui.GitHub)
	n := 0
	for line := range strings.Lines(text) {
		n++
		if !strings.HasPrefix(line, "::") || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl) {
			t.Errorf("line %q", line)
		}
	}
	if want := len(oddPaths()) + 3 + 2 + 1; n != want {
		t.Errorf("%d annotations, want %d", n, want)
	}
}

func TestSummary(t *testing.T) {
	got := report().Summary()
	if len(got) != 5 {
		t.Fatalf("lines %q", got)
	}
	for i, parts := range [][]string{{"markdown", "28 checked", "2 known", "21 findings", "1 warning,", "1 notice,", "1 file mended"}, {"2 failures", "golangci-lint v2.15.0"}, {"skipped: shellcheck"}, {"3 checked", "0 findings"}, {"all", "21 findings, 1 warning"}} {
		for _, p := range parts {
			if !strings.Contains(got[i], p) {
				t.Errorf("line %q does not say %q", got[i], p)
			}
		}
	}
}

// broken is a writer that fails.
type broken struct{ after int }

func (b *broken) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	for _, format := range []ui.Format{ui.Text, ui.JSON, ui.SARIF, ui.JUnit, ui.GitHub} {
		for _, after := range []int{0, 50} {
			if err := report().Write(&broken{after}, format); err == nil {
				t.Errorf("%s: a full disk is not noticed", format)
			}
		}
		var b bytes.Buffer
		if err := report().Write(&b, format); err != nil || b.Len() == 0 {
			t.Errorf("%s: %v", format, err)
		}
	}
}
