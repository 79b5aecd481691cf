// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"fmt"
	"strings"
	"testing"
)

func TestURL(t *testing.T) {
	for _, c := range []struct{ url, shown, identity string }{
		{"https://h/a.tar.gz", "https://h/a.tar.gz", "https://h/a.tar.gz"},
		{"https://user:pw@h:8443/a", "https://h:8443/a", "https://h:8443/a"},
		{"https://token@h", "https://h", "https://h"},
		{"https://a:p@ss@h/x@y", "https://h/x@y", "https://h/x@y"},
		{"https://h/a?X-Amz-Signature=s&X-Amz-Date=d&x-goog-x=1&sig=2&SE=3", "https://h/a?…", "https://h/a"},
		{"https://h/a?v=1&sig=x", "https://h/a?…", "https://h/a?query-sha256=a798de8ee75aeb55"},
		{"https://h/a?sig=y&v=1", "https://h/a?…", "https://h/a?query-sha256=a798de8ee75aeb55"},
		{"https://h/a?v=2", "https://h/a?…", "https://h/a?query-sha256=269fc203435a89d1"},
		{"s3://bucket/key", "s3://bucket/key", "s3://bucket/key"},
		{"oci://h/r@sha256:abc#usr/bin/x", "oci://h/r@sha256:abc#usr/bin/x", "oci://h/r@sha256:abc#usr/bin/x"},
		{"oci://u:p@h/r:1", "oci://h/r:1", "oci://h/r:1"},
		{"file:/a/b?c@d", "file:/a/b?c@d", "file:/a/b?c@d"},
		{"/a/b?c@d", "/a/b?c@d", "/a/b?c@d"},
		{"http://u:p@[bad/x?y", "http://[bad/x?…", "http://[bad/x?query-sha256="},
	} {
		u := URL(c.url)
		if got := u.String(); got != c.shown {
			t.Errorf("%s: shown as %q, want %q", c.url, got, c.shown)
		}
		if got := u.Identity(); got != c.identity && (!strings.HasSuffix(c.identity, "=") || !strings.HasPrefix(got, c.identity)) {
			t.Errorf("%s: identity %q, want %q", c.url, got, c.identity)
		}
		if got := fmt.Sprintf("%v %s %q", u, u, u); strings.Contains(got, "pw") || strings.Contains(got, "token") {
			t.Errorf("printed: %s", got)
		}
	}
	if URL("https://h/a?v=1").Identity() == URL("https://h/a?v=2").Identity() {
		t.Error("two queries are one identity")
	}
}

// Whatever stands between :// and @ must not be printed, and a value of the
// query neither.
func FuzzURLHidesSecrets(f *testing.F) {
	f.Add("user:", "/p", "a=")
	f.Add("a@b:", "/", "")
	f.Add("%zz", "/x", "&&")
	f.Fuzz(func(t *testing.T, user, path, query string) {
		if strings.ContainsAny(user, "/?#") || strings.ContainsAny(path, "?#@") || !strings.HasPrefix(path, "/") {
			t.Skip()
		}
		const secret = "S3CR3T"
		for _, scheme := range []string{"https", "s3", "oci", "gs"} {
			u := URL(scheme + "://" + user + secret + "@host" + path + "?" + query + secret)
			_, err := u.kind()
			if told := fmt.Sprint(u, u.Identity(), err); strings.Contains(told, secret) {
				t.Errorf("%q tells %s", string(u), told)
			}
		}
	})
}
