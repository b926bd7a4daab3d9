// Command clients has the programs that others write for SQS speak to
// `sqsbatch sqs`, each a real process against a server of its own: boto3
// (python/), an old boto3 whose protocol is the query one, the AWS CLI
// (awscli.go), and three libraries that consume (consumer.go): sqs-consumer for
// Node.js, Celery with kombu's transport, and Spring Cloud AWS. It ends with 1
// when one of them gets what it does not expect.
//
//	go run ./test/integration/clients
//	go run ./test/integration/clients -only Celery
//
// It needs Python 3 with its venv module and a JDK 17. On the first use it also
// needs Maven, and fetches from PyPI, npm and Maven Central. Not on Windows,
// which has no SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/awscli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsserver"
)

// oldBoto3 is of the last line that speaks the query protocol.
const oldBoto3 = "1.26.165"

var only = flag.String("only", "", "run the clients whose names begin with this, such as sqs-consumer")

func main() {
	flag.Parse()
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
	dir := filepath.Join(root, "test", "integration", "clients")
	script := filepath.Join(dir, "python")
	node, err := sqsConsumer(ctx, dir)
	if err != nil {
		return err
	}
	python, err := celery(ctx, dir)
	if err != nil {
		return err
	}
	java, err := springCloud(ctx, dir, tmp)
	if err != nil {
		return err
	}

	var wrong []error
	for _, c := range []struct {
		name string
		run  func(context.Context, *sqsserver.Server) error
	}{
		{"boto3 " + awscli.Boto3, pythonScript(env, script)},
		{"boto3 " + oldBoto3 + " (query protocol)", pythonScript(old, script)},
		{"AWS CLI " + awscli.Version, (&cli{env: env}).check},
		{"sqs-consumer " + sqsConsumerVersion + ", Node.js " + nodeVersion, node.check},
		{"Celery " + celeryVersion + ", kombu " + kombuVersion, python.check},
		{"Spring Cloud AWS " + springCloudVersion, java.check},
	} {
		if !strings.HasPrefix(c.name, *only) {
			continue
		}
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
