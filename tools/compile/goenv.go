// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/run"
)

// goEnv returns what Go takes a variable of its own to be: the environment,
// else the file that `go env -w` writes. Asking go itself would cost a process.
func goEnv(env []string, name string) string {
	if v := lookup(env, name); v != "" {
		return v
	}
	raw, err := os.ReadFile(goEnvFile(env))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return v
		}
	}
	return ""
}

// goEnvFile is the file of `go env -w`, "" when it is switched off or nowhere.
func goEnvFile(env []string) string {
	switch file := lookup(env, "GOENV"); file {
	case "off":
		return ""
	case "":
		return filepath.Join(configDir(env), "go", "env")
	default:
		return file
	}
}

// configDir is os.UserConfigDir for an environment that is not ours.
func configDir(env []string) string {
	home := lookup(env, "HOME")
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support")
	}
	if dir := lookup(env, "XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(home, ".config")
}

// moduleCache is the folder of Go's module cache, "" when nothing tells.
func moduleCache(env []string) string {
	if dir := goEnv(env, "GOMODCACHE"); dir != "" {
		return dir
	}
	if list := filepath.SplitList(goEnv(env, "GOPATH")); len(list) > 0 && list[0] != "" {
		return filepath.Join(list[0], "pkg", "mod")
	}
	if home := lookup(env, "HOME"); home != "" {
		return filepath.Join(home, "go", "pkg", "mod")
	}
	return ""
}

func (r Request) baseEnv() []string {
	if r.Env != nil {
		return r.Env
	}
	return os.Environ()
}

// replaceEnv is base with extra in place of entries of the same name, and
// without what belongs to a make above us.
func replaceEnv(base, extra []string) []string { return run.Environ(base, extra...) }
