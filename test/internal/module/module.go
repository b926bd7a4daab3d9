// Package module finds and builds what is in this module, for checks that run
// programs of it as processes:
//
//	root, err := module.Root(ctx)
//	err = module.Build(ctx, filepath.Join(dir, "sqsbatch.exe"), "./cmd/sqsbatch")
package module

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Root returns the module's directory. It works in any directory below it.
func Root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module (run this inside it): %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Build builds a main package to a file, .exe for every system.
func Build(ctx context.Context, file, pkg string) error {
	root, err := Root(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, pkg)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
