// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// accept is what Pull asks for.
const accept = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, " +
	"application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json"

type descriptor struct {
	Digest string `json:"digest"`
}

type document struct {
	MediaType string       `json:"mediaType"`
	Config    *descriptor  `json:"config"`
	Layers    []descriptor `json:"layers"`
	Manifests []descriptor `json:"manifests"`
}

// Pull reads all that a tag or digest names, by requests of its own that share
// nothing with the code under test, and checks every digest. It returns the
// digest of the root, or "" when the registry has no such manifest.
func Pull(base, repo, ref string) (string, error) {
	body, status, err := get(base + "/v2/" + repo + "/manifests/" + ref)
	if err != nil {
		return "", err
	}
	if status == http.StatusNotFound {
		return "", nil
	}
	if status != http.StatusOK {
		return "", fmt.Errorf("%s:%s: status %d", repo, ref, status)
	}
	digest := sum(body)
	if strings.HasPrefix(ref, "sha256:") && digest != ref {
		return "", fmt.Errorf("%s@%s holds %s", repo, ref, digest)
	}
	var doc document
	if err := json.Unmarshal(body, &doc); err != nil {
		return "", err
	}
	for _, m := range doc.Manifests {
		got, err := Pull(base, repo, m.Digest)
		if err != nil {
			return "", fmt.Errorf("%s:%s: %w", repo, ref, err)
		}
		if got == "" {
			return "", fmt.Errorf("%s:%s names manifest %s, which is missing", repo, ref, m.Digest)
		}
	}
	if doc.Config != nil {
		doc.Layers = append(doc.Layers, *doc.Config)
	}
	for _, l := range doc.Layers {
		blob, status, err := get(base + "/v2/" + repo + "/blobs/" + l.Digest)
		if err != nil {
			return "", fmt.Errorf("%s:%s: %w", repo, ref, err)
		}
		if status != http.StatusOK || sum(blob) != l.Digest {
			return "", fmt.Errorf("%s:%s names blob %s: status %d, %d bytes", repo, ref, l.Digest, status, len(blob))
		}
	}
	return digest, nil
}

func get(url string) ([]byte, int, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil) //nolint:noctx // a loopback request of a test
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return body, resp.StatusCode, err
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(s[:])
}
