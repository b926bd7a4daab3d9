package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// shells have a completion in the archives and the Homebrew cask.
var shells = []string{"bash", "zsh", "fish"}

// writeDocs writes the completions and man pages that the tool makes of itself, below
// dir, and returns their paths from there, sorted. The day in the man pages is that of
// the commit.
func writeDocs(root, dir string, when time.Time) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "sqsbatch")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	tool := filepath.Join(scratch, program(runtime.GOOS))
	build := exec.Command("go", "build", "-buildvcs=false", "-o", tool, "./cmd/sqsbatch")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	for _, sub := range []string{"completions", "man"} {
		if err := os.RemoveAll(filepath.Join(dir, sub)); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	if err := askForAll(tool, dir, when); err != nil {
		return nil, err
	}
	return docsIn(dir)
}

func askForAll(tool, dir string, when time.Time) error {
	for _, shell := range shells {
		script, err := ask(tool, when, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "completions", "sqsbatch."+shell), script, 0o644); err != nil {
			return err
		}
	}
	_, err := ask(tool, when, "man", filepath.Join(dir, "man"))
	return err
}

// ask runs the tool and returns its standard output.
func ask(tool string, when time.Time, args ...string) ([]byte, error) {
	cmd := exec.Command(tool, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", when.Unix()))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("sqsbatch %s: %w: %s", args[0], err, stderr.Bytes())
	}
	return out, nil
}

func docsIn(dir string) (names []string, err error) {
	for _, pattern := range []string{"completions/*", "man/*"} {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	return names, nil
}
