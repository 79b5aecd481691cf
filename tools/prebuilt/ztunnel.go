// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import "path/filepath"

const ztunnelBase = "https://blob.istio.io/istio-build/ztunnel"

// Ztunnel returns the pinned ztunnel. Its URL ends with the architecture, also
// for amd64; it is the program itself and no archive. Errors have the code
// fail.Usage.
func Ztunnel(in Input) (Item, error) {
	if err := in.check(); err != nil {
		return Item{}, err
	}
	version := in.version("ZTUNNEL_REPO_SHA", "ISTIO_ZTUNNEL_VERSION", "ZTUNNEL_REPO_SHA")
	base := in.first(choice{ztunnelBase, ""}, "ISTIO_ZTUNNEL_BASE_URL")
	standard := joined(base, "ztunnel-"+version.value+"-"+in.Arch, version)
	url := in.first(standard, "ISTIO_ZTUNNEL_RELEASE_URL")
	dest, named := in.ztunnelPlace(version)
	if url == standard || !named {
		if err := checkVersion("ztunnel", version, "ISTIO_ZTUNNEL_VERSION or ZTUNNEL_REPO_SHA"); err != nil {
			return Item{}, err
		}
	}
	return Item{
		Source: Source{
			Name: "ztunnel", Version: version.value, URL: URL(url.value), Origin: url.origin,
			Platform: "linux/" + in.Arch,
			Ways: []string{
				"ISTIO_ZTUNNEL_RELEASE_URL=file:/path/to/the/program",
				"ISTIO_ZTUNNEL_BASE_URL=https://a.mirror/folder",
				"ISTIO_ZTUNNEL_LINUX_RELEASE_PATH=/path/to/a/program/that/is/there",
				"BUILD_ZTUNNEL_REPO=/path/to/a/checkout (needs cargo)",
			},
		},
		Dest: dest, Copies: in.ztunnelCopies(dest), Named: named,
	}, nil
}

func (in Input) ztunnelPlace(version choice) (string, bool) {
	return in.place("ISTIO_ZTUNNEL_LINUX_RELEASE", filepath.Join(in.TargetOutLinux, "release"), "ztunnel-"+version.value)
}

// ztunnelCopies are the names without a version, in the output folder.
func (in Input) ztunnelCopies(dest string) []string {
	return others(dest, filepath.Join(in.TargetOutLinux, "release", "ztunnel"), filepath.Join(in.TargetOutLinux, "ztunnel"))
}

// ZtunnelBuild returns the build of a checkout that takes the place of the
// download, and false when none is wanted. BUILD_ZTUNNEL_REPO names the
// checkout, else BUILD_ZTUNNEL (anything but empty) means ../ztunnel.
//
// What it builds goes to the names without a version only: the one with the
// version stays what it says, so that unsetting the variables leads back to
// the download.
func ZtunnelBuild(in Input) (CargoBuild, bool, error) {
	repo := in.first(choice{}, "BUILD_ZTUNNEL_REPO")
	if repo.value == "" && in.on("BUILD_ZTUNNEL") {
		repo = choice{"../ztunnel", "BUILD_ZTUNNEL"}
	}
	if repo.value == "" {
		return CargoBuild{}, false, nil
	}
	if err := in.check(); err != nil {
		return CargoBuild{}, false, err
	}
	version := in.version("ZTUNNEL_REPO_SHA", "ISTIO_ZTUNNEL_VERSION", "ZTUNNEL_REPO_SHA")
	dest, _ := in.ztunnelPlace(version)
	return CargoBuild{
		Repo: in.abs(repo.value), Origin: repo.origin,
		Profile:  in.first(choice{"dev", ""}, "BUILD_ZTUNNEL_PROFILE").value,
		Target:   in.Lookup("BUILD_ZTUNNEL_TARGET"),
		Platform: "linux/" + in.Arch,
		Places:   in.ztunnelCopies(dest),
	}, true, nil
}
