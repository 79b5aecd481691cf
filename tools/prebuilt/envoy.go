// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"path/filepath"
	"strings"
)

const envoyBase = "https://blob.istio.io/istio-build/proxy"

// envoyMember is the one file of Envoy's archives, usr/local/bin/envoy: the
// scripts strip three folders and take what is left, whatever its name.
const envoyMember = "*/*/*/*"

// Envoy returns the release Envoy, and before it the debug Envoy when
// DEBUG_IMAGE is set. It looks at nothing but its input. Errors have the code
// fail.Usage.
//
// The archive of amd64 has no architecture in its name, others have. The
// release program is named by SIDECAR and the OS-neutral version, the debug
// program by the Linux version. The names without a version, which images
// use, are always in the output folder: a folder that the user named gets the
// file that they named and nothing else.
func Envoy(in Input) ([]Item, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	sidecar := in.first(choice{"envoy", ""}, "SIDECAR").value
	if sidecar != filepath.Base(sidecar) || sidecar == "." || sidecar == ".." {
		return nil, usage("SIDECAR is %q: it must be the name of a file", sidecar)
	}
	release, err := in.envoyRelease(sidecar)
	if err != nil {
		return nil, err
	}
	if !in.on("DEBUG_IMAGE") {
		return []Item{release}, nil
	}
	debug, err := in.envoyDebug(sidecar)
	if err != nil {
		return nil, err
	}
	return []Item{debug, release}, nil
}

func (in Input) envoyRelease(sidecar string) (Item, error) {
	version := in.version("PROXY_REPO_SHA", "ISTIO_ENVOY_VERSION", "PROXY_REPO_SHA")
	it, err := in.envoy(version, version, "RELEASE", "alpha", sidecar+"-"+version.value)
	if err != nil {
		return Item{}, err
	}
	copies := []string{filepath.Join(in.TargetOutLinux, "release", sidecar), filepath.Join(in.TargetOut, sidecar)}
	if in.LocalOS != "linux" {
		copies = append(copies, filepath.Join(in.TargetOutLinux, sidecar))
	}
	it.Copies = others(it.Dest, copies...)
	return it, nil
}

func (in Input) envoyDebug(sidecar string) (Item, error) {
	neutral := in.version("PROXY_REPO_SHA", "ISTIO_ENVOY_VERSION", "PROXY_REPO_SHA")
	version := in.first(neutral, "ISTIO_ENVOY_LINUX_VERSION")
	it, err := in.envoy(neutral, version, "DEBUG", "debug", "envoy-debug-"+version.value)
	if err != nil {
		return Item{}, err
	}
	it.Name = "envoy-debug"
	it.Copies = others(it.Dest, filepath.Join(in.TargetOutLinux, "debug", sidecar))
	return it, nil
}

// envoy is what both kinds have in common; kind is RELEASE or DEBUG, flavour
// how archives of that kind are called. The URL has the OS-neutral version.
func (in Input) envoy(neutral, version choice, kind, flavour, file string) (Item, error) {
	suffix := ""
	if in.Arch != "amd64" {
		suffix = "-" + in.Arch
	}
	base := in.first(choice{envoyBase, ""}, "ISTIO_ENVOY_BASE_URL")
	standard := joined(base, "envoy-"+flavour+"-"+neutral.value+suffix+".tar.gz", neutral)
	url := in.first(standard, "ISTIO_ENVOY_LINUX_"+kind+"_URL", "ISTIO_ENVOY_"+kind+"_URL")
	dest, named := in.place("ISTIO_ENVOY_LINUX_"+kind, filepath.Join(in.TargetOutLinux, strings.ToLower(kind)), file)
	if url == standard || !named {
		const names = "ISTIO_ENVOY_VERSION or PROXY_REPO_SHA"
		if err := checkVersion("Envoy", neutral, names); err != nil {
			return Item{}, err
		}
		if err := checkVersion("Envoy", version, names); err != nil {
			return Item{}, err
		}
	}
	return Item{
		Source: Source{
			Name: "envoy", Version: version.value, URL: URL(url.value), Origin: url.origin,
			Member: envoyMember, Platform: "linux/" + in.Arch,
			Ways: []string{
				"ISTIO_ENVOY_" + kind + "_URL=file:/path/to/the/archive/or/program",
				"ISTIO_ENVOY_BASE_URL=https://a.mirror/folder",
				"ISTIO_ENVOY_LINUX_" + kind + "_PATH=/path/to/a/program/that/is/there",
			},
		},
		Dest: dest, Named: named,
	}, nil
}
