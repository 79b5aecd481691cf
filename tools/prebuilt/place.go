// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// placed tells whether Dest is what the source would give. With repair, what
// was only touched is recorded anew.
func (j *job) placed(ctx context.Context, repair bool) (record, bool) {
	rec, known := readRecord(j.Dest)
	if !known {
		return j.adopt(ctx, repair)
	}
	kind, _ := j.URL.kind()
	switch {
	case rec.Source != j.id, rec.Member != j.pattern(), rec.Platform != j.Platform,
		j.want.sha256 != "" && j.want.sha256 != rec.Payload.SHA256,
		kind == kindFile && !j.sameOrigin(ctx, rec):
		return rec, false
	}
	ok, looksSame := rec.intact(ctx, j.Dest)
	if ok && !looksSame && repair {
		rec.refresh(j.Dest)
	}
	return rec, ok
}

// adopt takes over a file without a record if it is the very download that is
// pinned, as it can be for a program that comes without an archive.
func (j *job) adopt(ctx context.Context, repair bool) (record, bool) {
	kind, _ := j.URL.kind()
	if j.want.sha256 == "" || kind == kindFile {
		return record{}, false
	}
	got, err := digestOf(ctx, j.Dest)
	if err != nil || got.SHA256 != j.want.sha256 || j.checkFile(j.Dest) != nil {
		return record{}, false
	}
	rec := record{Source: j.id, Member: j.pattern(), Platform: j.Platform, Payload: got, File: got}
	if repair {
		rec.refresh(j.Dest)
	}
	return rec, true
}

func (j *job) checkFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return checkProgram(f, info.Size(), j.Platform)
}

// place takes the program out of a payload and puts it at Dest.
func (j *job) place(ctx context.Context, p payload) (Fetched, error) {
	rec := record{Source: j.id, Member: j.pattern(), Platform: j.Platform, Payload: p.digest, Origin: p.origin}
	foreign := j.foreign(ctx, j.Dest)
	err := writeAtomic(j.Dest, 0o755, func(f *os.File) error {
		h := sha256.New()
		if err := unpack(ctx, io.MultiWriter(f, h), p.path, j.pattern(), j.opt.Limits.Unpacked); err != nil {
			return err
		}
		info, err := f.Stat()
		if err != nil {
			return err
		}
		rec.File = digest{hex.EncodeToString(h.Sum(nil)), info.Size()}
		return checkProgram(f, info.Size(), j.Platform)
	})
	if err != nil {
		return Fetched{}, j.rejected(p, err)
	}
	if foreign {
		j.sayReplaced(j.Dest)
	}
	if err := rec.save(j.Dest); err != nil {
		return Fetched{}, err
	}
	j.note("%s is in place, from the %s (%s)", j.Dest, p.from, megabytes(rec.File.Size))
	return j.finish(ctx, rec, p.from)
}

// rejected removes a download that was good for nothing, unless it is the one
// that is pinned or its disk or the user is to blame: it would be offered again
// for ever.
func (j *job) rejected(p payload, err error) error {
	var pathError *fs.PathError
	if p.origin == nil && !j.verified() && !errors.Is(err, context.Canceled) && !errors.As(err, &pathError) {
		_ = os.Remove(j.blobPath())
		_ = os.Remove(j.keyPath() + ".json")
	}
	return err
}

// copies gives the other places the content of Dest.
func (j *job) copies(ctx context.Context, rec record) error {
	for _, path := range j.Copies {
		if filepath.Clean(path) == filepath.Clean(j.Dest) {
			continue
		}
		if err := j.copyTo(ctx, path, rec); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) copyTo(ctx context.Context, path string, rec record) error {
	if old, known := readRecord(path); known && old.File == rec.File {
		if ok, looksSame := old.intact(ctx, path); ok {
			if !looksSame || old.Source != rec.Source {
				rec.refresh(path)
			}
			return nil
		}
	}
	foreign := j.foreign(ctx, path)
	if err := copyFile(ctx, path, j.Dest, rec.File); err != nil {
		return err
	}
	if foreign {
		j.sayReplaced(path)
	}
	return rec.save(path)
}

// foreign tells whether there is a file that we did not put there, or that was
// altered since.
func (j *job) foreign(ctx context.Context, path string) bool {
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	rec, known := readRecord(path)
	if !known {
		return true
	}
	ok, _ := rec.intact(ctx, path)
	return !ok
}

func (j *job) sayReplaced(path string) {
	j.opt.Console.Warn("%s: replaced %s, which something else had written or altered", j.Name, path)
}

// copyFile copies a program, and notices when it changes meanwhile.
func copyFile(ctx context.Context, to, from string, want digest) error {
	return writeAtomic(to, 0o755, func(f *os.File) error {
		in, err := os.Open(from)
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
		h := sha256.New()
		if _, err := io.CopyBuffer(io.MultiWriter(f, h), reader{until(ctx), in}, make([]byte, 1<<20)); err != nil {
			return fmt.Errorf("copying %q to %q: %w", from, to, err)
		}
		if hex.EncodeToString(h.Sum(nil)) != want.SHA256 {
			return fmt.Errorf("copying %q to %q: it was written to meanwhile", from, to)
		}
		return nil
	})
}
