// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/publish"
	"github.com/istio-ecosystem/slipway/tools/publish/internal/registrytest"
)

// dockerRegistry starts the registry of the distribution project, a process
// of its own that checks references and mounts for real.
func dockerRegistry(t testing.TB) (host string) {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("docker-registry is not installed (Debian package docker-registry)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host = l.Addr().String()
	_ = l.Close()
	dir := t.TempDir()
	config := fmt.Sprintf("version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: %s\n  delete:\n    enabled: true\nhttp:\n  addr: %s\n", dir, host)
	file := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", file)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 200 {
		resp, err := http.Get("http://" + host + "/v2/")
		if err == nil {
			_ = resp.Body.Close()
			return host
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("docker-registry does not answer at %s:\n%s", host, log.String())
	return ""
}

func TestAgainstDockerRegistry(t *testing.T) {
	host := dockerRegistry(t)
	front := registrytest.New(t) // the second hub, of another make
	s := push(t, front)
	for i := range s.Items {
		s.Items[i].References = append(s.Items[i].References, host+"/t/"+s.Items[i].Name+":v1")
	}
	s.Items = append(s.Items, publish.Item{Name: "twin", Digest: s.Items[0].Digest, References: []string{host + "/t/twin:v1"}})
	r, err := publish.Publish(t.Context(), s.Options)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.err.String())
	}
	for _, it := range s.Items {
		got, err := registrytest.Pull("http://"+host, "t/"+it.Name, "v1")
		if err != nil || got != it.Digest.String() {
			t.Errorf("%s: %q, %v; want %s", it.Name, got, err, it.Digest)
		}
	}
	for _, repo := range r.Repositories {
		if strings.HasSuffix(repo.Repository, "/twin") && strings.HasPrefix(repo.Repository, host) && repo.Bytes > 4000 {
			t.Errorf("%d bytes were sent to %s, want its blobs mounted", repo.Bytes, repo.Repository)
		}
	}
	again, err := publish.Publish(t.Context(), s.Options)
	if err != nil {
		t.Fatal(err)
	}
	for _, repo := range again.Repositories {
		if repo.Requests != 1 || repo.Bytes != 0 {
			t.Errorf("nothing changed, but %+v", repo)
		}
	}
	other := push(t)
	other.NoClobber = true
	other.Items = other.Items[:1]
	other.Items[0].References = []string{host + "/t/app:v1"}
	if _, err := publish.Publish(t.Context(), other.Options); fail.Code(err) != fail.Failed || !strings.Contains(other.err.String(), "is not moved") {
		t.Errorf("no-clobber: %v", err)
	}
}

// An independent reader agrees with what we pushed.
func TestSkopeoReadsWhatWePush(t *testing.T) {
	skopeo, err := exec.LookPath("skopeo")
	if err != nil {
		t.Skip("skopeo is not installed")
	}
	host := dockerRegistry(t)
	s := push(t)
	for i := range s.Items {
		s.Items[i].References = []string{host + "/t/" + s.Items[i].Name + ":v1"}
	}
	if _, err := publish.Publish(t.Context(), s.Options); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(skopeo, "copy", "--all", "--src-tls-verify=false", "docker://"+host+"/t/multi:v1", "oci:"+filepath.Join(t.TempDir(), "copy")).CombinedOutput()
	if err != nil {
		t.Errorf("skopeo copy: %v\n%s", err, out)
	}
	for _, it := range s.Items {
		out, err := exec.Command(skopeo, "inspect", "--tls-verify=false", "--raw", "docker://"+it.References[0]).Output()
		if err != nil || !bytes.Contains(out, []byte("mediaType")) {
			t.Errorf("skopeo inspect %s: %v\n%s", it.References[0], err, out)
		}
	}
}
