// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	// imageName is one path component of a repository name. Source: the OCI
	// distribution specification.
	imageName = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$`)
	fileName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)
	// variantName becomes the end of a tag, after a dash.
	variantName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	argName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	buildTag    = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)
	packagePath = regexp.MustCompile(`^\.(/[A-Za-z0-9_][A-Za-z0-9._~+-]*)*$`)
)

// checker holds a catalog against the rules of its fields, and against the
// repository's files where those are at hand.
type checker struct {
	findings
	*Catalog
	root   fs.FS             // the repository; nil: files are not looked at
	stages map[string]stages // by image, of the Dockerfiles that could be read
}

// run checks everything, after parse.
func (c *checker) run() {
	c.names()
	for _, b := range c.Binaries {
		c.binary(b)
	}
	for n := range c.Images {
		c.image(c.Images[n])
		c.distributions(&c.Images[n])
	}
	c.contexts()
	c.cycles()
}

// names checks that each name is one, and is there once.
func (c *checker) names() {
	checkNames(c, "binary", c.Binaries, Binary.name, fileName)
	checkNames(c, "release binary", c.Releases, Release.name, fileName)
	checkNames(c, "prebuilt", c.Prebuilts, Prebuilt.name, fileName)
	checkNames(c, "image", c.Images, Image.name, imageName)
	checkNames(c, "variant", c.Variants, Variant.name, variantName)
	checkNames(c, "pin", c.Pins, Pin.name, argName)
	binaries := namesOf(c.Binaries, Binary.name)
	for _, p := range c.Prebuilts {
		if slices.Contains(binaries, p.Name) {
			c.problem(p.Position, "prebuilt %q has the name of a binary; both would be one file of the output folder", p.Name)
		}
	}
}

func checkNames[T interface{ where() Position }](c *checker, what string, all []T, nameOf func(T) string, form *regexp.Regexp) {
	first := map[string]Position{}
	for i, t := range all {
		name := nameOf(t)
		before, twice := first[name]
		switch {
		case name == "":
			c.problem(t.where(), "%s %d has no name", what, i+1)
		case twice:
			c.problem(t.where(), "%s %q is there twice; the first is at %s", what, name, before.At())
		case !form.MatchString(name):
			c.problem(t.where(), "%s %q is no valid name: %s", what, name, formText(form))
		}
		if !twice {
			first[name] = t.where()
		}
	}
}

func formText(form *regexp.Regexp) string {
	switch form {
	case imageName:
		return "lower case letters and digits, with single '.', '_' or dashes between them"
	case argName:
		return "letters, digits and '_', the first no digit"
	case variantName:
		return "letters, digits, '_', '.' and '-', the first a letter or digit"
	default:
		return "letters, digits, '.', '_', '+' and '-', the first a letter or digit"
	}
}

func (p Position) where() Position { return p }

func (c *checker) binary(b Binary) {
	if !packagePath.MatchString(b.Package) || path.Clean(b.Package) != strings.TrimPrefix(b.Package, "./") && b.Package != "." {
		c.problem(b.Position, "binary %s: package %q is not a path in the source, such as ./cmd/%s", b.Name, b.Package, b.Name)
	}
	for _, tag := range b.Tags {
		if !buildTag.MatchString(tag) {
			c.problem(b.Position, "binary %s: %q is no build tag", b.Name, tag)
		}
	}
}

func (c *checker) image(i Image) {
	if i.Dockerfile == "" {
		c.problem(i.Position, "image %s has no dockerfile", i.Name)
	} else if why := notInside(i.Dockerfile); why != "" {
		c.problem(i.Position, "image %s: dockerfile %q %s", i.Name, i.Dockerfile, why)
	}
	for _, name := range keys(i.Args) {
		if !argName.MatchString(name) {
			c.problem(i.Position, "image %s: %q is no name of a build argument: %s", i.Name, name, formText(argName))
		}
	}
	known := namesOf(c.Variants, Variant.name)
	for _, v := range slices.Concat(i.Variants, keys(i.Distributions)) {
		if !slices.Contains(known, v) {
			c.problem(i.Position, "image %s: unknown variant %s; known: %s", i.Name, unknownList([]string{v}, known), quoted(known))
		}
	}
	c.inputs(i)
}

func (c *checker) inputs(i Image) {
	amd64 := Platform{OS: "linux", Arch: "amd64"}
	staged := map[string]Input{}
	for _, in := range i.Inputs {
		if c.input(i, in); c.badPath(i, in) {
			continue
		}
		at := in.Staged(amd64)
		other, taken := staged[at]
		switch {
		case taken && other.Kind == in.Kind && other.Path == in.Path && c.Kind == Istio:
			c.warn(in.Position, "image %s: %s is there twice", i.Name, in.text()) // harmless there so far
		case taken && other.Kind == in.Kind && other.Path == in.Path:
			c.problem(in.Position, "image %s: %s is there twice", i.Name, in.text())
		case taken:
			c.problem(in.Position, "image %s: %s and %s would both be %q in the build context", i.Name, other.text(), in.text(), at)
		}
		staged[at] = in
	}
}

// text is an input as a person would write it.
func (i Input) text() string {
	if i.Path != "" {
		return fmt.Sprintf("%s %q", i.Kind, i.Path)
	}
	return fmt.Sprintf("%s %q", i.Kind, i.Name)
}

// input checks that something makes the input.
func (c *checker) input(i Image, in Input) {
	known := map[InputKind][]string{
		FromBinary:    namesOf(c.Binaries, Binary.name),
		FromPrebuilt:  namesOf(c.Prebuilts, Prebuilt.name),
		FromGenerated: {Rootfs},
		FromPackage:   {"istio-sidecar.deb", "istio-sidecar.rpm"},
	}[in.Kind]
	switch {
	case known == nil:
		return
	case in.Name == "":
		c.problem(in.Position, "image %s: an input has no name", i.Name)
	case !slices.Contains(known, in.Name):
		c.problem(in.Position, "image %s: unknown %s %s; known: %s", i.Name, in.Kind, unknownList([]string{in.Name}, known), quoted(known))
	}
}

// badPath checks the path of a file or folder, and says whether it is wrong.
func (c *checker) badPath(i Image, in Input) bool {
	if in.Kind != FromFile && in.Kind != FromDir && in.Kind != FromOutput {
		return in.Name == ""
	}
	if why := notInside(in.Path); why != "" {
		c.problem(in.Position, "image %s: %s %q %s", i.Name, in.Kind, in.Path, why)
		return true
	}
	inRoot := !in.Source || c.Source.Local()
	if c.root == nil || in.Kind == FromOutput || !inRoot || strings.Contains(in.Path, "$") {
		return false
	}
	c.exists(i, in)
	return false
}

// exists checks that a path is there, and is the file or folder it should be.
func (c *checker) exists(i Image, in Input) {
	info, err := fs.Stat(c.root, in.Path)
	switch {
	case err != nil:
		c.problem(in.Position, "image %s: %s %q cannot be read: %s", i.Name, in.Kind, in.Path, why(err))
	case info.IsDir() && in.Kind == FromFile:
		c.problem(in.Position, "image %s: %q is a folder; write dir in place of file", i.Name, in.Path)
	case !info.IsDir() && in.Kind == FromDir:
		c.problem(in.Position, "image %s: %q is a file; write file in place of dir", i.Name, in.Path)
	}
}

// CheckSource holds what the catalog takes from the source against the
// source's files: packages, and files that images copy. For a source that is
// the repository itself, reading the catalog did that already.
func (c *Catalog) CheckSource(source fs.FS) error {
	f := &checker{Catalog: c, root: source}
	for _, b := range c.Binaries {
		if info, err := fs.Stat(source, path.Clean(b.Package)); err != nil || !info.IsDir() {
			f.problem(b.Position, "binary %s: package %q is not in %s", b.Name, b.Package, c.sourceText())
		}
	}
	for _, i := range c.Images {
		for _, in := range i.Inputs {
			if in.Source {
				f.exists(i, in)
			}
		}
	}
	return f.err()
}

// notInside says why a slash path is none below a root, "" if it is one.
func notInside(p string) string {
	switch {
	case p == "":
		return "is empty"
	case path.IsAbs(p) || strings.Contains(p, `\`):
		return "must be relative, with slashes"
	case !fs.ValidPath(p) || p == ".":
		return "must be a clean path below the root, without '.' or '..'"
	}
	return ""
}

// why is a file error without the path, which the message has already.
func why(err error) string {
	if pe, ok := errorAs[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
