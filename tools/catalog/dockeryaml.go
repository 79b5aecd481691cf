// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What tools/docker.yaml may refer to, one for each platform. These stay as
// they are; the rest is expanded.
const (
	symbolOut  = "${TARGET_OUT}"
	symbolMode = "${RELEASE_MODE}"
	symbolOS   = "${TARGET_OS}"
	symbolArch = "${TARGET_ARCH}"
)

// images reads tools/docker.yaml.
func (r *istioReader) images() {
	content, err := fs.ReadFile(r.root, dockerYAML)
	if err != nil {
		r.problem(r.at(0), "it cannot be read: %s", why(err))
		return
	}
	doc := r.document(content)
	if doc == nil {
		return
	}
	o := r.object(doc, "the file", "images", "example") // example is documentation
	for _, n := range r.list(o.values["images"], "images") {
		r.image(n)
	}
	if len(r.c.Images) == 0 {
		r.problem(r.at(0), "it holds no images")
	}
}

func (r *istioReader) image(n *yaml.Node) {
	o := r.object(n, "image", "name", "dockerfile", "files", "targets", "base", "emulationRequired")
	i := Image{
		Name: r.expanded(o.values["name"], "name"), Dockerfile: r.expanded(o.values["dockerfile"], "dockerfile"),
		Base: r.yes(o.values["base"], "base"), EmulationRequired: r.yes(o.values["emulationRequired"], "emulationRequired"),
		Position: r.at(n.Line),
	}
	if i.Dockerfile != "" {
		i.Dockerfile = path.Clean(i.Dockerfile)
	}
	i.Args = machineArgs(i.Name)
	if strings.HasPrefix(i.Name, "app_") {
		i.Variants = []string{Default, debug} // Istio's builder skips their distroless form
	}
	for _, key := range []string{"files", "targets"} {
		for _, item := range r.list(o.values[key], key) {
			if text := r.expanded(item, "an item of "+key); text != "" {
				i.Inputs = append(i.Inputs, r.input(i.Name, text, key == "targets", r.at(item.Line)))
			}
		}
	}
	r.c.Images = append(r.c.Images, i)
}

// expanded reads a scalar and expands the variables in it.
func (r *istioReader) expanded(n *yaml.Node, what string) string {
	text := r.text(n, what)
	return os.Expand(text, func(name string) string {
		switch name {
		case "TARGET_OUT", "TARGET_OUT_LINUX": // the same, for what goes into an image
			return symbolOut
		case "RELEASE_MODE", "TARGET_OS", "TARGET_ARCH":
			return "${" + name + "}"
		case "SIDECAR":
			return "envoy"
		}
		if r.env != nil {
			if value, set := r.env(name); set {
				return value
			}
		}
		r.problem(r.at(n.Line), "%q refers to %s, which is not set: set it in the environment", text, name)
		return ""
	})
}

// input tells what makes a file: by its place in the output folder, else it
// is a file or folder of the repository.
func (r *istioReader) input(image, text string, target bool, at Position) Input {
	below, made := strings.CutPrefix(text, symbolOut+"/")
	if !made {
		return r.repositoryInput(image, text, target, at)
	}
	dir, name := path.Split(below)
	plain := dir == "" || dir == symbolMode+"/" || dir == "release/"
	has := func(names []string) bool { return slices.Contains(names, name) }
	switch {
	case plain && has(namesOf(r.c.Prebuilts, Prebuilt.name)):
		return Input{Kind: FromPrebuilt, Name: name, Position: at}
	case dir == "" && has(namesOf(r.c.Binaries, Binary.name)):
		return Input{Kind: FromBinary, Name: name, Position: at}
	case dir == "release/" && (name == "istio-sidecar.deb" || name == "istio-sidecar.rpm"):
		return Input{Kind: FromPackage, Name: name, Position: at}
	}
	known := slices.Concat(namesOf(r.c.Binaries, Binary.name), namesOf(r.c.Prebuilts, Prebuilt.name))
	r.warn(at, "image %s: nothing here makes %q%s, so it must be in the output folder before the image is built", image, below, didYouMean(name, known))
	return Input{Kind: FromOutput, Path: below, Position: at}
}

func (r *istioReader) repositoryInput(image, text string, target bool, at Position) Input {
	text = path.Clean(text) // ./x and x/ are fine there
	in := Input{Kind: FromFile, Path: text, Position: at}
	if fs.ValidPath(text) && r.isDir(text) {
		in.Kind = FromDir
	}
	if target {
		r.warn(at, "image %s: target %q is outside of the output folder; it is taken as the file that is there", image, text)
	}
	return in
}

// machineArgs are the build arguments of the images of virtual machines, which
// Istio's builder takes out of the name: app_sidecar_debian_12 and
// app_sidecar_base_debian_12 are debian, 12.
func machineArgs(image string) map[string]string {
	rest, ok := strings.CutPrefix(image, "app_sidecar_base_")
	if !ok {
		rest, ok = strings.CutPrefix(image, "app_sidecar_")
	}
	parts := strings.Split(rest, "_")
	if !ok || len(parts) != 2 {
		return nil
	}
	return map[string]string{"VM_IMAGE_NAME": parts[0], "VM_IMAGE_VERSION": parts[1]}
}
