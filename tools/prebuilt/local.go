// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// local takes a file: source. It is read in place, not kept in the cache, and
// may change: it is a file of the user.
func (j *job) local(ctx context.Context) (payload, error) {
	path := j.URL.localPath(j.opt.Dir)
	now, err := stateOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return payload{}, usage("there is no file %q", path)
	}
	if err != nil {
		return payload{}, usage("%w", err)
	}
	if now.Size > j.opt.Limits.Download {
		return payload{}, tooLarge(now.Size, j.opt.Limits.Download)
	}
	got, err := digestOf(ctx, path)
	if err != nil {
		return payload{}, err
	}
	if j.want.sha256 != "" && got.SHA256 != j.want.sha256 {
		return payload{}, fmt.Errorf("wrong content: it has sha256 %s (%d bytes), and %s is wanted by %s", got.SHA256, got.Size, j.want.sha256, j.want.by)
	}
	return payload{path: path, digest: got, origin: &now, from: FromFile}, nil
}

// sameOrigin tells whether the local file that a program was taken from is
// still what it was.
func (j *job) sameOrigin(ctx context.Context, rec record) bool {
	path := j.URL.localPath(j.opt.Dir)
	now, err := stateOf(path)
	if err != nil || rec.Origin == nil {
		return false
	}
	if now == *rec.Origin {
		return true
	}
	got, err := digestOf(ctx, path)
	return err == nil && got == rec.Payload
}
