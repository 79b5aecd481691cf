// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func tarOf(path string, content []byte) ([]byte, error) {
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	err := tw.WriteHeader(&tar.Header{Name: path, Mode: 0o755, Size: int64(len(content))})
	_, writeErr := tw.Write(content)
	return b.Bytes(), errors.Join(err, writeErr, tw.Close())
}

func (b *imageBench) cranePush(layer v1.Layer, hubs int) error {
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	for n := range hubs {
		ref, err := name.ParseReference(fmt.Sprintf("%s/crane%d/bench:1", b.hosts[n], b.runs))
		if err != nil {
			return err
		}
		if err := remote.Write(ref, img); err != nil {
			return err
		}
	}
	return nil
}
