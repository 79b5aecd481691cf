// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"io"
	"net/url"
)

// The part of SARIF 2.1.0 that is written here:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
		Automation  struct {
			ID string `json:"id"`
		} `json:"automationDetails"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		URI     string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID   string `json:"id"`
		Name string `json:"name,omitempty"`
		Help string `json:"helpUri,omitempty"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
	}
)

// writeSARIF writes one run for each linter.
func (r Report) writeSARIF(w io.Writer) error {
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{}}
	for _, l := range r.Results {
		log.Runs = append(log.Runs, l.sarif())
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(log)
}

func (r Result) sarif() sarifRun {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "slipway lint-" + r.Linter, Version: r.Version, URI: "https://github.com/istio-ecosystem/slipway", Rules: []sarifRule{}}
	run.Automation.ID = "lint-" + r.Linter + "/"
	call := sarifInvocation{Successful: len(r.Failures) == 0}
	for _, f := range r.Failures {
		n := sarifNotification{Level: "error", Message: sarifMessage{f.Err}}
		if f.File != "" {
			n.Locations = []sarifLocation{place(f.File, nil)}
		}
		call.Notifications = append(call.Notifications, n)
	}
	if r.Skipped != "" {
		call.Notifications = append(call.Notifications, sarifNotification{Level: "warning", Message: sarifMessage{"skipped: " + r.Skipped}})
	}
	run.Invocations = []sarifInvocation{call}
	index := map[string]int{}
	for _, f := range r.Findings {
		id := f.Rule
		if id == "" {
			id = r.Linter
		}
		if _, ok := index[id]; !ok {
			index[id] = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: id, Name: f.Name, Help: f.Doc})
		}
		var region *sarifRegion
		if f.Line > 0 {
			region = &sarifRegion{StartLine: f.Line, StartColumn: f.Column, EndLine: max(f.EndLine, f.Line)}
		}
		result := sarifResult{RuleID: id, RuleIndex: index[id], Level: sarifLevel(f.Severity), Message: sarifMessage{f.Message}, Locations: []sarifLocation{}}
		if f.File != "" {
			result.Locations = append(result.Locations, place(f.File, region))
		}
		run.Results = append(run.Results, result)
	}
	return run
}

func sarifLevel(s Severity) string {
	if s == Notice {
		return "note"
	}
	return string(s)
}

func place(file string, region *sarifRegion) sarifLocation {
	// String, unlike EscapedPath, puts ./ before a name that would else begin
	// with a scheme, as a:b does.
	return sarifLocation{sarifPhysical{sarifArtifact{(&url.URL{Path: file}).String(), "%SRCROOT%"}, region}}
}
