// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"io/fs"
	"slices"

	"go.yaml.in/yaml/v3"
)

// FromYAML reads a catalog of our own form; name is its path, for messages.
// Unknown keys are problems. repository is where Dockerfiles and files are
// looked for; nil leaves out the checks that need them.
func FromYAML(name string, content []byte, repository fs.FS) (*Catalog, error) {
	r := &yamlReader{reader: reader{file: name}, c: &Catalog{Origin: name, Kind: YAML, Contexts: map[string]Context{}}}
	doc := r.document(content)
	if doc == nil {
		return nil, r.err()
	}
	r.catalog(doc)
	check := &checker{Catalog: r.c, root: repository}
	check.parse()
	check.run()
	r.addNew(check.problems)
	if err := r.err(); err != nil {
		return nil, err
	}
	return r.c, nil
}

// yamlReader fills a catalog from YAML nodes.
type yamlReader struct {
	reader
	c    *Catalog
	tags map[string][]string
}

func (r *yamlReader) catalog(doc *yaml.Node) {
	o := r.object(doc, "the catalog", "source", "variants", "tags", "binaries", "releases", "prebuilts", "images", "contexts")
	r.source(o.values["source"])
	r.variants(o)
	r.tags = map[string][]string{}
	for set, words := range r.mapping(o.values["tags"], "tags", maxMerges).values {
		r.tags[set] = r.words(words, "tags of "+set)
	}
	for _, n := range r.list(o.values["binaries"], "binaries") {
		r.binary(n)
	}
	for _, n := range r.list(o.values["releases"], "releases") {
		r.release(n)
	}
	for _, n := range r.list(o.values["prebuilts"], "prebuilts") {
		r.prebuilt(n)
	}
	for _, n := range r.list(o.values["images"], "images") {
		r.image(n)
	}
	contexts := r.mapping(o.values["contexts"], "contexts", maxMerges)
	for _, name := range keys(contexts.values) {
		r.c.Contexts[name] = Context{r.text(contexts.values[name], "context "+name), r.at(contexts.values[name].Line)}
	}
}

func (r *yamlReader) source(n *yaml.Node) {
	if n == nil {
		return
	}
	o := r.object(n, "source", "module", "version")
	r.c.Source = Source{r.text(o.values["module"], "module"), r.text(o.values["version"], "version")}
	if r.c.Source.Module == "" && r.c.Source.Version != "" {
		r.problem(r.at(o.line), "source has a version and no module")
	}
	if r.c.Source.Module != "" && r.c.Source.Version == "" {
		r.problem(r.at(o.line), "source names the module %q without a version; give one, or leave source out to compile the repository itself", r.c.Source.Module)
	}
}

// variants are the default one, then the others by name.
func (r *yamlReader) variants(o object) {
	n := o.values["variants"]
	if n == nil {
		r.c.Variants = []Variant{{Name: Default, Position: r.at(o.line)}}
		return
	}
	m := r.mapping(n, "variants", maxMerges)
	for _, name := range keys(m.values) {
		v := Variant{name, r.text(m.values[name], "variant "+name), r.at(m.values[name].Line)}
		if name == Default {
			r.c.Variants = append([]Variant{v}, r.c.Variants...)
			continue
		}
		r.c.Variants = append(r.c.Variants, v)
	}
	if len(m.values) > 0 && m.values[Default] == nil {
		r.problem(r.at(n.Line), "variants have no %q; that one gets the plain tag", Default)
	}
}

func (r *yamlReader) binary(n *yaml.Node) {
	o := r.object(n, "binary", "name", "package", "set", "os", "groups")
	b := Binary{
		Name: r.text(o.values["name"], "name"), Package: r.text(o.values["package"], "package"),
		Set: Set(r.text(o.values["set"], "set")), OS: r.words(o.values["os"], "os"), Position: r.at(n.Line),
	}
	if b.Set != "" {
		tags, known := r.tags[string(b.Set)]
		if !known {
			r.unknown(n, "binary "+b.Name, "set", string(b.Set), keys(r.tags))
		}
		b.Tags = tags
	}
	for _, system := range b.OS {
		if !slices.Contains(systems(), system) {
			r.unknown(n, "binary "+b.Name, "os", system, systems())
		}
	}
	groups := []string{string(GroupBuild), string(GroupLinux), string(GroupCNI)}
	for _, g := range r.words(o.values["groups"], "groups") {
		if !slices.Contains(groups, g) {
			r.unknown(n, "binary "+b.Name, "group", g, groups)
		}
		b.Groups = append(b.Groups, Group(g))
	}
	r.c.Binaries = append(r.c.Binaries, b)
}

// unknown says that a word is none of those that it may be.
func (r *yamlReader) unknown(n *yaml.Node, owner, what, word string, known []string) {
	r.problem(r.at(n.Line), "%s: unknown %s %s; known: %s", owner, what, unknownList([]string{word}, known), quoted(known))
}

func (r *yamlReader) release(n *yaml.Node) {
	o := r.object(n, "release", "name", "binary", "platform")
	rel := Release{Name: r.text(o.values["name"], "name"), Binary: r.text(o.values["binary"], "binary"), Position: r.at(n.Line)}
	binaries := namesOf(r.c.Binaries, Binary.name)
	if i := slices.IndexFunc(r.c.Binaries, func(b Binary) bool { return b.Name == rel.Binary }); i >= 0 {
		rel.Package = r.c.Binaries[i].Package
	} else {
		r.unknown(n, "release "+rel.Name, "binary", rel.Binary, binaries)
	}
	p, err := ParsePlatform(r.text(o.values["platform"], "platform"))
	if err != nil {
		r.problem(r.at(n.Line), "release %s: %s", rel.Name, err)
	}
	rel.Platform = p
	r.c.Releases = append(r.c.Releases, rel)
}

func (r *yamlReader) prebuilt(n *yaml.Node) {
	o := r.object(n, "prebuilt", "name", "pin", "version")
	p := Prebuilt{r.text(o.values["name"], "name"), r.text(o.values["pin"], "pin"), r.text(o.values["version"], "version"), r.at(n.Line)}
	if p.Pin == "" || p.Version == "" {
		r.problem(r.at(n.Line), "prebuilt %s needs both a pin (the setting that can change its version) and a version", p.Name)
	}
	r.c.Prebuilts = append(r.c.Prebuilts, p)
	r.c.Pins = append(r.c.Pins, Pin{Name: p.Pin, Version: p.Version, Position: p.Position})
}

func (r *yamlReader) image(n *yaml.Node) {
	o := r.object(n, "image", "name", "dockerfile", "base", "emulationRequired", "context", "inputs", "distributions", "variants", "args")
	i := Image{
		Name: r.text(o.values["name"], "name"), Dockerfile: r.text(o.values["dockerfile"], "dockerfile"),
		Base: r.yes(o.values["base"], "base"), EmulationRequired: r.yes(o.values["emulationRequired"], "emulationRequired"),
		Distributions: r.table(o.values["distributions"], "distributions"), Variants: r.words(o.values["variants"], "variants"),
		Args: r.table(o.values["args"], "args"), Position: r.at(n.Line),
	}
	if o.values["context"] != nil {
		i.Context = r.text(o.values["context"], "context")
	}
	if i.Distributions == nil && !i.Base {
		i.Distributions = map[string]string{}
		for _, v := range r.c.Variants {
			if v.Distribution != "" && (len(i.Variants) == 0 || slices.Contains(i.Variants, v.Name)) {
				i.Distributions[v.Name] = v.Distribution
			}
		}
	}
	for _, in := range r.list(o.values["inputs"], "inputs") {
		r.input(&i, in)
	}
	r.c.Images = append(r.c.Images, i)
}

// input reads {KIND: WHAT}, with "from: source" for a path in the source.
func (r *yamlReader) input(i *Image, n *yaml.Node) {
	named := []string{string(FromBinary), string(FromPrebuilt), string(FromPackage), string(FromGenerated)}
	paths := []string{string(FromFile), string(FromDir)}
	kinds := slices.Concat(named, paths)
	o := r.object(n, "input of "+i.Name, append(kinds, "from")...)
	in := Input{Position: r.at(n.Line)}
	found := 0
	for _, kind := range kinds {
		if o.values[kind] == nil {
			continue
		}
		found++
		in.Kind = InputKind(kind)
		if slices.Contains(named, kind) {
			in.Name = r.text(o.values[kind], kind)
		} else {
			in.Path = r.text(o.values[kind], kind)
		}
	}
	if found != 1 {
		r.problem(r.at(n.Line), "input of %s must have one of %s; it has %d", i.Name, quoted(kinds), found)
		return
	}
	if from := r.text(o.values["from"], "from"); from != "" {
		in.Source = from == "source"
		if !in.Source && from != "repository" || in.Path == "" {
			r.problem(r.at(n.Line), "input of %s: from is %q; it may be source or repository, for a file or dir", i.Name, from)
		}
	}
	i.Inputs = append(i.Inputs, in)
}
