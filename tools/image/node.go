// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Node is a node of a kind cluster: a container of the engine in which
// containerd runs.
type Node struct {
	Name   string
	engine *Engine
	id     string
}

// clusterLabel is how kind marks the containers of a cluster.
const clusterLabel = "io.x-k8s.kind.cluster"

// Nodes lists the nodes of a kind cluster.
func (e *Engine) Nodes(ctx context.Context, cluster string) ([]Node, error) {
	filters, err := json.Marshal(map[string][]string{"label": {clusterLabel + "=" + cluster}})
	if err != nil {
		return nil, err
	}
	response, err := e.do(ctx, http.MethodGet, "/containers/json?filters="+url.QueryEscape(string(filters)), nil)
	if err != nil {
		return nil, fmt.Errorf("looking for the nodes of cluster %q: %w", cluster, err)
	}
	defer func() { _ = response.Body.Close() }()
	var containers []struct {
		ID     string `json:"Id"`
		Names  []string
		Labels map[string]string
	}
	if err := json.NewDecoder(response.Body).Decode(&containers); err != nil {
		return nil, fmt.Errorf("looking for the nodes of cluster %q: %w", cluster, err)
	}
	var nodes []Node
	for _, c := range containers {
		if c.Labels["io.x-k8s.kind.role"] == "external-load-balancer" { // it runs no pods
			continue
		}
		nodes = append(nodes, Node{Name: strings.TrimPrefix(slices.Concat(c.Names, []string{c.ID})[0], "/"), engine: e, id: c.ID})
	}
	if len(nodes) == 0 {
		return nil, fail.With(fail.Unavailable, fmt.Errorf("the engine at %s runs no node of a kind cluster %q: start it, or name another one with KIND_CLUSTER_NAME", e.address, cluster))
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

// Architecture is that of the engine's containers: amd64, arm64.
func (e *Engine) Architecture(ctx context.Context) (string, error) {
	response, err := e.do(ctx, http.MethodGet, "/version", nil)
	if err != nil {
		return "", fmt.Errorf("asking the engine what it is: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	var version struct{ Arch string }
	err = json.NewDecoder(response.Body).Decode(&version)
	return version.Arch, err
}

// ctr is the client of the node's containerd, in the namespace of Kubernetes.
func ctr(args ...string) []string { return append([]string{"ctr", "--namespace=k8s.io"}, args...) }

// Loaded is what a load into a node did.
type Loaded struct {
	Blobs int   // sent
	Bytes int64 // sent
	Had   bool  // the node had the image under all names
}

// Load puts an image, whose descriptor names a manifest, into the node's
// containerd. Blobs that the node has are not sent; afterwards the node is
// asked for every name.
func (n Node) Load(ctx context.Context, l *Layout, d v1.Descriptor, names []string) (Loaded, error) {
	names = fullNames(names)
	images, err := n.images(ctx)
	if err != nil {
		return Loaded{}, err
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return images[name] == d.Digest.String() })
	if len(missing) == 0 {
		return Loaded{Had: true}, nil
	}
	has, err := n.blobs(ctx)
	if err != nil {
		return Loaded{}, err
	}
	var loaded Loaded
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := l.ociArchive(ctx, w, d, missing, func(h v1.Hash, size int64) bool {
			if has[h.String()] {
				return false
			}
			loaded.Blobs++
			loaded.Bytes += size
			return true
		})
		_ = w.CloseWithError(err)
	}()
	_, err = n.Exec(ctx, r, ctr("images", "import", "--all-platforms", "-")...)
	err = errors.Join(err, r.Close())
	<-done
	if err != nil {
		return loaded, fmt.Errorf("loading %s into node %s: %w", strings.Join(names, ", "), n.Name, err)
	}
	if images, err = n.images(ctx); err != nil {
		return loaded, err
	}
	for _, name := range names {
		if images[name] != d.Digest.String() {
			return loaded, fmt.Errorf("node %s took %s, but has %q under that name", n.Name, name, images[name])
		}
	}
	return loaded, nil
}

// fullNames are names as containerd keeps them.
func fullNames(names []string) []string {
	var full []string
	for _, name := range names {
		host, _, ok := strings.Cut(name, "/")
		switch {
		case !ok:
			name = "docker.io/library/" + name
		case !strings.ContainsAny(host, ".:") && host != "localhost":
			name = "docker.io/" + name
		}
		full = append(full, name)
	}
	return full
}

// images are the node's images: the digest behind each name.
func (n Node) images(ctx context.Context) (map[string]string, error) {
	out, err := n.Exec(ctx, nil, ctr("images", "ls")...)
	if err != nil {
		return nil, fmt.Errorf("asking node %s for its images: %w", n.Name, err)
	}
	images := map[string]string{}
	for line := range strings.Lines(out) { // REF TYPE DIGEST SIZE …
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(fields[2], "sha256:") {
			images[fields[0]] = fields[2]
		}
	}
	return images, nil
}

func (n Node) blobs(ctx context.Context) (map[string]bool, error) {
	out, err := n.Exec(ctx, nil, ctr("content", "ls", "-q")...)
	if err != nil {
		return nil, fmt.Errorf("asking node %s for its layers: %w", n.Name, err)
	}
	blobs := map[string]bool{}
	for line := range strings.Lines(out) {
		blobs[strings.TrimSpace(line)] = true
	}
	return blobs, nil
}

// Exec runs a program in the node and returns its output. A status other than
// 0 is an error with what the program wrote.
func (n Node) Exec(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	body, err := json.Marshal(map[string]any{"AttachStdin": stdin != nil, "AttachStdout": true, "AttachStderr": true, "Cmd": args})
	if err != nil {
		return "", err
	}
	var created struct {
		ID string `json:"Id"`
	}
	if err := n.engine.post(ctx, "/containers/"+n.id+"/exec", body, &created); err != nil {
		return "", err
	}
	conn, err := n.engine.hijack(ctx, "/exec/"+created.ID+"/start", []byte(`{"Detach":false,"Tty":false}`))
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() { stop(); _ = conn.Close() }()
	sent := make(chan error, 1)
	go func() {
		var err error
		if stdin != nil {
			_, err = io.Copy(conn, stdin)
		}
		if half, ok := conn.Conn.(interface{ CloseWrite() error }); ok {
			err = errors.Join(err, half.CloseWrite())
		}
		sent <- err
	}()
	out, problems, err := demultiplex(conn)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", err
	}
	var state struct{ ExitCode int }
	if err := n.engine.get(ctx, "/exec/"+created.ID+"/json", &state); err != nil {
		return "", err
	}
	if state.ExitCode != 0 {
		return "", fmt.Errorf("%s ended with status %d: %s", strings.Join(args, " "), state.ExitCode, strings.TrimSpace(problems+out))
	}
	return out, <-sent
}

// demultiplex splits what a container writes: frames of a stream number, a
// length and data. Source: the engine's API, "attach".
func demultiplex(r io.Reader) (out, problems string, err error) {
	var streams [3]bytes.Buffer
	head := make([]byte, 8)
	for {
		if _, err := io.ReadFull(r, head); errors.Is(err, io.EOF) {
			return streams[1].String(), streams[2].String(), nil
		} else if err != nil {
			return "", "", err
		}
		if head[0] > 2 {
			return "", "", errors.New("the engine sends output that is not in frames")
		}
		if _, err := io.CopyN(&streams[head[0]], r, int64(binary.BigEndian.Uint32(head[4:]))); err != nil {
			return "", "", err
		}
	}
}

func (e *Engine) post(ctx context.Context, path string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://docker"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	return e.answer(request, into)
}

func (e *Engine) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker"+path, nil)
	if err != nil {
		return err
	}
	return e.answer(request, into)
}

func (e *Engine) answer(request *http.Request, into any) error {
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("the engine at %s answers %s: %s", e.address, response.Status, strings.TrimSpace(string(text)))
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// rawConn reads first what came with the answer to a request.
type rawConn struct {
	net.Conn

	r *bufio.Reader
}

func (c *rawConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// hijack turns a request into a plain connection.
func (e *Engine) hijack(ctx context.Context, path string, body []byte) (*rawConn, error) {
	network, target, _ := strings.Cut(e.address, "://")
	conn, err := (&net.Dialer{}).DialContext(ctx, network, target)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://docker"+path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "tcp")
	if err := request.Write(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, request) //nolint:bodyclose // after the switch the connection is the body
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if response.StatusCode != http.StatusSwitchingProtocols && response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, errors.Join(fmt.Errorf("the engine at %s answers %s: %s", e.address, response.Status, strings.TrimSpace(string(text))), conn.Close())
	}
	return &rawConn{conn, r}, nil
}

// ociArchive writes an image as an OCI layout in a tar, which containerd takes
// under the names in its index. Blobs that send does not want stay out.
func (l *Layout) ociArchive(ctx context.Context, w io.Writer, d v1.Descriptor, names []string, send func(v1.Hash, int64) bool) error {
	var manifest v1.Manifest
	if err := l.readJSON(d.Digest, &manifest); err != nil {
		return err
	}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, name := range names {
		entry := v1.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, Annotations: map[string]string{
			"io.containerd.image.name": name, RefName: name[strings.LastIndex(name, ":")+1:],
		}}
		index.Manifests = append(index.Manifests, entry)
	}
	tw := tar.NewWriter(w)
	blobs := append([]v1.Descriptor{d, manifest.Config}, manifest.Layers...)
	written := map[v1.Hash]bool{}
	for _, b := range blobs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if written[b.Digest] || !send(b.Digest, b.Size) {
			continue
		}
		written[b.Digest] = true
		if err := l.archiveBlob(tw, b.Digest, "blobs/sha256/"+b.Digest.Hex); err != nil {
			return err
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	for _, f := range []struct{ name, content string }{{"oci-layout", `{"imageLayoutVersion":"1.0.0"}`}, {"index.json", string(text)}} {
		if err := tw.WriteHeader(archiveHeader(f.name, int64(len(f.content)))); err != nil {
			return err
		}
		if _, err := io.WriteString(tw, f.content); err != nil {
			return err
		}
	}
	return tw.Close()
}
