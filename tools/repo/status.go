// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"strings"
)

// Change is one path that differs from the commit.
type Change struct {
	Path      string // slash-separated, relative to the root; ends in / for a nested repository
	Untracked bool
}

// readStatus reads `git status --porcelain=v2 --branch -z`, whose format is in
// git-status(1), "Porcelain Format Version 2".
func (f *Facts) readStatus(text string, opts Options) error {
	records := strings.Split(text, "\x00")
	for i := 0; i < len(records); i++ {
		record := records[i]
		if record == "" {
			continue
		}
		var path string
		var ok bool
		switch record[0] {
		case '#':
			f.readHeader(record)
			continue
		case '1': // changed: 8 fields, then the path
			path, ok = afterFields(record, 8)
		case '2': // renamed or copied: the old path is a record of its own
			path, ok = afterFields(record, 9)
			i++
		case 'u': // unmerged
			path, ok = afterFields(record, 10)
		case '?':
			path, ok = afterFields(record, 1)
			if ok && ignored(path, opts.Ignore) {
				continue
			}
		}
		if !ok {
			return fmt.Errorf("git status answered %q", record)
		}
		untracked := record[0] == '?'
		f.Changes = append(f.Changes, Change{Path: path, Untracked: untracked})
		f.Dirty = true
		f.Modified = f.Modified || !untracked
	}
	return nil
}

// readHeader reads a "# name value" record. Headers that a configuration adds
// (branch.ab, stash) say nothing about changes.
func (f *Facts) readHeader(record string) {
	name, value, _ := strings.Cut(strings.TrimPrefix(record, "# "), " ")
	switch {
	case name == "branch.oid" && value != "(initial)":
		f.Head = value
	case name == "branch.head" && value != "(detached)":
		f.Branch = value
	}
}

// afterFields returns what follows the first n space-separated fields; a path
// may itself hold spaces.
func afterFields(record string, n int) (string, bool) {
	for range n {
		_, rest, found := strings.Cut(record, " ")
		if !found {
			return "", false
		}
		record = rest
	}
	return record, record != ""
}

func ignored(path string, folders []string) bool {
	for _, folder := range folders {
		folder = strings.TrimSuffix(folder, "/")
		if rest, ok := strings.CutPrefix(path, folder); ok && folder != "" && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
