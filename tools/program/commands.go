// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/compile"
	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/prebuilt"
	"github.com/istio-ecosystem/slipway/tools/publish"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/toolbin"
)

// command is a program that a goal runs in the repository, with the settled
// settings in its environment and its output on the user's streams.
func (p *program) command(args ...string) run.Command {
	return run.Command{Args: args, Dir: p.ws.dir, Env: run.Environ(p.ws.settings.Full()), Stdout: p.inv.Stdout, Stderr: p.inv.Stderr}
}

// doRun adds a goal that runs one program.
func (w *wants) doRun(args ...string) {
	c := w.p.command(args...)
	w.do(c.String(), func(ctx context.Context) error { return w.p.runner.Run(ctx, c) })
}

func (w *wants) goCommand(args ...string) error {
	w.doRun(append([]string{w.p.ws.settings.Get("GO")}, args...)...)
	return nil
}

// test runs the tests of the repository: as racetest does in an Istio tree,
// plainly elsewhere, since the race detector needs a C compiler.
func (w *wants) test(long bool) error {
	s := w.p.ws.settings
	args := []string{s.Get("GO"), "test"}
	for _, name := range []string{"GOBUILDFLAGS", "T"} {
		words, err := compile.SplitWords(name, s.Get(name))
		if err != nil {
			return fail.With(fail.Usage, err)
		}
		args = append(args, words...)
	}
	if c := w.p.ws.catalog; c != nil && c.Kind == catalog.Istio {
		args = append(args, "-tags=assert", "-race")
	}
	if long {
		args = append(args, "-timeout=60m", "-count=1")
	}
	c := w.p.command(append(args, strings.Fields(s.Get("PKG"))...)...)
	if long {
		c.Env = append(c.Env, "SLIPWAY_TEST_REAL=1")
	}
	w.do(c.String(), func(ctx context.Context) error { return w.p.runner.Run(ctx, c) })
	return nil
}

// lintConfig is where repositories keep the rules of golangci-lint.
func (ws *workspace) lintConfig() string {
	for _, name := range []string{"common/config/.golangci.yml", ".golangci.yml"} {
		if _, err := os.Stat(filepath.Join(ws.dir, name)); err == nil {
			return name
		}
	}
	return ""
}

// formatGo tidies go.mod and lets the pinned golangci-lint format.
func (w *wants) formatGo(string) error {
	if err := w.goCommand("mod", "tidy"); err != nil {
		return err
	}
	tool, err := (&linting{p: w.p, root: w.p.ws.dir}).golangciLint()
	if err != nil {
		return err
	}
	args := []string{tool.Name, "fmt"}
	if config := w.p.ws.lintConfig(); config != "" {
		args = append(args, "--config", config)
	}
	args = append(args, "./...")
	w.do(run.Quote(args), func(ctx context.Context) error {
		path, err := toolbin.Ensure(ctx, w.p.runner, w.p.console, w.p.ws.cache(), tool)
		if err != nil {
			return err
		}
		return fail.With(fail.Unavailable, w.p.runner.Run(ctx, w.p.command(append([]string{path}, args[1:]...)...)))
	})
	return nil
}

func (w *wants) format(string) error {
	return errors.Join(w.formatGo(""), w.formatPython(""))
}

func (w *wants) checkClean(string) error {
	w.do("git status --porcelain", func(ctx context.Context) error {
		facts, err := w.p.ws.checkout.Facts(ctx)
		if err != nil {
			return err
		}
		if len(facts.Changes) == 0 {
			return nil
		}
		for _, c := range facts.Changes {
			w.p.console.Result("%+v", c)
		}
		return fail.With(fail.Failed, errors.New("some files need to be updated, please run 'make gen' and include any changed files in your PR"))
	})
	return nil
}

// clean removes outputs. A folder that holds the repository, or the user's
// home, is refused: it is a slip in a setting.
func (w *wants) clean(string) error {
	ws := w.p.ws
	dirs := []string{ws.abs(ws.settings.Get("TARGET_OUT")), ws.abs(ws.settings.Get("TARGET_OUT_LINUX")),
		filepath.Join(ws.dir, "out", "images"), filepath.Join(ws.dir, "out", "rootfs"), ws.resultFile()}
	for i, name := range []string{"TARGET_OUT", "TARGET_OUT_LINUX"} {
		for _, keep := range []string{ws.dir, w.p.inv.getenv("HOME")} {
			rel, err := filepath.Rel(dirs[i], keep)
			if err == nil && !strings.HasPrefix(rel, "..") && keep != "" {
				return fail.With(fail.Usage, fmt.Errorf("%s is %q (%s), which holds %s: it is not removed", name, dirs[i], ws.settings.Lookup(name).Origin, keep))
			}
		}
	}
	w.do("rm -rf "+run.Quote(dirs), func(context.Context) error {
		var errs []error
		for _, dir := range dirs {
			errs = append(errs, os.RemoveAll(dir))
		}
		return errors.Join(errs...)
	})
	return nil
}

func (w *wants) install(string) error {
	w.artifacts().binaries = append(w.artifacts().binaries, "istioctl")
	ws := w.p.ws
	from := filepath.Join(ws.abs(ws.settings.Get("TARGET_OUT")), "istioctl")
	w.do("copy "+from+" to GOBIN", func(ctx context.Context) error {
		bin, err := run.Output(ctx, w.p.runner, run.Command{Args: []string{ws.settings.Get("GO"), "env", "GOBIN", "GOPATH"}, Dir: ws.dir})
		if err != nil {
			return err
		}
		gobin, gopath, _ := strings.Cut(bin, "\n")
		if gobin == "" {
			gobin = filepath.Join(strings.TrimSpace(gopath), "bin")
		}
		return copyProgram(from, filepath.Join(gobin, "istioctl"))
	})
	return nil
}

func copyProgram(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeWhole(to, content, 0o755)
}

// writeWhole replaces a file; an older one stays until the new one is whole.
func writeWhole(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".write-")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// completion runs the istioctl of this machine.
func (w *wants) completion(shells ...string) error {
	ws := w.p.ws
	local := ws.abs(ws.settings.Get("LOCAL_OUT"))
	if local != ws.abs(ws.settings.Get("TARGET_OUT")) {
		return fail.With(fail.Usage, errors.New("completion files are written by an istioctl that runs here: unset TARGET_OS and TARGET_ARCH"))
	}
	w.artifacts().binaries = append(w.artifacts().binaries, "istioctl")
	files := map[string]string{"bash": "istioctl.bash", "zsh": "_istioctl"}
	w.do("write "+filepath.Join(local, "release", "istioctl.bash")+" and _istioctl", func(ctx context.Context) error {
		for _, shell := range shells {
			text, err := run.Output(ctx, w.p.runner, run.Command{Args: []string{filepath.Join(local, "istioctl"), "completion", shell}, Dir: ws.dir})
			if err != nil {
				return err
			}
			if err := writeWhole(filepath.Join(local, "release", files[shell]), []byte(text+"\n"), 0o644); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

func (w *wants) lockPrebuilts(string) error {
	ws := w.p.ws
	c, err := ws.needCatalog()
	if err != nil {
		return err
	}
	j := &job{p: w.p, plan: &Plan{}, catalog: c}
	for _, b := range c.Prebuilts {
		for _, arch := range []string{"amd64", "arm64"} {
			if _, err := j.addPrebuilt(b.Name, arch, needed); err != nil {
				return err
			}
		}
	}
	path := filepath.Join(ws.dir, filepath.FromSlash(lockFile))
	w.do("write "+lockFile, func(ctx context.Context) error {
		lock, err := prebuilt.ReadLock(path)
		if err != nil {
			return err
		}
		options := j.prebuiltOptions(lock)
		options.UpdateLock = true
		for _, b := range j.prebuilts {
			if b.cargo != nil {
				continue
			}
			if err := b.fetch(ctx, options); err != nil {
				return err
			}
		}
		var used []prebuilt.URL
		for _, b := range j.prebuilts {
			for _, item := range b.items {
				used = append(used, item.URL)
			}
		}
		lock.Retain(used) // versions that nothing names any more
		return lock.Save()
	})
	return nil
}

func (w *wants) resume(string) error {
	path := w.p.ws.resultFile()
	if _, err := os.Stat(path); err != nil {
		return fail.With(fail.Usage, fmt.Errorf("there is no push to resume: %w", err))
	}
	w.do("finish the push in "+path, func(ctx context.Context) error {
		result, err := publish.Resume(ctx, path, w.p.ws.publishOptions(w.p))
		return errors.Join(err, w.p.reportPublish(result))
	})
	return nil
}

// coreMakefile is where Istio-shaped repositories keep their goals.
const coreMakefile = "Makefile.core.mk"

func (ws *workspace) hasOwnMakefile() bool {
	_, err := os.Stat(filepath.Join(ws.dir, coreMakefile))
	return err == nil
}

// handOver lets the repository's own make file do a goal, with the settled
// settings in its environment and the command line's variables on its own.
func (w *wants) handOver(string) error {
	ws := w.p.ws
	if !ws.hasOwnMakefile() {
		return fail.With(fail.Usage, fmt.Errorf("this goal belongs to the repository's own %s, and %s has none", coreMakefile, ws.dir))
	}
	args := append([]string{"make", "--no-print-directory", "-f", coreMakefile, w.goal}, w.p.flags.Overrides...)
	if w.p.flags.KeepGoing {
		args = slices.Insert(args, 1, "-k")
	}
	c := w.p.command(args...)
	for _, name := range []string{"TARGET_OS", "TARGET_ARCH", "TARGET_OUT", "TARGET_OUT_LINUX", "LOCAL_OUT"} {
		c.Env = append(c.Env, name+"="+ws.settings.Get(name))
	}
	c.Env = append(c.Env, "BUILD_WITH_CONTAINER=0")
	w.do(c.String(), func(ctx context.Context) error { return w.p.runner.Run(ctx, c) })
	return nil
}
