// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// checkpointStep is how many bytes may have to be fetched again after a crash
// of the machine.
const checkpointStep = 8 << 20

// partial is a download that is not complete. It belongs to the process that
// holds the lock of its key.
type partial struct {
	path string
	file *os.File
	size int64
	meta partialMeta
}

// partialMeta is kept beside the bytes. Only Size bytes are known to be on the
// disk; what the file has beyond may be lost blocks.
type partialMeta struct {
	Validator string `json:"validator,omitempty"` // a strong ETag, or a Last-Modified that is as good
	Total     int64  `json:"total"`               // -1: unknown
	Size      int64  `json:"size"`
}

// openPartial opens what an earlier run has left, or an empty file.
func openPartial(path string) (*partial, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("keeping a download: %w", err)
	}
	p := &partial{path: path, file: file}
	info, err := file.Stat()
	known := err == nil && readJSON(p.metaPath(), &p.meta) &&
		p.meta.Size > 0 && p.meta.Size <= info.Size() && (p.meta.Total < 0 || p.meta.Size <= p.meta.Total)
	if !known {
		p.meta = partialMeta{Total: -1}
	}
	p.size = p.meta.Size
	if err := file.Truncate(p.size); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("keeping a download: %w", err)
	}
	return p, nil
}

func (p *partial) metaPath() string { return p.path + ".json" }

// restart drops what is there, for a body that starts at its first byte.
func (p *partial) restart(validator string, total int64) error {
	p.size = 0
	p.meta = partialMeta{Validator: validator, Total: total}
	if err := p.file.Truncate(0); err != nil {
		return fmt.Errorf("writing %q: %w", p.path, err)
	}
	_ = os.Remove(p.metaPath())
	return nil
}

// Write appends.
func (p *partial) Write(b []byte) (int, error) {
	n, err := p.file.WriteAt(b, p.size)
	p.size += int64(n)
	if err == nil && p.size-p.meta.Size >= checkpointStep {
		err = p.checkpoint()
	}
	return n, err
}

func (p *partial) checkpoint() error {
	if err := p.file.Sync(); err != nil {
		return err
	}
	p.meta.Size = p.size
	return writeJSON(p.metaPath(), p.meta)
}

// leave closes the file and keeps it for the next run, unless the disk is
// full: then it holds the very space that is missing.
func (p *partial) leave(cause error) {
	if p.size == 0 || errors.Is(cause, syscall.ENOSPC) || p.checkpoint() != nil {
		p.discard()
		return
	}
	_ = p.file.Close()
}

func (p *partial) discard() {
	_ = p.file.Close()
	_ = os.Remove(p.path)
	_ = os.Remove(p.metaPath())
}

// finish moves the complete download to path.
func (p *partial) finish(path string) error {
	if err := closeSynced(p.file, 0o644); err != nil {
		return fmt.Errorf("writing %q: %w", p.path, err)
	}
	if err := os.Rename(p.path, path); err != nil {
		return fmt.Errorf("keeping a download: %w", err)
	}
	_ = os.Remove(p.metaPath())
	return nil
}
