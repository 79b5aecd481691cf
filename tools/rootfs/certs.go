// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certFile is where Go, Envoy and OpenSSL on Debian look.
const certFile = "root/etc/ssl/certs/ca-certificates.crt"

// addCertificates writes the trusted roots as one PEM file and returns how
// many there are, and notes on those left out. A root that Mozilla trusts only
// for certificates issued before some day has no form in PEM: with it, all
// that it signs would be trusted, so it is left out.
func (t *tree) addCertificates() (count int, notes []string, err error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return 0, nil, fmt.Errorf("reading root certificate %d: %w", count+1, err)
		}
		name := commonName(cert)
		if root.Constraint != nil {
			notes = append(notes, fmt.Sprintf("root certificate %q is left out: it is trusted for older certificates only, and a PEM file cannot say so", name))
			continue
		}
		fmt.Fprintf(&out, "# %s\n", name)
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return 0, nil, fmt.Errorf("writing root certificate %q: %w", name, err)
		}
		count++
	}
	t.file(certFile, out.Bytes())
	return count, notes, nil
}

func commonName(c *x509.Certificate) string {
	if c.Subject.CommonName != "" {
		return c.Subject.CommonName
	}
	return c.Subject.String()
}
