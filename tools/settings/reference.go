// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// Identity is what image names are made of, after the check.
type Identity struct {
	Hubs     []string // at least one, no duplicates, no trailing slash
	Tags     []string // at least one
	Warnings []string // what was trimmed, and what follows from it
}

// Identity checks HUB, HUBS, TAG and TAGS for use in image names. Ends are
// trimmed and slashes at the end of a hub dropped, with a warning; anything
// else that a registry would refuse is an error that names the setting, its
// value, its origin and, where there is one, the corrected form. All problems
// come at once.
func (s *Settings) Identity() (*Identity, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	id := &Identity{}
	err := errors.Join(id.readHubs(s), id.readTags(s))
	if err != nil {
		return nil, fail.With(fail.Usage, err)
	}
	return id, nil
}

func (id *Identity) readHubs(s *Settings) error {
	v := s.Lookup("HUBS")
	if strings.TrimSpace(v.Value) == "" {
		return fmt.Errorf("HUBS is set but empty (%s): unset it to push to HUB (%s), or name hubs separated by spaces", v.Origin, s.Get("HUB"))
	}
	if v.IsDefault() {
		// HUBS follows HUB, so HUB is what the user can change; and HUB is one
		// hub, in which a space is a mistake and not a separator.
		v = s.Lookup("HUB")
		if hub := strings.TrimSpace(v.Value); strings.ContainsFunc(hub, isSpace) {
			return fmt.Errorf("HUB is %q (%s), with a space in it: put each setting on its own line, or use HUBS for several hubs", v.Value, v.Origin)
		}
	}
	var problems []error
	for _, field := range strings.FieldsFunc(v.Value, isSpace) {
		hub := strings.TrimRight(field, "/")
		if hub != field {
			id.warn("%s: %q ends in a slash (%s); %q is used", v.Name, field, v.Origin, hub)
		}
		if err := checkHub(v, hub); err != nil {
			problems = append(problems, err)
			continue
		}
		if slices.Contains(id.Hubs, hub) {
			id.warn("%s names %q twice (%s); it is used once", v.Name, hub, v.Origin)
			continue
		}
		id.Hubs = append(id.Hubs, hub)
	}
	if strings.TrimSpace(v.Value) != v.Value && v.Name == "HUB" {
		id.warn("HUB is %q (%s), with white space at an end; it is dropped", v.Value, v.Origin)
	}
	return errors.Join(problems...)
}

func (id *Identity) readTags(s *Settings) error {
	v := s.Lookup("TAGS")
	list := strings.FieldsFunc(v.Value, isSpace)
	if len(list) == 0 {
		v = s.Lookup("TAG")
		tag := strings.TrimSpace(v.Value)
		list = []string{tag}
		if tag != v.Value {
			id.warn("TAG is %q (%s), with white space at an end; it is dropped%s", v.Value, v.Origin, nearlyLatest(s, tag))
		}
	}
	var problems []error
	for _, tag := range list {
		if err := checkTag(v, tag); err != nil {
			problems = append(problems, err)
			continue
		}
		if !slices.Contains(id.Tags, tag) {
			id.Tags = append(id.Tags, tag)
		}
	}
	return errors.Join(problems...)
}

// nearlyLatest tells that make compared the untrimmed TAG with "latest".
func nearlyLatest(s *Settings, tag string) string {
	if tag != "latest" {
		return ""
	}
	return fmt.Sprintf("; PULL_POLICY was not switched to Always for it and is %s", s.Get("PULL_POLICY"))
}

func (id *Identity) warn(format string, args ...any) {
	id.Warnings = append(id.Warnings, fmt.Sprintf(format, args...))
}

var (
	tagForm  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	notInTag = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)
	scheme   = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*://`)
)

// checkTag holds a tag against the rule of the OCI distribution specification.
func checkTag(v Value, tag string) error {
	if tagForm.MatchString(tag) {
		return nil
	}
	offer := strings.TrimLeft(notInTag.ReplaceAllString(tag, "-"), ".-")
	if len(offer) > 128 {
		offer = offer[:128]
	}
	if offer == "" {
		offer = "dev"
	}
	return fmt.Errorf("%s is %q (%s), which is no image tag: letters, digits, '_', '.' and '-' are allowed, the first must not be '.' or '-', "+
		"at most 128 characters (it has %d); try %s=%s", v.Name, tag, v.Origin, len(tag), v.Name, offer)
}

// checkHub refuses what a registry would refuse later and less clearly.
func checkHub(v Value, hub string) error {
	where := fmt.Sprintf("%s is %q (%s)", v.Name, hub, v.Origin)
	if v.Name == "HUBS" {
		where = fmt.Sprintf("HUBS has %q (%s)", hub, v.Origin)
	}
	registry, path, _ := strings.Cut(hub, "/")
	switch {
	case hub == "":
		return fmt.Errorf("%s: a hub is a registry and a path, like localhost:5000/team", where)
	case strings.Contains(hub, ","):
		return fmt.Errorf("%s: hubs are separated by spaces, not by commas; try HUBS=%q", where, strings.ReplaceAll(hub, ",", " "))
	case scheme.MatchString(hub):
		return fmt.Errorf("%s: a hub has no scheme; try %s=%s (plain HTTP is used for loopback and for the hosts in SLIPWAY_INSECURE)", where, v.Name, scheme.ReplaceAllString(hub, ""))
	case strings.Contains(hub, "//"):
		return fmt.Errorf("%s: there is an empty part between two slashes; try %s=%s", where, v.Name, squeezeSlashes(hub))
	case strings.Contains(path, "@") || strings.Contains(path, ":"):
		return fmt.Errorf("%s: a hub has no tag or digest; the tag is a setting of its own, TAG", where)
	case path != strings.ToLower(path):
		return fmt.Errorf("%s: the path must be in lower case (%s); try %s=%s/%s", where, firstUpper(path), v.Name, registry, strings.ToLower(path))
	case path == "" && !isRegistryHost(registry) && registry != strings.ToLower(registry):
		return fmt.Errorf("%s: the path must be in lower case (%s); try %s=%s", where, firstUpper(registry), v.Name, strings.ToLower(registry))
	}
	if _, err := name.NewRepository(hub + "/image"); err != nil {
		return fmt.Errorf("%s, which cannot begin an image name: %w; a hub is a registry and a path, like localhost:5000/team", where, err)
	}
	return nil
}

// isRegistryHost tells whether the first part of a name is a registry and not
// a path on the default one, by Docker's rule.
func isRegistryHost(part string) bool {
	return strings.ContainsAny(part, ".:") || part == "localhost"
}

func squeezeSlashes(s string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(s, "/"), func(p string) bool { return p == "" }), "/")
}

func firstUpper(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' })
	if i < 0 {
		return "it has a letter without a plain lower case form"
	}
	return fmt.Sprintf("%q is at character %d of it", s[i], i+1)
}

func isSpace(r rune) bool {
	return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\v' || r == '\f'
}

// officialHubs are Istio's own; pushing there by accident would reach users.
// Source: the image builder of istio/istio.
func officialHubs() []string {
	return []string{"docker.io/istio", "istio", "registry.istio.io/release", "registry.istio.io/testing"}
}

// CheckPush refuses the official hubs unless CI is set.
func (id *Identity) CheckPush(s *Settings) error {
	if s.Lookup("CI").IsSet() {
		return nil
	}
	for _, hub := range id.Hubs {
		if slices.Contains(officialHubs(), hub) {
			v := s.Lookup("HUBS")
			return fail.With(fail.Usage, fmt.Errorf("pushing to official registry only supported in CI: the hub is %q (%s); "+
				"set HUB to a registry of yours, such as HUB=localhost:5000", hub, v.Origin))
		}
	}
	return nil
}
