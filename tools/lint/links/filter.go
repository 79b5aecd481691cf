// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// filter tells which addresses are not looked at.
type filter struct {
	parts    []string
	patterns []*regexp.Regexp
	remap    []Remap
}

func newFilter(o Options, root string) (*filter, error) {
	f := &filter{remap: o.Remap}
	for _, part := range o.Allow {
		if part = strings.TrimSpace(part); part != "" {
			f.parts = append(f.parts, part)
		}
	}
	patterns := o.Ignore
	if o.IgnoreFile != "" {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(o.IgnoreFile)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("reading the addresses to ignore: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "#") {
				patterns = append(patterns[:len(patterns):len(patterns)], line)
			}
		}
	}
	for _, p := range patterns {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		re, err := compile(p)
		if err != nil {
			return nil, err
		}
		f.patterns = append(f.patterns, re)
	}
	return f, nil
}

// compile reads a glob, or a regular expression between slashes.
func compile(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > 2 && pattern[0] == '/' && pattern[len(pattern)-1] == '/' {
		re, err := regexp.Compile(pattern[1 : len(pattern)-1])
		if err != nil {
			return nil, fmt.Errorf("reading the pattern %q of links to ignore: %w", pattern, err)
		}
		return re, nil
	}
	glob := regexp.QuoteMeta(pattern)
	glob = strings.ReplaceAll(glob, `\*`, ".*")
	glob = strings.ReplaceAll(glob, `\?`, ".")
	re, err := regexp.Compile("(?s)^" + glob + "$")
	if err != nil {
		return nil, fmt.Errorf("reading the pattern %q of links to ignore: %w", pattern, err)
	}
	return re, nil
}

// skips tells that a target is not looked at.
func (f *filter) skips(target string) bool {
	for _, part := range f.parts {
		if strings.Contains(target, part) {
			return true
		}
	}
	for _, re := range f.patterns {
		if re.MatchString(target) {
			return true
		}
	}
	return false
}

// mapped is a target with its start replaced; the first rule that fits counts.
func (f *filter) mapped(target string) string {
	for _, r := range f.remap {
		if rest, ok := strings.CutPrefix(target, r.From); ok && r.From != "" {
			return r.To + rest
		}
	}
	return target
}
