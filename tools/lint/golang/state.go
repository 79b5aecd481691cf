// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"go/version"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/run"
)

// states stand, for each package of a module, for all that its findings depend
// on: its files, those of what it imports, the requirements of the modules, the
// rules, the versions of linter and Go. Files that are embedded are not in it:
// their content changes no finding.
func (l *linter) states(t *tree, m *module) (map[string]string, error) {
	own := map[string][]byte{}
	for dir, p := range t.packages {
		sum := sha256.New()
		if err := l.sums(sum, p.Files); err != nil {
			return nil, err
		}
		own[dir] = sum.Sum(nil)
	}
	states := map[string]string{}
	for _, dir := range m.asked {
		sum := sha256.New()
		_, _ = fmt.Fprintln(sum, l.around(), l.o.Version, l.o.Args)
		reach := t.reach(dir)
		rules := t.rules(m, reach)
		if l.o.Config != "" {
			rules = append(rules, l.o.Config)
		}
		if err := l.sums(sum, rules); err != nil {
			return nil, err
		}
		for _, d := range reach {
			_, _ = fmt.Fprintln(sum, d)
			sum.Write(own[d])
		}
		states[dir] = hex.EncodeToString(sum.Sum(nil)[:16])
	}
	return states, nil
}

// around stands for what is not in the tree and decides what is found.
func (l *linter) around() string {
	return strings.Join(append([]string{l.goes}, goEnviron(l.o.Environ)...), " ")
}

func (l *linter) sums(w io.Writer, files []string) error {
	for _, f := range files {
		sum, err := l.task.Memory.Sum(l.task.Root, f)
		if err != nil {
			return fmt.Errorf("reading: %w", err)
		}
		_, _ = fmt.Fprintln(w, f, sum)
	}
	return nil
}

// goEnviron are the variables that decide what the go command compiles.
func goEnviron(environ []string) []string {
	var kept []string
	for _, kv := range environ {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "GOOS", "GOARCH", "GOFLAGS", "CGO_ENABLED", "GOEXPERIMENT", "GOWORK", "GOTOOLCHAIN":
			kept = append(kept, kv)
		}
	}
	return kept
}

// goVersion asks the go command, which may be another in the tree than the one
// that compiled this program. Which other Go that one would load for the tree
// is up to go.mod, which counts by itself; asked like this, it loads none.
func goVersion(ctx context.Context, o Options, root string) (string, error) {
	if o.GoTool == "" {
		return "", nil
	}
	out, err := run.Output(ctx, o.Runner, run.Command{Args: []string{o.GoTool, "env", "GOVERSION"}, Dir: root, Env: run.Environ(o.Environ, "GOTOOLCHAIN=local")})
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", o.GoTool, err)
	}
	return strings.TrimSpace(out), nil
}

// builtWith is the Go version that compiled a program, such as 1.26.8.
func builtWith(path string) (string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", err
	}
	v, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	return v, nil
}

// older tells whether the language of one Go version lacks what the other
// has. A go line of 1.25.3 is satisfied by any 1.25.
func older(built, wanted string) bool {
	return version.Compare(version.Lang("go"+built), version.Lang("go"+wanted)) < 0
}

// memoryLimit is what GOMEMLIMIT should be, so that golangci-lint collects its
// garbage before a container or the machine runs out of memory; empty when the
// user set one, or the limit is not known. root is / but in tests.
func memoryLimit(environ []string, root string) string {
	for _, kv := range environ {
		if strings.HasPrefix(kv, "GOMEMLIMIT=") {
			return ""
		}
	}
	limit := groupMemory(root)
	if total := machineMemory(root); total > 0 && (limit == 0 || total < limit) {
		limit = total
	}
	if limit == 0 {
		return ""
	}
	return strconv.FormatInt(limit/10*8, 10)
}

// groupMemory is the least limit of the control groups that this process is
// in, in bytes; 0 when there is none. Each group above one limits it too.
func groupMemory(root string) int64 {
	groups := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	text, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // not there: only the top counts
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		top, file := "/sys/fs/cgroup", "memory.max"
		switch fields[1] {
		case "":
		case "memory":
			top, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for group := path.Clean("/" + fields[2]); group != "/"; group = path.Dir(group) {
			groups = append(groups, path.Join(top, group, file))
		}
	}
	limit := int64(0)
	for _, file := range groups {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	return limit
}

// machineMemory is what Linux says in bytes; 0 elsewhere.
func machineMemory(root string) int64 {
	text, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// tail keeps the end of what a process says.
type tail struct{ text []byte }

const tailSize = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = t.text[over:]
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.text) }
