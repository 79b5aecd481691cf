// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Package rootfs writes the files of the static base image: accounts,
// certificates, time zones and the folders that programs expect. Nothing in
// it runs, so an image that starts from it holds one statically linked program
// and no registry is needed to build it.
//
// The certificates are the roots that Mozilla trusts, as the Go project
// packages them; the version is the one in go.mod. The time zones are those of
// the installed Go toolchain. Same inputs, same bytes: Summary.Digest tells.
//
// A build context keeps neither owners nor special modes: the image builder
// gives every file 0644 or 0755 and root. Therefore the files come in three
// folders, and docker/Dockerfile.static says owner and mode of each:
//
//	root/    COPY rootfs/root/ /
//	sticky/  COPY --chmod=1777 rootfs/sticky/ /, and to /var/: the folder tmp
//	homes/   COPY --chown=65532:65532 rootfs/homes/ /home/: the folder nonroot
//
// COPY gives its mode and owner to every folder that it copies, also where one
// of that name was there. So the last two hold nothing but what they name.
package rootfs
