// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package licenses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

type goModule struct {
	Path, Version, Dir, Error string
	Main                      bool
	Replace                   *goModule
}

// list asks the go command for the modules, and for the folders of those that
// go.sum knows the content of.
func list(ctx context.Context, root string, o Options) ([]Module, error) {
	sums, err := summed(root)
	if err != nil {
		return nil, err
	}
	all, err := goJSON(ctx, root, o, "list", "-mod=readonly", "-m", "-json", "all")
	if err != nil {
		return nil, fmt.Errorf("listing modules: %w", err)
	}
	var modules []Module
	var missing []string
	at := map[string]int{}
	for _, m := range all {
		content := m
		if m.Replace != nil {
			content = *m.Replace
		}
		local := m.Replace != nil && content.Version == ""
		if m.Main || !local && !sums[content.Path+" "+content.Version] {
			continue
		}
		if content.Dir == "" {
			key := content.Path + "@" + content.Version
			at[key] = len(modules)
			missing = append(missing, key)
		}
		modules = append(modules, Module{Path: m.Path, Version: content.Version, Dir: content.Dir})
	}
	if len(missing) == 0 {
		return modules, nil
	}
	fetched, err := goJSON(ctx, root, o, append([]string{"mod", "download", "-json"}, missing...)...)
	for _, m := range fetched {
		if i, ok := at[m.Path+"@"+m.Version]; ok {
			modules[i].Dir = m.Dir
			if m.Error != "" {
				err = errors.New(m.Error)
			}
		}
	}
	if err != nil {
		return nil, fail.With(fail.Unavailable, fmt.Errorf("downloading modules for their licenses: %w", err))
	}
	return modules, nil
}

// summed are the modules of which go.sum has more than the go.mod.
func summed(root string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("reading checksums: %w", err)
	}
	sums := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && !strings.HasSuffix(f[1], "/go.mod") {
			sums[f[0]+" "+f[1]] = true
		}
	}
	return sums, nil
}

// goJSON runs the go command and reads the JSON objects that it prints. With
// an error the objects are returned too: they say more.
func goJSON(ctx context.Context, root string, o Options, args ...string) ([]goModule, error) {
	var out, stderr bytes.Buffer
	err := o.Runner.Run(ctx, run.Command{Args: append([]string{o.Go}, args...), Dir: root, Env: run.Environ(o.Environ, "GOFLAGS=", "GOWORK=off"), Stdout: &out, Stderr: &stderr})
	if err != nil {
		err = fail.With(fail.Unavailable, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String())))
	}
	var all []goModule
	for d := json.NewDecoder(&out); ; {
		var m goModule
		switch bad := d.Decode(&m); {
		case errors.Is(bad, io.EOF):
			return all, err
		case bad != nil:
			return all, errors.Join(err, fmt.Errorf("reading what go %s printed: %w", args[0], bad))
		}
		all = append(all, m)
	}
}
