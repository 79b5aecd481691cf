// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package fail_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

func TestCode(t *testing.T) {
	plain := errors.New("boom")
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"nil":             {nil, fail.OK},
		"plain":           {plain, fail.Failed},
		"coded":           {fail.With(fail.Usage, plain), fail.Usage},
		"wrapped":         {fmt.Errorf("reading: %w", fail.With(fail.Unavailable, plain)), fail.Unavailable},
		"innermost wins":  {fail.With(fail.Failed, fmt.Errorf("x: %w", fail.With(fail.Partial, plain))), fail.Partial},
		"joined":          {errors.Join(plain, fail.With(fail.Usage, plain)), fail.Usage},
		"cancelled":       {fmt.Errorf("building: %w", context.Canceled), fail.Interrupted},
		"nil stays nil":   {fail.With(fail.Usage, nil), fail.OK},
		"deadline is not": {context.DeadlineExceeded, fail.Failed},
	} {
		if got := fail.Code(c.err); got != c.want {
			t.Errorf("%s: code %d, want %d", name, got, c.want)
		}
	}
}
