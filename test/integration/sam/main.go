// Command sam checks the deployment with AWS's own tool: template.yaml is
// clean under "sam validate --lint" in every environment of samconfig.toml, and
// what "sam build" makes of it will start on Lambda. It ends with 1 otherwise.
//
//	go run ./test/integration/sam
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/samcli"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sam:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context) error {
	root, err := module.Root(ctx)
	if err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	sam, err := samcli.Install(ctx)
	if err != nil {
		return err
	}
	for _, env := range []string{"default", "dev", "prod"} {
		if err := run(sam.Command(ctx, "validate", "--lint", "--config-env", env)); err != nil {
			return fmt.Errorf("template.yaml, environment %s: %w", env, err)
		}
		fmt.Printf("template.yaml is valid in the environment %s\n", env)
	}
	return checkBuild(ctx, sam)
}

func checkBuild(ctx context.Context, sam *samcli.CLI) error {
	tmp, err := os.MkdirTemp("", "sqsbatch-sam-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)

	build := sam.Command(ctx, "build", "--build-dir", tmp)
	// What must not matter: an environment that asks for cgo and other tags.
	build.Env = append(build.Env, "CGO_ENABLED=1", "GOFLAGS=-tags=other")
	if err := run(build); err != nil {
		return fmt.Errorf("sam build: %w", err)
	}
	dir := filepath.Join(tmp, "OrdersFunction")
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("sam build left no function: %w", err)
	}
	if len(files) != 1 || files[0].Name() != "bootstrap" {
		return fmt.Errorf("sam build packs %v, want the bootstrap alone", files)
	}
	arch, err := builtArchitecture(filepath.Join(tmp, "template.yaml"))
	if err != nil {
		return err
	}
	size, err := checkBootstrap(filepath.Join(dir, "bootstrap"), arch)
	if err != nil {
		return fmt.Errorf("the bootstrap that sam build makes: %w", err)
	}
	fmt.Printf("sam build makes a static %s bootstrap of %.1f MB\n", arch, float64(size)/1e6)
	return nil
}

// run runs a command whose output matters only when it fails.
func run(cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	return nil
}
