//go:build (!unix && !windows) || solaris

package journal

import "os"

// lock does nothing on systems without such a lock.
func lock(*os.File) error { return nil }
