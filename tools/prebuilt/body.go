// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// reportEvery is how often a long download says how far it is.
const reportEvery = 10 * time.Second

// copyBody appends body to p; alive is called for each piece that arrives.
// Errors of reading are netErrors, errors of writing are not.
func (j *job) copyBody(ctx context.Context, p *partial, body io.Reader, alive func()) error {
	buf := make([]byte, 256<<10)
	report := time.Now().Add(reportEvery)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			alive()
			if p.size+int64(n) > j.opt.Limits.Download {
				return tooLarge(p.size+int64(n), j.opt.Limits.Download)
			}
			if _, err := p.Write(buf[:n]); err != nil {
				return fmt.Errorf("keeping the download in %q: %w", p.path, err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return requestError(ctx, err)
		}
		if now := time.Now(); now.After(report) {
			j.note("%s", progress(p.size, p.meta.Total))
			report = now.Add(reportEvery)
		}
	}
}

func progress(size, total int64) string {
	if total <= 0 {
		return megabytes(size)
	}
	return fmt.Sprintf("%s of %s", megabytes(size), megabytes(total))
}

func megabytes(n int64) string {
	if n < 0 {
		return "an unknown size"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func tooLarge(n, limit int64) error {
	return fmt.Errorf("it has %d bytes or more, beyond the limit of %d", n, limit)
}
