// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// unpack carries ADD out for an archive of this machine: what is in it goes
// into the destination, which is a folder. done is false for a file that is no
// archive, whatever its name.
func (cp *copier) unpack(l *Layout, s picked) (done bool, err error) {
	root := s.items[0].node
	if root.Kind != tar.TypeReg || root.Host == "" || !isArchive(root.Host) {
		return false, nil
	}
	blob, err := l.keepFile(root.Host)
	if err != nil {
		return true, err
	}
	entries, err := l.archiveEntries(blob)
	if err != nil {
		return true, err
	}
	dest, err := cp.makeDirs(strings.TrimSuffix(cp.copy.Dest, "/") + "/")
	if err != nil {
		return true, err
	}
	return true, cp.extract(entries, dest)
}

// isArchive knows a tar, compressed or not, by its content.
func isArchive(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	plain, err := decompress(f)
	if err != nil {
		return false
	}
	defer func() { _ = plain.Close() }()
	_, err = tar.NewReader(plain).Next()
	return err == nil
}

// keepFile copies a file into the layout, so that its content is there when
// the layer is written.
func (l *Layout) keepFile(file string) (v1.Hash, error) {
	f, err := os.Open(file)
	if err != nil {
		return v1.Hash{}, err
	}
	defer func() { _ = f.Close() }()
	s, err := l.spool()
	if err != nil {
		return v1.Hash{}, err
	}
	_, err = io.Copy(s, f)
	h, _, err := s.commit(err)
	return h, err
}

// archiveEntries lists an archive that lies in the layout.
func (l *Layout) archiveEntries(blob v1.Hash) ([]node, error) {
	f, err := l.Blob(blob)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return scan(f, blob)
}

// extract puts the entries of an archive below dest. Names and links in it
// never lead out of dest, as if dest were the root.
func (cp *copier) extract(entries []node, dest string) error {
	inside := func(p string) (node, bool) { return cp.look(path.Join(dest, p)) }
	for _, n := range entries {
		dir, err := resolve(inside, parentOf(n.Path))
		if err != nil {
			return err
		}
		at := path.Join(dest, dir, path.Base(n.Path))
		if err := cp.impliedDirs(path.Join(dest, dir)); err != nil {
			return err
		}
		if n.Kind == tar.TypeLink {
			if n, err = cp.hardLink(n, dest, inside); err != nil {
				return err
			}
		}
		if cp.owner != nil {
			n.UID, n.GID = cp.owner[0], cp.owner[1]
		}
		if old, ok := cp.look(at); ok && old.Kind == tar.TypeDir && n.Kind != tar.TypeDir {
			return fmt.Errorf("/%s is a folder in the image and would become a file", at)
		}
		n.Path = at
		cp.entries[at] = n
	}
	return nil
}

// impliedDirs makes folders that an archive does not list itself.
func (cp *copier) impliedDirs(dir string) error {
	for d := dir; d != "" && d != "."; d = parentOf(d) {
		n, ok := cp.look(d)
		if ok && n.Kind != tar.TypeDir {
			return fmt.Errorf("/%s is in the way: it is no folder", d)
		}
		if ok {
			return nil
		}
		cp.entries[d] = node{Path: d, Kind: tar.TypeDir, Mode: 0o755}
	}
	return nil
}

// hardLink is a second name of a file; in the image it is a copy.
func (cp *copier) hardLink(n node, dest string, inside lookup) (node, error) {
	real, err := resolve(inside, cleanName(n.Link))
	if err != nil {
		return node{}, err
	}
	target, ok := cp.look(path.Join(dest, real))
	if !ok || target.Kind != tar.TypeReg {
		return node{}, errors.New("the link " + n.Path + " names " + n.Link + ", which is no file of the archive")
	}
	return target, nil
}
