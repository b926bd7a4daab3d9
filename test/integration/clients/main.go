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
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/awscli"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/nodejs"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
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
	run  func(context.Context, *harness.Server) error
}

// Check is all of it.
func Check(ctx context.Context, s *stage.Stage) (err error) {
	defer must.Return(&err)
	command := filepath.Join(s.Tmp, "sqsbatch")
	all := install(ctx, s, command)
	must.Do(harness.Build(ctx, command, "./cmd/sqsbatch"))
	for _, c := range all {
		if !strings.HasPrefix(c.name, only) {
			continue
		}
		s.Step(c.name, func() error {
			server, err := harness.StartSQS(ctx, command)
			if err != nil {
				return err
			}
			return errors.Join(c.run(ctx, server), server.Stop())
		})
	}
	return nil
}

// install fetches the clients, as far as they are not there yet.
func install(ctx context.Context, s *stage.Stage, command string) []client {
	env := must.Get(awscli.Install(ctx))
	old := must.Get(pyenv.Install(ctx, "boto3-"+oldBoto3, "boto3=="+oldBoto3))
	dir := filepath.Join(s.Root, "test", "integration", "clients")
	script := filepath.Join(dir, "python")
	return []client{
		{"boto3 " + awscli.Boto3, pythonScript(env, script, command)},
		{"boto3 " + oldBoto3 + " (query protocol)", pythonScript(old, script, command)},
		{"sqs-consumer " + sqsConsumerVersion + ", Node.js " + nodejs.Version, sqsConsumer(ctx, s, dir).check},
		{"Celery " + celeryVersion + ", kombu " + kombuVersion, celery(ctx, dir).check},
		{"Spring Cloud AWS " + springCloudVersion, springCloud(ctx, s, dir).check},
	}
}

// pythonScript runs the steps of python/, which print what is wrong themselves. Some of them
// run the command.
func pythonScript(env *pyenv.Env, script, command string) func(context.Context, *harness.Server) error {
	return func(ctx context.Context, s *harness.Server) error {
		cmd := env.Command(ctx, "-B", script) // -B: leaves no compiled files next to the script
		cmd.Env = stage.Environment("AWS_ENDPOINT_URL_SQS="+s.URL, "SQSBATCH="+command)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
}

// The releases that the checks were written against.
const (
	sqsConsumerVersion = "15.0.3"
	sqsProducerVersion = "8.0.4"
	awsSDKForJS        = "3.1072.0"
	celeryVersion      = "5.7.0"
	kombuVersion       = "5.7.0"
	springCloudVersion = "4.1.0" // springcloud/pom.xml says the same
)

// sqsConsumer is sqs-consumer with a Node.js of its own.
func sqsConsumer(ctx context.Context, s *stage.Stage, dir string) consumer {
	env := must.Get(nodejs.Install(ctx, s.Log, "sqs-consumer-"+sqsConsumerVersion+"-"+sqsProducerVersion+"-"+awsSDKForJS,
		"sqs-consumer@"+sqsConsumerVersion, "sqs-producer@"+sqsProducerVersion, "@aws-sdk/client-sqs@"+awsSDKForJS))
	return consumer{command: func() *exec.Cmd {
		return env.Command(context.Background(), filepath.Join(dir, "sqsconsumer", "program.cjs"))
	}}
}

func celery(ctx context.Context, dir string) consumer {
	env := must.Get(pyenv.Install(ctx, "celery-"+celeryVersion+"-kombu-"+kombuVersion, "celery=="+celeryVersion, "kombu[sqs]=="+kombuVersion))
	return consumer{command: func() *exec.Cmd {
		return env.Command(context.Background(), "-B", filepath.Join(dir, "celery", "program.py"))
	}}
}

// springCloud needs a JDK and, for the first use, Maven and Maven Central.
func springCloud(ctx context.Context, s *stage.Stage, dir string) consumer {
	dir = filepath.Join(dir, "springcloud")
	libs := must.Get(harness.Cached("spring-cloud-aws-"+springCloudVersion, func(to string) error {
		_, err := s.Log.Run(exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "--file", filepath.Join(dir, "pom.xml"),
			"dependency:copy-dependencies", "-DoutputDirectory="+to))
		return err
	}))
	classes := filepath.Join(s.Tmp, "springcloud")
	path := filepath.Join(libs, "*")
	must.Get(s.Log.Run(exec.CommandContext(ctx, "javac", "-cp", path, "-d", classes, filepath.Join(dir, "Program.java"))))
	return consumer{exit: 143, skips: true, command: func() *exec.Cmd {
		return exec.Command("java",
			"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", // starts sooner
			"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
			"-cp", classes+string(filepath.ListSeparator)+path, "Program")
	}}
}
