// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/lint"
)

// The rules, as findings name them.
const (
	ruleBroken     = "broken-link"       // a server says that it is wrong, or there is no server
	ruleUnknown    = "unknown-status"    // a server would not say
	ruleLoop       = "redirect-loop"     // redirects lead back
	ruleMoved      = "moved-permanently" // the link works, and has a newer address
	ruleMalformed  = "malformed-link"
	rulePrivate    = "private-address"
	ruleMissing    = "missing-file"
	ruleAnchor     = "missing-anchor"
	ruleOutside    = "outside-tree"
	ruleEmpty      = "empty-link"
	ruleFence      = "unclosed-fence"
	ruleUndefined  = "missing-reference"
	ruleUnreadable = "too-complex"
)

// verdict is what a finding says, without its place.
type verdict struct {
	rule     string
	severity lint.Severity
	message  string
}

// uncertain tells that an answer says little about the link: the server turns
// robots or frequent visitors away, or has trouble.
func uncertain(a answer) bool {
	return a.Kind == limited || a.Kind == silent || a.Kind == untrusted ||
		a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable
}

// judge returns what is to be said about an address, nil when all is well.
func (o Options) judge(address string, a answer) *verdict {
	u, err := url.Parse(address)
	if err != nil {
		return &verdict{ruleMalformed, lint.Error, address + " is no valid address: correct it"}
	}
	shown := u.Redacted()
	if final, err := url.Parse(a.Final); a.Final != "" && err == nil {
		u = final
		if a.Kind != loop {
			shown += " (redirected to " + final.Redacted() + ")"
		}
	}
	switch a.Kind {
	case "":
		return o.byStatus(u, shown, a)
	case malformed:
		return &verdict{ruleMalformed, lint.Error, shown + " is no valid address: correct it, or put it into code"}
	case loop:
		return &verdict{ruleLoop, lint.Warning, "redirects lead in a circle: " + redactAll(a.Loop) +
			"; give the address where a browser ends, or allow this one"}
	case tooFar:
		return &verdict{ruleLoop, lint.Warning, fmt.Sprintf("%s redirects more than %d times; give the address where a browser ends, or allow this one", shown, mostRedirects)}
	case private:
		return &verdict{rulePrivate, lint.Notice, shown + " was not asked for: " + a.Detail}
	case limited:
		return &verdict{ruleUnknown, lint.Warning, shown + " answers 429 Too Many Requests, also after the pauses that it asked for; whether the link works is not known: try again later, or accept 429 for the host"}
	case silent:
		return &verdict{ruleUnknown, lint.Warning, shown + " gave " + a.Detail + "; whether the link works is not known: try again later, or allow the address"}
	case untrusted:
		return &verdict{ruleUnknown, lint.Warning, shown + " is not to be trusted (" + a.Detail + "): its owner has to mend the certificate, or link to another address"}
	}
	return &verdict{ruleBroken, lint.Error, shown + " cannot be reached (" + a.Detail + "): correct or remove the link, or allow the address if it is not meant to be reached from here"}
}

func (o Options) byStatus(u *url.URL, shown string, a answer) *verdict {
	status := strings.TrimSpace(fmt.Sprint(a.Status, " ", http.StatusText(a.Status)))
	if o.accepts(u, a.Status) {
		if a.Permanent && !o.Compat {
			return &verdict{ruleMoved, lint.Notice, shown + " for good: link to the new address"}
		}
		return nil
	}
	switch {
	case a.Status == http.StatusTooManyRequests, a.Status == http.StatusServiceUnavailable && !o.Compat:
		return &verdict{ruleUnknown, lint.Warning, shown + " answers " + status +
			fmt.Sprintf(" each time; whether the link works is not known: try again later, or accept %d for the host %s", a.Status, u.Host)}
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden, a.Status == 999:
		return &verdict{ruleBroken, lint.Error, shown + " answers " + status +
			fmt.Sprintf(": correct the link; if it works in a browser, accept %d for the host %s", a.Status, u.Host)}
	}
	return &verdict{ruleBroken, lint.Error, shown + " answers " + status +
		": correct or remove the link, or allow the address if this is what it should answer"}
}

func redactAll(addresses []string) string {
	var all []string
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil {
			address = u.Redacted()
		}
		all = append(all, address)
	}
	return strings.Join(all, " and ")
}
