// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/platforms"
	"github.com/docker/buildx/builder"
	"github.com/docker/buildx/driver"
	"github.com/docker/buildx/store"
	"github.com/docker/buildx/util/confutil"
	"github.com/docker/cli/cli/connhelper/commandconn"
	"github.com/google/go-cmp/cmp"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/istio-ecosystem/slipway/tools/buildkit/buildkittest"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

// home gives the test a Docker configuration of its own, and no engine.
func home(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("BUILDX_CONFIG", filepath.Join(dir, "buildx"))
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "no-engine"))
	t.Setenv("DOCKER_CONTEXT", "")
	t.Setenv("BUILDX_BUILDER", "")
}

// register writes a builder down as docker buildx create does.
func register(t *testing.T, current bool, name, driver string, nodes ...store.Node) {
	t.Helper()
	s, err := store.New(confutil.NewConfig(nil, confutil.WithDir(os.Getenv("BUILDX_CONFIG"))))
	if err != nil {
		t.Fatal(err)
	}
	txn, release, err := s.Txn()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := txn.Save(&store.NodeGroup{Name: name, Driver: driver, Nodes: nodes}); err != nil {
		t.Fatal(err)
	}
	if current {
		if err := txn.SetCurrent("", name, true, false); err != nil {
			t.Fatal(err)
		}
	}
}

func node(name, endpoint string, can ...string) store.Node {
	n := store.Node{Name: name, Endpoint: endpoint}
	for _, p := range can {
		n.Platforms = append(n.Platforms, platforms.MustParse(p))
	}
	return n
}

func noSocket(t *testing.T) string {
	t.Helper()
	return "unix://" + filepath.Join(t.TempDir(), "none")
}

// connect puts BuildKit's client on the standard streams of the program, as
// Slipway does.
func connect(t *testing.T, args ...string) *client.Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asProgram, "1")
	c, err := client.New(t.Context(), "", client.WithContextDialer(func(context.Context, string) (net.Conn, error) {
		return commandconn.New(context.Background(), self, append([]string{"dial"}, args...)...)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// checkBuild asks for the workers and lets them write and export a file, which
// needs all that a build needs: control, session, and both ways of streams.
func checkBuild(t *testing.T, c *client.Client) {
	t.Helper()
	workers, err := c.ListWorkers(t.Context())
	if err != nil || len(workers) == 0 {
		t.Fatalf("%d workers, %v", len(workers), err)
	}
	text := strings.Repeat("slipway", 1<<16)
	def, err := llb.Scratch().File(llb.Mkfile("/file", 0o644, []byte(text))).Marshal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err = c.Solve(t.Context(), def, client.SolveOpt{Exports: []client.ExportEntry{{Type: client.ExporterLocal, OutputDir: dir}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestDialRemote(t *testing.T) {
	daemon := buildkittest.Start(t)
	home(t)
	register(t, true, "far", "remote", node("far0", daemon.Endpoint.Address))
	register(t, false, "two", "remote", node("dead", noSocket(t), "linux/amd64"), node("live", daemon.Endpoint.Address, "linux/riscv64"))
	for name, args := range map[string][]string{
		"by name":         {"--builder", "far"},
		"the current one": {"--builder", ""},
		"no flag at all":  {},
		"platform":        {"--builder", "two", "--platform", "linux/riscv64"},
		"running first":   {"--builder", "two"},
	} {
		t.Run(name, func(t *testing.T) { checkBuild(t, connect(t, args...)) })
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("BUILDX_CONFIG"), "activity", "far")); err != nil {
		t.Errorf("the use of the builder is not noted: %v", err)
	}
	got := process(t, nil, "dial", "--builder", "far", "--platform", "linux/s390x")
	got.want(t, fail.Usage, `no node of builder "far" builds linux/s390x`, "far0", "linux/amd64")
}

// dialing is a started dial command that is connected.
type dialing struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.Reader
	errors *bytes.Buffer
}

// dialed starts the program and shakes hands as an HTTP/2 client does (RFC
// 9113, section 3.4): the server's first frame shows that it is connected.
func dialed(t *testing.T, name string) dialing {
	t.Helper()
	d := dialing{cmd: program(t, nil, "dial", "--builder", name), errors: &bytes.Buffer{}}
	d.cmd.Stderr = d.errors
	var err error
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if d.out, err = d.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	if _, err := io.WriteString(d.in, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+settings); err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, 9)
	if _, err := io.ReadFull(d.out, frame); err != nil || frame[3] != 4 {
		t.Fatalf("no SETTINGS frame: % x, %v\n%s", frame, err, d.errors)
	}
	return d
}

// wait waits for the end of the program and returns its exit code.
func (d dialing) wait(t *testing.T) int {
	t.Helper()
	_, _ = io.Copy(io.Discard, d.out)
	_ = d.cmd.Wait()
	return d.cmd.ProcessState.ExitCode()
}

func TestDialEnds(t *testing.T) {
	daemon := buildkittest.Start(t)
	home(t)
	register(t, false, "far", "remote", node("far0", daemon.Endpoint.Address))
	t.Run("with its input", func(t *testing.T) {
		d := dialed(t, "far")
		if err := d.in.Close(); err != nil {
			t.Fatal(err)
		}
		if code := d.wait(t); code != fail.OK {
			t.Errorf("exit code %d: %s", code, d.errors)
		}
	})
	t.Run("by a signal", func(t *testing.T) {
		d := dialed(t, "far")
		if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := d.wait(t); code != fail.Interrupted {
			t.Errorf("exit code %d: %s", code, d.errors)
		}
	})
	t.Run("with the builder", func(t *testing.T) { // the last one: the builder is gone then
		d := dialed(t, "far")
		daemon.Kill()
		if code := d.wait(t); code != fail.OK {
			t.Errorf("exit code %d: %s", code, d.errors)
		}
	})
}

func TestBuilderErrors(t *testing.T) {
	home(t)
	register(t, false, "odd", "imaginary", node("odd0", noSocket(t)))
	register(t, false, "other", "remote", node("other0", noSocket(t)))
	for _, command := range []string{"dial", "inspect"} {
		call(t, nil, command, "--builder", "nope").want(t, fail.Usage, `builder "nope"`, "known: default, odd, other", os.Getenv("BUILDX_CONFIG"))
		call(t, nil, command, "--builder", "odd").want(t, fail.Unavailable, `builder "odd"`, "imaginary")
		call(t, nil, command).want(t, fail.Unavailable, `the current builder "default"`, "no-engine")
	}
	t.Setenv("DOCKER_CONTEXT", "missing")
	t.Setenv("DOCKER_HOST", "")
	call(t, nil, "inspect").want(t, fail.Usage, "missing")
}

// A builder that does not answer is waited for, as it may just be starting.
func TestDialDeadRemote(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		t.Skip("waits 20 s: set SLIPWAY_TEST_REAL=1")
	}
	home(t)
	socket := noSocket(t)
	register(t, false, "dead", "remote", node("dead0", socket))
	call(t, strings.NewReader(""), "dial", "--builder", "dead").want(t, fail.Unavailable, `dialing builder "dead"`, "node dead0 at "+socket, "no such file")
}

func inspect(t *testing.T, name string) inspected {
	t.Helper()
	got := call(t, nil, "inspect", "--builder", name)
	got.want(t, fail.OK)
	var answer inspected
	if err := json.Unmarshal([]byte(got.out), &answer); err != nil {
		t.Fatalf("%v in:\n%s", err, got.out)
	}
	return answer
}

func TestInspectRemote(t *testing.T) {
	daemon := buildkittest.Start(t)
	home(t)
	socket := noSocket(t)
	register(t, false, "two", "remote", node("live", daemon.Endpoint.Address, "linux/riscv64"), node("dead", socket, "linux/arm64"))
	got := inspect(t, "two")
	c, err := client.New(t.Context(), daemon.Endpoint.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	info, err := c.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Nodes) != 2 || !slices.Contains(got.Nodes[0].Platforms, "linux/amd64") || got.Nodes[0].Platforms[0] != "linux/riscv64" {
		t.Fatalf("got %+v", got)
	}
	got.Nodes[0].Platforms = nil // those of this machine
	want := inspected{Name: "two", Driver: "remote", Nodes: []inspectedNode{
		{Name: "live", Endpoint: daemon.Endpoint.Address, Status: "running", Version: info.BuildkitVersion.Version},
		{Name: "dead", Endpoint: socket, Status: "inactive", Platforms: []string{"linux/arm64"},
			Error: "dial unix " + strings.TrimPrefix(socket, "unix://") + ": connect: no such file or directory"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The engine's own BuildKit is reached over the engine's API.
func TestDockerDriver(t *testing.T) {
	host := startDocker(t)
	home(t)
	t.Setenv("DOCKER_HOST", host)
	got := inspect(t, "")
	if got.Name != "default" || got.Driver != "docker" || len(got.Nodes) != 1 || got.Nodes[0].Status != "running" || !slices.Contains(got.Nodes[0].Platforms, "linux/amd64") {
		t.Errorf("got %+v", got)
	}
	c := connect(t, "--platform", "linux/amd64")
	workers, err := c.ListWorkers(t.Context())
	if err != nil || len(workers) == 0 {
		t.Fatalf("%d workers, %v", len(workers), err)
	}
	checkBuild(t, c)
	process(t, nil, "dial", "--builder", "default", "--platform", "linux/s390x").want(t, fail.Usage, `no node of builder "default" builds linux/s390x`)
}

func startDocker(t *testing.T) string {
	t.Helper()
	if os.Getenv("SLIPWAY_TEST_REAL") != "1" {
		t.Skip("starts dockerd: set SLIPWAY_TEST_REAL=1")
	}
	path, err := exec.LookPath("dockerd")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs dockerd, and root")
	}
	dir, err := os.MkdirTemp("", "dockerd-") // sockets need short paths
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "sock")
	cmd := exec.Command(path, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "-p", filepath.Join(dir, "pid"),
		"-H", "unix://"+socket, "--iptables=false", "--bridge=none")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			return "unix://" + socket
		}
	}
	t.Fatal("dockerd does not start")
	return ""
}

// A builder that is there already, of any driver, which may be stopped: it is
// booted and builds. Docker's configuration is that of the environment.
func TestNamedBuilder(t *testing.T) {
	name := os.Getenv("SLIPWAY_TEST_BUILDER")
	if name == "" {
		t.Skip("set SLIPWAY_TEST_BUILDER to the name of a builder of docker buildx ls")
	}
	checkBuild(t, connect(t, "--builder", name))
	for _, n := range inspect(t, name).Nodes {
		if n.Status != "running" && n.Error == "" {
			t.Errorf("after the build: %+v", n)
		}
	}
}

// Nodes that run come before those that must be started, nodes that are known
// to build the platform before those of which nothing is known, and those that
// are known not to build it are left out.
func TestOrder(t *testing.T) {
	made := func(name string, runs bool, can ...string) builder.Node {
		n := builder.Node{Node: node(name, ""), Platforms: node("", "", can...).Platforms, Driver: &driver.DriverHandle{}, DriverInfo: &driver.Info{}}
		if runs {
			n.DriverInfo.Status = driver.Running
		}
		return n
	}
	nodes := []builder.Node{
		made("off-unknown", false),
		made("off-arm", false, "linux/arm64"),
		made("off-amd", false, "linux/amd64"),
		{Node: node("broken", "")},
		made("on-amd", true, "linux/amd64", "linux/amd64/v2", "linux/386"),
		made("on-arm", true, "linux/arm64", "linux/arm/v7"),
	}
	for want, names := range map[string]string{
		"":               "on-amd on-arm off-unknown off-arm off-amd",
		"linux/amd64":    "on-amd off-amd off-unknown",
		"linux/amd64/v2": "on-amd off-unknown",
		"linux/arm64":    "on-arm off-arm off-unknown",
		"linux/arm64/v8": "on-arm off-arm off-unknown", // the same, written out
		"linux/arm/v7":   "on-arm off-unknown",
		"linux/arm/v6":   "off-unknown",
		"linux/s390x":    "off-unknown",
	} {
		platform, err := parsePlatform(want)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range order(nodes, platform) {
			got = append(got, n.Name)
		}
		if strings.Join(got, " ") != names {
			t.Errorf("%q: got %q, want %q", want, strings.Join(got, " "), names)
		}
	}
}

func TestNoNode(t *testing.T) {
	b := &userBuilder{Builder: &builder.Builder{NodeGroup: &store.NodeGroup{Name: "b"}}}
	good := builder.Node{Node: node("n", "e"), Platforms: []ocispecs.Platform{platforms.MustParse("linux/amd64")}}
	broken := builder.Node{Node: node("m", "e"), Err: io.ErrUnexpectedEOF}
	arm := platforms.MustParse("linux/arm64")
	if err := b.noNode([]builder.Node{good}, &arm); fail.Code(err) != fail.Usage || !strings.Contains(err.Error(), "linux/amd64") {
		t.Errorf("a platform that nobody builds: %v", err)
	}
	if err := b.noNode([]builder.Node{good, broken}, &arm); fail.Code(err) != fail.Unavailable || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("a broken node: %v", err)
	}
}
