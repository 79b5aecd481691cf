// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"os"
)

// theirs tells whether Dest is a file of the user: at a path that the user
// named, and not put there by us.
func (j *job) theirs() bool {
	if !j.Named {
		return false
	}
	_, ours := readRecord(j.Dest)
	info, err := os.Stat(j.Dest)
	return err == nil && info.Mode().IsRegular() && !ours
}

// useTheirs checks the user's file and copies it to the other places.
func (j *job) useTheirs(ctx context.Context) (Fetched, error) {
	if err := j.checkFile(j.Dest); err != nil {
		return Fetched{}, usage("using the file %q: %w", j.Dest, err)
	}
	got, err := digestOf(ctx, j.Dest)
	if err != nil {
		return Fetched{}, err
	}
	j.note("using your %s as it is", j.Dest)
	rec := record{Source: "file:" + j.Dest, Platform: j.Platform, Payload: got, File: got}
	return j.finish(ctx, rec, FromUser)
}
