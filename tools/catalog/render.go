// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteJSON writes the catalog as one indented JSON object.
func (c *Catalog) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return fmt.Errorf("writing the catalog as JSON: %w", err)
	}
	return nil
}

// WriteText writes the catalog as tables for people. Warnings are left out,
// since they are no result; the caller says them.
func (c *Catalog) WriteText(w io.Writer) error {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row("catalog", c.Origin)
	t.row("source", c.sourceText())
	t.row("variants", strings.Join(inOrder(c.Variants, Variant.name), " "))
	for _, b := range c.Binaries {
		t.section("BINARY", "PACKAGE", "TAGS", "GROUPS")
		t.row(b.Name, b.Package, dash(strings.Join(b.Tags, ",")), dash(words(b.Groups)))
	}
	for _, r := range c.Releases {
		t.section("RELEASE BINARY", "PACKAGE", "PLATFORM")
		t.row(r.Name, r.Package, r.Platform.String())
	}
	for _, p := range c.Prebuilts {
		t.section("DOWNLOAD", "PIN", "VERSION")
		t.row(p.Name, p.Pin, p.Version)
	}
	for _, base := range []bool{false, true} {
		for _, i := range c.Images {
			if i.Base == base {
				t.section("IMAGE", "DOCKERFILE", "INPUTS", "VARIANTS")
				t.row(i.label(), i.Dockerfile, dash(i.inputText()), c.variantText(i))
			}
		}
	}
	if t.err == nil {
		t.err = t.w.Flush()
	}
	if t.err != nil {
		return fmt.Errorf("writing the catalog: %w", t.err)
	}
	return nil
}

// table writes rows of cells and keeps the first error.
type table struct {
	w    *tabwriter.Writer
	head string // of the section
	err  error
}

func (t *table) row(cells ...string) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.w, strings.Join(cells, "\t"))
	}
}

// section sees to it that the next row stands under these heads. An empty line
// before them ends the alignment of the rows above.
func (t *table) section(heads ...string) {
	if t.head == heads[0] {
		return
	}
	t.head = heads[0]
	t.row()
	t.row(heads...)
}

func (c *Catalog) sourceText() string {
	switch {
	case !c.Source.Local():
		return c.Source.Module + "@" + c.Source.Version
	case c.Source.Module != "":
		return c.Source.Module + " (this repository)"
	default:
		return "this repository"
	}
}

func (i Image) label() string {
	if i.Base {
		return i.Name + " (base)"
	}
	return i.Name
}

func (i Image) inputText() string {
	names := make([]string, len(i.Inputs))
	for n, in := range i.Inputs {
		if names[n] = in.Name; in.Path != "" {
			names[n] = base(in.Path)
		}
	}
	return strings.Join(names, " ")
}

// variantText lists the variants of an image, each with the stage it is built
// from where that has another name.
func (c *Catalog) variantText(i Image) string {
	if len(i.Distributions) == 0 && len(i.Variants) == 0 {
		return "all the same"
	}
	var parts []string
	for _, v := range c.Variants {
		switch d := i.Distributions[v.Name]; {
		case i.lacks(v.Name) != "":
		case d == "" || d == v.Name:
			parts = append(parts, v.Name)
		default:
			parts = append(parts, v.Name+"="+d)
		}
	}
	return strings.Join(parts, " ")
}

func words[S ~string](list []S) string {
	return strings.Join(inOrder(list, func(s S) string { return string(s) }), " ")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
