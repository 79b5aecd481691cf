// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile

import (
	"fmt"
	"path"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

func (s *stageState) copy(c *instructions.CopyCommand) error {
	out := Copy{Chown: c.Chown, Chmod: c.Chmod, Link: c.Link, Parents: c.Parents, Excludes: c.ExcludePatterns, Line: lineOf(c.Location())}
	if c.From != "" {
		from, err := s.plan.copyFrom(len(s.plan.file.stages), c)
		if err != nil {
			return err
		}
		if out.From, err = s.fromResult(from); err != nil {
			return err
		}
	}
	return s.addCopy("COPY", c.SourcesAndDest, &out)
}

// fromResult is the stage, or the image as a stage without steps.
func (s *stageState) fromResult(from Base) (*Result, error) {
	if from.Kind == FromStage {
		return s.done[from.Stage], nil
	}
	config, err := s.configOf(from.Reference, from.Platform)
	if err != nil {
		return nil, err
	}
	return &Result{Root: from, Config: config.Config}, nil
}

func (s *stageState) add(c *instructions.AddCommand) error {
	out := Copy{Chown: c.Chown, Chmod: c.Chmod, Link: c.Link, Excludes: c.ExcludePatterns, Unpack: c.Unpack == nil || *c.Unpack, Line: lineOf(c.Location())}
	return s.addCopy("ADD", c.SourcesAndDest, &out)
}

func (s *stageState) addCopy(verb string, paths instructions.SourcesAndDest, out *Copy) error {
	for _, source := range paths.SourcePaths {
		if isRemote(source) { // a variable held the URL
			return fmt.Errorf("%q comes from the network, which needs a builder", source)
		}
		out.Sources = append(out.Sources, cleanSource(source, out.Parents))
	}
	for _, content := range paths.SourceContents {
		text := content.Data
		if content.Expand {
			expanded, err := s.word(text)
			if err != nil {
				return err
			}
			text = expanded
		}
		out.Heredocs = append(out.Heredocs, Heredoc{Name: content.Path, Content: text})
	}
	out.Dest = s.destination(paths.DestPath)
	if len(out.Sources)+len(out.Heredocs) > 1 && !strings.HasSuffix(out.Dest, "/") {
		return fmt.Errorf("several sources need a folder to go to: end %q with a slash", paths.DestPath)
	}
	if out.Link && strings.ContainsFunc(out.Chown, func(r rune) bool { return r != ':' && (r < '0' || r > '9') }) && out.Chmod == "" {
		return fmt.Errorf("--chown=%s: with --link there are no files in which names could be looked up; use numbers", out.Chown)
	}
	names := flagTexts(out)
	names = append(names, paths.SourcePaths...)
	for _, h := range out.Heredocs {
		names = append(names, "<<"+h.Name)
	}
	s.result.Steps = append(s.result.Steps, Step{
		CreatedBy: fmt.Sprintf("%s %s # buildkit", verb, strings.Join(append(names, paths.DestPath), " ")),
		Line:      out.Line,
		Copy:      out,
	})
	return nil
}

// flagTexts are the flags that BuildKit writes into the history.
func flagTexts(c *Copy) []string {
	var texts []string
	if c.Parents {
		texts = append(texts, "--parents")
	}
	if c.Chown != "" {
		texts = append(texts, "--chown="+c.Chown)
	}
	if c.Chmod != "" {
		texts = append(texts, "--chmod="+c.Chmod)
	}
	return texts
}

// cleanSource makes a source relative to the root of the context; a way out of
// the context ends at its root, as in BuildKit. A trailing slash has no
// meaning for a source.
func cleanSource(source string, parents bool) string {
	if before, after, ok := strings.Cut(source, "/./"); ok && parents {
		return cleanSource(before, false) + "/./" + cleanSource(after, false)
	}
	return strings.TrimPrefix(path.Clean("/"+source), "/")
}

// destination is absolute and clean; a slash at the end, or a dot, says that
// it is a folder.
func (s *stageState) destination(dest string) string {
	folder := strings.HasSuffix(dest, "/") || dest == "." || strings.HasSuffix(dest, "/.")
	if !path.IsAbs(dest) {
		dest = path.Join("/", s.result.Config.WorkingDir, dest)
	}
	dest = path.Clean(dest)
	if folder && dest != "/" {
		dest += "/"
	}
	return dest
}
