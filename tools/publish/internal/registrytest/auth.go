// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Tokens makes a server ask for bearer tokens, which it gives at /token to who
// shows the user and password: for the scopes that are asked for and no more.
type Tokens struct {
	User, Password string
	// Grant cuts a scope down, or refuses it with ""; nil grants all.
	Grant func(scope string) string
	// Seconds is the life of a token as told to the client.
	Seconds int

	mu     sync.Mutex
	n      int
	valid  map[string][]string
	asked  [][]string
	issued []string
}

// Asked returns the scopes of each request for a token.
func (t *Tokens) Asked() [][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.asked)
}

// Issued returns all tokens that were given.
func (t *Tokens) Issued() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.issued)
}

// Revoke ends all tokens.
func (t *Tokens) Revoke() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.valid = nil
}

// Protect installs t in front of s.
func (t *Tokens) Protect(s *Server) {
	s.Fail(On(http.MethodGet, "/token?"), -1, func(w http.ResponseWriter, r *http.Request, _ http.Handler) { t.issue(w, r) })
	s.Fail(func(r *http.Request) bool { return !t.allows(r) }, -1, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		repo, actions := need(r)
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="test",scope="repository:%s:%s"`, s.URL, repo, strings.Join(actions, ",")))
		Answer(http.StatusUnauthorized, "UNAUTHORIZED")(w, r, nil)
	})
}

func (t *Tokens) issue(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if user != t.User || password != t.Password {
		Answer(http.StatusUnauthorized, "UNAUTHORIZED")(w, r, nil)
		return
	}
	scopes := r.URL.Query()["scope"]
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	t.asked = append(t.asked, scopes)
	var granted []string
	for _, s := range scopes {
		if t.Grant != nil {
			s = t.Grant(s)
		}
		if s != "" {
			granted = append(granted, s)
		}
	}
	token := fmt.Sprintf("secret-token-%d", t.n)
	if t.valid == nil {
		t.valid = map[string][]string{}
	}
	t.valid[token] = granted
	t.issued = append(t.issued, token)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_in": t.Seconds})
}

// need is what a request needs a right for.
func need(r *http.Request) (repo string, actions []string) {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	for _, part := range []string{"/blobs/", "/manifests/"} {
		if i := strings.Index(path, part); i >= 0 {
			path = path[:i]
		}
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return path, []string{"pull"}
	}
	return path, []string{"pull", "push"}
}

func (t *Tokens) allows(r *http.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	scopes, ok := t.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !ok {
		return false
	}
	repo, actions := need(r)
	if !holds(scopes, repo, actions) {
		return false
	}
	from := r.URL.Query().Get("from")
	return from == "" || holds(scopes, from, []string{"pull"})
}

func holds(scopes []string, repo string, actions []string) bool {
	for _, s := range scopes {
		rest, ok := strings.CutPrefix(s, "repository:"+repo+":")
		if !ok {
			continue
		}
		have := strings.Split(rest, ",")
		if !slices.ContainsFunc(actions, func(a string) bool { return !slices.Contains(have, a) }) {
			return true
		}
	}
	return false
}
