// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/lint/charts"
)

// settings are what a request says about all of its charts.
type settings struct {
	files     [][]byte // values files
	names     []string // of the values files
	set       []string
	namespace string
	kube      *common.KubeVersion // nil: Helm's own
	strict    bool                // warnings fail
	thorough  bool                // look for more than Helm does
	optional  []string            // names of values that need not be declared
}

func newSettings(r charts.Request) (settings, error) {
	s := settings{names: r.Values, set: r.Set, namespace: r.Namespace, strict: r.Strict, thorough: r.Thorough, optional: r.OptionalValues}
	if s.namespace == "" {
		s.namespace = "default" // helm lint would ask the kubeconfig, another one on each machine
	}
	if r.KubeVersion != "" {
		v, err := common.ParseKubeVersion(r.KubeVersion)
		if err != nil {
			return s, fail.With(fail.Usage, fmt.Errorf("invalid kube version '%s': %w", r.KubeVersion, err))
		}
		s.kube = v
	}
	for _, name := range r.Values {
		text, err := os.ReadFile(name)
		if err != nil {
			return s, fail.With(fail.Usage, fmt.Errorf("reading a values file: %w", err))
		}
		s.files = append(s.files, text)
	}
	_, err := s.values()
	return s, err
}

// values are the values of the request, anew for each use: rendering changes
// them.
func (s settings) values() (map[string]any, error) {
	merged := map[string]any{}
	for i, text := range s.files {
		v, err := loader.LoadValues(bytes.NewReader(text))
		if err != nil {
			return nil, fail.With(fail.Usage, fmt.Errorf("failed to parse %s: %w", s.names[i], err))
		}
		merged = loader.MergeMaps(merged, v)
	}
	for _, v := range s.set {
		if err := strvals.ParseInto(v, merged); err != nil {
			return nil, fail.With(fail.Usage, fmt.Errorf("failed parsing --set data: %w", err))
		}
	}
	return merged, nil
}
