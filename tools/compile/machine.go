// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"fmt"
)

// checkMachine reads the header of a binary and refuses one for another
// system or processor. Systems whose format is not known here pass.
func checkMachine(path string, p Platform, static bool) error {
	var got string
	var err error
	switch p.OS {
	case "linux", "freebsd", "openbsd", "netbsd", "dragonfly", "android":
		got, err = elfMachine(path, static)
	case "darwin", "ios":
		got, err = machoMachine(path)
	case "windows":
		got, err = peMachine(path)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("it is no program for %s: %w", p, err)
	}
	if got != p.Arch {
		return fmt.Errorf("it is a program for %s and not for %s", got, p)
	}
	return nil
}

func elfMachine(path string, static bool) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	for _, prog := range f.Progs {
		if static && prog.Type == elf.PT_INTERP {
			return "", fmt.Errorf("it needs a dynamic loader although it should be static; set STATIC=0 if that is meant")
		}
	}
	little := f.Data == elf.ELFDATA2LSB
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	case elf.EM_ARM:
		return "arm", nil
	case elf.EM_386:
		return "386", nil
	case elf.EM_S390:
		return "s390x", nil
	case elf.EM_RISCV:
		return "riscv64", nil
	case elf.EM_LOONGARCH:
		return "loong64", nil
	case elf.EM_PPC64:
		return endian("ppc64", little), nil
	case elf.EM_MIPS:
		if f.Class == elf.ELFCLASS64 {
			return endian("mips64", little), nil
		}
		return endian("mips", little), nil
	}
	return f.Machine.String(), nil
}

func endian(arch string, little bool) string {
	if little {
		return arch + "le"
	}
	return arch
}

func machoMachine(path string) (string, error) {
	f, err := macho.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	switch f.Cpu {
	case macho.CpuAmd64:
		return "amd64", nil
	case macho.CpuArm64:
		return "arm64", nil
	}
	return f.Cpu.String(), nil
}

func peMachine(path string) (string, error) {
	f, err := pe.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	switch f.Machine {
	case pe.IMAGE_FILE_MACHINE_AMD64:
		return "amd64", nil
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return "arm64", nil
	case pe.IMAGE_FILE_MACHINE_I386:
		return "386", nil
	}
	return fmt.Sprintf("machine %#x", f.Machine), nil
}
