// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Kind is what describes a repository.
type Kind string

// What describes a repository.
const (
	Istio Kind = "istio" // an Istio tree's own files
	YAML  Kind = "yaml"  // File
)

// File is our own catalog, relative to the repository.
const File = "common/config/catalog.yaml"

// What an Istio tree has. A fork may rename its module, so the folders count.
const (
	goMod      = "go.mod"
	dockerYAML = "tools/docker.yaml"
	depsFile   = "istio.deps"
	makeFile   = "Makefile.core.mk"
	pilotDir   = "pilot/cmd"
	istioPath  = "istio.io/istio"
)

var moduleLine = regexp.MustCompile(`(?m)^\s*module\s+(?:"([^"]+)"|([^\s"/]\S*))`)

// Options are what a reader needs from outside of the repository.
type Options struct {
	// Env looks up a variable of the environment, as os.LookupEnv does;
	// tools/docker.yaml may use them. nil: there are none.
	Env func(name string) (string, bool)
}

// Load detects what dir is and reads its catalog.
func Load(dir string, opts Options) (*Catalog, error) {
	kind, _, err := Detect(dir)
	if err != nil {
		return nil, err
	}
	root := os.DirFS(dir)
	if kind == Istio {
		return FromIstio(root, opts)
	}
	content, err := fs.ReadFile(root, File)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	return FromYAML(File, content, root)
}

// Detect tells what describes the repository in dir, with the reason in words.
// Our own file wins, since nobody has it by chance. A folder that is neither
// is an error that says what is missing.
func Detect(dir string) (Kind, string, error) {
	if strings.TrimSpace(dir) == "" {
		return "", "", usage("finding out what to build: the repository folder is an empty string; start in the repository, or give it with make -C or mage -w")
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a folder")}
	}
	if err != nil {
		return "", "", usage("finding out what to build: %w", err)
	}
	own, err := has(dir, File)
	if err != nil {
		return "", "", err
	}
	if own {
		return YAML, "it has " + File, nil
	}
	missing, err := missingOfIstio(dir)
	if err != nil {
		return "", "", err
	}
	if len(missing) > 0 {
		return "", "", usage("%q is no repository that can be built: it has no %s, and for an Istio tree it lacks %s; start in the root of a checkout (make -C, mage -w), or write %s",
			dir, File, strings.Join(missing, " and "), File)
	}
	module, err := moduleOf(os.DirFS(dir))
	if err != nil {
		return "", "", err
	}
	if module != istioPath {
		return Istio, fmt.Sprintf("its module %s has Istio's %s and %s", module, dockerYAML, pilotDir), nil
	}
	return Istio, "its module is " + istioPath, nil
}

func missingOfIstio(dir string) (missing []string, err error) {
	for _, name := range []string{goMod, dockerYAML, pilotDir} {
		there, err := has(dir, name)
		if err != nil {
			return nil, err
		}
		if !there {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

func has(dir, name string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("finding out what to build: %w", err)
	}
	return true, nil
}

// moduleOf reads the module path in go.mod.
func moduleOf(root fs.FS) (string, error) {
	content, err := fs.ReadFile(root, goMod)
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	m := moduleLine.FindSubmatch(content)
	if m == nil {
		return "", usage("finding the module: %s has no module line", goMod)
	}
	return string(m[1]) + string(m[2]), nil
}

func usage(format string, args ...any) error {
	return fail.With(fail.Usage, fmt.Errorf(format, args...))
}
