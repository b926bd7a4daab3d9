package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// resident returns the bytes of memory that a process occupies; negative where
// there is no /proc.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return -1
			}
			return kib << 10
		}
	}
	return -1
}
