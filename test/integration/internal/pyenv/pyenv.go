// Package pyenv gives the integration checks Python packages of known versions,
// installed by themselves into the user's cache directory.
//
// It needs Python 3 with its venv module, and PyPI on the first use.
package pyenv

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

// Env is a Python environment with packages in it.
type Env struct{ python string }

// Install returns the environment of that name in the user's cache directory, which
// it fills the first time. Each name has its own packages.
func Install(ctx context.Context, name string, packages ...string) (*Env, error) {
	dir, err := harness.Cached(name, func(dir string) error {
		python, err := find()
		if err != nil {
			return err
		}
		if err := stage.Run(exec.CommandContext(ctx, python, "-m", "venv", dir)); err != nil {
			return fmt.Errorf("make a Python environment (on Debian: apt-get install python3-venv): %w", err)
		}
		if err := stage.Run(exec.CommandContext(ctx, pythonIn(dir), append([]string{"-m", "pip", "install", "--quiet"}, packages...)...)); err != nil {
			return fmt.Errorf("from PyPI: %w", err)
		}
		return nil
	})
	return &Env{pythonIn(dir)}, err
}

// pythonIn finds the Python of an environment. It and its modules are all that works: the
// directory is renamed after the installation, and scripts have its first name in them.
func pythonIn(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "Scripts", "python.exe")
	}
	return filepath.Join(dir, "bin", "python")
}

// Command is a run of the environment's Python.
func (e *Env) Command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, e.python, args...)
}

func find() (string, error) {
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("python3 is not on the PATH: install Python 3")
}
