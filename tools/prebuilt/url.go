// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// URL is an address that may hold a password or a signature. It prints itself
// without; convert it to a string for the request only.
type URL string

// String is the address for people: no user, no password, no query.
func (u URL) String() string {
	bare, query := u.bare()
	if query != "" {
		return bare + "?…"
	}
	return bare
}

// MarshalText is String, so that a plan in JSON holds no secret.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// Identity names the resource in locks and records: as String, with a hash in
// place of a query. Parameters of a signature, which differ from one run to
// the next, do not count.
func (u URL) Identity() string {
	bare, query := u.bare()
	if query == "" {
		return bare
	}
	values, err := url.ParseQuery(query)
	if err == nil {
		for name := range values {
			if signature(name) {
				delete(values, name)
			}
		}
		query = values.Encode() // sorted
	}
	if query == "" {
		return bare
	}
	sum := sha256.Sum256([]byte(query))
	return bare + "?query-sha256=" + hex.EncodeToString(sum[:8])
}

// bare cuts user and query off. It works on the text: a URL that cannot be
// parsed must not be printed whole either.
func (u URL) bare() (address, query string) {
	address = string(u)
	if kind, err := u.kind(); err == nil && kind == kindFile {
		return address, "" // a path may hold any of the characters below
	}
	address, query, _ = strings.Cut(address, "?")
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		authority, path, slash := strings.Cut(rest, "/")
		if i := strings.LastIndex(authority, "@"); i >= 0 && !strings.HasPrefix(authority[i:], "@sha256:") {
			authority = authority[i+1:]
		}
		address = scheme + "://" + authority
		if slash {
			address += "/" + path
		}
	}
	return address, query
}

// signature tells the parameters of signed URLs: Amazon's (and R2's), Google's
// and Azure's.
func signature(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "x-amz-") || strings.HasPrefix(name, "x-goog-") {
		return true
	}
	switch name {
	case "awsaccesskeyid", "googleaccessid", "signature", "expires",
		"sig", "se", "sp", "sv", "sr", "st", "spr", "skoid", "sktid", "skt", "ske", "sks", "skv":
		return true
	}
	return false
}

type kind int

const (
	kindFile kind = iota
	kindHTTP
	kindS3
	kindOCI
)

var schemeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// kind tells how the address is reached.
func (u URL) kind() (kind, error) {
	scheme := strings.ToLower(strings.TrimSuffix(schemeForm.FindString(string(u)), ":"))
	switch scheme {
	case "", "file":
		return kindFile, nil
	case "http", "https":
		return kindHTTP, nil
	case "s3":
		return kindS3, nil
	case "oci":
		return kindOCI, nil
	}
	shown, _, _ := strings.Cut(string(u), "?")
	if i := strings.LastIndex(shown, "@"); i >= 0 {
		shown = shown[i+1:]
	}
	return 0, fmt.Errorf("the scheme %q of %q is not known: use https:, http:, s3:, oci:, file: or a path (./%s if that is a path)", scheme, shown, shown)
}

// localPath is the path that a file: URL or a plain path names; a relative one
// is taken from dir.
func (u URL) localPath(dir string) string {
	path := string(u)
	if len(path) >= 5 && strings.EqualFold(path[:5], "file:") {
		path = path[5:]
		if rest, ok := strings.CutPrefix(path, "//"); ok {
			path = strings.TrimPrefix(rest, "localhost")
		}
		// A path with a lone % is a path, not an encoding.
		if decoded, err := url.PathUnescape(path); err == nil {
			path = decoded
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}
