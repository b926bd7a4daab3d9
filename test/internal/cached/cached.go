// Package cached keeps what the checks need of others in the user's cache
// directory.
package cached

import (
	"fmt"
	"os"
	"path/filepath"
)

// Root is the directory that all is in.
func Root() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // no home: a build container, say
	}
	return filepath.Join(cache, "sqsbatch")
}

// Dir returns the directory of that name, which fill makes the first time.
func Dir(name string, fill func(dir string) error) (string, error) {
	dir := filepath.Join(Root(), name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintf(os.Stderr, "installing %s\n", dir)
	if err := os.MkdirAll(Root(), 0o755); err != nil {
		return "", err
	}
	// A directory of its own, renamed when it is complete: an installation that
	// was interrupted is done again, and two at a time do not meet.
	part, err := os.MkdirTemp(Root(), "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	if err := fill(part); err != nil {
		return "", fmt.Errorf("install %s: %w", name, err)
	}
	if err := os.Rename(part, dir); err != nil {
		if _, late := os.Stat(dir); late != nil {
			return "", err
		}
		// Another process was faster.
	}
	return dir, nil
}
