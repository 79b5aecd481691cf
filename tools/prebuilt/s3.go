// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/run"
)

// presign exchanges an s3: URL for one that is valid for a minute, by the aws
// command. It is called for each attempt, and its result is never printed.
func (j *job) presign(ctx context.Context) (string, error) {
	env, err := awsEnviron(j.opt.Environ)
	if err != nil {
		return "", err
	}
	bare, _ := j.URL.bare()
	args := []string{"aws", "s3", "presign", bare, "--expires-in", "60"}
	if endpoint := lookup(env, "AWS_ENDPOINT_URL"); endpoint != "" {
		args = append(args, "--endpoint-url", endpoint)
	}
	signed, err := run.Output(ctx, j.opt.Runner, run.Command{Args: args, Env: env})
	if err != nil {
		if fail.Code(err) == fail.Unavailable {
			err = fmt.Errorf("%w; an s3: URL needs the aws command: install it, or give an https: URL", err)
		}
		return "", &netError{err: err}
	}
	u, err := url.Parse(signed)
	if err != nil || (u.Scheme != "https" && (u.Scheme != "http" || !loopback(u))) {
		return "", &netError{err: errors.New("`aws s3 presign` did not answer with an https: URL")}
	}
	return signed, nil
}

// awsEnviron is the environment for aws. Where no AWS_ACCESS_KEY_ID is set, the
// access in CF_CREDENTIALS, a JSON object that Istio's build jobs get, takes
// its place. aws itself does not get to see CF_CREDENTIALS.
func awsEnviron(environ []string) ([]string, error) {
	env := slices.DeleteFunc(run.Environ(environ), func(e string) bool { return strings.HasPrefix(e, "CF_CREDENTIALS=") })
	blob := lookup(environ, "CF_CREDENTIALS")
	if blob == "" || lookup(environ, "AWS_ACCESS_KEY_ID") != "" {
		return env, nil
	}
	var access struct {
		AccessKey    string `json:"access_key"`
		SecretKey    string `json:"secret_key"`
		SessionToken string `json:"session_token"`
		Region       string `json:"region"`
		Endpoint     string `json:"endpoint"`
	}
	// The error of the decoder may quote what it stumbles over.
	if json.Unmarshal([]byte(blob), &access) != nil {
		return nil, usage("CF_CREDENTIALS is not a JSON object with access_key, secret_key, session_token, region and endpoint")
	}
	if access.AccessKey == "" || access.SecretKey == "" {
		return nil, usage("CF_CREDENTIALS has no access_key or no secret_key")
	}
	var extra []string
	for _, e := range [][2]string{
		{"AWS_ACCESS_KEY_ID", access.AccessKey}, {"AWS_SECRET_ACCESS_KEY", access.SecretKey},
		{"AWS_SESSION_TOKEN", access.SessionToken}, {"AWS_REGION", access.Region}, {"AWS_ENDPOINT_URL", access.Endpoint},
	} {
		if value := strings.ReplaceAll(e[1], "\n", ""); value != "" {
			extra = append(extra, e[0]+"="+value)
		}
	}
	return run.Environ(env, extra...), nil
}

// lookup returns the value of a name in an environment; the last one counts.
func lookup(environ []string, name string) string {
	value := ""
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}
