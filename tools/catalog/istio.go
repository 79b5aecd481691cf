// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// FromIstio reads the catalog of an Istio tree or a fork of it: images from
// tools/docker.yaml, versions from istio.deps, binaries and their tags from
// Makefile.core.mk. What those files do not say is Istio's own and kept here:
// the release binaries, and the binaries when Makefile.core.mk has no lists.
func FromIstio(repository fs.FS, opts Options) (*Catalog, error) {
	r := &istioReader{reader: reader{file: dockerYAML, foreign: true}, root: repository, env: opts.Env}
	r.c = &Catalog{Origin: dockerYAML, Kind: Istio}
	module, err := moduleOf(repository)
	if err != nil {
		return nil, err
	}
	r.c.Source = Source{Module: module}
	r.readPins()
	r.prebuilts()
	r.binaries()
	r.releases()
	r.images()

	check := &checker{Catalog: r.c, root: repository}
	check.parse()
	r.variants(check.stages)
	check.run()
	r.addNew(check.problems)
	if err := r.err(); err != nil {
		return nil, err
	}
	r.c.Warnings = sorted(append(r.warnings, check.warnings...))
	return r.c, nil
}

// istioReader fills a catalog from the files of an Istio tree.
type istioReader struct {
	reader
	c    *Catalog
	root fs.FS
	env  func(string) (string, bool)
}

// The lists of Makefile.core.mk.
const (
	standardList = "STANDARD_BINARIES"
	agentList    = "AGENT_BINARIES"
	linuxList    = "LINUX_AGENT_BINARIES"
	cniList      = "CNI_BINARIES"
	standardTags = "STANDARD_TAGS"
	agentTags    = "AGENT_TAGS"
)

// istioLists are the lists as Istio has them, for a tree whose make file has
// none.
func istioLists() map[string][]string {
	return map[string][]string{
		standardList: {"./istioctl/cmd/istioctl", "./pilot/cmd/pilot-discovery", "./pkg/test/echo/cmd/client", "./pkg/test/echo/cmd/server", "./samples/extauthz/cmd/extauthz"},
		agentList:    {"./pilot/cmd/pilot-agent"},
		linuxList:    {"./cni/cmd/istio-cni", "./cni/cmd/install-cni", "./pilot/cmd/pilot-agent"},
		cniList:      {"./cni/cmd/istio-cni", "./cni/cmd/install-cni"},
		standardTags: {"vtprotobuf,disable_pgv"},
		agentTags:    {"agent,disable_pgv,grpcnotrace,retrynotrace"},
	}
}

func (r *istioReader) binaries() {
	content, err := fs.ReadFile(r.root, makeFile)
	if err != nil {
		r.warn(Position{File: makeFile}, "it cannot be read (%s), so Istio's own list of binaries is used", why(err))
	}
	vars := readMakeVars(string(content))
	lists, lines, embedded := istioLists(), map[string]int{}, err != nil
	for _, name := range keys(lists) {
		words, set, err := vars.words(name)
		switch at := (Position{makeFile, vars[name].line}); {
		case err != nil:
			r.problem(at, "reading %s: %s; write the list out, or describe the tree in %s", name, err, File)
		case set:
			lists[name], lines[name] = words, at.Line
		case !embedded:
			r.warn(Position{File: makeFile}, "%s is not set, so Istio's own is used: %s", name, strings.Join(lists[name], " "))
		}
	}
	tags := func(name string) []string {
		return strings.FieldsFunc(strings.Join(lists[name], ","), func(c rune) bool { return c == ',' })
	}
	r.addBinaries(Standard, tags(standardTags), lists[standardList], lines[standardList], GroupBuild, GroupLinux)
	r.addBinaries(Agent, tags(agentTags), lists[agentList], lines[agentList], GroupBuild)
	r.addBinaries(Agent, tags(agentTags), lists[linuxList], lines[linuxList], GroupLinux)
	r.addBinaries(Agent, tags(agentTags), lists[cniList], lines[cniList], GroupCNI)
	const cert = "./security/tools/generate_cert"
	if r.isDir(cert) {
		r.c.Binaries = append(r.c.Binaries, Binary{Name: path.Base(cert), Package: cert, Position: Position{File: makeFile}})
	}
}

// addBinaries adds a list to its groups. A package that two lists name is one
// binary in the groups of both. line is 0 for a list of ours, of which only
// what the tree has is taken.
func (r *istioReader) addBinaries(set Set, tags, packages []string, line int, groups ...Group) {
	for _, pkg := range packages {
		at := Position{makeFile, line}
		i := slices.IndexFunc(r.c.Binaries, func(b Binary) bool { return b.Package == pkg })
		if i < 0 {
			if there := r.isDir(pkg); !there && line == 0 {
				continue
			} else if !there {
				r.problem(at, "package %q is not in the tree", pkg)
			}
			r.c.Binaries = append(r.c.Binaries, Binary{Name: path.Base(pkg), Package: pkg, Set: set, Tags: tags, Position: at})
			i = len(r.c.Binaries) - 1
		}
		b := &r.c.Binaries[i]
		if b.Set != set {
			r.problem(at, "package %q is in a list of the %s set and in one of the %s set; it can have the tags of one only", pkg, b.Set, set)
		}
		for _, g := range groups {
			if !slices.Contains(b.Groups, g) {
				b.Groups = append(b.Groups, g)
			}
		}
	}
}

func (r *istioReader) isDir(pkg string) bool {
	info, err := fs.Stat(r.root, path.Clean(pkg))
	return err == nil && info.IsDir()
}

// releases are the six files of istioctl-all. The Windows one has no
// architecture in its name; Istio's gobuild.sh builds it for amd64.
func (r *istioReader) releases() {
	ctl := slices.IndexFunc(r.c.Binaries, func(b Binary) bool { return b.Name == "istioctl" })
	if ctl < 0 {
		return
	}
	b := r.c.Binaries[ctl]
	for _, rel := range []Release{
		{Name: "istioctl-linux-amd64", Platform: Platform{OS: "linux", Arch: "amd64"}},
		{Name: "istioctl-linux-armv7", Platform: Platform{OS: "linux", Arch: "arm", Variant: "v7"}},
		{Name: "istioctl-linux-arm64", Platform: Platform{OS: "linux", Arch: "arm64"}},
		{Name: "istioctl-osx", Platform: Platform{OS: "darwin", Arch: "amd64"}},
		{Name: "istioctl-osx-arm64", Platform: Platform{OS: "darwin", Arch: "arm64"}},
		{Name: "istioctl-win.exe", Platform: Platform{OS: "windows", Arch: "amd64"}},
	} {
		rel.Binary, rel.Package, rel.Position = b.Name, b.Package, b.Position
		r.c.Releases = append(r.c.Releases, rel)
	}
}

// debug and distroless are the variants that Istio's builder knows, beside the
// default one.
const (
	debug      = "debug"
	distroless = "distroless"
)

// variants derives the variants from the stages of the Dockerfiles, so a fork
// that adds a stage has a variant of that name.
func (r *istioReader) variants(parsed map[string]stages) {
	extra := map[string]bool{}
	for n := range r.c.Images {
		i := &r.c.Images[n]
		s := parsed[i.Name]
		if !s.varies {
			continue
		}
		choices := s.choices()
		i.Distributions = map[string]string{Default: s.fallback}
		if slices.Contains(choices, debug) {
			i.Distributions[Default] = debug // Istio's builder passes it
		}
		for _, c := range choices {
			i.Distributions[c] = c
			extra[c] = extra[c] || c != debug && c != distroless
		}
	}
	r.c.Variants = []Variant{
		{Default, debug, r.at(0)}, {debug, debug, r.at(0)}, {distroless, distroless, r.at(0)},
	}
	for _, name := range keys(extra) {
		if extra[name] {
			r.c.Variants = append(r.c.Variants, Variant{name, name, r.at(0)})
		}
	}
}
