// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/shell"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Plan is a file with its target chosen and the stages that do not matter for
// it left out.
type Plan struct {
	file      *File
	options   Options
	global    map[string]string // ARG in front of FROM, and the platform's
	target    int
	bases     map[int]Base // of reachable stages
	reachable []int        // in the order of the file
	images    []Base       // of COPY --from
	obstacles []Obstacle
}

// Plan chooses the target stage and follows FROM and COPY --from from there.
// Only what is reachable counts: a RUN in another stage is no obstacle, and
// another stage's base is never asked for.
func (f *File) Plan(o Options) (*Plan, error) {
	if o.BuildPlatform.OS == "" {
		o.BuildPlatform = o.Platform
	}
	fresh, err := Parse(f.name, f.content)
	if err != nil {
		return nil, err
	}
	f = fresh
	p := &Plan{file: f, options: o, bases: map[int]Base{}}
	if err := p.globals(); err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	target, err := f.findTarget(o.Target)
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	p.target = target
	if f.syntax != "" && !isStockFrontend(f.syntax) {
		p.obstacles = append(p.obstacles, Obstacle{f.name, 1, "# syntax=" + f.syntax, "another frontend reads this file"})
	}
	if err := p.reach(target); err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	slices.Sort(p.reachable)
	return p, nil
}

func isStockFrontend(syntax string) bool {
	repository, _, _ := strings.Cut(strings.TrimPrefix(syntax, "docker.io/"), ":")
	return repository == "docker/dockerfile" || repository == "docker/dockerfile-upstream"
}

// platformArgs are those that BuildKit predefines for FROM and for stages that
// declare them.
func platformArgs(o Options) map[string]string {
	args := map[string]string{}
	for prefix, p := range map[string]v1.Platform{"TARGET": o.Platform, "BUILD": o.BuildPlatform} {
		args[prefix+"OS"], args[prefix+"ARCH"], args[prefix+"VARIANT"] = p.OS, p.Architecture, p.Variant
		args[prefix+"PLATFORM"] = strings.TrimSuffix(p.OS+"/"+p.Architecture+"/"+p.Variant, "/")
	}
	args["TARGETSTAGE"] = o.Target
	if o.Target == "" {
		args["TARGETSTAGE"] = "default"
	}
	return args
}

func (p *Plan) globals() error {
	p.global = platformArgs(p.options)
	for name, value := range p.options.Args {
		if _, predefined := p.global[name]; predefined {
			p.global[name] = value
		}
	}
	lex := shell.NewLex(p.file.escape)
	for _, command := range p.file.global {
		for _, arg := range command.Args {
			value, given := p.options.Args[arg.Key]
			if !given && arg.Value == nil {
				continue
			}
			if !given {
				expanded, _, err := lex.ProcessWord(*arg.Value, vars(p.global))
				if err != nil {
					return p.errorf(lineOf(command.Location()), "expanding ARG %s: %v", arg.Key, err)
				}
				value = expanded
			}
			p.global[arg.Key] = value
		}
	}
	return nil
}

// findTarget looks a stage up by name, without regard to case.
func (f *File) findTarget(target string) (int, error) {
	if target == "" {
		return len(f.stages) - 1, nil
	}
	if i, ok := instructions.HasStage(f.stages, target); ok {
		return i, nil
	}
	var names []string
	for i, s := range f.stages {
		names = append(names, stageName(i, s))
	}
	return 0, fmt.Errorf("%s: there is no stage %q; it has %s", f.name, target, strings.Join(names, ", "))
}

func stageName(i int, s instructions.Stage) string {
	if s.Name != "" {
		return s.Name
	}
	return strconv.Itoa(i)
}

// reach notes stage i, what it stands on, and what it copies from.
func (p *Plan) reach(i int) error {
	if _, known := p.bases[i]; known {
		return nil
	}
	stage := p.file.stages[i]
	base, err := p.base(i, stage)
	if err != nil {
		return err
	}
	p.bases[i] = base
	p.reachable = append(p.reachable, i)
	if base.Kind == FromStage {
		if err := p.reach(base.Stage); err != nil {
			return err
		}
	}
	for _, command := range stage.Commands {
		if reason := obstacle(command); reason != "" {
			p.obstacles = append(p.obstacles, Obstacle{p.file.name, lineOf(command.Location()), shorten(fmt.Sprint(command)), reason})
		}
		c, ok := command.(*instructions.CopyCommand)
		if !ok || c.From == "" {
			continue
		}
		from, err := p.copyFrom(i, c)
		if err != nil {
			return err
		}
		switch from.Kind {
		case FromStage:
			if err := p.reach(from.Stage); err != nil {
				return err
			}
		case FromImage:
			p.images = append(p.images, from)
		}
	}
	return nil
}

func (p *Plan) base(i int, stage instructions.Stage) (Base, error) {
	line := lineOf(stage.Location)
	name, err := p.expandGlobal(stage.BaseName, line, "FROM "+stage.BaseName)
	if err != nil {
		return Base{}, err
	}
	platform := p.options.Platform
	if stage.Platform != "" {
		text, err := p.expandGlobal(stage.Platform, line, "FROM --platform="+stage.Platform)
		if err != nil {
			return Base{}, err
		}
		parsed, err := v1.ParsePlatform(text)
		if err != nil {
			return Base{}, p.errorf(line, "reading the platform %q: %v", text, err)
		}
		platform = *parsed
	}
	if name == "scratch" {
		return Base{Kind: Scratch, Platform: platform, Line: line}, nil
	}
	if n, ok := instructions.HasStage(p.file.stages[:i], name); ok {
		return Base{Kind: FromStage, Stage: n, Platform: platform, Line: line}, nil
	}
	return Base{Kind: FromImage, Reference: name, Platform: platform, Line: line}, nil
}

// copyFrom says what COPY --from names: an earlier stage, by name or number,
// or an image.
func (p *Plan) copyFrom(i int, c *instructions.CopyCommand) (Base, error) {
	line := lineOf(c.Location())
	if n, err := strconv.Atoi(c.From); err == nil {
		if n < 0 || n >= i {
			return Base{}, p.errorf(line, "COPY --from=%d: there is no stage of that number before this one", n)
		}
		return Base{Kind: FromStage, Stage: n, Line: line}, nil
	}
	if n, ok := instructions.HasStage(p.file.stages, c.From); ok {
		if n >= i {
			return Base{}, p.errorf(line, "COPY --from=%s: that stage comes later, or is this one", c.From)
		}
		return Base{Kind: FromStage, Stage: n, Line: line}, nil
	}
	return Base{Kind: FromImage, Reference: c.From, Platform: p.options.Platform, Line: line}, nil
}

func (p *Plan) expandGlobal(word string, line int, what string) (string, error) {
	value, unset, err := shell.NewLex(p.file.escape).ProcessWord(word, vars(p.global))
	if err != nil {
		return "", p.errorf(line, "expanding %s: %v", what, err)
	}
	if len(unset) > 0 {
		names := slices.Sorted(maps.Keys(unset))
		return "", p.errorf(line, "%s: %s has no value; declare it with ARG before the first FROM, or pass it as a build argument", what, strings.Join(names, ", "))
	}
	if value == "" {
		return "", p.errorf(line, "%s names nothing once its variables are expanded", what)
	}
	return value, nil
}

func (p *Plan) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{p.file.name, line}, args...)...)
}

// Bases returns the images that the reachable stages start from or copy from,
// in the order of the file, each once.
func (p *Plan) Bases() []Base {
	var all []Base
	add := func(b Base) {
		same := func(o Base) bool { return o.Reference == b.Reference && o.Platform.Equals(b.Platform) }
		if b.Kind == FromImage && !slices.ContainsFunc(all, same) {
			all = append(all, b)
		}
	}
	for _, i := range p.reachable {
		add(p.bases[i])
	}
	for _, b := range p.images {
		add(b)
	}
	return all
}

// Labels are the names of the labels that the file itself sets, in the target
// or in a stage that it stands on. Those of base images are not among them.
func (p *Plan) Labels() []string {
	var names []string
	for i := p.target; ; i = p.bases[i].Stage {
		for _, command := range p.file.stages[i].Commands {
			if c, ok := command.(*instructions.LabelCommand); ok {
				for _, kv := range c.Labels {
					names = append(names, kv.Key)
				}
			}
		}
		if p.bases[i].Kind != FromStage {
			slices.Sort(names)
			return slices.Compact(names)
		}
	}
}

// Obstacles are the reasons why the image cannot be made without a builder
// that runs programs; none means that Evaluate says all there is to say.
func (p *Plan) Obstacles() []Obstacle { return slices.Clone(p.obstacles) }

// obstacle says why a command needs a builder, or nothing.
func obstacle(command instructions.Command) string {
	switch c := command.(type) {
	case *instructions.RunCommand:
		return "RUN needs a builder that can run programs"
	case *instructions.AddCommand:
		for _, source := range c.SourcePaths {
			if isRemote(source) {
				return "ADD from the network needs a builder; download it first, or COPY it from an image"
			}
		}
		if c.Checksum != "" || c.KeepGitDir != nil {
			return "this flag of ADD is for sources from the network, which need a builder"
		}
	}
	return ""
}

// isRemote tells sources that BuildKit fetches from those in the context.
func isRemote(source string) bool {
	for _, prefix := range []string{"http://", "https://", "git://", "ssh://", "git@", "github.com/"} {
		if strings.HasPrefix(source, prefix) {
			return true
		}
	}
	return false
}

// vars makes a map an environment for expansion.
type vars map[string]string

func (v vars) Get(name string) (string, bool) { value, ok := v[name]; return value, ok }
func (v vars) Keys() []string                 { return slices.Sorted(maps.Keys(v)) }
