// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	mostStrikes = 3 // pauses of a host without an answer of use between them
	mostPauses  = 5 // the sum of a host's pauses, in longest pauses
)

// host holds the requests to one server back.
type host struct {
	slots chan struct{}

	mu      sync.Mutex
	until   time.Time // requests wait until then
	waited  time.Duration
	strikes int
	gone    bool // it is not asked any more
}

// enter waits for a place among the requests to the host, and for the end of a
// pause. It is false when the host is not asked any more.
func (h *host) enter(ctx context.Context) (bool, error) {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	for {
		h.mu.Lock()
		pause, gone := time.Until(h.until), h.gone
		h.mu.Unlock()
		if gone {
			<-h.slots
			return false, nil
		}
		if pause <= 0 {
			return true, nil
		}
		if err := sleep(ctx, pause); err != nil {
			<-h.slots
			return false, err
		}
	}
}

func (h *host) leave() { <-h.slots }

// limited keeps what a host asks for that was asked too often. Requests that
// ran side by side are one offence. It is false when the host is given up.
func (h *host) limited(asked time.Time, pause, longest time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if asked.Before(h.until) {
		return !h.gone
	}
	h.strikes++
	h.waited += pause
	if h.strikes > mostStrikes || pause > longest || h.waited > mostPauses*longest {
		h.gone = true
		return false
	}
	h.until = time.Now().Add(pause)
	return true
}

func (h *host) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.strikes = 0
}

// strike is how many pauses the host has asked for in a row.
func (h *host) strike() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.strikes
}

// sleep waits, or returns why the context ended.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryAfter is the pause that an answer asks for; false when it asks for none.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		const most = 1 << 20 // seconds: no overflow, and longer than anyone waits
		return time.Duration(min(seconds, most)) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// settings finds what the options say about a server: name with port, then
// name, then the longest wildcard. exact is false for a wildcard.
func (o Options) settings(u *url.URL) (h Host, exact bool) {
	name := strings.ToLower(u.Hostname())
	if found, ok := o.Hosts[strings.ToLower(u.Host)]; ok {
		return found, true
	}
	if found, ok := o.Hosts[name]; ok {
		return found, u.Port() == "" // another port may be another's server
	}
	for rest := name; ; {
		_, after, ok := strings.Cut(rest, ".")
		if !ok {
			return Host{}, false
		}
		if found, ok := o.Hosts["*."+after]; ok {
			return found, false
		}
		rest = after
	}
}

// token is what is sent to a server, or nothing.
func (o Options) token(u *url.URL) string {
	h, exact := o.settings(u)
	if h.TokenFrom == "" || !exact {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && (ip == nil || !ip.IsLoopback()) {
		return ""
	}
	return o.Getenv(h.TokenFrom)
}

// accepts tells that a status means a working link.
func (o Options) accepts(u *url.URL, status int) bool {
	h, _ := o.settings(u)
	for _, r := range h.Accept {
		if r.From <= status && status <= r.To {
			return true
		}
	}
	if len(h.Accept) > 0 {
		return false
	}
	if o.Compat {
		return status == http.StatusOK || status >= 300 && status <= 399
	}
	return status >= 200 && status <= 299
}

// ParseRanges reads status codes and ranges of them: "200-299,403".
func ParseRanges(text string) ([]Range, error) {
	var all []Range
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		low, err := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || low < 100 || high > 999 || low > high {
			return nil, fmt.Errorf("reading the status codes %q: want codes and ranges such as 200-299,403", text)
		}
		all = append(all, Range{low, high})
	}
	return all, nil
}
