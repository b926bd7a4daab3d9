package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTicks is USER_HZ, which is 100 on every Linux that Go runs on.
const clockTicks = 100

// cpuTime returns the CPU time of a process so far; negative where there is no /proc.
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return -1
	}
	// The second field, the command's name, may have spaces; it ends at the last ")".
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const user, system = 11, 12 // counted from the third field
	if len(fields) <= system {
		return -1
	}
	a, errA := strconv.ParseInt(fields[user], 10, 64)
	b, errB := strconv.ParseInt(fields[system], 10, 64)
	if errA != nil || errB != nil {
		return -1
	}
	return time.Duration(a+b) * time.Second / clockTicks
}

func ownCPUTime() time.Duration { return cpuTime(os.Getpid()) }

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
