// Command clients has the programs that others write for SQS speak to
// `sqsbatch sqs`: boto3 (python/), an old boto3 whose protocol is the query
// one, and the AWS CLI (awscli.go), each a real process against a server of its
// own. It ends with 1 when one of them gets what it does not expect.
//
//	go run ./test/integration/clients
//
// It needs Python 3 with its venv module, and PyPI on the first use.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
)

// The releases that the checks were written against. oldBoto3 is of the last
// line that speaks the query protocol.
const (
	boto3    = "1.44.5"
	awscli   = "1.46.3"
	oldBoto3 = "1.26.165"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context) error {
	env, err := pyenv.Install(ctx, "boto3-"+boto3+"-awscli-"+awscli, "boto3=="+boto3, "awscli=="+awscli)
	if err != nil {
		return err
	}
	old, err := pyenv.Install(ctx, "boto3-"+oldBoto3, "boto3=="+oldBoto3)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "sqsbatch-clients-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module (run this inside it): %w", err)
	}
	module := strings.TrimSpace(string(root))
	command := filepath.Join(tmp, "sqsbatch.exe") // a name that every system runs
	build := exec.CommandContext(ctx, "go", "build", "-o", command, "./cmd/sqsbatch")
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build sqsbatch: %w\n%s", err, out)
	}
	script := filepath.Join(module, "test", "integration", "clients", "python")

	var wrong []error
	for _, c := range []struct {
		name string
		run  func(context.Context, *server) error
	}{
		{"boto3 " + boto3, pythonScript(env, script)},
		{"boto3 " + oldBoto3 + " (query protocol)", pythonScript(old, script)},
		{"AWS CLI " + awscli, (&cli{env: env}).check},
	} {
		begin := time.Now()
		fmt.Printf("\n%s\n", c.name)
		s, err := serve(ctx, command)
		if err != nil {
			return err
		}
		err = errors.Join(c.run(ctx, s), s.end())
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", c.name, err))
		}
		fmt.Printf("%s: %.1f s\n", c.name, time.Since(begin).Seconds())
	}
	return errors.Join(wrong...)
}

// pythonScript runs the steps of python/, which print what is wrong themselves.
func pythonScript(env *pyenv.Env, script string) func(context.Context, *server) error {
	return func(ctx context.Context, s *server) error {
		cmd := env.Command(ctx, "-B", script) // -B: leaves no compiled files beside the script
		cmd.Env = s.environment()
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
}
