// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/repo"
	"github.com/istio-ecosystem/slipway/tools/run"
	"github.com/istio-ecosystem/slipway/tools/ui"
	"github.com/istio-ecosystem/slipway/tools/version"
)

// files is a tree: slash-separated name → content.
type files map[string]string

func (f files) write(t testing.TB, dir string) {
	t.Helper()
	for name, text := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const versionPackage = "example.com/mesh/pkg/version"

// mesh is a module in the shape of Istio: programs that tell their version,
// one that has none, one for Linux, files by tag, embedded files.
func mesh() files {
	return files{
		"go.mod":        "module example.com/mesh\n\ngo 1.24\n",
		".gitignore":    "/out/\nignored.go\n",
		"pkg/util/u.go": "package util\n\nfunc Name() string { return \"util\" }\n",
		"pkg/version/version.go": `package version

var (
	buildVersion     = "unknown"
	buildGitRevision = "unknown"
	buildStatus      = "unknown"
	buildTag         = "unknown"
	buildHub         = "unknown"
	buildOS          = "unknown"
	buildArch        = "unknown"
)

var Text string

func init() {
	Text = buildVersion + "|" + buildGitRevision + "|" + buildStatus + "|" + buildTag + "|" + buildHub + "|" + buildOS + "|" + buildArch
}
`,
		"cmd/ctl/main.go": `package main

import (
	"os"

	"example.com/mesh/pkg/util"
	"example.com/mesh/pkg/version"
)

var note = "no note"

func main() { os.Stdout.WriteString(util.Name() + "\n" + version.Text + "\n" + note + "\n" + flavour + "\n") }
`,
		"cmd/ctl/plain.go":       "//go:build !agent\n\npackage main\n\nconst flavour = \"standard\"\n",
		"cmd/ctl/agent.go":       "//go:build agent\n\npackage main\n\nconst flavour = \"agent\"\n",
		"cmd/agent/main.go":      "package main\n\nimport (\n\t\"os\"\n\n\t\"example.com/mesh/pkg/version\"\n)\n\nfunc main() { os.Stdout.WriteString(version.Text) }\n",
		"cmd/echo/main.go":       "package main\n\nimport (\n\t_ \"embed\"\n\t\"os\"\n)\n\n//go:embed text.txt\nvar text string\n\nfunc main() { os.Stdout.WriteString(text) }\n",
		"cmd/echo/text.txt":      "hello\n",
		"cmd/cni/main_linux.go":  "package main\n\nfunc main() {}\n",
		"cmd/other/ctl/main.go":  "package main\n\nfunc main() { println(\"the other\") }\n",
		"pkg/library/library.go": "package library\n",
	}
}

var testStamps = version.Stamps{
	{Symbol: versionPackage + ".buildVersion", Value: "1.32-dev"},
	{Symbol: versionPackage + ".buildGitRevision", Value: "0123456789abcdef0123456789abcdef01234567"},
	{Symbol: versionPackage + ".buildStatus", Value: "Clean"},
	{Symbol: versionPackage + ".buildTag", Value: "1.31.0-7-g0123456"},
	{Symbol: versionPackage + ".buildHub", Value: "registry.istio.io/release"},
	{Symbol: versionPackage + ".buildOS", Value: "linux"},
	{Symbol: versionPackage + ".buildArch", Value: "amd64"},
}

// recorder runs programs and notes which.
type recorder struct {
	mu       sync.Mutex
	commands []string
}

func (r *recorder) Run(ctx context.Context, c run.Command) error {
	r.mu.Lock()
	r.commands = append(r.commands, c.String())
	r.mu.Unlock()
	return run.Exec{}.Run(ctx, c)
}

// builds are the go build commands since the last call.
func (r *recorder) take() (all int, builds []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.commands {
		if strings.Contains(c, " build ") {
			builds = append(builds, c)
		}
	}
	all = len(r.commands)
	r.commands = nil
	return all, builds
}

// world is a checkout with everything around it that a build may depend on.
type world struct {
	Request
	t      testing.TB
	dir    string
	screen *bytes.Buffer
	ran    *recorder
}

// host is the platform that the programs built here can run on.
func host() Platform { return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH} }

func newWorld(t testing.TB, tree files, packages ...Package) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dir := filepath.Join(base, "home", "someone", "mesh")
	tree.write(t, dir)
	source, err := Checkout(dir)
	must(t, err)
	w := &world{t: t, dir: dir, screen: &bytes.Buffer{}, ran: &recorder{}}
	w.Request = Request{
		Source: source, Platform: host(), Packages: packages,
		OutDir: filepath.Join(dir, "out", "platform"), Outputs: []string{filepath.Join(dir, "out")},
		Stamps: testStamps, Runner: w.ran,
		Console: ui.New(w.screen, w.screen, ui.Options{Verbose: true}),
		Env:     testEnv(base),
	}
	time.Sleep(2 * repo.Tick) // the files are older than a tick, as in life
	return w
}

// testEnv is our environment without the developer's Go settings, but with the
// caches.
func testEnv(base string) []string {
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		panic(err)
	}
	dirs := strings.Fields(string(out))
	env := []string{"GOCACHE=" + dirs[0], "GOMODCACHE=" + dirs[1], "GOENV=" + filepath.Join(base, "goenv"), "HOME=" + filepath.Join(base, "home", "someone")}
	for _, name := range []string{"PATH", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, "GOPROXY=off", "GOTOOLCHAIN=local")
}

func (w *world) build() Report {
	w.t.Helper()
	report, err := Build(w.t.Context(), w.Request)
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.screen)
	}
	return report
}

func (w *world) fails() error {
	w.t.Helper()
	report, err := Build(w.t.Context(), w.Request)
	if err == nil {
		w.t.Fatalf("no error; %+v\n%s", report, w.screen)
	}
	return err
}

// run runs a binary that was built for this machine.
func (w *world) run(name string) string {
	w.t.Helper()
	out, err := exec.Command(filepath.Join(w.OutDir, name)).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (w *world) put(name, text string) {
	w.t.Helper()
	files{name: text}.write(w.t, w.dir)
}

var (
	ctl   = Package{Name: "ctl", Path: "./cmd/ctl"}
	agent = Package{Name: "agent", Path: "./cmd/agent", Tags: []string{"agent"}}
	echo  = Package{Name: "echo", Path: "./cmd/echo"}
	cni   = Package{Name: "cni", Path: "./cmd/cni"}
)

// meddler does something while go build runs.
type meddler struct {
	*recorder
	during func()
}

func (m *meddler) Run(ctx context.Context, c run.Command) error {
	if len(c.Args) > 1 && c.Args[1] == "build" {
		m.during()
	}
	return m.recorder.Run(ctx, c)
}
