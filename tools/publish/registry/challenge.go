// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// parseChallenge returns the first challenge of a 401 that we can meet: Bearer
// before Basic, since a registry that offers tokens prefers them. It is nil
// when there is none.
//
// The grammar is that of RFC 9110, section 11.6.1: a list of challenges, each
// a scheme and parameters, both separated by commas.
func parseChallenge(h http.Header) *transport.Challenge {
	var basic *transport.Challenge
	for _, line := range h.Values("WWW-Authenticate") {
		for _, c := range splitChallenges(line) {
			switch {
			case strings.EqualFold(c.Scheme, "bearer") && c.Parameters["realm"] != "":
				return &c
			case strings.EqualFold(c.Scheme, "basic") && basic == nil:
				basic = &c
			}
		}
	}
	return basic
}

func splitChallenges(line string) []transport.Challenge {
	var out []transport.Challenge
	for rest := line; ; {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			return out
		}
		word := token(rest)
		rest = rest[len(word):]
		if after, isParameter := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "="); isParameter && len(out) > 0 {
			var value string
			value, rest = parameterValue(strings.TrimLeft(after, " \t"))
			out[len(out)-1].Parameters[strings.ToLower(word)] = value
			continue
		}
		if word == "" {
			return out // not a challenge that we understand
		}
		out = append(out, transport.Challenge{Scheme: word, Parameters: map[string]string{}})
	}
}

// token is the longest prefix of s that is a word of the grammar.
func token(s string) string {
	if i := strings.IndexAny(s, " \t,=\""); i >= 0 {
		return s[:i]
	}
	return s
}

// parameterValue reads a word or a quoted string and returns what follows it.
func parameterValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		word := token(s)
		return word, s[len(word):]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == '"':
			return b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}
