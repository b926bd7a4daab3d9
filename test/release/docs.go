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

	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// shells have a completion in the archives and the Homebrew cask.
var shells = []string{"bash", "zsh", "fish"}

// writeDocs writes the completions and man pages that the tool makes of itself, below
// dir, and returns their paths from there, sorted. The day in the man pages is that of
// the commit.
func writeDocs(root, dir string, when time.Time) (_ []string, err error) {
	defer must.Return(&err)
	dir = must.Get(filepath.Abs(dir))
	scratch := must.Get(os.MkdirTemp("", "sqsbatch"))
	defer os.RemoveAll(scratch)
	tool := filepath.Join(scratch, program(runtime.GOOS))
	build := exec.Command("go", "build", "-buildvcs=false", "-o", tool, "./cmd/sqsbatch")
	build.Dir, build.Stdout, build.Stderr = root, os.Stderr, os.Stderr
	must.Do(build.Run())
	for _, sub := range []string{"completions", "man"} {
		must.Do(os.RemoveAll(filepath.Join(dir, sub)))
		must.Do(os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	for _, shell := range shells {
		script := must.Get(ask(tool, when, "completion", shell))
		must.Do(os.WriteFile(filepath.Join(dir, "completions", "sqsbatch."+shell), script, 0o644))
	}
	must.Get(ask(tool, when, "man", filepath.Join(dir, "man")))
	here := os.DirFS(dir)
	return append(must.Get(fs.Glob(here, "completions/*")), must.Get(fs.Glob(here, "man/*"))...), nil
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
