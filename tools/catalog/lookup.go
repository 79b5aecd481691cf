// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Image returns the image with this name; an unknown name is an error that
// offers the nearest one.
func (c *Catalog) Image(name string) (Image, error) {
	found, err := pick(c, "image", []string{name}, c.Images, Image.name)
	if err != nil {
		return Image{}, err
	}
	return found[0], nil
}

// Binary returns the binary with this name, as Image does.
func (c *Catalog) Binary(name string) (Binary, error) {
	found, err := pick(c, "binary", []string{name}, c.Binaries, Binary.name)
	if err != nil {
		return Binary{}, err
	}
	return found[0], nil
}

// Release returns the release binary with this name, as Image does.
func (c *Catalog) Release(name string) (Release, error) {
	found, err := pick(c, "release binary", []string{name}, c.Releases, Release.name)
	if err != nil {
		return Release{}, err
	}
	return found[0], nil
}

// Prebuilt returns the download with this name, as Image does.
func (c *Catalog) Prebuilt(name string) (Prebuilt, error) {
	found, err := pick(c, "prebuilt", []string{name}, c.Prebuilts, Prebuilt.name)
	if err != nil {
		return Prebuilt{}, err
	}
	return found[0], nil
}

// Pin returns the version that a pin says, or "" when there is no such pin.
func (c *Catalog) Pin(name string) string {
	for _, p := range c.Pins {
		if p.Name == name {
			return p.Version
		}
	}
	return ""
}

// BinariesNamed returns the named binaries in the order of the names, each
// once. All unknown names are in one error.
func (c *Catalog) BinariesNamed(names []string) ([]Binary, error) {
	return pick(c, "binary", names, c.Binaries, Binary.name)
}

// BinariesOf returns the binaries of a group in the order of the catalog.
func (c *Catalog) BinariesOf(g Group) []Binary {
	var found []Binary
	for _, b := range c.Binaries {
		if slices.Contains(b.Groups, g) {
			found = append(found, b)
		}
	}
	return found
}

// ImagesFor returns the images that a DOCKER_TARGETS list names, each once, in
// its order; "docker." before a name is optional and blank items are skipped.
// nil stands for a list that is not set: all images that are no base, sorted
// by name. A list without any name is an error, and so are unknown names, all
// of them at once.
func (c *Catalog) ImagesFor(targets []string) ([]Image, error) {
	if targets == nil {
		var all []Image
		for _, i := range c.Images {
			if !i.Base {
				all = append(all, i)
			}
		}
		slices.SortFunc(all, func(a, b Image) int { return cmp.Compare(a.Name, b.Name) })
		return all, nil
	}
	var names []string
	for _, t := range targets {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "docker."); t != "" {
			names = append(names, t)
		}
	}
	if len(names) == 0 {
		return nil, fail.With(fail.Usage, errors.New("no targets specified: the list of images is set but empty; unset it for all images, or name some: "+
			strings.Join(namesOf(c.Images, Image.name), " ")))
	}
	return pick(c, "image", names, c.Images, Image.name)
}

// pick finds things by name, each once, and reports all unknown names at once.
func pick[T any](c *Catalog, what string, names []string, all []T, nameOf func(T) string) ([]T, error) {
	var found []T
	var unknown []string
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		if i := slices.IndexFunc(all, func(t T) bool { return nameOf(t) == name }); i >= 0 {
			found = append(found, all[i])
		} else {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return found, nil
	}
	known := namesOf(all, nameOf)
	if len(known) == 0 {
		return nil, fail.With(fail.Usage, fmt.Errorf("unknown %s %s: %s holds none", what, quoted(unknown), c.Origin))
	}
	return nil, fail.With(fail.Usage, fmt.Errorf("unknown %s %s; %s has: %s", what, unknownList(unknown, known), c.Origin, strings.Join(known, " ")))
}

func namesOf[T any](all []T, nameOf func(T) string) []string {
	names := inOrder(all, nameOf)
	slices.Sort(names)
	return names
}

func inOrder[T any](all []T, nameOf func(T) string) []string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = nameOf(t)
	}
	return names
}

func (i Image) name() string    { return i.Name }
func (b Binary) name() string   { return b.Name }
func (r Release) name() string  { return r.Name }
func (p Prebuilt) name() string { return p.Name }
func (v Variant) name() string  { return v.Name }
func (p Pin) name() string      { return p.Name }
