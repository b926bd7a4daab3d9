package tools

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
)

var machines = map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64, "x86_64": elf.EM_X86_64}

// CheckELF wants a static, stripped program for an architecture, as Go or AWS calls it.
func CheckELF(program io.ReaderAt, arch string) error {
	f, err := elf.NewFile(program)
	if err != nil {
		return err
	}
	if f.Machine != machines[arch] {
		return fmt.Errorf("is for %v, want %s", f.Machine, arch)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("is dynamically linked: it would want the build machine's C library")
		}
	}
	if f.Section(".symtab") != nil || f.Section(".debug_info") != nil || f.Section(".zdebug_info") != nil {
		return errors.New("is not stripped")
	}
	return nil
}
