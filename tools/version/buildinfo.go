// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// symbol is a Go variable, with or without the import path of its package.
var symbol = regexp.MustCompile(`^(?:[A-Za-z0-9][A-Za-z0-9._~/-]*\.)?[A-Za-z_][A-Za-z0-9_]*$`)

// ReadBuildInfo reads the file that BUILDINFO names: lines of KEY=VALUE, as
// report_build_info.sh prints them. A key is a variable with its import path,
// or only its name. The value is the rest of the line as it stands: spaces,
// quotes and further equal signs are part of it. Empty lines are skipped;
// anything else is an error with its line.
func ReadBuildInfo(path string) (Stamps, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("reading the file that BUILDINFO names: %w", err))
	}
	defer file.Close()
	raw, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("reading the file that BUILDINFO names: %w", err)
	}
	stamps, err := parseBuildInfo(path, string(raw))
	return stamps, fail.With(fail.Usage, err)
}

func parseBuildInfo(path, text string) (Stamps, error) {
	var stamps Stamps
	lineOf := map[string]int{}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		switch {
		case !found:
			return nil, fmt.Errorf("%s:%d: %q is not KEY=VALUE", path, n, line)
		case !symbol.MatchString(key):
			return nil, fmt.Errorf("%s:%d: %q is not the name of a variable, such as %s.%s", path, n, key, DefaultPackage, Version)
		case strings.ContainsRune(value, 0):
			return nil, fmt.Errorf("%s:%d: the value of %s holds a null byte", path, n, key)
		case lineOf[key] != 0:
			return nil, fmt.Errorf("%s:%d: %s was set before, in line %d", path, n, key, lineOf[key])
		}
		lineOf[key] = n
		stamps = append(stamps, Stamp{Symbol: key, Value: value})
	}
	if len(stamps) == 0 {
		return nil, fmt.Errorf("%s: there is no KEY=VALUE line in it; unset BUILDINFO to ask git", path)
	}
	return stamps, nil
}

// errNoVersion is worded as Istio's makefile words it, since scripts look for it.
var errNoVersion = errors.New("VERSION not detected. Make sure it's stored in the VERSION file or defined in VERSION variable")

// FromFile returns the version that a tree declares: the content of its file
// VERSION and "-dev".
func FromFile(root string) (string, error) {
	path := filepath.Join(root, "VERSION")
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fail.With(fail.Usage, fmt.Errorf("%w (there is no file %q)", errNoVersion, path))
	}
	if err != nil {
		return "", fmt.Errorf("reading the version: %w", err)
	}
	v := strings.TrimSpace(string(raw))
	if v == "" {
		return "", fail.With(fail.Usage, fmt.Errorf("%w (the file %q is empty)", errNoVersion, path))
	}
	return v + "-dev", nil
}
