// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package licenses

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Report lists modules by the category of their licences, the worst last.
func (c Config) Report(modules []Module) []string {
	by := map[Category][]string{}
	for _, m := range modules {
		category, names := c.worst(m)
		by[category] = append(by[category], fmt.Sprintf("  %s@%s: %s", m.Path, m.Version, names))
	}
	var lines []string
	for _, category := range []Category{Unrestricted, Reciprocal, Restricted, Unrecognised, Unlicensed, AllowListed} {
		lines = append(lines, fmt.Sprintf("%s: %d", category, len(by[category])))
		lines = append(lines, by[category]...)
	}
	return lines
}

// Two more categories, of modules.
const (
	Unlicensed  Category = "unlicensed"
	AllowListed Category = "allow-listed"
)

// worst is the category that a module counts under, and its licences.
func (c Config) worst(m Module) (Category, string) {
	names := m.Licences()
	text := strings.Join(names, ", ")
	if slices.Contains(c.Allowed, m.Path) {
		return AllowListed, text
	}
	if len(m.Files) == 0 {
		return Unlicensed, "no license file"
	}
	order := []Category{Unrestricted, Reciprocal, Unrecognised, Restricted}
	worst := 0
	for _, f := range m.Files {
		if f.Licences == nil {
			worst, text = max(worst, 2), strings.TrimPrefix(text+", unknown text in "+f.Name, ", ")
		}
	}
	for _, id := range names {
		worst = max(worst, slices.Index(order, c.Category(id)))
	}
	return order[worst], text
}

// Licences are the identifiers of all licences of a module, sorted.
func (m Module) Licences() []string {
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Licences...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// WriteCSV writes a row for each licence file: module, version, file,
// licences.
func WriteCSV(w io.Writer, modules []Module) error {
	c := csv.NewWriter(w)
	for _, m := range modules {
		if len(m.Files) == 0 {
			_ = c.Write([]string{m.Path, m.Version, "", "none"}) // Error tells
		}
		for _, f := range m.Files {
			_ = c.Write([]string{m.Path, m.Version, f.Name, strings.Join(append([]string{}, f.Licences...), " ")})
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

// Mirror puts the licence files of all modules below dir, as MODULE/FILE, in
// the place of what is there; a module without one gets a file NONE. The old
// folder stays until the new one is whole. It returns how many files there
// are.
func Mirror(dir string, modules []Module) (int, error) {
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".licenses-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	n := 0
	write := func(path string, text []byte) error {
		n++
		path = filepath.Join(fresh, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	}
	for _, m := range modules {
		var errs []error
		for _, f := range m.Files {
			errs = append(errs, write(m.Path+"/"+f.Name, f.text))
		}
		if len(m.Files) == 0 {
			errs = append(errs, write(m.Path+"/NONE", nil))
		}
		if err := errors.Join(errs...); err != nil {
			return n, err
		}
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return n, err
	}
	old := fresh + ".old"
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return n, err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return n, errors.Join(err, os.Rename(old, dir))
	}
	return n, os.RemoveAll(old)
}
