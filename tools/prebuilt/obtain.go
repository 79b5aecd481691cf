// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// payload is a file from which the program can be taken, checked.
type payload struct {
	path   string
	digest digest
	origin *state // of a local file
	from   From
}

// cached is what the cache knows of a URL. It stays when the file itself is
// removed, so that other bytes under the same URL are noticed.
type cached struct {
	record
	Fetched time.Time `json:"fetched"`
}

// keyPath is the path, without an ending, of all that the cache keeps of a URL.
func (j *job) keyPath() string {
	sum := sha256.Sum256([]byte(j.URL.Identity() + "\n" + j.platformKey()))
	return filepath.Join(j.opt.Cache, filepath.Base(j.Name)+"-"+hex.EncodeToString(sum[:12]))
}

// platformKey keeps apart what one oci: reference is on several platforms.
func (j *job) platformKey() string {
	if kind, _ := j.URL.kind(); kind == kindOCI {
		return j.Platform
	}
	return ""
}

// obtain finds the download in the cache or downloads it. The caller holds the
// lock of the key.
func (j *job) obtain(ctx context.Context) (payload, error) {
	known, ok := j.inCache(ctx)
	if ok {
		return payload{path: j.blobPath(), digest: known.File, from: FromCache}, nil
	}
	if j.opt.Offline {
		return payload{}, &netError{err: errors.New("the network is switched off and neither its place nor the cache has it")}
	}
	want := j.want
	if want.sha256 == "" && known.File.SHA256 != "" {
		want = pin{known.File.SHA256, fmt.Sprintf("the download of %s; if the new one is right, remove %s",
			known.Fetched.Format(time.DateOnly), j.keyPath()+".json")}
	}
	got, err := j.downloadChecked(ctx, want)
	if err != nil {
		return payload{}, err
	}
	if err := j.remember(got); err != nil {
		return payload{}, err
	}
	if !j.verified() {
		j.sayUnverified(got)
	}
	return payload{path: j.blobPath(), digest: got, from: FromDownload}, nil
}

// inCache returns what is known of the URL, and whether the cache has the file
// that is wanted, whole.
func (j *job) inCache(ctx context.Context) (cached, bool) {
	var known cached
	if !readJSON(j.keyPath()+".json", &known) || !isSHA256(known.File.SHA256) {
		return cached{}, false
	}
	if j.want.sha256 != "" && j.want.sha256 != known.File.SHA256 {
		return known, false
	}
	ok, _ := known.intact(ctx, j.blobPath())
	return known, ok
}

func (j *job) blobPath() string { return j.keyPath() + ".blob" }

// remember records the download that was just moved to its path.
func (j *job) remember(got digest) error {
	now, err := stateOf(j.blobPath())
	if err != nil {
		return fmt.Errorf("keeping a download: %w", err)
	}
	return writeJSON(j.keyPath()+".json", cached{
		record:  record{Format: recordFormat, Source: j.URL.Identity(), Payload: got, File: got, State: now},
		Fetched: time.Now().UTC().Truncate(time.Second),
	})
}

func (j *job) sayUnverified(got digest) {
	if j.opt.UpdateLock {
		return
	}
	j.note("nothing says which checksum %s must have; it has sha256 %s, which `mage prebuilt:lock` writes down for all", j.URL, got.SHA256)
}

// downloadChecked downloads to the blob's path and compares. Bytes that were
// put together from several attempts get one more chance as a whole.
func (j *job) downloadChecked(ctx context.Context, want pin) (digest, error) {
	got, resumed, err := j.download(ctx, want)
	var wrong *mismatchError
	if errors.As(err, &wrong) && resumed {
		j.note("the parts do not belong together; downloading it whole")
		got, _, err = j.download(ctx, want)
	}
	return got, err
}

func (j *job) download(ctx context.Context, want pin) (got digest, resumed bool, err error) {
	attempt, err := j.transport()
	if err != nil {
		return digest{}, false, err
	}
	p, err := openPartial(j.keyPath() + ".partial")
	if err != nil {
		return digest{}, false, err
	}
	j.note("downloading %s", j.URL)
	resumed = p.size > 0
	if err := j.retrying(ctx, p, func(ctx context.Context, p *partial) error {
		resumed = resumed || p.size > 0
		return attempt(ctx, p)
	}); err != nil {
		p.leave(err)
		return digest{}, resumed, err
	}
	got, err = digestOf(ctx, p.path)
	if err != nil {
		p.leave(err)
		return digest{}, resumed, err
	}
	if want.sha256 != "" && got.SHA256 != want.sha256 {
		p.discard()
		return digest{}, resumed, &mismatchError{want, got}
	}
	if err := p.finish(j.blobPath()); err != nil {
		_ = os.Remove(p.path)
		return digest{}, resumed, err
	}
	return got, resumed, nil
}

// transport returns how one attempt is made.
func (j *job) transport() (func(context.Context, *partial) error, error) {
	switch kind, err := j.URL.kind(); {
	case err != nil:
		return nil, err
	case kind == kindOCI:
		return j.oci, nil
	case kind == kindS3:
		return j.web(j.presign), nil
	}
	address := string(j.URL)
	return j.web(func(context.Context) (string, error) { return address, nil }), nil
}

// mismatchError says that what arrived is not what was pinned.
type mismatchError struct {
	want pin
	got  digest
}

func (e *mismatchError) Error() string {
	return fmt.Sprintf("wrong content: it has sha256 %s (%d bytes), and %s is wanted by %s; it was deleted",
		e.got.SHA256, e.got.Size, e.want.sha256, e.want.by)
}
