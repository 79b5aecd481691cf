// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package prebuilt

import (
	"debug/elf"
	"fmt"
	"io"
	"strings"
)

// checkProgram refuses a file that is not a whole ELF program for platform,
// linux/ARCH or linux/ARCH/VARIANT.
func checkProgram(r io.ReaderAt, size int64, platform string) error {
	head := make([]byte, min(headSize, size))
	if _, err := r.ReadAt(head, 0); err != nil && size > 0 {
		return err
	}
	if formatOf(head) != programFormat {
		return fmt.Errorf("it is %s, and %s needs an ELF program", describe(head), platform)
	}
	f, err := elf.NewFile(r)
	if err != nil { // the section table stands at the end
		return fmt.Errorf("it is a damaged or truncated ELF program of %d bytes: %w", size, err)
	}
	for _, p := range f.Progs {
		if p.Filesz > 0 && (p.Off > uint64(size) || p.Filesz > uint64(size)-p.Off) {
			return fmt.Errorf("it is a truncated ELF program: it has %d bytes and a segment that ends at %d", size, p.Off+p.Filesz)
		}
	}
	want := strings.Split(platform, "/")[1]
	if got := archOf(f); got != want {
		return fmt.Errorf("it is a program for linux/%s and not for %s", got, platform)
	}
	return nil
}

// archOf is Go's name for the machine of an ELF file, ELF's own if Go has none.
func archOf(f *elf.File) string {
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_386:
		return "386"
	case elf.EM_S390:
		return "s390x"
	case elf.EM_RISCV:
		return "riscv64"
	case elf.EM_LOONGARCH:
		return "loong64"
	case elf.EM_PPC64:
		if f.Data == elf.ELFDATA2LSB {
			return "ppc64le"
		}
		return "ppc64"
	}
	return f.Machine.String()
}
