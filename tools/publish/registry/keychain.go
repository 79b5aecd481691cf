// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"github.com/docker/cli/cli/config"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// missingHelper finds the name of a helper in an error of the library, which
// wraps the cause as text only.
var missingHelper = regexp.MustCompile(`exec: "(docker-credential-[^"]+)": executable file not found`)

// DockerConfig is the keychain of the docker and podman command lines: the
// file config.json in DOCKER_CONFIG or ~/.docker, or containers/auth.json,
// with the credential helpers named there.
type DockerConfig struct{}

// Resolve returns the credentials for r, or authn.Anonymous.
func (k DockerConfig) Resolve(r authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), r)
}

// ResolveContext is Resolve with a context.
func (DockerConfig) ResolveContext(ctx context.Context, r authn.Resource) (authn.Authenticator, error) {
	found, err := authn.Resolve(ctx, authn.DefaultKeychain, r)
	if err != nil {
		if m := missingHelper.FindStringSubmatch(err.Error()); m != nil {
			return nil, fmt.Errorf("credential helper %s not found on PATH, for %s; install it, or take it out of credHelpers or credsStore in the docker configuration", m[1], display(r.RegistryStr()))
		}
		return nil, fmt.Errorf("docker configuration, for %s: %w", display(r.RegistryStr()), err)
	}
	if found == authn.Anonymous && r.RegistryStr() == name.DefaultRegistry {
		return dockerHub()
	}
	return found, nil
}

// dockerHub looks for the credentials of Docker Hub under the keys that people
// write by hand. The docker command line knows its old address only
// (https://index.docker.io/v1/).
func dockerHub() (authn.Authenticator, error) {
	file, err := config.Load(os.Getenv("DOCKER_CONFIG"))
	if err != nil {
		return nil, fmt.Errorf("docker configuration: %w", err)
	}
	for _, key := range []string{name.DefaultRegistry, "docker.io", "https://index.docker.io/v2/", "https://docker.io", "registry-1.docker.io"} {
		a, ok := file.GetAuthConfigs()[key]
		if ok && (a.Username != "" || a.Auth != "" || a.IdentityToken != "" || a.RegistryToken != "") {
			return authn.FromConfig(authn.AuthConfig{
				Username: a.Username, Password: a.Password, Auth: a.Auth,
				IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken,
			}), nil
		}
	}
	return authn.Anonymous, nil
}

// lookUp asks the keychain for the credentials of a registry.
func lookUp(ctx context.Context, k authn.Keychain, reg name.Registry) (*authn.AuthConfig, error) {
	a, err := authn.Resolve(ctx, k, reg)
	if err != nil {
		return nil, err
	}
	return authn.Authorization(ctx, a)
}
