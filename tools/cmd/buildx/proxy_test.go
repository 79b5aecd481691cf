// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// serve answers one connection on a socket and returns the other end of it.
func serve(t *testing.T, answer func(*net.UnixConn)) net.Conn {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		answer(c.(*net.UnixConn))
		_ = c.Close()
	}()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// The builder answers only when it has read the end of what we send. An answer
// longer than any buffer must arrive whole.
func TestProxyClosesByHalf(t *testing.T) {
	const size = 3 << 20
	conn := serve(t, func(c *net.UnixConn) {
		got, _ := io.ReadAll(c)
		_, _ = c.Write(bytes.Repeat(got, size/len(got)))
	})
	var out bytes.Buffer
	if err := proxy(t.Context(), conn, strings.NewReader("abcdefgh"), &out); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("abcdefgh", size/8); out.String() != want {
		t.Errorf("%d bytes, want %d", out.Len(), len(want))
	}
}

// The builder may end first, while nothing is said about the end of the input.
func TestProxyEndsWithTheBuilder(t *testing.T) {
	conn := serve(t, func(c *net.UnixConn) { _, _ = io.WriteString(c, "bye") })
	in, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	var out bytes.Buffer
	if err := proxy(t.Context(), conn, in, &out); err != nil || out.String() != "bye" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// A pipe cannot be closed by half, so the end of the input closes it.
func TestProxyWithoutHalves(t *testing.T) {
	ours, theirs := net.Pipe()
	read := make(chan string, 1)
	go func() {
		got, _ := io.ReadAll(theirs)
		read <- string(got)
	}()
	if err := proxy(t.Context(), ours, strings.NewReader("x"), io.Discard); err != nil {
		t.Error(err)
	}
	if got := <-read; got != "x" {
		t.Errorf("the builder read %q", got)
	}
}

func TestProxyIsCancelled(t *testing.T) {
	closed := make(chan struct{})
	conn := serve(t, func(c *net.UnixConn) {
		_, _ = io.ReadAll(c)
		close(closed)
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	if err := proxy(ctx, conn, in, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	<-closed
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error)  { return 0, b.err }
func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestProxyErrors(t *testing.T) {
	boom := errors.New("boom")
	waits := func(c *net.UnixConn) { _, _ = io.ReadAll(c) }
	if err := proxy(t.Context(), serve(t, waits), broken{boom}, io.Discard); !errors.Is(err, boom) || !strings.Contains(err.Error(), "sending") {
		t.Errorf("a broken input: %v", err)
	}
	says := func(c *net.UnixConn) { _, _ = io.WriteString(c, "x"); _, _ = io.ReadAll(c) }
	in, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	if err := proxy(t.Context(), serve(t, says), in, broken{boom}); !errors.Is(err, boom) || !strings.Contains(err.Error(), "receiving") {
		t.Errorf("a broken output: %v", err)
	}
}
