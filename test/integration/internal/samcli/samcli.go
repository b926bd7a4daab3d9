// Package samcli gives the integration checks an AWS SAM CLI of a known
// version, installed by itself into the user's cache directory:
//
//	sam, err := samcli.Install(ctx)
//	err = sam.Command(ctx, "validate", "--lint").Run()
//
// It needs Python 3 with its venv module, and PyPI on the first use.
package samcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// version is the release that the checks were written against.
const version = "1.170.0"

// CLI is an installed SAM CLI.
type CLI struct{ python string }

// Install returns the SAM CLI in the user's cache directory, after putting it
// there if it is not there yet.
func Install(ctx context.Context) (*CLI, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // no home: a build container, say
	}
	dir := filepath.Join(cache, "sqsbatch", "sam-"+version)
	cli := &CLI{python: filepath.Join(dir, "bin", "python")}
	if runtime.GOOS == "windows" {
		cli.python = filepath.Join(dir, "Scripts", "python.exe")
	}

	// The mark is set last: an installation that was interrupted is done again.
	mark := filepath.Join(dir, "installed")
	if _, err := os.Stat(mark); err == nil {
		return cli, nil
	}
	fmt.Fprintf(os.Stderr, "installing aws-sam-cli %s into %s\n", version, dir)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	python, err := findPython()
	if err != nil {
		return nil, err
	}
	if err := run(ctx, python, "-m", "venv", dir); err != nil {
		return nil, fmt.Errorf("make a Python environment (on Debian: apt-get install python3-venv): %w", err)
	}
	if err := run(ctx, cli.python, "-m", "pip", "install", "--quiet", "aws-sam-cli=="+version); err != nil {
		return nil, fmt.Errorf("install aws-sam-cli %s from PyPI: %w", version, err)
	}
	return cli, os.WriteFile(mark, []byte(version+"\n"), 0o644)
}

// Command is a run of sam, with telemetry off and a region for the commands
// that ask for one. Its output goes where the caller directs it.
func (c *CLI) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.python, append([]string{"-m", "samcli"}, args...)...)
	cmd.Env = append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_DEFAULT_REGION=us-east-1")
	return cmd
}

// RIE is the path of AWS's Runtime Interface Emulator for this machine, a
// Linux program which the SAM CLI carries along.
func (c *CLI) RIE(ctx context.Context) (string, error) {
	arch, ok := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok || runtime.GOOS != "linux" {
		return "", fmt.Errorf("the Runtime Interface Emulator runs on Linux on amd64 and arm64, this is %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	out, err := exec.CommandContext(ctx, c.python, "-c", "import samcli; print(samcli.__path__[0])").Output()
	if err != nil {
		return "", fmt.Errorf("find samcli: %w", err)
	}
	path := filepath.Join(strings.TrimSpace(string(out)), "local", "rapid", "aws-lambda-rie-"+arch)
	if err := os.Chmod(path, 0o755); err != nil { // wheels lose the mode
		return "", err
	}
	return path, nil
}

func findPython() (string, error) {
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("python3 is not on the PATH: install Python 3, the SAM CLI is written in it")
}

// run runs a command whose output matters only when it fails.
func run(ctx context.Context, name string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	return nil
}
