// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// maxTag is the longest tag that a registry takes. Source: the OCI
// distribution specification.
const maxTag = 128

// TagFor is the one rule for the tag of an image: TAG for the default variant,
// TAG-VARIANT for another. arch is empty except where one archive or name is
// needed for each architecture; it is added for all but amd64, whose names
// were there first. Source: the image builder of istio/istio.
func TagFor(tag, variant, arch string) string { return tag + suffix(variant, arch) }

// ArchiveName is the file of a saved image: IMAGE[-VARIANT][-ARCH].tar.gz, by
// the same rule.
func ArchiveName(image, variant, arch string) string {
	return image + suffix(variant, arch) + ".tar.gz"
}

func suffix(variant, arch string) string {
	var s strings.Builder
	if variant != Default {
		s.WriteString("-" + variant)
	}
	if arch != "" && arch != "amd64" {
		s.WriteString("-" + arch)
	}
	return s.String()
}

// References lists the names of an image: hubs outer, tags inner, then
// variants, each once. A tag that its suffix makes too long for a registry is
// an error. Hubs and tags are checked where they are settled; here a slash at
// the end of a hub only does no harm.
func References(hubs []string, image string, tags, variants []string) ([]string, error) {
	var names []string
	var problems []error
	for _, tag := range tags {
		for _, v := range variants {
			if full := TagFor(tag, v, ""); len(full) > maxTag {
				problems = append(problems, fmt.Errorf("tag %q of image %s has %d characters and a registry takes %d: shorten TAG by %d",
					full, image, len(full), maxTag, len(full)-maxTag))
			}
		}
	}
	if len(problems) > 0 {
		return nil, fail.With(fail.Usage, errors.Join(problems...))
	}
	for _, hub := range hubs {
		for _, tag := range tags {
			for _, v := range variants {
				name := strings.TrimRight(hub, "/") + "/" + image + ":" + TagFor(tag, v, "")
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names, nil
}

// Name returns the references of each build, in the order of builds. Two
// builds that would get one name are an error: TAGS="v1 v1-debug" with the
// variants default and debug gives v1-debug twice, and the last push would win.
func Name(builds []Build, hubs, tags []string) ([][]string, error) {
	names := make([][]string, len(builds))
	owner := map[string]int{}
	var problems []error
	for i, b := range builds {
		list, err := References(hubs, b.Image.Name, tags, b.Variants)
		if err != nil {
			problems = append(problems, err)
		}
		names[i] = list
		for _, name := range list {
			if first, taken := owner[name]; taken {
				problems = append(problems, fmt.Errorf("%s would be both the %s and the %s variant of %s: change one of the tags %s",
					name, builds[first].Primary(), b.Primary(), b.Image.Name, quoted(tags)))
				continue
			}
			owner[name] = i
		}
	}
	return names, fail.With(fail.Usage, errors.Join(problems...))
}
