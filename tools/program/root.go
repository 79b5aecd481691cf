// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// slipwayRoot is the checkout of Slipway that this program was compiled from:
// its other programs are compiled from there when they are needed.
func (p *program) slipwayRoot() (string, error) {
	places := []string{p.inv.getenv("SLIPWAY_DIR"), p.inv.Dir}
	if self, err := os.Executable(); err == nil { // out/mage/KEY
		places = append(places, filepath.Dir(filepath.Dir(filepath.Dir(self))))
	}
	if _, file, _, ok := runtime.Caller(0); ok { // tools/program/root.go
		places = append(places, filepath.Dir(filepath.Dir(filepath.Dir(file))))
	}
	for _, dir := range places {
		if dir == "" || !filepath.IsAbs(dir) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "tools", "cmd", "buildkit", "main.go")); err == nil {
			return dir, nil
		}
	}
	return "", fail.With(fail.Unavailable, errors.New("the sources of Slipway are not found, from which its buildkit program would be compiled: set SLIPWAY_DIR to its folder"))
}
