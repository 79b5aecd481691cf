// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// TestMain lets the test program fetch as a process of its own.
func TestMain(m *testing.M) {
	if url := os.Getenv("PREBUILT_TEST_URL"); url != "" {
		os.Exit(child(url, os.Getenv("PREBUILT_TEST_DIR")))
	}
	os.Exit(m.Run())
}

func child(url, dir string) int {
	item := Item{
		Source: Source{Name: "ztunnel", URL: URL(url), Platform: "linux/amd64", Origin: "a test"},
		Dest:   filepath.Join(dir, "out", "release", "ztunnel-v1"), Copies: []string{filepath.Join(dir, "out", "ztunnel")},
	}
	_, err := Fetch(context.Background(), item, Options{Cache: filepath.Join(dir, "cache"), Retry: Retry{First: time.Millisecond}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return fail.Code(err)
}

func childCommand(t *testing.T, url, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PREBUILT_TEST_URL="+url, "PREBUILT_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcessesFetchOnce(t *testing.T) {
	w := newWorld(t)
	content := amd64(bodySize)
	var served atomic.Int64
	slow := func(rw http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		rw.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = rw.Write(content[:1000])
		rw.(http.Flusher).Flush()
		time.Sleep(300 * time.Millisecond) // so that all are there
		_, _ = rw.Write(content[1000:])
	}
	s := newServer(t, content, slow, slow, slow, slow, slow, slow, slow, slow)
	var wait sync.WaitGroup
	for range 4 {
		cmd := childCommand(t, s.URL+"/z", w.dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	item := w.ztunnel(s.URL + "/z")
	item.Copies = item.Copies[1:]
	for range 3 {
		wait.Go(func() {
			if _, err := Fetch(t.Context(), item, w.options); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	w.holds(item.Dest, content)
	w.holds(item.Copies[0], content)
	if n := served.Load(); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
	w.noLitter()
	if got := w.must(item); got.From != FromPlace {
		t.Errorf("from %q", got.From)
	}
}

// Processes that use caches of their own but one output folder.
func TestOnePlaceManyCaches(t *testing.T) {
	w := newWorld(t)
	content := amd64(bodySize)
	s := newServer(t, content)
	item := w.ztunnel(s.URL + "/z")
	var wait sync.WaitGroup
	for i := range 4 {
		options := w.options
		options.Cache = w.path(fmt.Sprintf("cache%d", i))
		wait.Go(func() {
			for range 3 {
				if _, err := Fetch(t.Context(), item, options); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for _, path := range append(item.Copies, item.Dest) {
		w.holds(path, content)
	}
	w.noLitter()
}

// Killed again and again at any moment, there is never a wrong file, and what
// was downloaded is not lost.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	content := amd64(24 << 20)
	s := newServer(t, content)
	s.mu.Lock()
	s.through = func(w http.ResponseWriter) http.ResponseWriter { return &slowWriter{w} }
	s.mu.Unlock()
	item := w.ztunnel(s.URL + "/z")
	kills := 0
	for delay := 150 * time.Millisecond; ; delay += 100 * time.Millisecond {
		cmd := childCommand(t, s.URL+"/z", w.dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		for _, path := range []string{item.Dest, item.Copies[1]} {
			if got, readErr := os.ReadFile(path); readErr == nil && !bytes.Equal(got, content) {
				t.Fatalf("after %v there is a wrong %s of %d bytes", delay, path, len(got))
			}
		}
		if err == nil {
			break
		}
		kills++
		if kills > 60 {
			t.Fatalf("it never ends: %v", err)
		}
	}
	w.holds(item.Dest, content)
	w.holds(item.Copies[1], content)
	resumed := 0
	for _, r := range s.ranges() {
		if r != "" {
			resumed++
		}
	}
	if kills > 4 && resumed == 0 {
		t.Errorf("%d times killed and never gone on: %q", kills, s.ranges())
	}
	t.Logf("killed %d times, gone on %d times", kills, resumed)
}

// slowWriter needs about a second for the file.
type slowWriter struct{ http.ResponseWriter }

func (s *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p)) * time.Second / (30 << 20))
	return s.ResponseWriter.Write(p)
}

func TestWaitingCanBeInterrupted(t *testing.T) {
	w := newWorld(t)
	item := w.ztunnel("http://127.0.0.1:1/z")
	unlock, err := w.job(item).lockKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, context.Canceled)
	defer cancel()
	_, err = Fetch(ctx, item, w.options)
	if fail.Code(err) != fail.Interrupted {
		t.Errorf("code %d of %v", fail.Code(err), err)
	}
	w.says("waiting for another process")
}

// On a disk that is full nothing half-written stays, not even in the cache.
func TestDiskFull(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("only root on Linux can mount a small disk")
	}
	content := amd64(bodySize)
	s := newServer(t, content)
	for name, small := range map[string]string{"the cache": "cache", "the output": "out"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			disk := w.path(small)
			if err := os.Mkdir(disk, 0o755); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk).CombinedOutput(); err != nil {
				t.Skipf("mounting is not allowed here: %s", out)
			}
			t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
			item := w.ztunnel(s.URL + "/" + small)
			_, err := w.fetch(item)
			wantError(t, err, "no space left on device", disk)
			if fail.Code(err) != fail.Failed || len(w.waits) != 0 {
				t.Errorf("code %d, waits %v", fail.Code(err), w.waits)
			}
			w.noLitter()
			if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
				t.Fatalf("a file is still open: %s", out)
			}
			w.must(item)
			w.holds(item.Dest, content)
		})
	}
}

func TestOutputCannotBeWritten(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	w := newWorld(t)
	s := newServer(t, amd64(3000))
	if err := os.MkdirAll(w.path("out"), 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := w.fetch(w.ztunnel(s.URL + "/z"))
	wantError(t, err, "permission denied", w.path("out"))
	if strings.Contains(err.Error(), "WAY=") {
		t.Errorf("the network is blamed: %v", err)
	}
}
