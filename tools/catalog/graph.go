// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// contexts checks that each name in FROM stands for an image.
func (c *checker) contexts() {
	known := namesOf(c.Images, Image.name)
	for _, name := range keys(c.Contexts) {
		if target := c.Contexts[name]; !slices.Contains(known, target.Image) {
			c.problem(target.Position, "context %q: unknown image %s; known: %s", name, unknownList([]string{target.Image}, known), quoted(known))
		}
	}
}

// parse reads the Dockerfiles, for what only they say: which images vary, and
// which images they start from.
func (c *checker) parse() {
	c.stages = map[string]stages{}
	if c.root == nil {
		return
	}
	for n := range c.Images {
		i := &c.Images[n]
		if notInside(i.Dockerfile) != "" {
			continue // inside check says so
		}
		s, err := readStages(c.root, i.Dockerfile)
		if errors.Is(err, fs.ErrNotExist) {
			c.problem(i.Position, "image %s: dockerfile %q is not there", i.Name, i.Dockerfile)
			continue
		}
		if err != nil {
			c.problem(i.Position, "image %s: dockerfile %q: %s", i.Name, i.Dockerfile, why(err))
			continue
		}
		c.stages[i.Name] = s
		for _, name := range s.from {
			if _, ok := c.Contexts[name]; ok {
				i.Bases = append(i.Bases, name)
			}
		}
	}
}

// distributions holds the variants of an image against its stages. An image
// that has none to choose from is the same in all variants.
func (c *checker) distributions(i *Image) {
	s, parsed := c.stages[i.Name]
	if !parsed {
		return
	}
	if !s.varies {
		i.Distributions = nil
		return
	}
	choices := s.choices()
	for _, v := range keys(i.Distributions) {
		if d := i.Distributions[v]; !slices.Contains(choices, strings.ToLower(d)) {
			c.problem(i.Position, "image %s: variant %s needs the stage %s, which %s does not have; it has: %s",
				i.Name, v, unknownList([]string{d}, choices), i.Dockerfile, quoted(choices))
		}
	}
}

// cycles finds images that start from each other.
func (c *checker) cycles() {
	done := map[string]bool{}
	for _, i := range c.Images {
		c.visit(i, nil, done)
	}
}

func (c *checker) visit(i Image, above []string, done map[string]bool) {
	if at := slices.Index(above, i.Name); at >= 0 {
		c.problem(i.Position, "images start from each other: %s", strings.Join(append(above[at:], i.Name), " -> "))
		return
	}
	if done[i.Name] {
		return
	}
	for _, b := range i.Bases {
		target := c.Contexts[b].Image
		if n := slices.IndexFunc(c.Images, func(o Image) bool { return o.Name == target }); n >= 0 {
			c.visit(c.Images[n], append(slices.Clone(above), i.Name), done)
		}
	}
	done[i.Name] = true
}

func errorAs[T error](err error) (T, bool) {
	var t T
	ok := errors.As(err, &t)
	return t, ok
}
