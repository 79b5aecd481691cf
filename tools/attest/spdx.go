// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/image"
)

// Subject is the image that a document is about.
type Subject struct {
	Name       string // without hub and tag: pilot
	Descriptor v1.Descriptor
	Platform   v1.Platform
	Created    time.Time
	Version    string // of what is in it; may be empty
}

// The types below are those fields of SPDX 2.3's JSON form that we write.
type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Comment       string         `json:"comment,omitempty"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID        string         `json:"SPDXID"`
	Name      string         `json:"name"`
	Version   string         `json:"versionInfo,omitempty"`
	Location  string         `json:"downloadLocation"`
	Analyzed  bool           `json:"filesAnalyzed"`
	Concluded string         `json:"licenseConcluded"`
	Declared  string         `json:"licenseDeclared"`
	Copyright string         `json:"copyrightText"`
	Purpose   string         `json:"primaryPackagePurpose,omitempty"`
	Comment   string         `json:"comment,omitempty"`
	Checksums []spdxChecksum `json:"checksums,omitempty"`
	Refs      []spdxRef      `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const none = "NOASSERTION"

// SBOM lists what is in the image of one platform: Go modules, by what the
// linker wrote into programs, and packages of dpkg and apk. Those of rpm are
// not read, and the document says so.
func SBOM(ctx context.Context, l *image.Layout, s Subject) ([]byte, error) {
	layers, err := l.LayersOf(s.Descriptor.Digest)
	if err != nil {
		return nil, err
	}
	all := facts{Databases: map[string]string{}}
	seen, err := l.Visible(s.Descriptor.Digest)
	if err != nil {
		return nil, err
	}
	for _, layer := range layers {
		f, err := factsOf(ctx, l, layer)
		if err != nil {
			return nil, err
		}
		all.add(f, func(path string) bool { return seen(path, layer) })
	}
	return document{}.write(s, all)
}

// add takes over what a container sees of a layer.
func (f *facts) add(o facts, visible func(path string) bool) {
	for _, b := range o.Binaries {
		if visible(b.Path) {
			f.Binaries = append(f.Binaries, b)
		}
	}
	for path, text := range o.Databases {
		if visible(path) {
			f.Databases[path] = text
		}
	}
	for _, path := range o.Other {
		if visible(path) {
			f.Other = append(f.Other, path)
		}
	}
}

func (document) write(s Subject, f facts) ([]byte, error) {
	root := rootPackage(s)
	d := newDocument(s, root)
	packages, err := readPackages(f.Databases)
	if err != nil {
		return nil, fmt.Errorf("reading the packages of image %s: %w", s.Name, err)
	}
	release := readRelease(f.Databases)
	for _, p := range packages {
		d.add(osSPDX(p, release), relationship{From: root.ID, Type: "CONTAINS"})
	}
	for _, b := range f.Binaries {
		program := spdxPackage{Name: "/" + b.Path, Version: b.Main.Version, Purpose: "APPLICATION", Comment: "compiled by " + b.Go}
		if b.Main.Path != "" {
			program.Refs = []spdxRef{purl(goPURL(b.Main))}
		}
		program.ID = id("Program", b.Path, b.Main.Path, b.Main.Version)
		d.add(program, relationship{From: root.ID, Type: "CONTAINS"})
		for _, m := range append([]goModule{{Path: "stdlib", Version: strings.TrimPrefix(b.Go, "go")}}, b.Deps...) {
			p := spdxPackage{ID: id("Go", m.Path, m.Version), Name: m.Path, Version: m.Version, Purpose: "LIBRARY", Refs: []spdxRef{purl(goPURL(m))}}
			d.add(p, relationship{From: program.ID, Type: "DEPENDS_ON"})
		}
	}
	if len(f.Other) > 0 {
		slices.Sort(f.Other)
		d.Comment = "Not listed: the packages in /" + strings.Join(f.Other, ", /")
	}
	return d.finish()
}

func newDocument(s Subject, root spdxPackage) *document {
	d := &document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: s.Name,
		Namespace: "https://github.com/istio-ecosystem/slipway/spdx/" + s.Name + "/" + s.Descriptor.Digest.Hex,
		Creation:  creation{Created: s.Created.UTC().Format(time.RFC3339), Creators: []string{"Tool: slipway"}},
	}
	d.add(root, relationship{From: d.ID, Type: "DESCRIBES"})
	return d
}

// rootPackage is the image itself.
func rootPackage(s Subject) spdxPackage {
	arch := ""
	if s.Platform.Architecture != "" {
		arch = "?arch=" + s.Platform.Architecture
	}
	return spdxPackage{
		ID: "SPDXRef-Image", Name: s.Name, Version: s.Version, Purpose: "CONTAINER",
		Checksums: []spdxChecksum{{"SHA256", s.Descriptor.Digest.Hex}},
		Refs:      []spdxRef{purl("pkg:oci/" + s.Name + "@" + url.QueryEscape(s.Descriptor.Digest.String()) + arch)},
	}
}

// IndexSBOM names the images of an index, whose own documents tell more.
func IndexSBOM(s Subject, platforms []v1.Descriptor) ([]byte, error) {
	root := rootPackage(s)
	d := newDocument(s, root)
	for _, p := range platforms {
		child := s
		child.Descriptor, child.Platform = p, *p.Platform
		one := rootPackage(child)
		one.ID = id("Image", p.Digest.Hex)
		one.Comment = p.Platform.String()
		d.add(one, relationship{From: one.ID, Type: "VARIANT_OF", To: root.ID})
	}
	return d.finish()
}

// add adds a package, once, and a relationship, whose end it is unless one is
// given.
func (d *document) add(p spdxPackage, r relationship) {
	p.Location, p.Concluded, p.Copyright = none, none, none
	if p.Declared == "" {
		p.Declared = none
	}
	if !slices.ContainsFunc(d.Packages, func(o spdxPackage) bool { return o.ID == p.ID }) {
		d.Packages = append(d.Packages, p)
	}
	if r.To == "" {
		r.To = p.ID
	}
	d.Relationships = append(d.Relationships, r)
}

func (d *document) finish() ([]byte, error) {
	slices.SortFunc(d.Packages, func(a, b spdxPackage) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(d.Relationships, func(a, b relationship) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.Type, b.Type), strings.Compare(a.To, b.To))
	})
	d.Relationships = slices.Compact(d.Relationships)
	return json.MarshalIndent(d, "", " ")
}

func purl(locator string) spdxRef { return spdxRef{"PACKAGE-MANAGER", "purl", locator} }

// goPURL is a Go module as package URL. Source: purl's type definition golang.
func goPURL(m goModule) string {
	text := "pkg:golang/" + strings.ToLower(m.Path)
	if m.Version != "" {
		text += "@" + url.QueryEscape(m.Version)
	}
	return text
}

func osSPDX(p osPackage, d distribution) spdxPackage {
	namespace := d.id
	if namespace == "" {
		namespace = map[string]string{"deb": "debian", "apk": "alpine"}[p.Kind]
	}
	query := url.Values{}
	if p.Arch != "" {
		query.Set("arch", p.Arch)
	}
	if d.id != "" && d.version != "" {
		query.Set("distro", d.id+"-"+d.version)
	}
	locator := "pkg:" + p.Kind + "/" + namespace + "/" + url.PathEscape(p.Name) + "@" + url.QueryEscape(p.Version)
	if len(query) > 0 {
		locator += "?" + query.Encode()
	}
	s := spdxPackage{ID: id("Package", p.Kind, p.Name, p.Version, p.Arch), Name: p.Name, Version: p.Version, Purpose: "OPERATING-SYSTEM", Refs: []spdxRef{purl(locator)}}
	if p.License != "" && expression.MatchString(p.License) {
		s.Declared = p.License
	} else if p.License != "" {
		s.Comment = "license as declared: " + p.License
	}
	s.Purpose = "LIBRARY"
	return s
}

// expression is what is surely a license expression of SPDX: names joined by
// operators.
var expression = regexp.MustCompile(`^[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*$`)

// id is the same for the same thing in every document.
func id(kind string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "SPDXRef-" + kind + "-" + hex.EncodeToString(sum[:10])
}
