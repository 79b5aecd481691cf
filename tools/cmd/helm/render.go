// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

// render renders the chart in the way that helm lint (v4.3.2) does and that it
// shows nobody. edit may change the templates before. The second result holds
// the values as the chart's own templates left them.
func (j *job) render(edit func(c *chart.Chart)) (files map[string]string, values map[string]any, err error) {
	c, top, err := j.load()
	if err != nil {
		return nil, nil, err
	}
	if edit != nil {
		edit(c)
	}
	const capture = "slipwayCapture"
	c.Templates = append(c.Templates, &common.File{Name: captureName, Data: []byte("{{ " + capture + " .Values }}")})
	e := engine.Engine{LintMode: true, CustomTemplateFuncs: map[string]any{capture: func(v any) string {
		values = asMap(v)
		return ""
	}}}
	files, err = e.RenderWithContext(context.Background(), c, top)
	if err != nil {
		return nil, nil, fmt.Errorf("rendering: %w", err)
	}
	delete(files, path.Join(c.Name(), captureName))
	return files, values, nil
}

// captureName is the template that sees the values last: Helm renders files of
// a folder in falling order of their names, after those of deeper folders.
const captureName = "templates/!slipway.txt"

// load loads the chart and settles its values.
func (j *job) load() (*chart.Chart, common.Values, error) {
	c, err := loader.LoadDir(j.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("loading the chart: %w", err)
	}
	values, err := j.values()
	if err != nil {
		return nil, nil, err
	}
	caps := common.DefaultCapabilities.Copy()
	if j.kube != nil {
		caps.KubeVersion = *j.kube
	}
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, nil, fmt.Errorf("settling dependencies: %w", err)
	}
	coalesced, err := util.CoalesceValues(c, values)
	if err != nil {
		return nil, nil, fmt.Errorf("settling values: %w", err)
	}
	release := common.ReleaseOptions{Name: "test-release", Namespace: j.namespace}
	top, err := util.ToRenderValuesWithSchemaValidation(c, coalesced, release, caps, false)
	if err != nil {
		return nil, nil, fmt.Errorf("settling values: %w", err)
	}
	if asMap(top["Values"]) == nil {
		return nil, nil, errors.New("settling values: they are no map")
	}
	return c, top, nil
}

func asMap(v any) map[string]any {
	switch m := v.(type) {
	case map[string]any:
		return m
	case common.Values:
		return m
	default:
		return nil
	}
}
