// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Taken is what became of a blob that another builder handed over.
type Taken struct {
	Layer Layer
	// Machines has the ELF machines of the programs in a layer that was made
	// in this build, each with the path of the first one.
	Machines map[elf.Machine]string `json:",omitempty"`
	// Made is false for blobs that are kept as they came: manifests,
	// configurations, and layers of base images, which are compressed.
	Made bool
}

// Take stores a blob of another builder. An uncompressed layer is one that the
// build has made: its files get the date of those that Slipway copies itself,
// so that two builds give one digest, and it is compressed by codec. All else
// is kept as it is. want is the digest that the blob must have.
func (l *Layout) Take(ctx context.Context, r io.Reader, want v1.Hash, codec Codec) (Taken, error) {
	return l.take(ctx, r, want, codec, retime)
}

// TakeLayer stores an uncompressed layer as Take does, but leaves its times:
// it may be one of a base image. want is its digest; empty: what comes is taken.
func (l *Layout) TakeLayer(ctx context.Context, r io.Reader, want v1.Hash, codec Codec) (Taken, error) {
	return l.take(ctx, r, want, codec, recompress)
}

// remaker turns an uncompressed layer into the blob that is kept.
type remaker func(ctx context.Context, out io.Writer, in io.Reader, codec Codec, machines map[elf.Machine]string) (v1.Hash, error)

func (l *Layout) take(ctx context.Context, r io.Reader, want v1.Hash, codec Codec, remake remaker) (Taken, error) {
	sum := sha256.New()
	raw := bufio.NewReaderSize(io.TeeReader(r, sum), 1<<20)
	head, _ := raw.Peek(512)
	s, err := l.spool()
	if err != nil {
		return Taken{}, err
	}
	taken := Taken{Made: isTar(head)}
	if taken.Made {
		taken.Machines = map[elf.Machine]string{}
		taken.Layer.Media = string(codec.mediaType())
		taken.Layer.DiffID, err = remake(ctx, s, raw, codec, taken.Machines)
	} else {
		_, err = io.Copy(s, raw)
	}
	got := hex.EncodeToString(sum.Sum(nil))
	if err == nil && got != want.Hex && want.Hex != "" {
		err = fmt.Errorf("what came has digest sha256:%s", got)
	}
	taken.Layer.Digest, taken.Layer.Size, err = s.commit(err)
	if err != nil {
		return Taken{}, fmt.Errorf("taking blob %s: %w", want, err)
	}
	if want.Hex == "" || !taken.Made {
		return taken, nil
	}
	return taken, l.remember("layers", takenKey(want, codec), taken)
}

// TakenBefore finds what became of a blob in an earlier run.
func (l *Layout) TakenBefore(h v1.Hash, codec Codec) (Taken, bool) {
	var taken Taken
	if l.recall("layers", takenKey(h, codec), &taken) && l.Has(taken.Layer.Digest, taken.Layer.Size) {
		return taken, true
	}
	if f, err := l.Blob(h); err == nil {
		info, err := f.Stat()
		if errors.Join(err, f.Close()) == nil {
			return Taken{Layer: Layer{Digest: h, Size: info.Size()}}, true
		}
	}
	return Taken{}, false
}

func takenKey(h v1.Hash, codec Codec) string { return "taken-" + codec.key() + "-" + h.Hex }

// isTar knows a tar by its magic, and an empty one by its zeros; JSON and
// compressed layers have other bytes there.
func isTar(head []byte) bool {
	return len(head) == 512 && (string(head[257:262]) == "ustar" || bytes.Count(head, []byte{0}) == 512)
}

// retime copies a tar into the compressor with all times set to 1970, and
// returns the digest of the new tar.
func retime(ctx context.Context, out io.Writer, in io.Reader, codec Codec, machines map[elf.Machine]string) (v1.Hash, error) {
	buffered := bufio.NewWriterSize(out, 1<<20)
	z, err := codec.writer(buffered)
	if err != nil {
		return v1.Hash{}, err
	}
	sum := sha256.New()
	tw := tar.NewWriter(io.MultiWriter(sum, z))
	err = errors.Join(retimeEntries(ctx, tw, in, machines), tw.Close(), z.Close(), buffered.Flush())
	if err == nil {
		_, err = io.Copy(io.Discard, in) // padding counts for the digest of what came
	}
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}, err
}

// recompress keeps every byte of a tar.
func recompress(ctx context.Context, out io.Writer, in io.Reader, codec Codec, _ map[elf.Machine]string) (v1.Hash, error) {
	buffered := bufio.NewWriterSize(out, 1<<20)
	z, err := codec.writer(buffered)
	if err != nil {
		return v1.Hash{}, err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(sum, z), in)
	if err == nil {
		err = ctx.Err()
	}
	err = errors.Join(err, z.Close(), buffered.Flush())
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}, err
}

func retimeEntries(ctx context.Context, tw *tar.Writer, in io.Reader, machines map[elf.Machine]string) error {
	for tr := tar.NewReader(in); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a layer: %w", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h.ModTime, h.AccessTime, h.ChangeTime = time.Unix(0, 0), time.Time{}, time.Time{}
		h.Format = tar.FormatUnknown // the writer takes the plainest that can hold the entry
		if err := tw.WriteHeader(h); err != nil {
			return fmt.Errorf("adding /%s: %w", h.Name, err)
		}
		content := bufio.NewReaderSize(tr, 4<<10)
		if head, err := content.Peek(20); err == nil && h.Typeflag == tar.TypeReg {
			if m, ok := machineIn(head); ok && machines[m] == "" {
				machines[m] = "/" + h.Name
			}
		}
		if _, err := content.WriteTo(tw); err != nil {
			return fmt.Errorf("adding /%s: %w", h.Name, err)
		}
	}
}

// Foreign is an image that another builder made for one platform, with all its
// blobs handed over to Take.
type Foreign struct {
	Manifest    v1.Hash // as the other builder named it
	Platform    v1.Platform
	Codec       Codec
	Created     time.Time         // of the image and its history
	Labels      map[string]string // as those of a Request
	OwnLabels   []string
	Annotations map[string]string
	AnyMachine  bool
	Fresh       func(v1.Hash) bool // tells blobs that were handed over in this run
}

// Adopt turns the image of another builder into one like those that Build
// makes: dated, labelled, and with the layers that Take made. Everything else
// in its configuration stays.
func (l *Layout) Adopt(f Foreign) (PlatformImage, error) {
	var manifest v1.Manifest
	if err := l.readJSON(f.Manifest, &manifest); err != nil {
		return PlatformImage{}, err
	}
	var config map[string]json.RawMessage
	var known v1.ConfigFile
	if err := errors.Join(l.readJSON(manifest.Config.Digest, &config), l.readJSON(manifest.Config.Digest, &known)); err != nil {
		return PlatformImage{}, err
	}
	if len(known.RootFS.DiffIDs) != len(manifest.Layers) {
		return PlatformImage{}, fmt.Errorf("the builder's image has %d layers, but its configuration lists %d", len(manifest.Layers), len(known.RootFS.DiffIDs))
	}
	if known.OS != f.Platform.OS || known.Architecture != f.Platform.Architecture {
		return PlatformImage{}, fmt.Errorf("the builder made an image for %s/%s, wanted %s", known.OS, known.Architecture, f.Platform.String())
	}
	image := PlatformImage{Platform: f.Platform}
	if err := l.adoptLayers(f, manifest, &known, &image); err != nil {
		return image, err
	}
	for i := range known.History {
		known.History[i].Created = v1.Time{Time: f.Created.UTC()}
	}
	if err := replace(config, map[string]any{"created": v1.Time{Time: f.Created.UTC()}, "rootfs": known.RootFS, "history": known.History}); err != nil {
		return image, err
	}
	if err := addLabels(config, f.Labels, f.OwnLabels); err != nil {
		return image, err
	}
	return image, l.putImage(&image, config, f.Annotations)
}

func (l *Layout) adoptLayers(f Foreign, manifest v1.Manifest, config *v1.ConfigFile, image *PlatformImage) error {
	steps := withLayer(config.History)
	var problems []error
	for i, d := range manifest.Layers {
		taken, ok := l.TakenBefore(d.Digest, f.Codec)
		if !ok {
			return fmt.Errorf("the builder did not hand over layer %s", d.Digest)
		}
		info := LayerInfo{Layer: taken.Layer}
		if taken.Made {
			config.RootFS.DiffIDs[i] = taken.Layer.DiffID
			info.Fresh = f.Fresh(d.Digest)
		} else {
			info.Layer = Layer{DiffID: config.RootFS.DiffIDs[i], Digest: d.Digest, Size: d.Size, Media: string(ociMedia(d.MediaType))}
		}
		if i < len(steps) && taken.Made {
			info.CreatedBy = steps[i].CreatedBy
			problems = append(problems, f.wrongMachines(taken, info.CreatedBy)...)
		}
		image.Layers = append(image.Layers, info)
	}
	return fail.With(fail.Usage, errors.Join(problems...))
}

// withLayer are the entries of a history that made a layer.
func withLayer(history []v1.History) []v1.History {
	var made []v1.History
	for _, h := range history {
		if !h.EmptyLayer {
			made = append(made, h)
		}
	}
	return made
}

// wrongMachines lists programs that were copied and cannot run on the
// platform. What RUN installs may have its reasons, such as cross compilers.
func (f Foreign) wrongMachines(taken Taken, createdBy string) []error {
	want, known := machineOf(f.Platform.Architecture)
	if !known || f.AnyMachine || !strings.HasPrefix(createdBy, "COPY ") && !strings.HasPrefix(createdBy, "ADD ") {
		return nil
	}
	var problems []error
	for machine, path := range taken.Machines {
		if machine != want {
			problems = append(problems, fmt.Errorf("%s, from %s, is a program for %s, but the image is for %s", path, createdBy, machine, f.Platform.String()))
		}
	}
	return problems
}

func replace(config map[string]json.RawMessage, values map[string]any) error {
	for name, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		config[name] = text
	}
	return nil
}

// addLabels adds labels to a configuration.
func addLabels(config map[string]json.RawMessage, labels map[string]string, own []string) error {
	if len(labels) == 0 {
		return nil
	}
	inner := map[string]json.RawMessage{}
	if text, ok := config["config"]; ok {
		if err := json.Unmarshal(text, &inner); err != nil {
			return fmt.Errorf("reading the builder's image: %w", err)
		}
	}
	all := map[string]string{}
	if text, ok := inner["Labels"]; ok {
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("reading the builder's image: %w", err)
		}
	}
	if err := replace(inner, map[string]any{"Labels": merged(all, labels, own)}); err != nil {
		return err
	}
	return replace(config, map[string]any{"config": inner})
}

// putImage writes configuration and manifest. The keys of the configuration are
// sorted, so that it is the same text whoever made it.
func (l *Layout) putImage(image *PlatformImage, config any, annotations map[string]string) error {
	config, err := sorted(config)
	if err != nil {
		return err
	}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Layers: []v1.Descriptor{}, Annotations: annotations}
	for _, layer := range image.Layers {
		manifest.Layers = append(manifest.Layers, v1.Descriptor{MediaType: types.MediaType(layer.Media), Digest: layer.Digest, Size: layer.Size})
	}
	if manifest.Config, err = l.putJSON(config, types.OCIConfigJSON); err != nil {
		return err
	}
	if image.Descriptor, err = l.putJSON(manifest, types.OCIManifestSchema1); err != nil {
		return err
	}
	platform := image.Platform
	image.Descriptor.Platform = &platform
	return nil
}

// sorted is a value as JSON with all keys in order, and without empty ones,
// which some builders write and others do not.
func sorted(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var plain map[string]any
	if err := d.Decode(&plain); err != nil {
		return nil, err
	}
	if inner, ok := plain["config"].(map[string]any); ok {
		for name, v := range inner {
			if v == nil {
				delete(inner, name)
			}
		}
	}
	return plain, nil
}
