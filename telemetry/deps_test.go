package telemetry_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Only a function that imports an adapter links its client: CloudWatch, OpenTelemetry
// or S3. telemetry/otel links OpenTelemetry's API, and no SDK. Only the tool links what
// parses its command line, and it links S3's client to show bodies that are stored there.
func TestLinkedPackages(t *testing.T) {
	metrics := []string{"go.opentelemetry.io/", "github.com/aws/aws-sdk-go-v2/service/cloudwatch"}
	clients := append(slices.Clone(metrics), "github.com/aws/aws-sdk-go-v2/service/s3", "github.com/sqsbatch/sqsbatch/payload/s3payload")
	commandLine := []string{"github.com/spf13/", "github.com/inconshreveable/mousetrap", "github.com/BurntSushi/", "github.com/itchyny/", "go.yaml.in/", "golang.org/x/term"}
	function := slices.Concat(clients, commandLine)
	for pkg, forbidden := range map[string][]string{
		"../batch": function, "../handler": function, "../longpoll": function, "../partialfailure": function, "../sender": function, "../bulk": function, "../router": function,
		"./metric": function, "../examples/orders": function, "../cmd/sqsbatch": metrics, "../cmd/livez": function,
		"../emulator/sqs": function, "../emulator/lambda": function, "../sqstest": function,
		"../payload/encoded": function, "../payload/protobuf": function,
		"./otel": append([]string{"go.opentelemetry.io/otel/sdk"}, commandLine...),
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil || len(out) == 0 {
			t.Fatal(pkg, ": ", err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			for _, prefix := range forbidden {
				if strings.HasPrefix(dep, prefix) {
					t.Errorf("%s links %s", pkg, dep)
				}
			}
		}
	}
}
