package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// completions are the files that archives and the Homebrew cask have, by shell.
var completions = map[string]string{
	"bash": "completions/sqsbatch.bash",
	"zsh":  "completions/sqsbatch.zsh",
	"fish": "completions/sqsbatch.fish",
}

// errNoCommand says that the tool has no such command.
var errNoCommand = errors.New("the tool has no such command")

// writeDocs writes the completions and man pages that the tool makes of itself, below
// dir, and returns their paths from there, sorted. A command that the tool does not have
// (yet) leaves out its files.
func writeDocs(dir string) ([]string, error) {
	scratch, err := os.MkdirTemp("", "sqsbatch")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	tool := filepath.Join(scratch, "sqsbatch")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", tool, "./cmd/sqsbatch").CombinedOutput(); err != nil {
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
	for shell, name := range completions {
		script, err := ask(tool, "completion", shell)
		if errors.Is(err, errNoCommand) {
			continue
		} else if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), script, 0o644); err != nil {
			return nil, err
		}
	}
	if _, err := ask(tool, "man", filepath.Join(dir, "man")); err != nil && !errors.Is(err, errNoCommand) {
		return nil, err
	}
	return docsIn(dir)
}

// ask runs the tool and returns its standard output.
func ask(tool string, args ...string) ([]byte, error) {
	cmd := exec.Command(tool, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case err == nil:
		return out, nil
	case bytes.Contains(stderr.Bytes(), []byte("unknown command")):
		return nil, errNoCommand
	default:
		return nil, fmt.Errorf("sqsbatch %s: %w: %s", args[0], err, stderr.Bytes())
	}
}

func docsIn(dir string) (names []string, err error) {
	for _, pattern := range []string{"completions/*", "man/*"} {
		found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return nil, err
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	slices.Sort(names)
	return names, nil
}
