// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package dockerfiles checks Dockerfiles by the rules that hadolint documents:
// the same numbers, severities, configuration file and comments that ignore a
// rule. Scripts of RUN are read with a shell parser; what ShellCheck would say
// of them is not looked for.
package dockerfiles

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Level is how serious hadolint takes a finding.
type Level string

// The levels, from the worst to none.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelInfo    Level = "info"
	LevelStyle   Level = "style"
	LevelIgnore  Level = "ignore" // not reported
)

// rank orders levels; more is worse.
func (l Level) rank() int {
	return slices.Index([]Level{LevelIgnore, LevelStyle, LevelInfo, LevelWarning, LevelError}, l)
}

// Config is a .hadolint.yml.
type Config struct {
	Ignored       []string          // rules
	Trusted       []string          // registries; none: all are
	Threshold     Level             // findings of this level and worse fail
	Override      map[string]Level  // of rules
	Labels        map[string]string // label-schema: how the value of a label looks
	StrictLabels  bool              // no labels but those of the schema
	NoFail        bool
	DisablePragma bool // comments in Dockerfiles ignore nothing
}

// ReadConfig reads the file name. Empty text is the default configuration; a
// key that hadolint does not know is an error with its line.
func ReadConfig(name string, text []byte) (*Config, error) {
	r := configReader{name: name, c: &Config{Threshold: LevelInfo, Override: map[string]Level{}, Labels: map[string]string{}}}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return r.c, nil
		}
		return nil, fail.With(fail.Usage, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return r.c, nil
	}
	r.mapping("", doc.Content[0], r.top)
	if r.err != nil {
		return nil, fail.With(fail.Usage, r.err)
	}
	return r.c, nil
}

// configReader keeps the first error, so that reading needs no check at each
// step.
type configReader struct {
	name string
	c    *Config
	err  error
}

func (r *configReader) fail(n *yaml.Node, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s:%d: %s", r.name, n.Line, fmt.Sprintf(format, args...))
	}
}

func (r *configReader) top(key, value *yaml.Node) {
	switch key.Value {
	case "ignored":
		r.c.Ignored = r.rules(value)
	case "trustedRegistries":
		r.c.Trusted = r.list(value)
	case "failure-threshold":
		r.c.Threshold = r.threshold(value)
	case "override":
		r.mapping("override", value, func(key, value *yaml.Node) {
			level := Level(key.Value)
			if level.rank() <= 0 {
				r.fail(key, "override has no level %q: it is one of error, warning, info, style", key.Value)
			}
			for _, rule := range r.rules(value) {
				r.c.Override[rule] = level
			}
		})
	case "label-schema":
		r.mapping("label-schema", value, func(key, value *yaml.Node) {
			kind := strings.ToLower(value.Value)
			if value.Kind != yaml.ScalarNode || !slices.Contains(labelKinds(), kind) {
				r.fail(value, "the label %q is to look like %q: it is one of %s", key.Value, value.Value, strings.Join(labelKinds(), ", "))
			}
			r.c.Labels[key.Value] = kind
		})
	case "strict-labels":
		r.c.StrictLabels = r.boolean(value)
	case "no-fail":
		r.c.NoFail = r.boolean(value)
	case "disable-ignore-pragma":
		r.c.DisablePragma = r.boolean(value)
	case "format", "no-color": // of the output, which is not ours
	default:
		r.fail(key, "the key %q is not known", key.Value)
	}
}

func (r *configReader) mapping(what string, n *yaml.Node, each func(key, value *yaml.Node)) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		if what == "" {
			what = "the file"
		}
		r.fail(n, "%s has to be a mapping of keys to values", what)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		each(n.Content[i], n.Content[i+1])
	}
}

// list is a sequence of words, or a single one.
func (r *configReader) list(n *yaml.Node) []string {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}
	case n.Kind != yaml.SequenceNode:
		r.fail(n, "a list of words is expected")
		return nil
	}
	var words []string
	for _, e := range n.Content {
		if e.Kind != yaml.ScalarNode {
			r.fail(e, "a word is expected")
			continue
		}
		words = append(words, e.Value)
	}
	return words
}

func (r *configReader) rules(n *yaml.Node) []string {
	rules := r.list(n)
	for _, rule := range rules {
		if !isRule(rule) {
			r.fail(n, "%q is no rule: they look like DL3008 or SC2086", rule)
		}
	}
	return rules
}

// isRule tells DL and four digits, or SC and some.
func isRule(word string) bool {
	digits, ok := strings.CutPrefix(word, "DL")
	if !ok {
		digits, ok = strings.CutPrefix(word, "SC")
	}
	return ok && len(digits) >= 4 && strings.Trim(digits, "0123456789") == ""
}

func (r *configReader) boolean(n *yaml.Node) bool {
	var b bool
	if err := n.Decode(&b); err != nil {
		r.fail(n, "%q is neither true nor false", n.Value)
	}
	return b
}

func (r *configReader) threshold(n *yaml.Node) Level {
	switch l := Level(strings.ToLower(n.Value)); l {
	case LevelError, LevelWarning, LevelInfo, LevelStyle, LevelIgnore:
		return l
	case "none":
		return LevelIgnore
	}
	r.fail(n, "failure-threshold is %q: it is one of error, warning, info, style, ignore, none", n.Value)
	return LevelInfo
}
