// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/base64"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/google/go-containerregistry/pkg/authn"
)

// longestMessage bounds what a registry can make us print, in bytes.
const longestMessage = 400

var (
	// Signed upload and download addresses hold their secret in the query.
	urlQuery = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>?#]*)[?#][^\s"'<>]*`)
	urlUser  = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"'<>]+@`)
	// An echoed header, whatever the secret in it is.
	authHeader = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`)
	// A query without its host, as a relative Location has.
	signature = regexp.MustCompile(`(?i)([?&](?:_state|sig|signature|token|x-amz-[a-z-]+|x-goog-[a-z-]+|access_token|password)=)[^\s&"'<>]+`)
)

// secrets knows what must never be printed.
type secrets struct {
	mu    sync.RWMutex
	known []string
}

// add remembers values that stay hidden from now on. Very short ones are left
// alone: hiding "a" everywhere would tell what it is.
func (s *secrets) add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if len(v) >= 4 {
			s.known = append(s.known, v)
		}
	}
}

// addConfig remembers everything secret in cfg.
func (s *secrets) addConfig(cfg *authn.AuthConfig) {
	if cfg == nil {
		return
	}
	pair := cfg.Username + ":" + cfg.Password
	s.add(cfg.Password, cfg.Auth, cfg.IdentityToken, cfg.RegistryToken, base64.StdEncoding.EncodeToString([]byte(pair)))
}

// clean makes text of others fit for one line of ours: without secrets and
// control characters, of bounded length.
func (s *secrets) clean(text string) string {
	s.mu.RLock()
	for _, v := range s.known {
		text = strings.ReplaceAll(text, v, "***")
	}
	s.mu.RUnlock()
	text = urlUser.ReplaceAllString(text, "$1")
	text = urlQuery.ReplaceAllString(text, "$1")
	text = authHeader.ReplaceAllString(text, "$1 ***")
	text = signature.ReplaceAllString(text, "$1***")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + "…"
	}
	return text
}
