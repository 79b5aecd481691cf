// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// shortestToken is how long a token lives when its server does not say
// (https://distribution.github.io/distribution/spec/auth/token/).
const shortestToken = 60 * time.Second

// login is what one registry wants and what we have for it.
type login struct {
	mu        sync.Mutex
	challenge *transport.Challenge // nil: nothing was asked for yet
	config    *authn.AuthConfig    // nil: the keychain was not asked yet
	configErr error
	tokens    map[string]*bearer // by the scopes asked for
	extra     []string           // scopes that the registry named and we did not think of
}

// bearer is a token, or the promise of one: whoever holds mu fetches it.
type bearer struct {
	mu      sync.Mutex
	value   string
	renewAt time.Time
}

// learn keeps the challenge of a 401; it is false when there is none to meet.
func (h *host) learn(header http.Header, scopes []string) bool {
	c := parseChallenge(header)
	if c == nil {
		return false
	}
	c.Insecure = h.currentScheme() == "http"
	h.login.mu.Lock()
	defer h.login.mu.Unlock()
	h.login.challenge = c
	if s := c.Parameters["scope"]; s != "" && !covered(scopes, s) && !slices.Contains(h.login.extra, s) {
		h.login.extra = append(h.login.extra, s)
	}
	return true
}

// covered is true when the scope that a registry asks for is one of ours:
// `repository:a/b:pull` is part of `repository:a/b:pull,push`.
func covered(ours []string, asked string) bool {
	i := strings.LastIndex(asked, ":")
	for _, s := range ours {
		j := strings.LastIndex(s, ":")
		if i < 0 || j < 0 || s[:j] != asked[:i] {
			continue
		}
		have := strings.Split(s[j+1:], ",")
		missing := func(action string) bool { return !slices.Contains(have, action) }
		if !slices.ContainsFunc(strings.Split(asked[i+1:], ","), missing) {
			return true
		}
	}
	return false
}

// authorization returns the header value for a request with the scopes, empty
// when the registry asked for none or we have nothing to show. A value equal
// to rejected is not used again.
func (h *host) authorization(ctx context.Context, r *request, rejected string) (string, error) {
	h.login.mu.Lock()
	challenge := h.login.challenge
	h.login.mu.Unlock()
	if challenge == nil {
		return "", nil
	}
	cfg, err := h.credentials(ctx, r.repo.Registry)
	if err != nil {
		return "", err
	}
	if !strings.EqualFold(challenge.Scheme, "bearer") {
		return basicHeader(cfg), nil
	}
	if cfg.RegistryToken != "" {
		return "Bearer " + cfg.RegistryToken, nil
	}
	return h.bearer(ctx, r, challenge, cfg, rejected)
}

// credentials asks the keychain, once for each registry of a run.
func (h *host) credentials(ctx context.Context, reg name.Registry) (*authn.AuthConfig, error) {
	h.login.mu.Lock()
	defer h.login.mu.Unlock()
	if h.login.config != nil || h.login.configErr != nil {
		return h.login.config, h.login.configErr
	}
	cfg, err := lookUp(ctx, h.client.opts.Keychain, reg)
	if err != nil && ctx.Err() == nil {
		h.login.configErr = &Error{
			Class: Unauthorized, Op: "reading credentials", Repository: display(h.name),
			Message: h.client.secrets.clean(err.Error()), err: err, hostDown: true,
		}
		return nil, h.login.configErr
	}
	if err != nil {
		return nil, err
	}
	h.client.secrets.addConfig(cfg)
	h.login.config = cfg
	return cfg, nil
}

func basicHeader(cfg *authn.AuthConfig) string {
	switch {
	case cfg.RegistryToken != "":
		return "Bearer " + cfg.RegistryToken
	case cfg.Username != "" && cfg.Password != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(cfg.Username+":"+cfg.Password))
	case cfg.Auth != "":
		return "Basic " + cfg.Auth
	default:
		return ""
	}
}

// bearer returns a token for the scopes of r, fetching one when there is none
// yet, it is about to end, or it is the one that was just rejected.
func (h *host) bearer(ctx context.Context, r *request, c *transport.Challenge, cfg *authn.AuthConfig, rejected string) (string, error) {
	h.login.mu.Lock()
	scopes := append(slices.Clone(r.scopes), h.login.extra...)
	key := strings.Join(scopes, " ")
	if h.login.tokens == nil {
		h.login.tokens = map[string]*bearer{}
	}
	t := h.login.tokens[key]
	if t == nil {
		t = &bearer{}
		h.login.tokens[key] = t
	}
	h.login.mu.Unlock()

	t.mu.Lock()
	defer t.mu.Unlock()
	now := h.client.opts.Retry.Now()
	if t.value != "" && now.Before(t.renewAt) && "Bearer "+t.value != rejected {
		return "Bearer " + t.value, nil
	}
	trip := &tokenTrip{h: h, stats: r.stats}
	tok, err := transport.Exchange(ctx, r.repo.Registry, authn.FromConfig(*cfg), trip, scopes, c)
	if err != nil {
		return "", trip.explain(r, err)
	}
	if t.value = tok.AccessToken; t.value == "" {
		t.value = tok.Token
	}
	h.client.secrets.add(t.value, tok.RefreshToken)
	life := max(time.Duration(tok.ExpiresIn)*time.Second, shortestToken)
	t.renewAt = now.Add(life - life/6) // early, so that a token does not end on its way
	return "Bearer " + t.value, nil
}

// tokenTrip counts the requests to a token server and keeps the headers of its
// last refusal, which the error of the library lacks.
type tokenTrip struct {
	h      *host
	stats  *Stats
	header http.Header
}

// RoundTrip implements http.RoundTripper.
func (t *tokenTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	t.stats.requested()
	r.Header.Set("User-Agent", userAgent)
	resp, err := t.h.client.transport.RoundTrip(r)
	if err == nil && resp.StatusCode >= 400 {
		t.header = resp.Header
	}
	return resp, err
}

// explain turns a failed exchange into an error of ours.
func (t *tokenTrip) explain(r *request, err error) error {
	var refused *transport.Error
	if errors.As(err, &refused) {
		e := t.h.tokenRefused(r, refused)
		e.retryAfter = retryAfter(t.header, t.h.client.opts.Retry.Now())
		return e
	}
	return fmt.Errorf("asking for a token: %w", err)
}

// tokenRefused is the error of a token server that answered without a token.
func (h *host) tokenRefused(r *request, refused *transport.Error) *Error {
	text := make([]string, 0, len(refused.Errors))
	for _, d := range refused.Errors {
		text = append(text, d.String())
	}
	if len(text) == 0 { // the body has another form; only the error's text shows it
		_, body, _ := strings.Cut(refused.Error(), http.StatusText(refused.StatusCode)+": ")
		text = append(text, body)
	}
	asked := *r
	asked.op, asked.session = r.op+": asking for a token", false
	e := h.refused(&asked, &response{status: refused.StatusCode, body: []byte(strings.Join(text, "; "))})
	if slices.ContainsFunc(refused.Errors, func(d transport.Diagnostic) bool { return d.Code == transport.TooManyRequestsErrorCode }) {
		e.Class, e.transient = RateLimited, true
	}
	if e.Class == Unauthorized {
		e.Advice = h.loginAdvice()
	}
	return e
}

// loginAdvice says what a 401 calls for: other credentials, or any.
func (h *host) loginAdvice() string {
	h.login.mu.Lock()
	cfg := h.login.config
	h.login.mu.Unlock()
	if cfg == nil || *cfg == (authn.AuthConfig{}) {
		return fmt.Sprintf("no credentials for %s were found: %s", display(h.name), loginCommand(h.name))
	}
	return fmt.Sprintf("the credentials for %s are wrong or have no right to push here: %s", display(h.name), loginCommand(h.name))
}
