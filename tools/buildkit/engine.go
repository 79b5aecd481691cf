// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"archive/tar"
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/docker/cli/cli/connhelper/commandconn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/moby/buildkit/client"
	"golang.org/x/sync/errgroup"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/image"
)

// dockerEngine is a Docker engine, whose API leads to the BuildKit inside.
type dockerEngine struct{ network, address string }

func newEngine(address string) (*dockerEngine, error) {
	network, target, ok := strings.Cut(address, "://")
	if !ok || network != "unix" && network != "tcp" {
		return nil, fail.With(fail.Usage, fmt.Errorf("the address of the Docker engine is %q: unix:// and tcp:// are spoken to directly; for ssh, set BUILDKIT_HOST or BUILDX_BUILDER", address))
	}
	return &dockerEngine{network, target}, nil
}

func (e *dockerEngine) dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, e.network, e.address)
}

// dialGRPC is a connection to the engine's BuildKit.
func (e *dockerEngine) dialGRPC(ctx context.Context, _ string) (net.Conn, error) {
	return e.hijack(ctx, "/grpc", "h2c", nil)
}

// dialSession is the connection on which the engine asks for the context,
// logins and secrets.
func (e *dockerEngine) dialSession(ctx context.Context, protocol string, meta map[string][]string) (net.Conn, error) {
	return e.hijack(ctx, "/session", protocol, meta)
}

// hijack turns a request into a plain connection.
func (e *dockerEngine) hijack(ctx context.Context, at, protocol string, header http.Header) (net.Conn, error) {
	conn, err := e.dial(ctx)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://docker"+at, nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	for name, values := range header {
		for _, v := range values {
			request.Header.Add(name, v)
		}
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", protocol)
	if err := request.Write(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	buffered := bufio.NewReader(conn)
	response, err := http.ReadResponse(buffered, request)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the engine's answer to %s: %w", at, err), conn.Close())
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, errors.Join(fmt.Errorf("the engine answers %s to %s: %s", response.Status, at, strings.TrimSpace(string(text))), response.Body.Close(), conn.Close())
	}
	return &hijacked{conn, buffered}, nil
}

// hijacked reads first what came with the answer.
type hijacked struct {
	net.Conn

	r *bufio.Reader
}

func (h *hijacked) Read(p []byte) (int, error) { return h.r.Read(p) }

// commandDialer connects through a program's standard input and output.
func commandDialer(args []string) func(context.Context, string) (net.Conn, error) {
	return func(context.Context, string) (net.Conn, error) {
		// The program lives as long as the connection, not as the dialing.
		return commandconn.New(context.Background(), args[0], args[1:]...)
	}
}

// engine lets a Docker engine with its older image store build the image and
// fetches it as docker save does. Such an engine exports nothing else.
func (s *solve) engine(ctx context.Context, progress io.Writer) ([]image.PlatformImage, error) {
	opt, err := s.options(s.platforms[0])
	if err != nil {
		return nil, err
	}
	opt.Exports = []client.ExportEntry{{Type: "moby", Attrs: map[string]string{}}}
	shared := newDisplay(s.request, 1, progress)
	var response map[string]string
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return shared.show(ctx) })
	g.Go(func() (err error) {
		response, err = s.run(gctx, opt, shared.channel(""))
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	id := response["containerimage.digest"]
	if id == "" {
		return nil, errors.New("the engine does not say which image it made")
	}
	manifest, err := s.fetch(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("fetching image %s from %s: %w", id, s.con.endpoint, err)
	}
	made, err := s.into.Adopt(s.foreign(manifest, s.platforms[0], func(v1.Hash) bool { return true }))
	return []image.PlatformImage{made}, err
}

// fetch takes an image out of the engine's store, and removes the nameless
// image that the build left there; the engine's build cache stays.
func (s *solve) fetch(ctx context.Context, id string) (v1.Hash, error) {
	e, err := newEngine(s.con.endpoint.Address)
	if err != nil {
		return v1.Hash{}, err
	}
	at := "http://docker/images/" + url.PathEscape(id)
	response, err := e.call(ctx, http.MethodGet, at+"/get")
	if err != nil {
		return v1.Hash{}, err
	}
	a := &archive{solve: s, taken: map[string]image.Taken{}, links: map[string]string{}, texts: map[string][]byte{}}
	if err := errors.Join(a.read(ctx, tar.NewReader(response.Body)), response.Body.Close()); err != nil {
		return v1.Hash{}, err
	}
	// A named image of the same content, or a container, may hold on to it.
	if gone, err := e.call(ctx, http.MethodDelete, at+"?noprune=true"); err == nil {
		_ = gone.Body.Close()
	}
	return a.manifest(ctx)
}

// call asks the engine; an answer that is no success is an error.
func (e *dockerEngine) call(ctx context.Context, method, at string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.dial(ctx) }}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, errors.Join(fmt.Errorf("the engine answers %s: %s", response.Status, strings.TrimSpace(string(text))), response.Body.Close())
	}
	return response, nil
}

// archive is what docker save writes, while it is read.
type archive struct {
	*solve

	taken map[string]image.Taken // layers by name in the archive
	links map[string]string      // names of the same layer
	texts map[string][]byte      // JSON files
}

func (a *archive) read(ctx context.Context, tr *tar.Reader) error {
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(h.Name)
		switch {
		case h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink:
			a.links[name] = path.Join(path.Dir(name), h.Linkname)
		case h.Typeflag != tar.TypeReg:
		case strings.HasSuffix(name, ".tar") || strings.HasPrefix(name, "blobs/") && h.Size > 4<<20:
			if a.taken[name], err = a.into.TakeLayer(ctx, tr, v1.Hash{}, a.codec); err != nil {
				return err
			}
		default:
			if a.texts[name], err = io.ReadAll(io.LimitReader(tr, 16<<20)); err != nil {
				return err
			}
		}
	}
}

// manifest writes the image down as one of the layout.
func (a *archive) manifest(ctx context.Context) (v1.Hash, error) {
	var list []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(a.texts["manifest.json"], &list); err != nil || len(list) != 1 {
		return v1.Hash{}, errors.Join(errors.New("the engine's archive has no manifest.json for one image"), err)
	}
	config, ok := a.texts[path.Clean(list[0].Config)]
	if !ok {
		return v1.Hash{}, fmt.Errorf("the engine's archive has no %s", list[0].Config)
	}
	h, err := a.into.Put(config)
	if err != nil {
		return v1.Hash{}, err
	}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: v1.Descriptor{MediaType: types.OCIConfigJSON, Digest: h, Size: int64(len(config))}}
	for _, name := range list[0].Layers {
		taken, err := a.layer(ctx, path.Clean(name))
		if err != nil {
			return v1.Hash{}, err
		}
		m.Layers = append(m.Layers, v1.Descriptor{MediaType: types.MediaType(taken.Layer.Media), Digest: taken.Layer.Digest, Size: taken.Layer.Size})
	}
	text, err := json.Marshal(m)
	if err != nil {
		return v1.Hash{}, err
	}
	return a.into.Put(text)
}

// layer finds a layer by its name, or takes one that was too small to be seen
// as a layer at first.
func (a *archive) layer(ctx context.Context, name string) (image.Taken, error) {
	for hops := 0; a.links[name] != "" && hops < 10; hops++ {
		name = a.links[name]
	}
	if taken, ok := a.taken[name]; ok {
		return taken, nil
	}
	text, ok := a.texts[name]
	if !ok {
		return image.Taken{}, fmt.Errorf("the engine's archive has no layer %s", name)
	}
	return a.into.TakeLayer(ctx, strings.NewReader(string(text)), v1.Hash{}, a.codec)
}
