// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// Numbers as the core schema of YAML 1.2 writes them.
var (
	infinity   = regexp.MustCompile(`^[-+]?\.(inf|Inf|INF)$`)
	notNumber  = regexp.MustCompile(`^\.(nan|NaN|NAN)$`)
	scientific = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$`)
	bareFloat  = regexp.MustCompile(`^[-+]?\.[0-9]+([eE][-+]?[0-9]+)?$`)
)

// words yields the plain scalars that no tag says the type of.
func (d *document) words() iter.Seq2[int, []rune] {
	return func(yield func(int, []rune) bool) {
		for i := range d.tokens[:d.seen] {
			t := &d.tokens[i]
			if t.kind == scalar && t.plain && (i == 0 || d.tokens[i-1].kind != tag) && !yield(i, d.content(t)) {
				return
			}
		}
	}
}

func floats(o *rule) func(*report) {
	type test struct {
		on   bool
		form *regexp.Regexp
		name string
	}
	tests := []test{
		{o.is("forbid-nan"), notNumber, "forbidden not a number value"},
		{o.is("forbid-inf"), infinity, "forbidden infinite value"},
		{o.is("forbid-scientific-notation"), scientific, "forbidden scientific notation"},
		{o.is("require-numeral-before-decimal"), bareFloat, "forbidden decimal missing 0 prefix"},
	}
	return func(r *report) {
		for i, word := range r.d.words() {
			if !strings.ContainsRune("+-.0123456789", word[0]) {
				continue
			}
			text := string(word)
			for _, x := range tests {
				if x.on && x.form.MatchString(text) {
					r.token(i, fmt.Sprintf("%s %q", x.name, raw(text)))
				}
			}
		}
	}
}

func octals(o *rule) func(*report) {
	implicit, explicit := o.is("forbid-implicit-octal"), o.is("forbid-explicit-octal")
	return func(r *report) {
		for i, word := range r.d.words() {
			form := ""
			switch {
			case word[0] != '0' || len(word) == 1:
			case implicit && isOctal(word[1:]):
				form = "implicit"
			case explicit && len(word) > 2 && word[1] == 'o' && isOctal(word[2:]):
				form = "explicit"
			}
			if t := &r.d.tokens[i]; form != "" {
				r.at(i, t.start.line+1, t.end.column+1, fmt.Sprintf("forbidden %s octal value %q", form, raw(string(word))))
			}
		}
	}
}

func isOctal(text []rune) bool {
	for _, c := range text {
		if c < '0' || c > '7' {
			return false
		}
	}
	return true
}

var (
	resolvedBool  = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	resolvedFloat = regexp.MustCompile(`^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	resolvedInt   = regexp.MustCompile(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|0o[0-7]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	resolvedTime  = regexp.MustCompile(`^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9][0-9]?(?::[0-9]{2})?))?)$`)
)

// isString tells that YAML 1.1 takes a plain word for text.
func isString(text string) bool {
	switch text {
	case "", "~", "null", "Null", "NULL", "<<", "=":
		return false
	}
	if len(text) > 100 || !strings.ContainsRune("yYnNtTfFoO-+0123456789.", rune(text[0])) {
		return len(text) > 0 && (len(text) <= 100 || !resolvedInt.MatchString(text) && !resolvedFloat.MatchString(text))
	}
	return !resolvedBool.MatchString(text) && !resolvedFloat.MatchString(text) && !resolvedInt.MatchString(text) && !resolvedTime.MatchString(text)
}

func compileAll(patterns []string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, p := range patterns {
		if m, err := regexp.Compile(p); err == nil { // refused before, else
			all = append(all, m)
		}
	}
	return all
}

func anyMatch(all []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(all, func(m *regexp.Regexp) bool { return m.MatchString(text) })
}

// quotes is what the configuration wants of quotation marks.
type quotes struct {
	kind            string // any, single or double
	always, sparing bool   // never without; only where needed
	eitherAroundOne bool   // a string with one kind in it may have the other
	must, may       []*regexp.Regexp
}

func quoting(o *rule) func(*report) {
	q := quotes{
		kind: o.options["quote-type"], always: o.is("required"), sparing: o.options["required"] == "only-when-needed",
		eitherAroundOne: o.is("allow-quoted-quotes"),
		must:            compileAll(o.lists["extra-required"]), may: compileAll(o.lists["extra-allowed"]),
	}
	return func(r *report) {
		for i := range r.d.tokens[:r.d.seen] {
			t := &r.d.tokens[i]
			if t.kind != scalar || t.style == '|' || t.style == '>' || i == 0 || !mayQuote(&r.d.tokens[i-1]) {
				continue
			}
			message := ""
			if text := string(r.d.content(t)); !t.plain {
				message = q.judgeQuoted(t.style, text)
			} else if isString(text) {
				message = q.judgeBare(text)
			}
			if message != "" {
				r.token(i, message)
			}
		}
	}
}

func (q *quotes) judgeBare(text string) string {
	switch {
	case q.always:
		return q.wrongKind()
	case anyMatch(q.must, text):
		return "string value is not quoted"
	}
	return ""
}

func (q *quotes) judgeQuoted(style rune, text string) string {
	// The order is by cost: few strings are worth a look at their content.
	if q.sparing && isString(text) && !needsQuotes(text) {
		if anyMatch(q.must, text) || anyMatch(q.may, text) {
			return ""
		}
		return "string value is redundantly quoted with " + q.kind + " quotes"
	}
	mine, other := "single", `"`
	if style == '"' {
		mine, other = "double", "'"
	}
	if q.kind == "any" || q.kind == mine || q.eitherAroundOne && strings.Contains(text, other) {
		return ""
	}
	return q.wrongKind()
}

func (q *quotes) wrongKind() string { return "string value is not quoted with " + q.kind + " quotes" }

// mayQuote tells that behind a token stands a value, not a key, whose type is
// left to its form.
func mayQuote(before *token) bool {
	switch before.kind {
	case blockEntry, flowEntry, flowSequence, value:
		return true
	case tag:
		return before.detail.handle != "!!"
	}
	return false
}

// needsQuotes tells that text, as the plain value of a key, would not be read
// as itself.
func needsQuotes(text string) bool {
	runes := []rune("key: " + text)
	if slices.ContainsFunc(runes, func(c rune) bool { return !printable(c) }) {
		return true
	}
	s := newScanner(withEnd(runes))
	// The value follows the start, the mapping, and the key with two signs.
	const at = 5
	tokens := s.all()
	if len(tokens) <= at+1 || tokens[at+1].kind != blockEnd {
		return true
	}
	t := &tokens[at]
	return t.kind != scalar || !t.plain || string(s.content(t)) != text
}
