// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"context"
	"regexp"
	"strings"
	"time"
)

// network matches lines that are about the network at all. The compiler also
// says "unexpected EOF", and means a missing brace.
var network = regexp.MustCompile(`https?://|\btcp\b|proxyconnect`)

// offline matches what Go says when nothing on the network answers.
var offline = regexp.MustCompile(`dial tcp|no such host|connection refused|network is unreachable|i/o timeout|TLS handshake timeout|` +
	`proxyconnect|Client\.Timeout|connection reset|unexpected EOF|` +
	`5\d\d (Internal Server Error|Bad Gateway|Service Unavailable|Gateway Timeout)|429 Too Many Requests`)

// transient matches the part of it that is worth another attempt. The words
// are those that Istio's makefile retries for (GO_FETCH_RETRY), and what a
// proxy under load answers.
var transient = regexp.MustCompile(`TLS handshake timeout|i/o timeout|connection reset|reset by peer|unexpected EOF|bad record MAC|SSL_ERROR_SYSCALL|` +
	`50[0234] (Internal Server Error|Bad Gateway|Service Unavailable|Gateway Timeout)|429 Too Many Requests`)

// unreachable is true when a program says that modules cannot be fetched.
func unreachable(said string) bool {
	return strings.Contains(said, "disabled by GOPROXY=off") || onNetworkLine(offline, said)
}

func onNetworkLine(pattern *regexp.Regexp, said string) bool {
	for line := range strings.Lines(said) {
		if network.MatchString(line) && pattern.MatchString(line) {
			return true
		}
	}
	return false
}

const (
	attempts   = 5 // as Istio's retry.sh
	firstPause = 500 * time.Millisecond
)

// retry calls do, which returns what the program said, until it succeeds or
// fails for a reason that another attempt will not change. The pause doubles.
func retry(ctx context.Context, do func() (string, error)) error {
	pause := firstPause
	for n := 1; ; n++ {
		said, err := do()
		if err == nil || n == attempts || ctx.Err() != nil || !onNetworkLine(transient, said) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause *= 2
	}
}
