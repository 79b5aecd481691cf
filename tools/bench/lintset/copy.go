// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package lintset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/yaml"
)

// copyFiles copies the files of a tree that linters look at; with a limit, so
// many of each kind at most, spread over the tree, each in a folder of its own.
func copyFiles(ctx context.Context, from, to string, limit int) error {
	files, err := lint.Selection{}.Walk(ctx, from)
	if err != nil && files == nil {
		return fmt.Errorf("looking for files to measure with: %w", err)
	}
	if limit == 0 {
		for _, f := range files {
			if err := copyFile(filepath.Join(from, f), filepath.Join(to, f)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, goal := range []string{"lint-markdown", "lint-python", "lint-yaml", "lint-scripts"} {
		var some []string
		for _, f := range files {
			if chosen(goal)(f) {
				some = append(some, f)
			}
		}
		step := max(1, (len(some)+limit-1)/limit)
		for i := 0; i < len(some); i += step {
			if err := copyFile(filepath.Join(from, some[i]), filepath.Join(to, goal, some[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyRules copies the rules of the tree.
func copyRules(from, to string) error {
	for _, name := range []string{"common/config/mdl.rb", "common/config/.yamllint.yml"} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copying a file to measure with: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("copying a file to measure with: %w", err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		return fmt.Errorf("copying a file to measure with: %w", err)
	}
	return nil
}

func isTemplate(file string) bool {
	text, err := os.ReadFile(file)
	return err == nil && yaml.Template(text)
}
