// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// moduleProxy is a file tree that serves one version of one module.
func moduleProxy(t *testing.T, module, version string, files map[string]string) string {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range files {
		w, err := z.Create(module + "@" + version + "/" + name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".info": `{"Version":"` + version + `"}`, ".mod": files["go.mod"], ".zip": archive.String()} {
		if err := os.WriteFile(filepath.Join(dir, version+name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return "file://" + root
}

// The module has a VERSION file, from which settings, and with them labels of
// images, have their default. The first run, which downloads the module, has
// to know it as well as the second.
func TestFirstImageIsTheSecond(t *testing.T) {
	dir := repository(t)
	catalog := filepath.Join(dir, "common/config/catalog.yaml")
	text, err := os.ReadFile(catalog)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(catalog, append([]byte("source:\n  module: example.com/far\n  version: v0.1.0\n"), text...), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", moduleProxy(t, "example.com/far", "v0.1.0", map[string]string{
		"go.mod": "module example.com/far\n\ngo 1.21\n", "VERSION": "7.3\n", "cmd/hello/main.go": "package main\n\nfunc main() {}\n",
	}))
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw -mod=mod")
	t.Setenv("GONOSUMDB", "*")
	digest := regexp.MustCompile(`is (sha256:[0-9a-f]{64})`)
	var digests []string
	for range 2 {
		c := invoke(t, dir, "", []string{"TAG=t"}, "docker.hello")
		m := digest.FindStringSubmatch(c.stdout + c.stderr)
		if m == nil {
			t.Fatalf("exit %d\n%s%s", c.code, c.stdout, c.stderr)
		}
		digests = append(digests, m[1])
	}
	if digests[0] != digests[1] {
		t.Errorf("the first run made %s, the second %s", digests[0], digests[1])
	}
}
