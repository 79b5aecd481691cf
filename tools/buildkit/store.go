// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/istio-ecosystem/slipway/tools/image"
)

// intake is the content store that BuildKit exports into: what it writes goes
// to the layout by way of Layout.Take. It only has what an export asks for.
type intake struct {
	layout *image.Layout
	codec  image.Codec

	mu      sync.Mutex
	writers map[string]*intakeWriter // by reference, those that are being written
	fresh   map[v1.Hash]bool         // what came in this run
}

func newIntake(layout *image.Layout, codec image.Codec) *intake {
	return &intake{layout: layout, codec: codec, writers: map[string]*intakeWriter{}, fresh: map[v1.Hash]bool{}}
}

// isFresh tells whether a blob came in this run.
func (s *intake) isFresh(h v1.Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh[h]
}

func hashOf(d digest.Digest) v1.Hash {
	return v1.Hash{Algorithm: d.Algorithm().String(), Hex: d.Encoded()}
}

// Info tells whether a blob needs not be sent. A layer counts as there when
// what was made of it is.
func (s *intake) Info(_ context.Context, d digest.Digest) (content.Info, error) {
	taken, ok := s.layout.TakenBefore(hashOf(d), s.codec)
	if !ok {
		return content.Info{}, fmt.Errorf("blob %s: %w", d, errdefs.ErrNotFound)
	}
	return content.Info{Digest: d, Size: taken.Layer.Size}, nil
}

// Update would change labels, of which there are none.
func (s *intake) Update(_ context.Context, info content.Info, _ ...string) (content.Info, error) {
	return info, nil
}

// Walk visits nothing: exports do not list.
func (s *intake) Walk(context.Context, content.WalkFunc, ...string) error { return nil }

// Delete is refused: a builder has no business in the layout.
func (s *intake) Delete(_ context.Context, d digest.Digest) error {
	return fmt.Errorf("deleting blob %s: %w", d, errdefs.ErrPermissionDenied)
}

// ReaderAt opens a blob that is kept as it came.
func (s *intake) ReaderAt(_ context.Context, d ocispecs.Descriptor) (content.ReaderAt, error) {
	return openBlob(s.layout, d.Digest)
}

// Status says how far the writing of a blob is.
func (s *intake) Status(_ context.Context, ref string) (content.Status, error) {
	s.mu.Lock()
	w, ok := s.writers[ref]
	s.mu.Unlock()
	if !ok {
		return content.Status{}, fmt.Errorf("writing %s: %w", ref, errdefs.ErrNotFound)
	}
	return w.Status()
}

// ListStatuses lists nothing: nothing is resumed.
func (s *intake) ListStatuses(context.Context, ...string) ([]content.Status, error) { return nil, nil }

// Abort throws away what was written so far.
func (s *intake) Abort(_ context.Context, ref string) error {
	s.mu.Lock()
	w, ok := s.writers[ref]
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("aborting %s: %w", ref, errdefs.ErrNotFound)
	}
	return w.Close()
}

// Writer begins to take a blob.
func (s *intake) Writer(ctx context.Context, opts ...content.WriterOpt) (content.Writer, error) {
	var o content.WriterOpts
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return nil, err
		}
	}
	if o.Desc.Digest == "" {
		return nil, fmt.Errorf("writing %s without its digest: %w", o.Ref, errdefs.ErrInvalidArgument)
	}
	if _, err := s.Info(ctx, o.Desc.Digest); err == nil {
		return nil, fmt.Errorf("blob %s: %w", o.Desc.Digest, errdefs.ErrAlreadyExists)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, busy := s.writers[o.Ref]; busy {
		return nil, fmt.Errorf("writing %s twice: %w", o.Ref, errdefs.ErrUnavailable)
	}
	w := &intakeWriter{store: s, ref: o.Ref, want: o.Desc.Digest, total: o.Desc.Size, begun: time.Now(), done: make(chan error, 1)}
	// The call's context ends with the call, the writing does not.
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r, pipe := io.Pipe()
	w.pipe = pipe
	go func() {
		_, err := s.layout.Take(ctx, r, hashOf(o.Desc.Digest), s.codec)
		_ = r.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		w.done <- err
	}()
	s.writers[o.Ref] = w
	return w, nil
}

// intakeWriter is one blob on its way in.
type intakeWriter struct {
	store  *intake
	ref    string
	want   digest.Digest
	total  int64
	begun  time.Time
	pipe   *io.PipeWriter
	cancel context.CancelFunc
	done   chan error

	offset   int64
	finished bool
}

func (w *intakeWriter) Write(p []byte) (int, error) {
	n, err := w.pipe.Write(p)
	w.offset += int64(n)
	return n, err
}

// Digest is only asked for when the writing begins; the real check is Take's.
func (w *intakeWriter) Digest() digest.Digest { return w.want }

func (w *intakeWriter) Status() (content.Status, error) {
	return content.Status{Ref: w.ref, Offset: w.offset, Total: w.total, Expected: w.want, StartedAt: w.begun, UpdatedAt: w.begun}, nil
}

// Truncate begins anew, which is only possible before the first byte.
func (w *intakeWriter) Truncate(size int64) error {
	if size == w.offset {
		return nil
	}
	return fmt.Errorf("going back to byte %d of %s: %w", size, w.ref, errdefs.ErrNotImplemented)
}

// Commit ends the blob; it is in the layout when this returns nil.
func (w *intakeWriter) Commit(_ context.Context, size int64, expected digest.Digest, _ ...content.Opt) error {
	if expected != "" && expected != w.want {
		return w.fail(fmt.Errorf("blob %s was announced as %s: %w", expected, w.want, errdefs.ErrFailedPrecondition))
	}
	if size > 0 && size != w.offset {
		return w.fail(fmt.Errorf("blob %s has %d bytes, of which %d came: %w", w.want, size, w.offset, errdefs.ErrFailedPrecondition))
	}
	return w.finish(nil)
}

func (w *intakeWriter) fail(err error) error {
	return errors.Join(err, w.finish(err))
}

// finish ends the reader, with an error or not, and waits for it.
func (w *intakeWriter) finish(why error) error {
	if w.finished {
		return nil
	}
	w.finished = true
	_ = w.pipe.CloseWithError(why)
	err := <-w.done
	w.cancel()
	w.store.mu.Lock()
	delete(w.store.writers, w.ref)
	w.store.fresh[hashOf(w.want)] = err == nil
	w.store.mu.Unlock()
	return err
}

// Close without Commit throws the blob away.
func (w *intakeWriter) Close() error {
	if !w.finished {
		_ = w.finish(errors.New("the builder broke off"))
	}
	return nil
}
