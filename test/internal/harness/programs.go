package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Root returns the folder of sqsbatch. It works in any folder below it, also in a nested module.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/sqsbatch/sqsbatch").Output()
	if err != nil {
		return "", fmt.Errorf("find the module (run this inside it): %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Build builds a main package to a file, .exe for every system.
func Build(ctx context.Context, file, pkg string) error { return build(ctx, nil, "-o", file, pkg) }

// BuildFunction builds a main package for Lambda, as template.yaml has it built.
func BuildFunction(ctx context.Context, file, pkg, arch string) error {
	return build(ctx, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch, "GOFLAGS="},
		"-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", file, pkg)
}

func build(ctx context.Context, env []string, args ...string) error {
	root, err := Root(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build"}, args...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", args[len(args)-1], err, out)
	}
	return nil
}
