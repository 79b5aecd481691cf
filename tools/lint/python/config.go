// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package python

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// ConfigFiles are the files that ReadConfig looks for.
func ConfigFiles() []string {
	return []string{"setup.cfg", "tox.ini", ".pep8", ".flake8", "pyproject.toml"}
}

// ReadConfig reads the options that setup.cfg, tox.ini, .pep8, .flake8 and
// pyproject.toml in the folder root give, later ones before earlier ones, and
// names the files that exist. read returns a file's content.
func ReadConfig(root string, read func(string) ([]byte, error)) (o Options, files []string, err error) {
	sections := map[string]map[string]string{}
	broken := false
	ini := ConfigFiles()
	for _, name := range ini[:len(ini)-1] {
		file := path.Join(root, name)
		text, err := read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Options{}, nil, fmt.Errorf("reading the options of autopep8: %w", err)
		}
		files = append(files, file)
		// Like autopep8, a file that is no configuration takes all of them away.
		broken = !readINI(string(text), sections) || broken
	}
	if !broken {
		for _, name := range []string{"pep8", "pycodestyle", "flake8"} {
			if err := o.set(sections[name]); err != nil {
				return Options{}, nil, fmt.Errorf("reading section %s of the options of autopep8: %w", name, err)
			}
		}
	}
	file := path.Join(root, "pyproject.toml")
	text, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return o, files, nil
	}
	if err != nil {
		return Options{}, nil, fmt.Errorf("reading the options of autopep8: %w", err)
	}
	values, err := readTOML(string(text))
	if err != nil {
		return Options{}, nil, fmt.Errorf("reading the options of autopep8 in %s: %w", file, err)
	}
	if err := o.set(values); err != nil {
		return Options{}, nil, fmt.Errorf("reading tool.autopep8 of %s: %w", file, err)
	}
	return o, append(files, file), nil
}

// Over returns the options with those of base where o does not set them: what
// a command line gives, over what files give.
func (o Options) Over(base Options) Options {
	number := func(a, b int) int {
		if a != 0 {
			return a
		}
		return b
	}
	list := func(a, b []string) []string {
		if len(a) > 0 {
			return a
		}
		return b
	}
	return Options{
		MaxLineLength: number(o.MaxLineLength, base.MaxLineLength),
		IndentSize:    number(o.IndentSize, base.IndentSize),
		Aggressive:    number(o.Aggressive, base.Aggressive),
		HangClosing:   o.HangClosing || base.HangClosing,
		Ignore:        list(o.Ignore, base.Ignore),
		Select:        list(o.Select, base.Select),
		Exclude:       list(o.Exclude, base.Exclude),
	}
}

// set takes over the values of a section. Names that mean nothing here are
// skipped: flake8 has many of its own.
func (o *Options) set(section map[string]string) error {
	for key, value := range section {
		value = strings.TrimSpace(value)
		var number *int
		switch name := strings.ReplaceAll(strings.TrimLeft(key, "-"), "-", "_"); name {
		case "max_line_length":
			number = &o.MaxLineLength
		case "indent_size":
			number = &o.IndentSize
		case "aggressive":
			number = &o.Aggressive
		case "hang_closing":
			switch strings.ToLower(value) {
			case "1", "yes", "true", "on":
				o.HangClosing = true
			case "0", "no", "false", "off":
				o.HangClosing = false
			default:
				return fmt.Errorf("%s: %q is neither true nor false", key, value)
			}
		case "ignore":
			o.Ignore = list(value)
		case "select":
			o.Select = list(value)
		case "exclude":
			o.Exclude = list(value)
		}
		if number == nil || value == "auto" {
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%s: %q is no number", key, value)
		}
		*number = n
	}
	return nil
}

func list(value string) []string {
	var out []string
	for _, item := range strings.Split(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// readINI adds the sections of a file; false when it is no such file.
func readINI(text string, sections map[string]map[string]string) bool {
	var section map[string]string
	key := ""
	for _, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case trimmed[0] == '[' && line[0] == '[':
			name, _, ok := strings.Cut(trimmed[1:], "]")
			if !ok {
				return false
			}
			if sections[name] == nil {
				sections[name] = map[string]string{}
			}
			section, key = sections[name], ""
		case section == nil:
			return false
		case (line[0] == ' ' || line[0] == '\t') && key != "":
			section[key] += "\n" + trimmed
		default:
			i := strings.IndexAny(trimmed, "=:")
			if i < 0 {
				return false
			}
			key = strings.ToLower(strings.TrimSpace(trimmed[:i]))
			section[key] = strings.TrimSpace(trimmed[i+1:])
		}
	}
	return true
}

// readTOML returns the values of the table tool.autopep8, lists joined by
// commas.
func readTOML(text string) (map[string]string, error) {
	var file struct {
		Tool struct {
			Autopep8 map[string]any `toml:"autopep8"`
		} `toml:"tool"`
	}
	if _, err := toml.Decode(text, &file); err != nil {
		return nil, err
	}
	values := map[string]string{}
	for name, value := range file.Tool.Autopep8 {
		items, ok := value.([]any)
		if !ok {
			items = []any{value}
		}
		var words []string
		for _, item := range items {
			words = append(words, fmt.Sprint(item))
		}
		values[name] = strings.Join(words, ",")
	}
	return values, nil
}
