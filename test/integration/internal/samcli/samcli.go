// Package samcli gives the integration checks an AWS SAM CLI of a known
// version, and moto, installed by itself into the user's cache directory:
//
//	sam, err := samcli.Install(ctx)
//	err = sam.Command(ctx, "validate", "--lint").Run()
//
// It needs Python 3 with its venv module, and PyPI on the first use.
package samcli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
)

// The releases that the checks were written against. moto plays AWS's part when
// something is deployed; it shares most of what it needs with SAM.
const (
	version     = "1.170.0"
	motoVersion = "5.2.5"
)

// CLI is an installed SAM CLI.
type CLI struct{ env *pyenv.Env }

// Install returns the SAM CLI in the user's cache directory.
func Install(ctx context.Context) (*CLI, error) {
	env, err := pyenv.Install(ctx, "sam-"+version+"-moto-"+motoVersion,
		"aws-sam-cli=="+version, "moto[server,awslambda,cloudformation,s3,sqs]=="+motoVersion)
	return &CLI{env}, err
}

// Command is a run of sam, with telemetry off and a region for the commands
// that ask for one. Its output goes where the caller directs it.
func (c *CLI) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := c.env.Command(ctx, append([]string{"-m", "samcli"}, args...)...)
	cmd.Env = append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_DEFAULT_REGION=us-east-1")
	return cmd
}

// Python is a run of the Python that has SAM, its translator, cfn-lint and moto.
func (c *CLI) Python(ctx context.Context, args ...string) *exec.Cmd {
	return c.env.Command(ctx, args...)
}

// RIE is the path of AWS's Runtime Interface Emulator, which SAM brings along.
func (c *CLI) RIE(ctx context.Context) (string, error) {
	arch, ok := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok || runtime.GOOS != "linux" {
		return "", fmt.Errorf("the Runtime Interface Emulator runs on Linux on amd64 and arm64, this is %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	out, err := c.env.Command(ctx, "-c", "import samcli; print(samcli.__path__[0])").Output()
	if err != nil {
		return "", fmt.Errorf("find samcli: %w", err)
	}
	path := filepath.Join(strings.TrimSpace(string(out)), "local", "rapid", "aws-lambda-rie-"+arch)
	if err := os.Chmod(path, 0o755); err != nil { // wheels lose the mode
		return "", err
	}
	return path, nil
}
