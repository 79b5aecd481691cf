// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package imageset

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Cost is what one way took, its daemons included.
type Cost struct {
	Wall   time.Duration
	CPU    time.Duration
	Memory int64 // largest resident set of one process, in bytes; 0: not known
	Sent   int64 // bytes to all registries
}

// meter runs processes and adds up what they cost.
type meter struct {
	cost   Cost
	daemon int // process whose CPU time counts too; 0: none
}

// run runs a process to its end.
func (m *meter) run(ctx context.Context, dir string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s: %w\n%s", strings.Join(args, " "), err, tail(out))
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if ok {
		m.cost.CPU += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		m.cost.Memory = max(m.cost.Memory, usage.Maxrss<<10)
	}
	return nil
}

func tail(out []byte) string {
	if len(out) > 2000 {
		out = out[len(out)-2000:]
	}
	return string(out)
}

// measure runs f and notes its wall time, the CPU time of the daemon and the
// bytes that were sent meanwhile.
func (m *meter) measure(hubs []*counter, f func(m *meter) error) (Cost, error) {
	m.cost = Cost{}
	daemon, sent, begun := cpuOf(m.daemon), total(hubs), time.Now()
	err := f(m)
	m.cost.Wall = time.Since(begun)
	m.cost.CPU += cpuOf(m.daemon) - daemon
	m.cost.Sent = total(hubs) - sent
	if m.daemon != 0 {
		m.cost.Memory = max(m.cost.Memory, peakOf(m.daemon))
	}
	return m.cost, err
}

// cpuOf reads a process's CPU time from Linux's proc; elsewhere it is 0.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if pid == 0 || err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0
	}
	var ticks int64
	for _, f := range fields[11:15] { // user and system time, own and of children
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// peakOf is the largest resident set that a process ever had, in bytes.
func peakOf(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err == nil {
				return n << 10
			}
		}
	}
	return 0
}

// daemonOf is the process that listens at a unix socket; 0 when that cannot be
// told.
func daemonOf(address string) int {
	path, ok := strings.CutPrefix(address, "unix://")
	if !ok {
		return 0
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return 0
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Control(func(fd uintptr) { pid = peer(int(fd)) })
	return pid
}

// counter passes bytes on to a registry and counts them.
type counter struct {
	listener net.Listener
	sent     atomic.Int64
}

func newCounter(to string) (*counter, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &counter{listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.pass(conn, to)
		}
	}()
	return c, nil
}

func (c *counter) host() string { return c.listener.Addr().String() }

func (c *counter) pass(conn net.Conn, to string) {
	defer func() { _ = conn.Close() }()
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = up.Close() }()
	go func() {
		_, _ = io.Copy(up, io.TeeReader(conn, countingWriter{c}))
		_ = up.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(conn, up)
}

type countingWriter struct{ c *counter }

func (w countingWriter) Write(p []byte) (int, error) {
	w.c.sent.Add(int64(len(p)))
	return len(p), nil
}

func total(hubs []*counter) int64 {
	var sum int64
	for _, h := range hubs {
		sum += h.sent.Load()
	}
	return sum
}
