// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"fmt"
	"os"

	"github.com/istio-ecosystem/slipway/tools/fail"
)

// machineOf is the ELF machine of programs for an architecture.
func machineOf(arch string) (elf.Machine, bool) {
	m, ok := map[string]elf.Machine{
		"386": elf.EM_386, "amd64": elf.EM_X86_64, "arm": elf.EM_ARM, "arm64": elf.EM_AARCH64, "loong64": elf.EM_LOONGARCH,
		"mips": elf.EM_MIPS, "mips64": elf.EM_MIPS, "mips64le": elf.EM_MIPS, "mipsle": elf.EM_MIPS,
		"ppc64": elf.EM_PPC64, "ppc64le": elf.EM_PPC64, "riscv64": elf.EM_RISCV, "s390x": elf.EM_S390,
	}[arch]
	return m, ok
}

// checkMachines refuses programs that the platform cannot run. BuildKit only
// warns, and the image then fails where it is started.
func (p platformBuild) checkMachines(entries []node) error {
	want, known := machineOf(p.input.Platform.Architecture)
	if !known || p.request.AnyMachine {
		return nil
	}
	var problems []error
	for _, n := range entries {
		if n.Kind != tar.TypeReg || n.Host == "" {
			continue
		}
		got, isELF := machine(n.Host)
		if isELF && got != want {
			problems = append(problems, fmt.Errorf("%s is a program for %s, but the image is for %s", n.Host, got, p.input.Platform.String()))
		}
	}
	return fail.With(fail.Usage, errors.Join(problems...))
}

func machine(path string) (elf.Machine, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 20)
	n, _ := f.ReadAt(head, 0)
	return machineIn(head[:n])
}

// machineIn reads the first 20 bytes of a program.
func machineIn(head []byte) (elf.Machine, bool) {
	if len(head) < 20 || string(head[:4]) != elf.ELFMAG {
		return 0, false
	}
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		return elf.Machine(uint16(head[18])<<8 | uint16(head[19])), true
	}
	return elf.Machine(uint16(head[19])<<8 | uint16(head[18])), true
}
