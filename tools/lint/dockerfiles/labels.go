// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfiles

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// labelKinds are what a label-schema can ask of a value.
func labelKinds() []string {
	return []string{"text", "rawtext", "rfc3339", "semver", "url", "hash", "spdx", "email"}
}

func (r *run) labels(c *instructions.LabelCommand, line int) {
	config := r.checker.config
	for _, l := range c.Labels {
		key, value := unquote(l.Key), unquote(l.Value)
		shown := fmt.Sprintf("%q", key)
		if !labelName(key) {
			r.report("DL3048", line, shown)
		}
		kind, known := config.Labels[key]
		if !known {
			if config.StrictLabels {
				r.report("DL3050", line, shown)
			}
			continue
		}
		if value == "" {
			r.report("DL3051", line, shown)
		} else if code := labelFault(kind, value); code != "" {
			r.report(code, line, shown)
		}
	}
}

// labelName tells a name of those that Docker's guidelines describe.
func labelName(key string) bool {
	for _, reserved := range []string{"com.docker.", "io.docker.", "org.dockerproject."} {
		if strings.HasPrefix(key, reserved) {
			return false
		}
	}
	lower := func(c byte) bool { return c >= 'a' && c <= 'z' }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	if key == "" || !lower(key[0]) {
		return false
	}
	for i := range len(key) {
		c := key[i]
		if !lower(c) && !digit(c) && (c != '.' && c != '-' || i > 0 && key[i-1] == c || i == len(key)-1) {
			return false
		}
	}
	return true
}

// labelFault is the rule that a value breaks.
func labelFault(kind, value string) string {
	switch kind {
	case "url":
		if u, err := url.Parse(value); err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
			return "DL3052"
		}
	case "rfc3339":
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return "DL3053"
		}
	case "spdx":
		if !licence(value) {
			return "DL3054"
		}
	case "hash":
		if n := len(value); n != 7 && n != 40 || strings.Trim(value, "0123456789abcdefABCDEF") != "" {
			return "DL3055"
		}
	case "semver":
		core, _, _ := strings.Cut(value, "-")
		core, _, _ = strings.Cut(core, "+")
		if !semver.IsValid("v"+value) || strings.Count(core, ".") != 2 {
			return "DL3056"
		}
	case "email":
		if a, err := mail.ParseAddress(value); err != nil || a.Address != value {
			return "DL3058"
		}
	}
	return ""
}

// licence tells the form of an SPDX expression. Which licences there are is
// not known here.
func licence(text string) bool {
	operand := false
	for word := range strings.FieldsSeq(strings.NewReplacer("(", " ", ")", " ").Replace(text)) {
		operator := word == "AND" || word == "OR" || word == "WITH"
		if operator != operand {
			return false
		}
		operand = !operator
		if !operator && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-+:") != "" {
			return false
		}
	}
	return operand
}
