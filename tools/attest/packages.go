// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// osPackage is a package of the system in an image.
type osPackage struct {
	Name, Version, Arch, License, Kind string // Kind: deb, apk
}

// readPackages reads all package databases of an image.
func readPackages(databases map[string]string) ([]osPackage, error) {
	var all []osPackage
	for _, path := range slices.Sorted(maps.Keys(databases)) {
		var some []osPackage
		var err error
		switch {
		case strings.HasPrefix(path, "var/lib/dpkg/"):
			some, err = readDpkg(databases[path])
		case strings.HasSuffix(path, "apk/db/installed"):
			some, err = readApk(databases[path])
		}
		if err != nil {
			return nil, fmt.Errorf("/%s%w", path, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// readDpkg reads stanzas of deb822 form. Source: deb-control(5), and dpkg's
// status file, in which packages that were removed stay with their settings.
func readDpkg(text string) ([]osPackage, error) {
	var all []osPackage
	err := stanzas(text, ": ", func(line int, fields map[string]string) error {
		status, has := fields["Status"]
		if has && !strings.HasSuffix(status, " installed") {
			return nil
		}
		if fields["Package"] == "" || fields["Version"] == "" {
			return fmt.Errorf(":%d: a package without name or version", line)
		}
		all = append(all, osPackage{Name: fields["Package"], Version: fields["Version"], Arch: fields["Architecture"], Kind: "deb"})
		return nil
	})
	return all, err
}

// readApk reads the database of apk. Source: apk's package index format.
func readApk(text string) ([]osPackage, error) {
	var all []osPackage
	err := stanzas(text, ":", func(line int, fields map[string]string) error {
		if fields["P"] == "" || fields["V"] == "" {
			return fmt.Errorf(":%d: a package without name or version", line)
		}
		all = append(all, osPackage{Name: fields["P"], Version: fields["V"], Arch: fields["A"], License: fields["L"], Kind: "apk"})
		return nil
	})
	return all, err
}

// stanzas calls visit for each block of fields, with the line that it begins
// in. Lines that go on from the one before are not of interest here.
func stanzas(text, separator string, visit func(line int, fields map[string]string) error) error {
	fields, first := map[string]string{}, 0
	end := func() error {
		if len(fields) == 0 {
			return nil
		}
		err := visit(first, fields)
		fields = map[string]string{}
		return err
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			if err := end(); err != nil {
				return err
			}
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			continue
		}
		name, value, ok := strings.Cut(line, separator)
		if !ok {
			if name, ok = strings.CutSuffix(line, strings.TrimSpace(separator)); !ok {
				return fmt.Errorf(":%d: %q is no field", number, line)
			}
		}
		if len(fields) == 0 {
			first = number
		}
		if _, known := fields[name]; !known { // apk lists files under repeated names
			fields[name] = strings.TrimSpace(value)
		}
	}
	return end()
}

// distribution is what os-release says.
type distribution struct{ id, version, name string }

func readRelease(databases map[string]string) distribution {
	text, ok := databases["etc/os-release"]
	if !ok || strings.TrimSpace(text) == "" {
		text = databases["usr/lib/os-release"]
	}
	var d distribution
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch name {
		case "ID":
			d.id = value
		case "VERSION_ID":
			d.version = value
		case "PRETTY_NAME":
			d.name = value
		}
	}
	return d
}
