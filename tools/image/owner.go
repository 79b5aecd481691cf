// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// reader of small files in an image.
type fileReader func(p string) (string, error)

// owner reads USER[:GROUP] as in --chown: numbers, since names need the
// image's own passwd file, see names.
func owner(text string) (uid, gid int, err error) {
	user, group, hasGroup := strings.Cut(text, ":")
	uid, errUser := strconv.Atoi(user)
	gid = uid
	var errGroup error
	if hasGroup {
		gid, errGroup = strconv.Atoi(group)
	}
	if errUser != nil || errGroup != nil || uid < 0 || gid < 0 {
		return 0, 0, fmt.Errorf("the owner %q is neither numbers nor names in the image's /etc/passwd and /etc/group", text)
	}
	return uid, gid, nil
}

// numeric turns the names of an owner into numbers by the image's own files.
// A user without a group gets the user's main group when named, and the group
// of the same number otherwise, as in BuildKit.
func numeric(text string, read fileReader) (string, error) {
	user, group, hasGroup := strings.Cut(text, ":")
	uid, gid := user, group
	if _, err := strconv.Atoi(user); err != nil && user != "" {
		fields, err := findLine(read, "etc/passwd", user, 4)
		if err != nil {
			return "", err
		}
		uid = fields[2]
		if !hasGroup {
			gid = fields[3]
		}
	} else if !hasGroup {
		gid = user
	}
	if _, err := strconv.Atoi(gid); err != nil && gid != "" {
		fields, err := findLine(read, "etc/group", gid, 3)
		if err != nil {
			return "", err
		}
		gid = fields[2]
	}
	if uid == "" {
		uid = "0"
	}
	if gid == "" {
		gid = "0"
	}
	return uid + ":" + gid, nil
}

func findLine(read fileReader, file, name string, atLeast int) ([]string, error) {
	content, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("looking %q up: %w", name, err)
	}
	for line := range strings.Lines(content) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if fields[0] == name && len(fields) >= atLeast {
			return fields, nil
		}
	}
	return nil, fmt.Errorf("%q is not in /%s of the image", name, file)
}

// readFrom returns a reader of files of an image whose layers are in l.
func (l *Layout) readFrom(t tree) fileReader {
	return func(p string) (string, error) {
		resolved, err := t.resolve(p)
		if err != nil {
			return "", err
		}
		n, ok := t[resolved]
		if !ok {
			return "", fmt.Errorf("the image has no /%s", p)
		}
		if n.Text != "" || n.Layer.Hex == "" {
			return n.Text, nil
		}
		var b strings.Builder
		err = l.extract(n.Layer, map[string]io.Writer{n.InLayer: &b})
		return b.String(), err
	}
}
