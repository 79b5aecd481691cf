// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Default is the variant whose images carry the plain tag.
const Default = "default"

// Distribution is the build argument that chooses the stage of a variant.
const Distribution = "BASE_DISTRIBUTION"

// Variant is one flavour of the images.
type Variant struct {
	Name         string `json:"name"`
	Distribution string `json:"distribution"` // value of BASE_DISTRIBUTION
	Position
}

// VariantsFor returns the variants that a DOCKER_BUILD_VARIANTS list names,
// each once; nil stands for a list that is not set: the default variant.
// untagged, which is INCLUDE_UNTAGGED_DEFAULT, adds the default variant and
// sorts the list. A list without a name is an error, and so are unknown
// variants, all at once.
func (c *Catalog) VariantsFor(list []string, untagged bool) ([]string, error) {
	names := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.TrimSpace(s) == "" })
	switch {
	case list == nil:
		names = []string{Default}
	case len(names) == 0:
		return nil, fail.With(fail.Usage, errors.New("no variant is named: the list is set but empty; unset it for the default variant, or name some of: "+
			strings.Join(namesOf(c.Variants, Variant.name), " ")))
	}
	if untagged {
		names = append(names, Default)
		slices.Sort(names)
	}
	found, err := pick(c, "variant", names, c.Variants, Variant.name)
	if err != nil {
		return nil, err
	}
	names = names[:0]
	for _, v := range found {
		names = append(names, v.Name)
	}
	return names, nil
}

// Build is one image in one flavour, under one or more variant names: variants
// that differ in nothing are built once and tagged with each.
type Build struct {
	Image        Image
	Variants     []string // in the order they were asked for
	Distribution string   // value of BASE_DISTRIBUTION; empty: the image has none
}

// Skip is an image that is not built in a variant.
type Skip struct {
	Image, Variant, Reason string
}

func (s Skip) String() string {
	return fmt.Sprintf("image %s is not made in the variant %s: %s", s.Image, s.Variant, s.Reason)
}

// Builds crosses images and variants. What an image is not made for is left
// out and returned as skipped, for the caller to say; when nothing at all
// remains, that is an error.
func Builds(images []Image, variants []string) ([]Build, []Skip, error) {
	var builds []Build
	var skipped []Skip
	for _, image := range images {
		made, left := image.builds(variants)
		builds, skipped = append(builds, made...), append(skipped, left...)
	}
	if len(builds) > 0 || len(skipped) == 0 {
		return builds, skipped, nil
	}
	reasons := make([]error, len(skipped))
	for i, s := range skipped {
		reasons[i] = errors.New(s.String())
	}
	return nil, skipped, fail.With(fail.Usage, errors.Join(reasons...))
}

func (i Image) builds(variants []string) (builds []Build, skipped []Skip) {
	for _, v := range variants {
		if reason := i.lacks(v); reason != "" {
			skipped = append(skipped, Skip{i.Name, v, reason})
			continue
		}
		distribution := i.Distributions[v]
		at := slices.IndexFunc(builds, func(b Build) bool { return b.Distribution == distribution })
		if at < 0 {
			builds = append(builds, Build{Image: i, Distribution: distribution})
			at = len(builds) - 1
		}
		builds[at].Variants = append(builds[at].Variants, v)
	}
	return builds, skipped
}

// lacks says why the image is not made in a variant, "" if it is.
func (i Image) lacks(variant string) string {
	if len(i.Variants) > 0 && !slices.Contains(i.Variants, variant) {
		return "it is made as " + strings.Join(i.Variants, ", ") + " only"
	}
	if len(i.Distributions) > 0 && i.Distributions[variant] == "" {
		return fmt.Sprintf("%s has no stage for it, only for %s", i.Dockerfile, strings.Join(keys(i.Distributions), ", "))
	}
	return ""
}

// Args are the build arguments that the catalog knows of.
func (b Build) Args() map[string]string {
	args := maps.Clone(b.Image.Args)
	if args == nil {
		args = map[string]string{}
	}
	if b.Distribution != "" {
		args[Distribution] = b.Distribution
	}
	return args
}

// Primary is the variant that names the build where one name must do: the
// first that is not the default one, else the default one.
func (b Build) Primary() string {
	for _, v := range b.Variants {
		if v != Default {
			return v
		}
	}
	return Default
}
