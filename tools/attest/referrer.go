// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"encoding/json"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/istio-ecosystem/slipway/tools/image"
)

// Types of what is attached.
const (
	SPDX   = "application/spdx+json"
	InToto = "application/vnd.in-toto+json"
)

const emptyType = "application/vnd.oci.empty.v1+json"

// referrer is a manifest that names the image it belongs to. Source: OCI image
// specification 1.1, "Guidelines for Artifact Usage".
type referrer struct {
	Schema       int               `json:"schemaVersion"`
	Media        types.MediaType   `json:"mediaType"`
	ArtifactType string            `json:"artifactType"`
	Config       v1.Descriptor     `json:"config"`
	Layers       []v1.Descriptor   `json:"layers"`
	Subject      v1.Descriptor     `json:"subject"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

// Attachment is a document for one image.
type Attachment struct {
	Type    string // SPDX, InToto
	Content []byte
}

// Attach writes documents into the layout as referrers of an image, and
// returns the index that lists them. Registries that have the referrers API
// find them by their subject; for others the index has to be pushed under
// FallbackTag. Source: OCI distribution specification 1.1, "Referrers Tag
// Schema".
func Attach(l *image.Layout, subject v1.Descriptor, documents []Attachment) (v1.Descriptor, error) {
	subject = v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	empty, err := put(l, []byte("{}"), emptyType)
	if err != nil {
		return v1.Descriptor{}, err
	}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	for _, d := range documents {
		layer, err := put(l, d.Content, types.MediaType(d.Type))
		if err != nil {
			return v1.Descriptor{}, err
		}
		text, err := json.Marshal(referrer{Schema: 2, Media: types.OCIManifestSchema1, ArtifactType: d.Type, Config: empty, Layers: []v1.Descriptor{layer}, Subject: subject})
		if err != nil {
			return v1.Descriptor{}, err
		}
		manifest, err := put(l, text, types.OCIManifestSchema1)
		if err != nil {
			return v1.Descriptor{}, err
		}
		manifest.ArtifactType = d.Type
		index.Manifests = append(index.Manifests, manifest)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return put(l, text, types.OCIImageIndex)
}

func put(l *image.Layout, content []byte, media types.MediaType) (v1.Descriptor, error) {
	h, err := l.Put(content)
	return v1.Descriptor{MediaType: media, Digest: h, Size: int64(len(content))}, err
}

// FallbackTag is the tag under which registries without the referrers API list
// what belongs to an image.
func FallbackTag(h v1.Hash) string { return h.Algorithm + "-" + h.Hex }
