// Package clients has the programs that others write for SQS speak to
// `sqsbatch sqs`, each a real process against a server of its own: boto3
// (python/), an old boto3 whose protocol is the query one, and three libraries
// that consume (consumer.go): sqs-consumer for Node.js, Celery with kombu's
// transport, and Spring Cloud AWS. The AWS CLI is boto3's botocore with another
// front: package snippets runs its commands. Messages that boto3 sent also go
// through each verb of `sqsbatch dlq` (python/deadletters.py).
//
//	go run ./test/integration clients -only Celery
//
// It needs Python 3 with its venv module and a JDK 17. On the first use it also
// needs Maven, and fetches from PyPI, npm and Maven Central. Not on Windows,
// which has no SIGTERM.
package clients

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/awscli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/nodejs"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/module"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsserver"
)

// oldBoto3 is of the last line that speaks the query protocol.
const oldBoto3 = "1.26.165"

var only string

// Flags adds the check's own.
func Flags(f *flag.FlagSet) {
	f.StringVar(&only, "only", "", "run the clients whose names begin with this, such as sqs-consumer")
}

type client struct {
	name string
	run  func(context.Context, *sqsserver.Server) error
}

func Steps(ctx context.Context, s *stage.Stage) []stage.Step {
	command := filepath.Join(s.Tmp, "sqsbatch")
	all, err := install(ctx, s, command)
	if err == nil {
		err = module.Build(ctx, command, "./cmd/sqsbatch")
	}
	if err != nil {
		return []stage.Step{{Name: "install", Run: func() error { return err }}}
	}
	var steps []stage.Step
	for _, c := range all {
		if strings.HasPrefix(c.name, only) {
			steps = append(steps, stage.Step{Name: c.name, Run: func() error {
				server, err := sqsserver.Start(ctx, command)
				if err != nil {
					return err
				}
				return errors.Join(c.run(ctx, server), server.Stop())
			}})
		}
	}
	return steps
}

// install fetches the clients, as far as they are not there yet.
func install(ctx context.Context, s *stage.Stage, command string) ([]client, error) {
	env, err := awscli.Install(ctx)
	if err != nil {
		return nil, err
	}
	old, err := pyenv.Install(ctx, "boto3-"+oldBoto3, "boto3=="+oldBoto3)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.Root, "test", "integration", "clients")
	node, err := sqsConsumer(ctx, s, dir)
	if err != nil {
		return nil, err
	}
	python, err := celery(ctx, dir)
	if err != nil {
		return nil, err
	}
	java, err := springCloud(ctx, s, dir)
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "python")
	return []client{
		{"boto3 " + awscli.Boto3, pythonScript(env, script, command)},
		{"boto3 " + oldBoto3 + " (query protocol)", pythonScript(old, script, command)},
		{"sqs-consumer " + sqsConsumerVersion + ", Node.js " + nodejs.Version, node.check},
		{"Celery " + celeryVersion + ", kombu " + kombuVersion, python.check},
		{"Spring Cloud AWS " + springCloudVersion, java.check},
	}, nil
}

// pythonScript runs the steps of python/, which print what is wrong themselves. Some of them
// run the command.
func pythonScript(env *pyenv.Env, script, command string) func(context.Context, *sqsserver.Server) error {
	return func(ctx context.Context, s *sqsserver.Server) error {
		cmd := env.Command(ctx, "-B", script) // -B: leaves no compiled files next to the script
		cmd.Env = append(environment(s.URL), "SQSBATCH="+command)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
}
