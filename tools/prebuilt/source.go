// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"fmt"
	"path"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Source is a program and where it comes from.
type Source struct {
	Name    string `json:"name"`    // envoy, ztunnel; for messages, and the file that is looked for in an archive
	Version string `json:"version"` // for messages
	URL     URL    `json:"url"`
	// SHA256 is the checksum of what is downloaded (of the archive, not of the
	// program in it), in lower-case hex. Empty: see the lock.
	SHA256 string `json:"sha256,omitempty"`
	// Member is the path of the program in an archive, with the wildcards of
	// path.Match; a pattern without a slash is matched against the last part
	// of each path. Empty: Name. Exactly one regular file must match.
	Member   string `json:"member,omitempty"`
	Platform string `json:"platform"` // linux/amd64: what the program must run on
	Origin   string `json:"origin"`   // the settings that gave the URL
	// Ways are settings, NAME=example, that supply the program differently;
	// shown when it cannot be had.
	Ways []string `json:"-"`
}

// Item is a program and its places.
type Item struct {
	Source
	Dest   string   `json:"dest"`             // absolute path
	Copies []string `json:"copies,omitempty"` // absolute paths that get the same content
	// Named is set when the user chose Dest. A file there that we did not put
	// there is theirs: it is used as it is and never replaced.
	Named bool `json:"named,omitempty"`
}

// check refuses an item that cannot be meant, before anything is done.
func (it Item) check() error {
	switch {
	case it.Name == "" || it.URL == "" || it.Dest == "":
		return usage("a prebuilt program needs a name, a URL and a destination; got %q, %q, %q", it.Name, it.URL, it.Dest)
	case it.SHA256 != "" && !isSHA256(it.SHA256):
		return usage("the sha256 of %s is %q: it must be 64 lower-case hex digits", it.Name, it.SHA256)
	case !strings.HasPrefix(it.Platform, "linux/"):
		return usage("%s is wanted for %q: only programs for Linux are fetched", it.Name, it.Platform)
	}
	if _, err := path.Match(it.pattern(), ""); err != nil {
		return usage("the pattern %q for %s in an archive: %w", it.pattern(), it.Name, err)
	}
	kind, err := it.URL.kind()
	if err == nil && kind == kindOCI {
		_, err = it.URL.reference()
	}
	if err != nil {
		return usage("fetching %s: %w; it is given by %s", it.Name, err, it.Origin)
	}
	return nil
}

// pattern is what the path of the program in an archive must match. The
// fragment of an oci: reference is nearer to the user than Member.
func (s Source) pattern() string {
	if kind, _ := s.URL.kind(); kind == kindOCI {
		if _, fragment, ok := strings.Cut(string(s.URL), "#"); ok && fragment != "" {
			return strings.TrimPrefix(fragment, "/")
		}
	}
	if s.Member != "" {
		return s.Member
	}
	return s.Name
}

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func usage(format string, args ...any) error {
	return fail.With(fail.Usage, fmt.Errorf(format, args...))
}
