// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

func TestUnpack(t *testing.T) {
	body := amd64(70 << 10)
	whole := envoyArchive(t, body)
	link := tar.Header{Name: "usr/local/bin/envoy", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}
	hard := tar.Header{Name: "usr/local/bin/envoy", Typeflag: tar.TypeLink, Linkname: "usr/local/bin/other"}
	for name, c := range map[string]struct {
		archive []byte
		pattern string
		want    string // "" for success
	}{
		"as Istio makes it":        {whole, envoyMember, ""},
		"with ./ before":           {targz(t, file("./usr/local/bin/envoy"))(body), envoyMember, ""},
		"absolute":                 {targz(t, file("/usr/local/bin/envoy"))(body), envoyMember, ""},
		"with other files":         {targz(t, file("LICENSE"), file("usr/local/bin/envoy"), file("a/b/c/d/e"))([]byte("x"), body, []byte("y")), envoyMember, ""},
		"with a link beside it":    {targz(t, tar.Header{Name: "envoy", Typeflag: tar.TypeSymlink, Linkname: "usr/local/bin/envoy"}, file("usr/local/bin/envoy"))(nil, body), envoyMember, ""},
		"another name":             {targz(t, file("usr/local/bin/my-proxy"))(body), envoyMember, ""},
		"by name at any depth":     {targz(t, file("a/b/ztunnel"))(body), "ztunnel", ""},
		"plain tar":                {tarball(t, []tar.Header{file("usr/local/bin/envoy")}, [][]byte{body}), envoyMember, ""},
		"zstd":                     {zstdOf(t, tarball(t, []tar.Header{file("usr/local/bin/envoy")}, [][]byte{body})), envoyMember, ""},
		"two gzip members":         {split(t, tarball(t, []tar.Header{file("usr/local/bin/envoy")}, [][]byte{body})), envoyMember, ""},
		"PAX names":                {targz(t, tar.Header{Name: strings.Repeat("d", 200) + "/b/c/envoy", Format: tar.FormatPAX})(body), envoyMember, ""},
		"the program itself":       {body, envoyMember, ""},
		"nothing that matches":     {targz(t, file("envoy"), file("bin/README"))(body, nil), envoyMember, `matches "*/*/*/*": it has ["envoy" "bin/README"]`},
		"two that match":           {targz(t, file("usr/local/bin/envoy"), file("usr/local/bin/other"))(body, body), envoyMember, `"usr/local/bin/envoy" and "usr/local/bin/other" both match`},
		"a symbolic link":          {targz(t, link)(), envoyMember, "a link or a device"},
		"a hard link":              {targz(t, hard)(), envoyMember, "a link or a device"},
		"a device":                 {targz(t, tar.Header{Name: "usr/local/bin/envoy", Typeflag: tar.TypeChar})(), envoyMember, "a link or a device"},
		"a path out of it":         {targz(t, file("../a/b/c/envoy"))(body), envoyMember, "leaves the archive"},
		"a path out in its middle": {targz(t, file("a/../../b/c/d/envoy"))(body), envoyMember, "leaves the archive"},
		"cut in the member":        {whole[:len(whole)/2], envoyMember, "unexpected EOF"},
		"cut in the checksum":      {whole[:len(whole)-4], envoyMember, "unexpected EOF"},
		"wrong checksum":           {flip(whole, len(whole)-8), envoyMember, "checksum"},
		"one bit wrong":            {flip(whole, len(whole)/2), envoyMember, "unpacking"},
		"gzip of a text":           {gzipOf([]byte("hello")), envoyMember, "unpacking"},
		"gzip of nothing":          {gzipOf(nil), envoyMember, "no file in the archive"},
		"too much in the member":   {targz(t, file("usr/local/bin/envoy"))(make([]byte, 2<<20)), envoyMember, "limit of 1048576"},
		"too much beside it":       {targz(t, file("usr/local/bin/envoy"), file("zeros"))(body, make([]byte, 2<<20)), envoyMember, "limit of 1048576"},
		"too much after the end":   {gzipOf(append(tarball(t, []tar.Header{file("usr/local/bin/envoy")}, [][]byte{body}), make([]byte, 2<<20)...)), envoyMember, "limit of 1048576"},
		"a sparse file":            {gzipOf(sparse()), envoyMember, "limit of 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/a"
			if err := os.WriteFile(path, c.archive, 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err := unpack(t.Context(), &out, path, c.pattern, 1<<20)
			if c.want != "" {
				wantError(t, err, c.want)
				return
			}
			if err != nil || !bytes.Equal(out.Bytes(), body) {
				t.Errorf("error %v, %d bytes, want %d", err, out.Len(), len(body))
			}
		})
	}
}

// A bad archive leaves nothing at the place, and no download that would be
// offered again.
func TestBadArchiveIsNotPlaced(t *testing.T) {
	w := newWorld(t)
	binary := amd64(50 << 10)
	whole := envoyArchive(t, binary)
	s := newServer(t, flip(whole, len(whole)-8))
	item := w.envoy(s.URL + "/e.tar.gz")
	_, err := w.fetch(item)
	wantError(t, err, "checksum", s.URL)
	if _, err := os.Stat(item.Dest); err == nil {
		t.Error("it was placed")
	}
	w.noLitter()
	s.change(whole, `"two"`)
	w.must(item)
	w.holds(item.Dest, binary)
}

func gzipOf(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func split(t *testing.T, b []byte) []byte {
	t.Helper()
	return append(gzipOf(b[:len(b)/2]), gzipOf(b[len(b)/2:])...)
}

func zstdOf(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func flip(b []byte, at int) []byte {
	c := bytes.Clone(b)
	c[at] ^= 0x10
	return c
}

// sparse is an archive of 1.5 KiB whose one file, in the old GNU form, is
// 1 GiB of holes.
func sparse() []byte {
	block := make([]byte, 512)
	copy(block, "usr/local/bin/envoy")
	copy(block[100:], "0000755\x000000000\x000000000\x0000000000000\x0000000000000\x00")
	block[156] = 'S'
	copy(block[257:], "ustar  \x00")
	copy(block[483:], "10000000000\x00")
	copy(block[148:], "        ")
	total := 0
	for _, c := range block {
		total += int(c)
	}
	copy(block[148:], []byte{'0' + byte(total>>15&7), '0' + byte(total>>12&7), '0' + byte(total>>9&7), '0' + byte(total>>6&7), '0' + byte(total>>3&7), '0' + byte(total&7), 0, ' '})
	return append(block, make([]byte, 1024)...)
}

// Any bytes are unpacked to the end or refused, and never to more than the
// limit.
func FuzzUnpack(f *testing.F) {
	f.Add(envoyArchive(f, amd64(300)), envoyMember)
	f.Add(gzipOf(sparse()), envoyMember)
	f.Add(amd64(300), "ztunnel")
	f.Add([]byte("<html>"), "[")
	f.Fuzz(func(t *testing.T, archive []byte, pattern string) {
		path := t.TempDir() + "/a"
		if err := os.WriteFile(path, archive, 0o600); err != nil {
			t.Fatal(err)
		}
		n := &counter{}
		_ = unpack(t.Context(), n, path, pattern, 1<<16)
		if n.n > max(1<<16, int64(len(archive))) {
			t.Errorf("%d bytes came out", n.n)
		}
	})
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func TestLimited(t *testing.T) {
	for n, want := range map[int]string{9: "", 10: "", 11: "it unpacks to more than the limit of 10 bytes"} {
		got, err := io.ReadAll(&limited{r: strings.NewReader(strings.Repeat("x", n)), left: 10, limit: 10})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != want || len(got) != min(n, 10) {
			t.Errorf("%d: %d bytes, error %q", n, len(got), text)
		}
	}
}

func TestMachines(t *testing.T) {
	for arch, id := range map[string][3]uint16{ // machine, class, data
		"amd64": {62, 2, 1}, "arm64": {183, 2, 1}, "arm": {40, 1, 1}, "386": {3, 1, 1}, "s390x": {22, 2, 2},
		"riscv64": {243, 2, 1}, "loong64": {258, 2, 1}, "ppc64le": {21, 2, 1}, "ppc64": {21, 2, 2}, "EM_SPARC": {2, 1, 2},
	} {
		b := header(id)
		if err := checkProgram(bytes.NewReader(b), int64(len(b)), "linux/"+arch+"/v7"); err != nil {
			t.Errorf("%s: %v", arch, err)
		}
		err := checkProgram(bytes.NewReader(b), int64(len(b)), "linux/other")
		if want := "it is a program for linux/" + arch + " and not for linux/other"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", arch, err, want)
		}
	}
}

func header(id [3]uint16) []byte {
	var order binary.AppendByteOrder = binary.LittleEndian
	if id[2] == 2 {
		order = binary.BigEndian
	}
	b := []byte{0x7f, 'E', 'L', 'F', byte(id[1]), byte(id[2]), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, id[0])
	b = order.AppendUint32(b, 1)
	return append(b, make([]byte, 64)...)
}

func TestPatternOfSource(t *testing.T) {
	got := map[string]string{}
	for _, s := range []Source{
		{Name: "ztunnel", URL: "https://h/z#frag"},
		{Name: "envoy", URL: "https://h/e", Member: envoyMember},
		{Name: "envoy", URL: "oci://h/e:1#/usr/local/bin/envoy", Member: envoyMember},
		{Name: "envoy", URL: "oci://h/e:1#", Member: envoyMember},
	} {
		got[string(s.URL)+" "+s.Member] = s.pattern()
	}
	want := map[string]string{
		"https://h/z#frag ":                        "ztunnel",
		"https://h/e */*/*/*":                      envoyMember,
		"oci://h/e:1#/usr/local/bin/envoy */*/*/*": "usr/local/bin/envoy",
		"oci://h/e:1# */*/*/*":                     envoyMember,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
