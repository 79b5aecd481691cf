// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package imageset

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Options say what is measured and with which programs.
type Options struct {
	Self     []string          // command of Slipway that does the goals in SLIPWAY_GOALS
	Environ  []string          // environment of all programs
	Binaries map[string]string // "amd64/install-cni" -> file; those of Programs for both architectures
	Dir      string            // a folder to work in, which is removed by nobody else
	BuildKit string            // address of a buildkitd, or empty
	Buildctl string            // program, or empty
	Docker   string            // address of a Docker engine, or empty
	Note     func(format string, args ...any)
}

// Programs are the binaries that the images hold.
func Programs() []string {
	return []string{"install-cni", "istio-cni", "istioctl", "pilot-agent", "pilot-discovery"}
}

// images are those of the set, with the files that go in.
func images() map[string][]string {
	return map[string][]string{
		"install-cni": {"install-cni", "istio-cni"}, "istioctl": {"istioctl"}, "pilot": {"pilot-discovery"}, "proxyv2": {"envoy", "pilot-agent"},
	}
}

func names() []string { return []string{"install-cni", "istioctl", "pilot", "proxyv2"} }

func arches() []string { return []string{"amd64", "arm64"} }

// envoySize is the size of the stand-in for Envoy, of which one half cannot be
// compressed and the other is text.
const envoySize = 100 << 20

// lay writes the repository that is measured: a catalog, Dockerfiles without
// RUN, and a folder with the files of each image, which is the build context of
// all peers.
func (o Options) lay() error {
	catalog := "variants:\n  default: static\nimages:\n"
	for _, name := range names() {
		catalog += fmt.Sprintf("- name: %s\n  dockerfile: docker/Dockerfile.%s\n  context: files/%s\n", name, name, name)
		text := "FROM scratch\nARG TARGETARCH\n"
		for _, file := range images()[name] {
			text += fmt.Sprintf("COPY ${TARGETARCH}/%s /usr/local/bin/%s\n", file, file)
			for _, arch := range arches() {
				if err := o.place(name, arch, file); err != nil {
					return err
				}
			}
		}
		text += fmt.Sprintf("ENTRYPOINT [\"/usr/local/bin/%s\"]\n", images()[name][0])
		if err := write(filepath.Join(o.Dir, "docker", "Dockerfile."+name), text); err != nil {
			return err
		}
	}
	return write(filepath.Join(o.Dir, "common", "config", "catalog.yaml"), catalog)
}

func write(path, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
}

func (o Options) file(image, arch, file string) string {
	return filepath.Join(o.Dir, "files", image, arch, file)
}

// place copies a binary into the context, or makes the stand-in for Envoy.
func (o Options) place(image, arch, file string) error {
	to := o.file(image, arch, file)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if file == "envoy" {
		line := strings.Repeat("the quick brown fox jumps over the lazy dog ", 97)
		_, err = io.CopyN(out, rand.Reader, envoySize/2)
		for n := 0; err == nil && n < envoySize/2; n += len(line) + 9 {
			_, err = fmt.Fprintf(out, "%08d %s", n, line)
		}
		return errors.Join(err, out.Close())
	}
	in, err := os.Open(o.Binaries[arch+"/"+file])
	if err != nil {
		return errors.Join(err, out.Close())
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, in.Close(), out.Close())
}

// touch changes one binary of the set: a byte at its end.
func (o Options) touch(n int) error {
	f, err := os.OpenFile(o.file("istioctl", "amd64", "istioctl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Repeat([]byte{byte(n)}, 1))
	return errors.Join(err, f.Close())
}
