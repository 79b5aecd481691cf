// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package attest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/attest"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/image"
)

var platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// build makes an image of files, in layers of one COPY each.
func build(t *testing.T, text string, files map[string]string) (*image.Layout, attest.Subject) {
	t.Helper()
	dir := t.TempDir()
	context := image.Context{}
	for name, content := range files {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		context[name] = path
	}
	l, err := image.OpenLayout(filepath.Join(dir, "layout"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := dockerfile.Parse("Dockerfile", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := file.Plan(dockerfile.Options{Platform: platform})
	if err != nil {
		t.Fatal(err)
	}
	result, err := plan.Evaluate(nil)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := image.ParseCodec("gzip-1")
	if err != nil {
		t.Fatal(err)
	}
	built, err := image.Build(t.Context(), image.Request{
		Name: "test", File: "Dockerfile", Layout: l, Bases: &image.Bases{Layout: l}, Codec: codec,
		Platforms: []image.PlatformInput{{Platform: platform, Result: result, Context: context}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, attest.Subject{Name: "test", Descriptor: built.Descriptor, Platform: platform, Created: time.Unix(1_700_000_000, 0), Version: "1.2"}
}

// spdx is a document as far as tests look at it.
type spdx struct {
	SPDXVersion       string
	DataLicense       string
	SPDXID            string
	Name              string
	DocumentNamespace string
	Comment           string
	CreationInfo      struct {
		Created  string
		Creators []string
	}
	Packages []struct {
		SPDXID, Name, VersionInfo, DownloadLocation, LicenseConcluded, LicenseDeclared, CopyrightText, Comment string
		ExternalRefs                                                                                           []struct{ ReferenceCategory, ReferenceType, ReferenceLocator string }
	}
	Relationships []struct{ SPDXElementID, RelationshipType, RelatedSPDXElement string }
}

func read(t *testing.T, text []byte) spdx {
	t.Helper()
	var d spdx
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	d.check(t)
	return d
}

// check holds a document against what SPDX 2.3 demands of every one.
func (d spdx) check(t *testing.T) {
	t.Helper()
	if d.SPDXVersion != "SPDX-2.3" || d.DataLicense != "CC0-1.0" || d.SPDXID != "SPDXRef-DOCUMENT" || d.Name == "" || !strings.HasPrefix(d.DocumentNamespace, "https://") {
		t.Errorf("head %+v", d)
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", d.CreationInfo.Created); err != nil || len(d.CreationInfo.Creators) == 0 {
		t.Errorf("creation %+v (%v)", d.CreationInfo, err)
	}
	ids := map[string]bool{"SPDXRef-DOCUMENT": true}
	valid := regexp.MustCompile(`^SPDXRef-[a-zA-Z0-9.-]+$`)
	for _, p := range d.Packages {
		if !valid.MatchString(p.SPDXID) || ids[p.SPDXID] || p.Name == "" || p.DownloadLocation == "" || p.LicenseConcluded == "" || p.LicenseDeclared == "" || p.CopyrightText == "" {
			t.Errorf("package %+v", p)
		}
		ids[p.SPDXID] = true
	}
	described := false
	for _, r := range d.Relationships {
		if !ids[r.SPDXElementID] || !ids[r.RelatedSPDXElement] {
			t.Errorf("relationship %+v has an end that is not there", r)
		}
		described = described || r.RelationshipType == "DESCRIBES"
	}
	if !described {
		t.Error("nothing is described")
	}
}

func (d spdx) purls() []string {
	var all []string
	for _, p := range d.Packages {
		for _, r := range p.ExternalRefs {
			all = append(all, r.ReferenceLocator)
		}
	}
	return all
}

// goProgram compiles a program with one dependency, which is replaced.
func goProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module example.com/hello\n\ngo 1.21\n\nrequire example.com/dep v1.2.3\n\nreplace example.com/dep v1.2.3 => ./dep\n",
		"main.go":    "package main\n\nimport \"example.com/dep\"\n\nfunc main() { println(dep.Name) }\n",
		"dep/go.mod": "module example.com/dep\n\ngo 1.21\n",
		"dep/dep.go": "package dep\n\nvar Name = \"dep\"\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "hello", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const dpkg = "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-9+deb12u14\nDescription: x\n more\n\n" +
	"Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n"

const apk = "C:Q1\nP:musl\nV:1.2.5-r1\nA:x86_64\nL:MIT\nF:lib\nR:x\nR:y\n\nP:odd\nV:1\nA:x86_64\nL:some license of ours\n"

func TestSBOM(t *testing.T) {
	files := map[string]string{
		"hello": goProgram(t), "status": dpkg, "static": "Package: tzdata\nVersion: 2024a\nArchitecture: all\n", "apk": apk,
		"release": "ID=debian\nVERSION_ID=\"12\"\n", "rpm": "x", "hidden": goProgram(t), "text": "x",
	}
	l, subject := build(t, "FROM scratch\nCOPY hello /usr/bin/hello\nCOPY status /var/lib/dpkg/status\nCOPY static /var/lib/dpkg/status.d/tzdata\n"+
		"COPY apk /lib/apk/db/installed\nCOPY release /etc/os-release\nCOPY rpm /var/lib/rpm/rpmdb.sqlite\nCOPY hidden /bin/hidden\nCOPY text /bin/hidden\n", files)
	text, err := attest.SBOM(t.Context(), l, subject)
	if err != nil {
		t.Fatal(err)
	}
	d := read(t, text)
	got := d.purls()
	for _, want := range []string{
		"pkg:oci/test@sha256%3A" + subject.Descriptor.Digest.Hex + "?arch=" + runtime.GOARCH,
		"pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=amd64&distro=debian-12", "pkg:deb/debian/tzdata@2024a?arch=all&distro=debian-12",
		"pkg:apk/debian/musl@1.2.5-r1?arch=x86_64&distro=debian-12", "pkg:golang/example.com/hello@%28devel%29", "pkg:golang/example.com/dep@v1.2.3", "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go"),
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s among\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, p := range d.Packages {
		switch {
		case p.Name == "gone", p.Name == "/bin/hidden":
			t.Errorf("%s is not in the image", p.Name)
		case p.Name == "musl" && p.LicenseDeclared != "MIT", p.Name == "odd" && (p.LicenseDeclared != "NOASSERTION" || !strings.Contains(p.Comment, "some license of ours")):
			t.Errorf("license of %+v", p)
		}
	}
	if !strings.Contains(d.Comment, "/var/lib/rpm/rpmdb.sqlite") {
		t.Errorf("comment %q", d.Comment)
	}
	again, err := attest.SBOM(t.Context(), l, subject) // from the kept facts
	if err != nil || string(again) != string(text) {
		t.Errorf("the second document differs (%v)", err)
	}
}

func TestBrokenDatabase(t *testing.T) {
	for name, text := range map[string]string{"no version": "Package: x\n\n", "no field": "Package: x\nVersion: 1\n\nnonsense\n"} {
		l, subject := build(t, "FROM scratch\nCOPY status /var/lib/dpkg/status\n", map[string]string{"status": text})
		if _, err := attest.SBOM(t.Context(), l, subject); err == nil || !strings.Contains(err.Error(), "/var/lib/dpkg/status:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProvenance(t *testing.T) {
	b := attest.Build{
		Dockerfile: "docker/Dockerfile.x", Args: map[string]string{"V": "1", "API_TOKEN": "hush", "DB_PASSWORD": "hush"}, Platforms: []string{"linux/amd64"},
		Builder: "daemonless", Source: "https://github.com/istio/istio", Commit: strings.Repeat("a", 40),
		Bases: []attest.Dependency{{URI: "docker://b:1"}, {URI: "docker://a:1", Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("b", 64)}}},
	}
	text, err := attest.Provenance("x", []v1.Descriptor{{Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("c", 64)}}}, b)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Type          string `json:"_type"`
		PredicateType string
		Subject       []struct{ Digest map[string]string }
		Predicate     struct {
			BuildDefinition struct {
				ResolvedDependencies []struct {
					URI    string
					Digest map[string]string
				}
			}
			RunDetails struct{ Builder struct{ ID string } }
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" || s.Predicate.RunDetails.Builder.ID == "" || s.Subject[0].Digest["sha256"] != strings.Repeat("c", 64) {
		t.Errorf("statement %s", text)
	}
	if deps := s.Predicate.BuildDefinition.ResolvedDependencies; len(deps) != 3 || deps[0].URI != "docker://a:1" || deps[2].Digest["gitCommit"] != b.Commit {
		t.Errorf("dependencies %+v", deps)
	}
	if strings.Contains(string(text), "hush") {
		t.Error("a secret is in the document")
	}
	for _, private := range []string{os.Getenv("HOME"), os.TempDir()} {
		if private != "" && private != "/" && strings.Contains(string(text), private) {
			t.Errorf("%q is in the document", private)
		}
	}
}

func TestAttach(t *testing.T) {
	l, subject := build(t, "FROM scratch\nCOPY f /f\n", map[string]string{"f": "x"})
	index, err := attest.Attach(l, subject.Descriptor, []attest.Attachment{{Type: attest.SPDX, Content: []byte(`{"a":1}`)}, {Type: attest.InToto, Content: []byte(`{"b":2}`)}})
	if err != nil {
		t.Fatal(err)
	}
	var list v1.IndexManifest
	load(t, l, index.Digest, &list)
	if len(list.Manifests) != 2 || list.Manifests[0].ArtifactType != attest.SPDX {
		t.Fatalf("list %+v", list)
	}
	var manifest v1.Manifest
	load(t, l, list.Manifests[1].Digest, &manifest)
	if manifest.ArtifactType != attest.InToto || manifest.Subject == nil || manifest.Subject.Digest != subject.Descriptor.Digest || manifest.Subject.Platform != nil {
		t.Errorf("manifest %+v", manifest)
	}
	var content map[string]int
	load(t, l, manifest.Layers[0].Digest, &content)
	if content["b"] != 2 || string(manifest.Config.MediaType) != "application/vnd.oci.empty.v1+json" {
		t.Errorf("content %v, configuration %+v", content, manifest.Config)
	}
	if tag := attest.FallbackTag(subject.Descriptor.Digest); tag != "sha256-"+subject.Descriptor.Digest.Hex {
		t.Errorf("tag %s", tag)
	}
}

func load(t *testing.T, l *image.Layout, h v1.Hash, into any) {
	t.Helper()
	f, err := l.Blob(h)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := json.NewDecoder(f).Decode(into); err != nil {
		t.Fatal(err)
	}
}
