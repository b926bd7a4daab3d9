package clients

import (
	"context"
	"os/exec"
	"path/filepath"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/nodejs"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/cached"
)

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
func sqsConsumer(ctx context.Context, s *stage.Stage, dir string) (*consumer, error) {
	env, err := nodejs.Install(ctx, s.Log, "sqs-consumer-"+sqsConsumerVersion+"-"+sqsProducerVersion+"-"+awsSDKForJS,
		"sqs-consumer@"+sqsConsumerVersion, "sqs-producer@"+sqsProducerVersion, "@aws-sdk/client-sqs@"+awsSDKForJS)
	if err != nil {
		return nil, err
	}
	return &consumer{command: func(endpoint string) *exec.Cmd {
		cmd := env.Command(context.Background(), filepath.Join(dir, "sqsconsumer", "program.cjs")) // subprocess ends it
		cmd.Env = append(environment(endpoint), env.Find())
		return cmd
	}}, nil
}

func celery(ctx context.Context, dir string) (*consumer, error) {
	env, err := pyenv.Install(ctx, "celery-"+celeryVersion+"-kombu-"+kombuVersion, "celery=="+celeryVersion, "kombu[sqs]=="+kombuVersion)
	if err != nil {
		return nil, err
	}
	return &consumer{command: func(endpoint string) *exec.Cmd {
		cmd := env.Command(context.Background(), "-B", filepath.Join(dir, "celery", "program.py")) // subprocess ends it
		cmd.Env = environment(endpoint)
		return cmd
	}}, nil
}

// springCloud needs a JDK and, for the first use, Maven and Maven Central.
func springCloud(ctx context.Context, s *stage.Stage, dir string) (*consumer, error) {
	dir = filepath.Join(dir, "springcloud")
	libs, err := cached.Dir("spring-cloud-aws-"+springCloudVersion, func(to string) error {
		_, err := s.Log.Run(exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "--file", filepath.Join(dir, "pom.xml"),
			"dependency:copy-dependencies", "-DoutputDirectory="+to))
		return err
	})
	if err != nil {
		return nil, err
	}
	classes := filepath.Join(s.Tmp, "springcloud")
	path := filepath.Join(libs, "*")
	if _, err := s.Log.Run(exec.CommandContext(ctx, "javac", "-cp", path, "-d", classes, filepath.Join(dir, "Program.java"))); err != nil {
		return nil, err
	}
	return &consumer{exit: 143, skips: true, command: func(endpoint string) *exec.Cmd {
		cmd := exec.Command("java",
			"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", // starts sooner
			"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
			"-cp", classes+string(filepath.ListSeparator)+path, "Program")
		cmd.Env = environment(endpoint)
		return cmd
	}}, nil
}
