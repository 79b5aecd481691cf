// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package buildkit

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/auth/authprovider"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"github.com/moby/buildkit/session/sshforward/sshprovider"

	"github.com/istio-ecosystem/slipway/tools/builder"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

// attachables are what the builder may ask us for during a build: logins of
// registries, secrets, and agents of ssh.
func attachables(r builder.Request, getenv func(string) string) ([]session.Attachable, error) {
	login := config.LoadDefaultConfigFile(io.Discard)
	all := []session.Attachable{authprovider.NewDockerAuthProvider(authprovider.DockerAuthProviderConfig{
		AuthConfigProvider: authprovider.LoadAuthConfig(login),
	})}
	secrets, err := parseSecrets(r.Secrets, getenv)
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	store, err := secretsprovider.NewStore(secrets)
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("reading secrets: %w", err))
	}
	all = append(all, secretsprovider.NewSecretProvider(store))
	if len(r.SSH) == 0 {
		return all, nil
	}
	var agents []sshprovider.AgentConfig
	for _, text := range r.SSH {
		id, paths, _ := strings.Cut(text, "=")
		agent := sshprovider.AgentConfig{ID: id}
		if paths != "" {
			agent.Paths = strings.Split(paths, ",")
		}
		agents = append(agents, agent)
	}
	provider, err := sshprovider.NewSSHAgentProvider(agents)
	if err != nil {
		return nil, fail.With(fail.Usage, fmt.Errorf("reaching the agents of ssh: %w", err))
	}
	return append(all, provider), nil
}

// parseSecrets reads id=NAME,src=FILE and id=NAME,env=NAME as docker build
// does. Without either, a variable of the secret's name is taken when there is
// one, else a file of that name. Errors never show a secret.
func parseSecrets(texts []string, getenv func(string) string) ([]secretsprovider.Source, error) {
	var all []secretsprovider.Source
	for _, text := range texts {
		var s secretsprovider.Source
		kind := ""
		fields, err := csv.NewReader(strings.NewReader(text)).Read()
		if err != nil {
			return nil, errors.New("reading a secret: its fields are not NAME=VALUE between commas")
		}
		for _, field := range fields {
			name, value, ok := strings.Cut(field, "=")
			if !ok {
				return nil, fmt.Errorf("reading the secret %q: %q is not NAME=VALUE", s.ID, name)
			}
			switch strings.ToLower(name) {
			case "id":
				s.ID = value
			case "src", "source":
				s.FilePath = value
			case "env":
				s.Env = value
			case "type":
				kind = value
			default:
				return nil, fmt.Errorf("reading the secret %q: %q is none of id, src, env, type", s.ID, name)
			}
		}
		if s.ID == "" {
			return nil, errors.New("reading a secret: it has no id=NAME")
		}
		if s, err = locate(s, kind, getenv); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func locate(s secretsprovider.Source, kind string, getenv func(string) string) (secretsprovider.Source, error) {
	switch {
	case kind == "env" && s.FilePath != "": // src names the variable then
		s.Env, s.FilePath = s.FilePath, ""
	case kind == "env" && s.Env == "":
		s.Env = s.ID
	case s.Env == "" && s.FilePath == "" && getenv(s.ID) != "":
		s.Env = s.ID
	case s.Env == "" && s.FilePath == "":
		s.FilePath = s.ID
	}
	if s.FilePath != "" {
		if _, err := os.Stat(s.FilePath); err != nil {
			return s, fmt.Errorf("the secret %q is neither a variable nor a file: %w", s.ID, err)
		}
	}
	return s, nil
}
