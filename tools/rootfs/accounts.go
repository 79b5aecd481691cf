// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package rootfs

import "fmt"

// account is a user with a group of the same name and number.
type account struct {
	name string
	id   int
	home string
}

// accounts are those of the distroless base and the user that Istio's proxy
// runs as. Numbers are part of the interface: pods name them in
// runAsUser. In the order of /etc/passwd, by number.
func accounts() []account {
	return []account{
		{"root", 0, "/root"},
		{"istio-proxy", 1337, "/nonexistent"},
		{"nonroot", 65532, "/home/nonroot"},
		{"nobody", 65534, "/nonexistent"},
	}
}

func (t *tree) addAccounts() {
	var passwd, group []byte
	for _, a := range accounts() {
		passwd = fmt.Appendf(passwd, "%s:x:%d:%d:%s:%s:/sbin/nologin\n", a.name, a.id, a.id, a.name, a.home)
		group = fmt.Appendf(group, "%s:x:%d:\n", a.name, a.id)
	}
	t.file("root/etc/passwd", passwd)
	t.file("root/etc/group", group)
	// Without this file some resolvers do not look into /etc/hosts.
	t.file("root/etc/nsswitch.conf", []byte("hosts: files dns\n"))
	t.dir("root/root", "root/home", "root/run", "root/var/run", "root/usr/local/bin", "root/etc/ssl/certs")
	t.dir("sticky/tmp", "homes/nonroot")
}
