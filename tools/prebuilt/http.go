// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// web fetches a file by HTTP, from where p ends.
func (j *job) web(resolve func(context.Context) (string, error)) func(context.Context, *partial) error {
	return func(ctx context.Context, p *partial) error {
		address, err := resolve(ctx)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stall := time.AfterFunc(j.opt.Limits.Idle, func() { cancel(errStalled) })
		defer stall.Stop()

		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil { // its text holds the address
			return usage("fetching %s: %s is not a URL (from %s)", j.Name, j.URL, j.Origin)
		}
		j.prepare(req, p)
		resp, err := j.opt.Client.Do(req)
		if err != nil {
			return requestError(ctx, err)
		}
		defer func() { _ = resp.Body.Close() }()
		return j.receive(ctx, resp, p, func() { stall.Reset(j.opt.Limits.Idle) })
	}
}

// prepare asks for the rest only, when it can be told whether it is the rest of
// the same bytes: by the server, or by a checksum that we know.
func (j *job) prepare(req *http.Request, p *partial) {
	req.Header.Set("User-Agent", "slipway")
	// Without this, Go would unpack what a server marks as compressed.
	req.Header.Set("Accept-Encoding", "identity")
	if p.size == 0 || (p.meta.Validator == "" && j.want.sha256 == "") {
		return
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
	if p.meta.Validator != "" {
		req.Header.Set("If-Range", p.meta.Validator)
	}
}

func (j *job) receive(ctx context.Context, resp *http.Response, p *partial, alive func()) error {
	body := bufio.NewReaderSize(resp.Body, 64<<10)
	switch resp.StatusCode {
	case http.StatusOK:
		if err := j.startOver(ctx, resp, body, p); err != nil {
			return err
		}
	case http.StatusPartialContent:
		if err := j.goOn(resp, p); err != nil {
			return err
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if p.size > 0 && resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", p.size) && p.meta.Total == p.size {
			return nil // it was complete when the last run was ended
		}
		return j.again(p, "the server has no bytes where the download stopped")
	default:
		return statusError(resp)
	}
	if err := j.copyBody(ctx, p, body, alive); err != nil {
		return err
	}
	if p.meta.Total >= 0 && p.size != p.meta.Total {
		return &netError{err: fmt.Errorf("got %d of %d bytes: %w", p.size, p.meta.Total, io.ErrUnexpectedEOF), transient: true}
	}
	return nil
}

// startOver begins with a body that starts at its first byte. What the last
// attempt has left is kept when this is an error page.
func (j *job) startOver(ctx context.Context, resp *http.Response, body *bufio.Reader, p *partial) error {
	if resp.ContentLength > j.opt.Limits.Download {
		return tooLarge(resp.ContentLength, j.opt.Limits.Download)
	}
	head, err := body.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return requestError(ctx, err)
	}
	if err := recognise(head); err != nil {
		return fmt.Errorf("the server sent %w", err)
	}
	if p.size > 0 {
		j.note("the server starts again at the first byte")
	}
	return p.restart(validator(resp.Header), resp.ContentLength)
}

// goOn checks that a partial answer continues what we have.
func (j *job) goOn(resp *http.Response, p *partial) error {
	var first, last, total int64
	form := resp.Header.Get("Content-Range")
	if n, _ := fmt.Sscanf(form, "bytes %d-%d/%d", &first, &last, &total); n < 2 {
		return j.again(p, fmt.Sprintf("the server's Content-Range is %q", form))
	} else if n == 2 {
		total = p.meta.Total // bytes 5-9/*
	}
	changed := p.meta.Validator != "" && validator(resp.Header) != "" && validator(resp.Header) != p.meta.Validator
	if first != p.size || changed || (p.meta.Total >= 0 && total != p.meta.Total) {
		return j.again(p, "the file changed on the server")
	}
	if total > j.opt.Limits.Download {
		return tooLarge(total, j.opt.Limits.Download)
	}
	p.meta.Total = total
	j.note("going on at %s of %s", megabytes(p.size), megabytes(total))
	return nil
}

// again drops what we have and asks for another attempt.
func (j *job) again(p *partial, why string) error {
	if err := p.restart("", -1); err != nil {
		return err
	}
	return &netError{err: errors.New(why), transient: true}
}

// validator is what a server can be asked to compare: a strong ETag, or a
// Last-Modified that is older than the answer, so that two versions cannot
// share it (RFC 9110, 8.8.2.2 and 13.1.5).
func validator(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return ""
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || date.Sub(modified) < time.Second {
		return ""
	}
	return h.Get("Last-Modified")
}
