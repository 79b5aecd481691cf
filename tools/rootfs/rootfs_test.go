// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/istio-ecosystem/slipway/tools/run"
)

// goroot asks the toolchain, since runtime.GOROOT is empty under -trimpath.
func goroot(t testing.TB) string {
	t.Helper()
	out, err := run.Output(t.Context(), run.Exec{}, run.Command{Args: []string{"go", "env", "GOROOT"}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fakeRoot is a Go toolchain with these time zones.
func fakeRoot(t *testing.T, zones map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range zones {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	put(t, filepath.Join(root, "lib", "time", "zoneinfo.zip"), b.String())
	return root
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t *testing.T, dir, goroot string) Summary {
	t.Helper()
	s, err := Write(t.Context(), dir, goroot)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestAccounts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rootfs")
	mustWrite(t, dir, "")
	want := "root:x:0:0:root:/root:/sbin/nologin\n" +
		"istio-proxy:x:1337:1337:istio-proxy:/nonexistent:/sbin/nologin\n" +
		"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n"
	if got := read(t, dir+"/root/etc/passwd"); got != want {
		t.Errorf("passwd:\n%s", got)
	}
	if got, want := read(t, dir+"/root/etc/group"), "root:x:0:\nistio-proxy:x:1337:\nnonroot:x:65532:\nnobody:x:65534:\n"; got != want {
		t.Errorf("group:\n%s", got)
	}
	// What COPY gives a mode or an owner to must be just these.
	for name, want := range map[string]string{"sticky": "tmp", "homes": "nonroot"} {
		if found, err := os.ReadDir(filepath.Join(dir, name)); err != nil || len(found) != 1 || found[0].Name() != want {
			t.Errorf("%s holds %v, %v", name, found, err)
		}
	}
	for _, name := range []string{"sticky/tmp", "homes/nonroot", "root/home", "root/run", "root/var/run"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// The Dockerfile must copy all that is written, and nothing else.
func TestDockerfileCopiesWhatIsThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rootfs")
	mustWrite(t, dir, "")
	var want []string
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		want = append(want, f.Name())
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^COPY .*\brootfs/(\S+)/ `).FindAllStringSubmatch(read(t, "../../docker/Dockerfile.static"), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("copied %q, written %q", got, want)
	}
}

// The file must hold each root that can be trusted without conditions, and no
// other.
func TestCertificates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rootfs")
	s := mustWrite(t, dir, "")
	want := map[string]bool{}
	constrained := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			constrained++
			continue
		}
		want[string(root.Certificate)] = true
	}
	rest := []byte(read(t, dir+"/root/etc/ssl/certs/ca-certificates.crt"))
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(rest) {
		t.Fatal("no certificate can be read")
	}
	count := 0
	for block, after := pem.Decode(rest); block != nil; block, after = pem.Decode(after) {
		count++
		if !want[string(block.Bytes)] {
			t.Errorf("certificate %d is not one of the unconditional roots", count)
		}
	}
	if count != len(want) || s.Roots != count || count < 100 {
		t.Errorf("%d certificates, summary says %d, want %d (and at least 100)", count, s.Roots, len(want))
	}
	notes := slices.DeleteFunc(slices.Clone(s.Notes), func(n string) bool { return !strings.HasPrefix(n, "root certificate ") })
	if len(notes) != constrained {
		t.Errorf("%d notes on roots left out, want %d", len(notes), constrained)
	}
}

func TestTimeZonesOfTheToolchain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rootfs")
	s := mustWrite(t, dir, goroot(t))
	if s.Zones < 300 {
		t.Fatalf("%d time zones, notes %q", s.Zones, s.Notes)
	}
	zone, err := time.LoadLocationFromTZData("Europe/Berlin", []byte(read(t, dir+"/root/usr/share/zoneinfo/Europe/Berlin")))
	if err != nil {
		t.Fatal(err)
	}
	if _, offset := time.Date(2026, 7, 1, 0, 0, 0, 0, zone).Zone(); offset != 2*3600 {
		t.Errorf("offset of Berlin in July is %d s", offset)
	}
}

func TestToolchainWithoutTimeZones(t *testing.T) {
	for name, root := range map[string]string{"none named": "", "no archive": t.TempDir()} {
		s := mustWrite(t, filepath.Join(t.TempDir(), "rootfs"), root)
		if s.Zones != 0 || !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.HasPrefix(n, "time zones are left out: ") }) {
			t.Errorf("%s: %d zones, notes %q", name, s.Zones, s.Notes)
		}
	}
}

func TestBadTimeZones(t *testing.T) {
	for name, c := range map[string]struct {
		zones map[string]string
		want  string
	}{
		"leads out":     {map[string]string{"../../etc/evil": "TZif"}, `reading time zone "../../etc/evil"`},
		"absolute":      {map[string]string{"/etc/evil": "TZif"}, "its name leads out of the folder"},
		"no zone":       {map[string]string{"Mars": "hello"}, "it is no time zone file"},
		"much too long": {map[string]string{"Mars": "TZif" + strings.Repeat("x", maxZone)}, "it has more than 1048576 bytes"},
	} {
		dir := filepath.Join(t.TempDir(), "rootfs")
		_, err := Write(t.Context(), dir, fakeRoot(t, c.zones))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder was written", name)
		}
	}
	root := t.TempDir()
	put(t, filepath.Join(root, "lib", "time", "zoneinfo.zip"), "no archive")
	if _, err := Write(t.Context(), filepath.Join(t.TempDir(), "rootfs"), root); err == nil || !strings.Contains(err.Error(), "not a valid zip file") {
		t.Errorf("broken archive: error %v", err)
	}
}

// Same inputs, same bytes and modes, under any umask and in any folder.
func TestReproducible(t *testing.T) {
	root := fakeRoot(t, map[string]string{"GMT": "TZif1", "GMT+0": "TZif2", "US/Pacific": "TZif3", "US-old": "TZif4"})
	one := filepath.Join(t.TempDir(), "a")
	two := filepath.Join(t.TempDir(), "deeper", "b")
	first := mustWrite(t, one, root)
	restore := umask(0o077)
	second := mustWrite(t, two, root)
	restore()
	if first.Digest != second.Digest || first.Digest == "" || second.Fresh {
		t.Errorf("digests %s and %s", first.Digest, second.Digest)
	}
	if a, b := listing(t, one), listing(t, two); !slices.Equal(a, b) {
		t.Errorf("listings differ:\n%s\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	again := mustWrite(t, one, root)
	if !again.Fresh || again.Digest != first.Digest {
		t.Errorf("second call: %+v", again)
	}
}

func listing(t *testing.T, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(path, dir) + " " + info.Mode().String()
		if !d.IsDir() {
			line += " " + info.ModTime().UTC().String() + " " + read(t, path)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Whatever is done to the folder, the next call puts it right.
func TestRepairs(t *testing.T) {
	root := fakeRoot(t, map[string]string{"GMT": "TZif"})
	for name, damage := range map[string]func(dir string) error{
		"content": func(dir string) error { return os.WriteFile(dir+"/root/etc/group", []byte("x"), 0o600) },
		"mode":    func(dir string) error { return os.Chmod(dir+"/root/etc/group", 0o600) },
		"missing": func(dir string) error { return os.Remove(dir + "/root/usr/share/zoneinfo/GMT") },
		"extra":   func(dir string) error { return os.WriteFile(dir+"/root/zzz", nil, 0o600) },
		"last":    func(dir string) error { return os.Remove(dir + "/sticky/tmp") },
		"kind": func(dir string) error {
			return errors.Join(os.Remove(dir+"/sticky/tmp"), os.WriteFile(dir+"/sticky/tmp", nil, 0o600))
		},
		"link": func(dir string) error {
			return errors.Join(os.Remove(dir+"/root/etc/group"), os.Symlink("passwd", dir+"/root/etc/group"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "rootfs")
			mustWrite(t, dir, root)
			want := listing(t, dir)
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			if s := mustWrite(t, dir, root); s.Fresh {
				t.Error("the damage was not seen")
			}
			if got := listing(t, dir); !slices.Equal(got, want) {
				t.Errorf("after the repair:\n%s", strings.Join(got, "\n"))
			}
			onlyEntry(t, dir)
		})
	}
}

// onlyEntry checks that nothing was left beside dir.
func onlyEntry(t *testing.T, dir string) {
	t.Helper()
	found, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(found) != 1 {
		t.Errorf("beside %s: %v, %v", dir, found, err)
	}
}

func TestRefusedFolders(t *testing.T) {
	other := t.TempDir()
	put(t, filepath.Join(other, "precious"), "data")
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, "data")
	for dir, want := range map[string]string{
		"":    "must be an absolute path",
		"rel": "must be an absolute path",
		"/":   "and not the root",
		"//":  "and not the root",
		other: "the folder holds something else",
		file:  "not a directory",
	} {
		if _, err := Write(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", dir, err, want)
		}
	}
	if got := read(t, filepath.Join(other, "precious")); got != "data" {
		t.Errorf("the other folder was touched: %q", got)
	}
}

func TestEmptyFolderIsFilled(t *testing.T) {
	dir := t.TempDir()
	if s := mustWrite(t, dir, ""); s.Fresh {
		t.Error("an empty folder counts as fresh")
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
		t.Error(err)
	}
}

func TestCancelledLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := filepath.Join(t.TempDir(), "rootfs")
	if _, err := Write(ctx, dir, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if found, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(found) != 0 {
		t.Errorf("left behind: %v, %v", found, err)
	}
}

func TestUnwritableFolder(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("root may write anywhere")
	}
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), filepath.Join(parent, "rootfs"), ""); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
}

func TestCallsSideBySide(t *testing.T) {
	root := fakeRoot(t, map[string]string{"GMT": "TZif"})
	dir := filepath.Join(t.TempDir(), "rootfs")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := Write(t.Context(), dir, root); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s := mustWrite(t, dir, root); !s.Fresh {
		t.Error("the folder is not whole afterwards")
	}
	onlyEntry(t, dir)
}

func BenchmarkFresh(b *testing.B) {
	dir, root := filepath.Join(b.TempDir(), "rootfs"), goroot(b)
	for b.Loop() {
		if _, err := Write(b.Context(), dir, root); err != nil {
			b.Fatal(err)
		}
	}
}
