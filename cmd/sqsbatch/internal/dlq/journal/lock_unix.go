//go:build unix && !solaris

package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file until it is closed, also by the end of the process.
func lock(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
