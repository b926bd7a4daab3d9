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
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/awscli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsserver"
)

// oldBoto3 is of the last line that speaks the query protocol.
const oldBoto3 = "1.26.165"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer stop()
	if err := check(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context) error {
	env, err := awscli.Install(ctx)
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
	root, err := module.Root(ctx)
	if err != nil {
		return err
	}
	command := filepath.Join(tmp, "sqsbatch.exe") // a name that every system runs
	if err := module.Build(ctx, command, "./cmd/sqsbatch"); err != nil {
		return err
	}
	script := filepath.Join(root, "test", "integration", "clients", "python")

	var wrong []error
	for _, c := range []struct {
		name string
		run  func(context.Context, *sqsserver.Server) error
	}{
		{"boto3 " + awscli.Boto3, pythonScript(env, script)},
		{"boto3 " + oldBoto3 + " (query protocol)", pythonScript(old, script)},
		{"AWS CLI " + awscli.Version, (&cli{env: env}).check},
	} {
		begin := time.Now()
		fmt.Printf("\n%s\n", c.name)
		s, err := sqsserver.Start(ctx, command)
		if err != nil {
			return err
		}
		err = errors.Join(c.run(ctx, s), s.Stop())
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", c.name, err))
		}
		fmt.Printf("%s: %.1f s\n", c.name, time.Since(begin).Seconds())
	}
	return errors.Join(wrong...)
}

// pythonScript runs the steps of python/, which print what is wrong themselves.
func pythonScript(env *pyenv.Env, script string) func(context.Context, *sqsserver.Server) error {
	return func(ctx context.Context, s *sqsserver.Server) error {
		cmd := env.Command(ctx, "-B", script) // -B: leaves no compiled files beside the script
		cmd.Env = environment(s.URL)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
}
