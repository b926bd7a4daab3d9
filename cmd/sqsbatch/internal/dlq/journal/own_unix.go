//go:build unix

package journal

import (
	"errors"
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// ownOnly takes the rights of others away from a file, since receipt handles delete messages.
// It returns an error if the file is another user's.
func ownOnly(f *os.File, info os.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return errors.New("the file belongs to another user: name another file")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return f.Chmod(0o600)
	}
	return nil
}
