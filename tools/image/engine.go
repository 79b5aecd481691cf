// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Engine is a Docker engine, spoken to in its HTTP API.
type Engine struct {
	address string // "unix:///var/run/docker.sock", "tcp://127.0.0.1:2375"
	client  *http.Client
}

// FindEngine looks for an engine at DOCKER_HOST, or else at the sockets where
// Docker puts one. An error says what was tried.
func FindEngine(ctx context.Context, getenv func(string) string) (*Engine, error) {
	addresses := []string{getenv("DOCKER_HOST")}
	if addresses[0] == "" {
		addresses = []string{"unix:///var/run/docker.sock"}
		if home := getenv("HOME"); home != "" {
			addresses = append(addresses, "unix://"+filepath.Join(home, ".docker/run/docker.sock"))
		}
		if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
			addresses = append(addresses, "unix://"+filepath.Join(dir, "docker.sock"))
		}
	}
	var tried []string
	for _, address := range addresses {
		e, err := dial(ctx, address)
		if err == nil {
			return e, nil
		}
		tried = append(tried, fmt.Sprintf("%s (%v)", address, err))
	}
	return nil, fail.With(fail.Unavailable, fmt.Errorf("no Docker engine answers: tried %s; start one, or set DOCKER_HOST", strings.Join(tried, ", ")))
}

func dial(ctx context.Context, address string) (*Engine, error) {
	network, target, ok := strings.Cut(address, "://")
	if !ok || network != "unix" && network != "tcp" {
		return nil, errors.New("only unix:// and tcp:// addresses are spoken to directly")
	}
	if network == "unix" {
		if _, err := os.Stat(target); err != nil {
			return nil, errors.New("no such socket")
		}
	}
	e := &Engine{address: address, client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, network, target)
		},
	}}}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	response, err := e.do(ctx, http.MethodGet, "/_ping", nil)
	if err != nil {
		return nil, err
	}
	return e, response.Body.Close()
}

func (e *Engine) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://docker"+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/x-tar")
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, errors.Join(fmt.Errorf("the engine at %s answers %s: %s", e.address, response.Status, strings.TrimSpace(string(text))), response.Body.Close())
	}
	return response, nil
}

// Load sends an archive to the engine and waits until it has taken it.
func (e *Engine) Load(ctx context.Context, archive io.Reader) error {
	response, err := e.do(ctx, http.MethodPost, "/images/load?quiet=1", archive)
	if err != nil {
		return fmt.Errorf("loading images: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	// The engine answers 200 first and tells of failures in the stream.
	for d := json.NewDecoder(response.Body); ; {
		var message struct{ Error string }
		if err := d.Decode(&message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading what the engine at %s says: %w", e.address, err)
		}
		if message.Error != "" {
			return fmt.Errorf("loading images into the engine at %s: %s", e.address, message.Error)
		}
	}
}

// String is the engine's address.
func (e *Engine) String() string { return e.address }
