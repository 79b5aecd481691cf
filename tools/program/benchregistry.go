// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/istio-ecosystem/slipway/tools/run"
)

// serve starts two registries on loopback, as processes, so that what they
// compute is not taken for ours.
func (b *imageBench) serve(ctx context.Context) error {
	if _, err := exec.LookPath("docker-registry"); err != nil {
		return fmt.Errorf("docker-registry is not installed, so pushes are not measured: %w", err)
	}
	for n := range 2 {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		host := listener.Addr().String()
		if err := listener.Close(); err != nil {
			return err
		}
		config := filepath.Join(b.dir, fmt.Sprintf("registry%d.yml", n))
		text := fmt.Sprintf("version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q}\n",
			filepath.Join(b.dir, fmt.Sprint("registry", n)), host)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			return err
		}
		b.start(ctx, config)
		b.hosts = append(b.hosts, host)
		if err := waitFor(ctx, host); err != nil {
			return err
		}
	}
	return nil
}

func (b *imageBench) start(ctx context.Context, config string) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.p.runner.Run(ctx, run.Command{Args: []string{"docker-registry", "serve", config}}) // it ends by being cancelled
	}()
	b.stop = append(b.stop, func() { cancel(); <-ended })
}

func waitFor(ctx context.Context, host string) error {
	for range 100 {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", host)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("the registry at %s did not start", host)
}
