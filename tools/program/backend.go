// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/toolbin"
)

// backendKind is who makes an image.
type backendKind string

// The makers of images, as plans name them.
const (
	daemonless backendKind = "daemonless"
	byBuildKit backendKind = "buildkit"
)

// backend is who makes an image, and why.
type backend struct {
	kind   backendKind
	reason string
}

// wantedBackend is what ISTIO_DOCKER_BUILDER asks for.
type wantedBackend struct {
	kind   backendKind  // empty: what the Dockerfile needs decides
	only   builder.Kind // which builders count; empty: all
	origin string       // of the setting
}

func (j *job) wantedBackend() (wantedBackend, error) {
	v := j.p.ws.settings.Lookup("ISTIO_DOCKER_BUILDER")
	origin := fmt.Sprintf("ISTIO_DOCKER_BUILDER is %q (%s)", v.Value, v.Origin)
	switch v.Value {
	case "auto":
		return wantedBackend{}, nil
	case "crane":
		return wantedBackend{kind: daemonless, origin: origin}, nil
	case "buildkit":
		return wantedBackend{kind: byBuildKit, origin: origin}, nil
	case "docker":
		return wantedBackend{kind: byBuildKit, only: builder.Docker, origin: origin}, nil
	}
	return wantedBackend{}, fail.With(fail.Usage, fmt.Errorf("%s: use auto, crane, buildkit or docker", origin))
}

// builderJob is the builder of a job: where it is, and the program that speaks
// to it once that is there.
type builderJob struct {
	endpoint builder.Endpoint
	missing  error // why there is none
	program  builder.Program
	images   int
}

// chooseBackend decides who makes an image: nobody but Slipway itself when no
// program has to run, BuildKit otherwise, or who is asked for. What is asked
// for and cannot be is an error with the line of the Dockerfile.
func (i *imageJob) chooseBackend() error {
	j := i.job
	obstacles := i.obstacles()
	switch {
	case j.wanted.kind == daemonless && len(obstacles) > 0:
		return i.refuse(obstacles)
	case j.wanted.kind == byBuildKit:
		i.backend = backend{byBuildKit, j.wanted.origin}
	case len(obstacles) > 0:
		i.backend = backend{byBuildKit, obstacles[0].String()}
	default:
		i.backend = backend{daemonless, "its stages run no program"}
		return nil
	}
	if j.builder == nil {
		j.builder = &builderJob{}
		s := j.p.ws.settings
		getenv := func(name string) string {
			if v := s.Lookup(name); v.IsSet() {
				return v.Value
			}
			return j.p.inv.getenv(name)
		}
		j.builder.endpoint, j.builder.missing = builder.Find(builder.World{Getenv: getenv}, j.wanted.only)
	}
	j.builder.images++
	if j.builder.missing != nil && !j.p.flags.DryRun && !j.noBuilds {
		return i.noBuilder(obstacles)
	}
	if j.builder.missing == nil {
		i.backend.reason += "; by " + j.builder.endpoint.String()
	} else if !j.noBuilds {
		j.warn("image %s: %v", i.build.Image.Name, j.builder.missing)
	}
	return nil
}

// obstacles are those of all platforms, each once.
func (i *imageJob) obstacles() []dockerfile.Obstacle {
	all := i.needsBuilder()
	for _, plan := range i.plans {
		for _, o := range plan.Obstacles() {
			if !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	return all
}

// refuse says what an image needs that cannot be done without a builder.
func (i *imageJob) refuse(obstacles []dockerfile.Obstacle) error {
	errs := []error{fmt.Errorf("image %s (%s) cannot be made without a builder, and %s", i.build.Image.Name, strings.Join(i.build.Variants, ", "), i.job.wanted.origin)}
	for _, o := range obstacles {
		errs = append(errs, errors.New("  "+o.String()))
	}
	errs = append(errs, errors.New("  use ISTIO_DOCKER_BUILDER=auto, or leave the image out with DOCKER_TARGETS"))
	return fail.With(fail.Usage, errors.Join(errs...))
}

// noBuilder says why a builder is needed, and that there is none.
func (i *imageJob) noBuilder(obstacles []dockerfile.Obstacle) error {
	errs := []error{fmt.Errorf("image %s (%s) needs a builder that runs programs: %w", i.build.Image.Name, strings.Join(i.build.Variants, ", "), i.job.builder.missing)}
	for _, o := range obstacles {
		errs = append(errs, errors.New("  "+o.String()))
	}
	errs = append(errs, errors.New("  or leave the image out with DOCKER_TARGETS (make catalog shows what there is)"))
	return fail.With(fail.Unavailable, errors.Join(errs...))
}

// builderProgram readies the program that speaks to builders and checks
// Dockerfiles.
func (p *program) builderProgram(ctx context.Context) (builder.Program, error) {
	root, err := p.slipwayRoot()
	if err != nil {
		return builder.Program{}, err
	}
	path, err := toolbin.Own(ctx, p.runner, p.console, p.ws.cache(), root, "buildkit")
	return builder.Program{Path: path, Runner: p.runner, Env: run.Environ(p.ws.settings.Full()), Stderr: p.inv.Stderr}, err
}

// builderStep readies what reaches the builder.
func (j *job) builderStep(ctx context.Context) (err error) {
	if j.builder.program, err = j.p.builderProgram(ctx); err != nil || j.builder.endpoint.Kind != builder.Buildx {
		return err
	}
	root, err := j.p.slipwayRoot()
	if err != nil {
		return err
	}
	buildx, err := toolbin.Own(ctx, j.p.runner, j.p.console, j.p.ws.cache(), root, "buildx")
	j.builder.endpoint.Dial = []string{buildx, "dial", "--builder", j.builder.endpoint.Address}
	return err
}

// noCache tells whether images are built anew.
func (j *job) noCache() bool {
	return j.anew || j.p.flags.AlwaysMake || j.p.ws.settings.Get("SLIPWAY_NO_CACHE") == "1"
}

// makeByBuilder has BuildKit build the image.
func (i *imageJob) makeByBuilder(ctx context.Context, created time.Time) error {
	j, s := i.job, i.job.p.ws.settings
	contexts, err := i.namedContexts()
	if err != nil {
		return err
	}
	r := builder.Request{
		Endpoint: j.builder.endpoint, Layout: j.layout.Dir(), Name: i.layoutName(), File: i.build.Image.Dockerfile,
		Dockerfile: filepath.Join(j.p.ws.dir, filepath.FromSlash(i.build.Image.Dockerfile)),
		Context:    i.mergedContext(), Ignore: i.ignore, Args: i.args, Contexts: contexts,
		Secrets: strings.Fields(s.Get("SLIPWAY_SECRETS")), SSH: strings.Fields(s.Get("SLIPWAY_SSH")),
		CacheFrom: strings.Fields(s.Get("SLIPWAY_CACHE_FROM")), CacheTo: strings.Fields(s.Get("SLIPWAY_CACHE_TO")),
		NoCache: j.noCache(), Pull: s.Get("SLIPWAY_PULL") == "1", Network: s.Get("SLIPWAY_RUN_NETWORK"),
		Codec: j.codec.String(), Created: created, Labels: j.labels(ctx, i), OwnLabels: i.ownLabels(), Annotations: j.annotations(ctx, i, created), Progress: i.progress(),
	}
	for _, p := range i.platforms {
		r.Platforms = append(r.Platforms, p.String())
	}
	r.Target = i.target
	if err := i.bakedRequest(&r); err != nil {
		return err
	}
	program := j.builder.program
	if r.Progress == "plain" {
		prefixed := j.p.console.Prefixed(i.build.Image.Name)
		defer func() { _ = prefixed.Close() }()
		program.Stderr = prefixed
	}
	built, warnings, err := program.Build(ctx, r)
	for _, w := range warnings {
		j.p.console.Warn("%s", w)
	}
	i.built = built
	return err
}

// mergedContext is one context for all platforms: what differs lies in folders
// with the names of architectures.
func (i *imageJob) mergedContext() map[string]string {
	all := map[string]string{}
	for _, c := range i.contexts {
		maps.Copy(all, c)
	}
	return all
}

// namedContexts are images of the catalog that the Dockerfile starts from.
func (i *imageJob) namedContexts() (map[string]string, error) {
	contexts := map[string]string{}
	for _, plan := range i.plans {
		for _, base := range plan.Bases() {
			if h, locked := i.job.lock.Digest(base.Reference); locked {
				contexts[base.Reference] = "docker-image://" + base.Reference + "@" + h.String()
			}
			if _, ours := i.job.catalog.Contexts[base.Reference]; !ours {
				continue
			}
			d, ok := i.job.named(base.Reference)
			if !ok {
				return nil, fmt.Errorf("image %s starts from %q, which was not built", i.build.Image.Name, base.Reference)
			}
			contexts[base.Reference] = d.Digest.String()
		}
	}
	return contexts, nil
}

// progress is how the builder's progress is shown: a moving display can only
// show one image.
func (i *imageJob) progress() string {
	switch given := i.job.p.ws.settings.Get("BUILDKIT_PROGRESS"); {
	case given != "":
		return given
	case i.job.p.flags.Silent:
		return "quiet"
	case i.job.builder.images > 1:
		return "plain"
	}
	return "auto"
}
