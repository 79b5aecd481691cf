// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package licenses

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Config is common/config/license-lint.yml: which licences are of which
// category, and which modules somebody has looked at. The categories are those
// of https://opensource.google/documentation/reference/thirdparty/licenses.
type Config struct {
	Unrestricted []string `yaml:"unrestricted_licenses"`
	Reciprocal   []string `yaml:"reciprocal_licenses"`
	Restricted   []string `yaml:"restricted_licenses"`
	Allowed      []string `yaml:"allowlisted_modules"`
	// Files names, for a module, the files that hold its licence, where it
	// cannot be told from their names. Istio's tool has no such key.
	Files map[string][]string `yaml:"license_files"`
}

// ReadConfig reads the file name; an unknown key is an error with its line.
func ReadConfig(name string, text []byte) (Config, error) {
	var c Config
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, fail.With(fail.Usage, fmt.Errorf("%s: %w", name, err))
	}
	for _, l := range c.Restricted {
		if slices.Contains(c.Unrestricted, l) || slices.Contains(c.Reciprocal, l) {
			return c, fail.With(fail.Usage, fmt.Errorf("%s: the license %q is restricted and in another category too: take it out of one", name, l))
		}
	}
	return c, nil
}

// Category is what a licence means for those who link a module.
type Category string

// The categories.
const (
	Unrestricted Category = "unrestricted"
	Reciprocal   Category = "reciprocal"
	Restricted   Category = "restricted"
	Unrecognised Category = "unrecognized" // its text is known, its category is not, or neither is
)

// Category of a licence by its SPDX identifier. Texts that only name a licence
// (a header) count as the licence, and a version of the GPL counts as listed
// under both of SPDX's names for it, with and without later versions.
func (c Config) Category(id string) Category {
	id = strings.TrimSuffix(id, "-Header")
	names := []string{id, id + "-only", id + "-or-later", strings.TrimSuffix(strings.TrimSuffix(id, "-or-later"), "-only")}
	for _, group := range []struct {
		licences []string
		category Category
	}{{c.Restricted, Restricted}, {c.Reciprocal, Reciprocal}, {c.Unrestricted, Unrestricted}} {
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(group.licences, n) }) {
			return group.category
		}
	}
	return Unrecognised
}
