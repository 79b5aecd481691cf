// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"archive/tar"
	"bufio"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/image"
)

// facts are what a layer holds that an SBOM tells of. They are kept by the
// digest of the layer, since layers of bases are met again and again.
type facts struct {
	Binaries  []goBinary        `json:"binaries,omitempty"`
	Databases map[string]string `json:"databases,omitempty"` // package databases and os-release, by path
	Other     []string          `json:"other,omitempty"`     // databases that are not read
}

// goBinary is a Go program and the modules in it.
type goBinary struct {
	Path string     `json:"path"`
	Go   string     `json:"go"` // version of the toolchain
	Main goModule   `json:"main"`
	Deps []goModule `json:"deps,omitempty"`
}

type goModule struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"` // h1: of the module
}

// maxDatabase bounds what is read of a package database.
const maxDatabase = 64 << 20

// databases tells files that are read whole.
func isDatabase(path string) bool {
	switch path {
	case "var/lib/dpkg/status", "lib/apk/db/installed", "usr/lib/apk/db/installed", "etc/os-release", "usr/lib/os-release":
		return true
	}
	name, inside := strings.CutPrefix(path, "var/lib/dpkg/status.d/")
	return inside && !strings.HasSuffix(name, ".md5sums")
}

// isRPM tells the databases of rpm, in its three forms.
func isRPM(path string) bool {
	for _, dir := range []string{"var/lib/rpm/", "usr/lib/sysimage/rpm/"} {
		name, inside := strings.CutPrefix(path, dir)
		if inside && (name == "rpmdb.sqlite" || name == "Packages" || name == "Packages.db") {
			return true
		}
	}
	return false
}

// factsOf reads a layer once.
func factsOf(ctx context.Context, l *image.Layout, layer v1.Hash) (facts, error) {
	f := facts{Databases: map[string]string{}}
	key := "facts-1-" + layer.Hex
	if l.Recall(key, &f) {
		return f, nil
	}
	err := l.EachFile(layer, func(path string, h *tar.Header, r io.Reader) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return f.note(path, h, r)
	})
	if err != nil {
		return f, fmt.Errorf("reading layer %s: %w", layer, err)
	}
	return f, l.Remember(key, f)
}

func (f *facts) note(path string, h *tar.Header, r io.Reader) error {
	switch {
	case isDatabase(path):
		text, err := io.ReadAll(io.LimitReader(r, maxDatabase))
		f.Databases[path] = string(text)
		return err
	case isRPM(path):
		f.Other = append(f.Other, path)
		return nil
	case h.Size < 100<<10: // no Go program is that small
		return nil
	}
	buffered := bufio.NewReaderSize(r, 1<<16)
	head, err := buffered.Peek(4)
	if err != nil || !isProgram(head) {
		return nil //nolint:nilerr // too short for a program
	}
	b, ok, err := readGo(buffered)
	if ok {
		b.Path = path
		f.Binaries = append(f.Binaries, b)
	}
	return err
}

// isProgram knows ELF, PE and Mach-O by their first bytes.
func isProgram(head []byte) bool {
	for _, magic := range []string{"\x7fELF", "MZ", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe"} {
		if strings.HasPrefix(string(head), magic) {
			return true
		}
	}
	return false
}

// readGo reads what the Go linker wrote into a program; ok is false for those
// of other languages. The program goes through a file: it may be large.
func readGo(r io.Reader) (b goBinary, ok bool, err error) {
	f, err := os.CreateTemp("", "slipway-program-")
	if err != nil {
		return b, false, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := io.Copy(f, r); err != nil {
		return b, false, err
	}
	info, err := buildinfo.Read(f)
	if err != nil {
		var broken *fs.PathError
		if errors.As(err, &broken) {
			return b, false, err
		}
		return b, false, nil
	}
	b.Go, b.Main = info.GoVersion, module(&info.Main)
	for _, d := range info.Deps {
		b.Deps = append(b.Deps, module(d))
	}
	return b, true, nil
}

// module is what was compiled: the replacement, where there is one. A folder as
// replacement is nobody's name for a module, and may be a path of the machine.
func module(m *debug.Module) goModule {
	for m.Replace != nil && !strings.HasPrefix(m.Replace.Path, ".") && !filepath.IsAbs(m.Replace.Path) {
		m = m.Replace
	}
	return goModule{m.Path, m.Version, m.Sum}
}
