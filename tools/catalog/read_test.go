// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

var update = flag.Bool("update", false, "write what is read into the golden files; read the difference before you keep it")

// TestTrees reads each small repository of testdata: an archive of files, in
// which "want" is what the reader says to it.
func TestTrees(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d archives, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := answer(t, tree(archive))
			if *update {
				setFile(archive, "want", got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(getFile(archive, "want"), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// answer is the error, or the table and the warnings.
func answer(t *testing.T, root fstest.MapFS) string {
	t.Helper()
	c, err := read(root)
	if err != nil {
		if fail.Code(err) != fail.Usage {
			t.Errorf("exit code %d of %v, want %d", fail.Code(err), err, fail.Usage)
		}
		return err.Error() + "\n"
	}
	var b bytes.Buffer
	for _, w := range c.Warnings {
		b.WriteString("warning: " + w.String() + "\n")
	}
	if err := c.WriteText(&b); err != nil {
		t.Error(err)
	}
	return b.String()
}

func read(root fstest.MapFS) (*catalog.Catalog, error) {
	if f, ours := root[catalog.File]; ours {
		return catalog.FromYAML(catalog.File, f.Data, root)
	}
	env := map[string]string{"FROM_ENV": "extra"}
	return catalog.FromIstio(root, catalog.Options{Env: func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	}})
}

// tree is the archive as a file system. A name that ends in a slash is an
// empty folder.
func tree(archive *txtar.Archive) fstest.MapFS {
	root := fstest.MapFS{}
	for _, f := range archive.Files {
		switch name, isDir := strings.CutSuffix(f.Name, "/"); {
		case isDir:
			root[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		case name != "want":
			root[name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
		}
	}
	return root
}

func getFile(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func setFile(a *txtar.Archive, name, content string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(content)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(content)})
}

// FuzzYAML: no input may make the reader panic or accept a catalog whose names
// cannot be used.
func FuzzYAML(f *testing.F) {
	files, err := filepath.Glob("testdata/yaml/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(getFile(archive, catalog.File)))
	}
	root := fstest.MapFS{"Dockerfile": {Data: []byte("ARG BASE_DISTRIBUTION=a\nFROM scratch AS a\nFROM ${BASE_DISTRIBUTION}\n")}}
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := catalog.FromYAML("c.yaml", content, root)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "c.yaml") {
					t.Errorf("line %q of the error has no place", line)
				}
			}
			return
		}
		for _, i := range c.Images {
			if i.Name == "" || strings.ContainsAny(i.Name, "/: \n") || i.Dockerfile == "" {
				t.Errorf("accepted image %+v", i)
			}
		}
		if err := c.WriteText(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
		if err := c.WriteJSON(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	})
}
