package journal

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a file until it is closed, also by the end of the process. A byte far beyond
// the end stands for the file, because Windows lets nobody else read what is locked.
func lock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}

const noFollow = 0

// ownOnly does nothing: the folder says who may read a file.
func ownOnly(*os.File) error { return nil }
