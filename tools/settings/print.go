// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// JSON is one object: name to value, origin and what was overridden.
func (s *Settings) JSON() ([]byte, error) {
	type entry struct {
		Value      string  `json:"value"`
		Origin     string  `json:"origin"`
		Overridden []Layer `json:"overridden"`
	}
	all := map[string]entry{}
	for name, v := range s.values {
		e := entry{Value: redact(name, v.Value), Origin: v.Origin, Overridden: []Layer{}}
		for _, l := range v.Overridden {
			e.Overridden = append(e.Overridden, Layer{redact(name, l.Value), l.Origin})
		}
		all[name] = e
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the settings as JSON: %w", err)
	}
	return text, nil
}

// Text is a line for each setting that has a value, group by group, with its
// origin; below it, what it beat.
func (s *Settings) Text() string {
	var b strings.Builder
	seen := map[string]bool{}
	section := func(title string, names []string) {
		var lines []string
		for _, name := range names {
			seen[name] = true
			lines = append(lines, s.Lookup(name).lines()...)
		}
		if len(lines) > 0 {
			fmt.Fprintf(&b, "# %s\n%s\n", title, strings.Join(lines, "\n"))
		}
	}
	for _, g := range Groups() {
		var names []string
		for _, k := range g.Settings {
			names = append(names, k.Name)
		}
		section(g.Title, names)
	}
	var others []string
	for _, name := range s.Names() {
		if !seen[name] {
			others = append(others, name)
		}
	}
	section("Others", others)
	return strings.TrimSuffix(b.String(), "\n")
}

func (v Value) lines() []string {
	if v.unset && len(v.Overridden) == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("%-30s %s  (%s)", v.Name, visible(redact(v.Name, v.Value)), v.Origin)}
	for _, l := range v.Overridden {
		lines = append(lines, fmt.Sprintf("%-30s beats %s  (%s)", "", visible(redact(v.Name, l.Value)), l.Origin))
	}
	return lines
}

// visible quotes a value whose white space or emptiness would not be seen.
func visible(value string) string {
	if value == "" || strings.TrimSpace(value) != value || strings.ContainsAny(value, "\n\t\r") {
		return fmt.Sprintf("%q", value)
	}
	return value
}

var secretName = regexp.MustCompile(`(?i)(password|passwd|secret|token|credential|private_?key|api_?key)`)

// redact hides values of variables that are named like secrets.
func redact(name, value string) string {
	if value != "" && secretName.MatchString(name) {
		return "(hidden)"
	}
	return value
}
