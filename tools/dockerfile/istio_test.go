// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/dockerfile"
)

// istio returns the newest Istio tree in the module cache.
func istio(t *testing.T) string {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skipf("asking Go for its module cache: %v", err)
	}
	trees, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "istio.io", "istio@*"))
	if len(trees) == 0 {
		t.Skip("the module istio.io/istio is not in the module cache")
	}
	return trees[len(trees)-1]
}

func anyBase(string, v1.Platform) (*dockerfile.BaseConfig, error) {
	return &dockerfile.BaseConfig{}, nil
}

// Every Dockerfile of Istio is read; those of the images that its daemonless
// builder makes have no obstacle, for each variant and platform.
func TestIstioDockerfiles(t *testing.T) {
	root := istio(t)
	clean := map[string]bool{
		"cni/deployments/kubernetes/Dockerfile.install-cni": true, "istioctl/docker/Dockerfile.istioctl": true,
		"pilot/docker/Dockerfile.pilot": true, "pilot/docker/Dockerfile.proxyv2": true, "pilot/docker/Dockerfile.ztunnel": true,
	}
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "Dockerfile") {
			return err
		}
		read++
		name, _ := filepath.Rel(root, path)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := dockerfile.Parse(name, content)
		if err != nil {
			t.Error(err)
			return nil
		}
		for _, variant := range []string{"debug", "distroless"} {
			for _, arch := range []string{"amd64", "arm64"} {
				evaluateIstio(t, f, name, variant, arch, clean[name])
			}
		}
		return nil
	})
	if err != nil || read < 20 {
		t.Errorf("%d Dockerfiles read, error %v", read, err)
	}
}

func evaluateIstio(t *testing.T, f *dockerfile.File, name, variant, arch string, clean bool) {
	p, err := f.Plan(dockerfile.Options{Platform: v1.Platform{OS: "linux", Architecture: arch},
		Args: map[string]string{"BASE_DISTRIBUTION": variant, "VM_IMAGE_NAME": "ubuntu", "VM_IMAGE_VERSION": "noble", "AGENTGATEWAY_IMAGE": "a.example/g:1", "SIDECAR": "envoy"}})
	if err != nil {
		if clean || !strings.Contains(err.Error(), "has no stage") && !strings.Contains(err.Error(), "has no value") {
			t.Errorf("%s %s: %v", name, variant, err)
		}
		return
	}
	if !clean {
		return
	}
	if o := p.Obstacles(); len(o) > 0 {
		t.Errorf("%s %s: obstacles %v", name, variant, o)
		return
	}
	if bases := p.Bases(); len(bases) != 1 || !strings.HasPrefix(bases[0].Reference, "registry.istio.io/release/") {
		t.Errorf("%s %s: bases %v, want one of Istio's", name, variant, bases)
	}
	r, err := p.Evaluate(anyBase)
	if err != nil {
		t.Errorf("%s %s: %v", name, variant, err)
		return
	}
	for _, s := range r.Steps {
		if s.Copy != nil && len(s.Copy.Sources) == 1 && strings.Contains(s.Copy.Sources[0], "/") && !strings.HasPrefix(s.Copy.Sources[0], arch+"/") {
			t.Errorf("%s %s %s: copies %v", name, variant, arch, s.Copy.Sources)
		}
	}
}

func TestAppHasOneObstacle(t *testing.T) {
	path := "pkg/test/echo/docker/Dockerfile.app"
	content, err := os.ReadFile(filepath.Join(istio(t), path))
	if err != nil {
		t.Fatal(err)
	}
	f, err := dockerfile.Parse(path, content)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Plan(dockerfile.Options{Platform: amd64, Args: map[string]string{"BASE_VERSION": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	line := 1 + strings.Count(string(content[:strings.Index(string(content), "\nRUN ")+1]), "\n")
	if o := p.Obstacles(); len(o) != 1 || o[0].Line != line || !strings.HasPrefix(o[0].Text, "RUN useradd") {
		t.Errorf("obstacles %v, want the RUN on line %d", o, line)
	}
}
