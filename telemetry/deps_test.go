package telemetry_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Only a function that imports an adapter links its client: CloudWatch, OpenTelemetry
// or S3. telemetry/otel links OpenTelemetry's API, and no SDK.
func TestLinkedPackages(t *testing.T) {
	clients := []string{"go.opentelemetry.io/", "github.com/aws/aws-sdk-go-v2/service/cloudwatch", "github.com/aws/aws-sdk-go-v2/service/s3", "github.com/sqsbatch/sqsbatch/payload/s3payload"}
	for pkg, forbidden := range map[string][]string{
		"../handler": clients, "../longpoll": clients, "./metric": clients, "../examples/orders": clients, "../cmd/sqsbatch": clients,
		"../emulator/sqs": clients, "../payload/encoded": clients, "../payload/protobuf": clients,
		"./otel": {"go.opentelemetry.io/otel/sdk"},
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
