// Command deploy checks what is in deploy and the Dockerfile, as those read it
// who will use it: CloudFormation's linter, Kubernetes' schemas, the rules of
// BuildKit, Pod Security and KEDA (upstream), and a Docker engine, which builds
// the image and runs it against an SQS. It ends with 1 when anything is wrong.
//
//	go run ./test/integration/deploy
//
// It needs Python 3 with its venv module, and PyPI and the Go module proxy on
// the first use. The engine is one of its own, without a registry and without a
// network: that needs Linux, root, dockerd and a static busybox (Debian:
// docker.io, busybox-static). Where it cannot be had, the exit code is 1, too,
// and the file that -reason names says why, if nothing else was wrong.
//
// What deploy says against the code is tested by the tests in deploy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/test/internal/module"
)

// errNotRun is in errors that are no verdict.
var errNotRun = errors.New("not tried")

func main() {
	reason := flag.String("reason", "", "a file to say in why there is no verdict, if that is all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wrong, notRun := check(ctx)
	for _, err := range append(wrong, notRun...) {
		fmt.Fprintln(os.Stderr, "deploy:", err)
	}
	if len(wrong) == 0 && len(notRun) > 0 && *reason != "" {
		if err := os.WriteFile(*reason, []byte(errors.Join(notRun...).Error()+"\n"), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "deploy:", err)
		}
	}
	if len(wrong)+len(notRun) > 0 {
		os.Exit(1)
	}
}

// check does all steps, whatever comes of those before.
func check(ctx context.Context) (wrong, notRun []error) {
	root, err := module.Root(ctx)
	if err != nil {
		return []error{err}, nil
	}
	tmp, err := os.MkdirTemp("", "sqsbatch-deploy-")
	if err != nil {
		return []error{err}, nil
	}
	defer func() {
		if err := os.RemoveAll(tmp); err != nil {
			wrong = append(wrong, err)
		}
	}()
	rendered := filepath.Join(tmp, "rendered.yaml")
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"templates", func() error { return checkTemplates(ctx, root) }},
		{"upstream", func() error { return runUpstream(ctx, root, rendered) }},
		{"manifests", func() error { return checkManifests(ctx, rendered) }},
		{"image", func() error { return checkImage(ctx, root, tmp) }},
	} {
		begin := time.Now()
		fmt.Printf("\n%s\n", step.name)
		err := step.run()
		switch {
		case errors.Is(err, errNotRun):
			notRun = append(notRun, fmt.Errorf("%s: %w", step.name, err))
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s: %w", step.name, err))
		}
		fmt.Printf("%s: %.1f s\n", step.name, time.Since(begin).Seconds())
	}
	return wrong, notRun
}

// run runs a command whose output matters only when it fails.
func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}
