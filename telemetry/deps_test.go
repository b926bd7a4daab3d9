package telemetry_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Only a function that imports an adapter links its client: CloudWatch, OpenTelemetry
// or S3. telemetry/otel links OpenTelemetry's API, and no SDK. Only the tool links what
// parses its command line. It does not link S3's client, which takes long to compile:
// internal/s3body reads the bodies that dlq shows.
func TestLinkedPackages(t *testing.T) {
	metrics := []string{"go.opentelemetry.io/", "github.com/aws/aws-sdk-go-v2/service/cloudwatch"}
	clients := append(slices.Clone(metrics), "github.com/aws/aws-sdk-go-v2/service/s3", "github.com/sqsbatch/sqsbatch/payload/s3payload")
	commandLine := []string{"github.com/spf13/", "github.com/inconshreveable/mousetrap", "github.com/BurntSushi/", "github.com/itchyny/", "go.yaml.in/", "golang.org/x/term"}
	function := slices.Concat(clients, commandLine)
	forbidden := map[string][]string{
		"batch": function, "handler": function, "internal/longpoll": function, "partialfailure": function, "sender": function, "bulk": function, "router": function,
		"telemetry/metric": function, "examples/orders": function, "cmd/sqsbatch": clients, "cmd/livez": function,
		"emulator/sqs": function, "emulator/lambda": function, "sqstest": function,
		"payload/encoded": function, "payload/protobuf": function,
		"telemetry/otel": append([]string{"go.opentelemetry.io/otel/sdk"}, commandLine...),
	}
	const module = "github.com/sqsbatch/sqsbatch/"
	args := []string{"list", "-f", "{{.ImportPath}}{{range .Deps}} {{.}}{{end}}"}
	for pkg := range forbidden {
		args = append(args, module+pkg)
	}
	out, err := exec.Command("go", args...).Output()
	if lines := strings.Count(string(out), "\n"); err != nil || lines != len(forbidden) {
		t.Fatalf("%d of %d packages: %v", lines, len(forbidden), err)
	}
	for line := range strings.Lines(string(out)) {
		deps := strings.Fields(line)
		pkg := strings.TrimPrefix(deps[0], module)
		for _, prefix := range forbidden[pkg] {
			if i := slices.IndexFunc(deps, func(dep string) bool { return strings.HasPrefix(dep, prefix) }); i >= 0 {
				t.Errorf("%s links %s", pkg, deps[i])
			}
		}
	}
}
