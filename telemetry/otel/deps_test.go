package otel_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A function that does not import this package links nothing of OpenTelemetry,
// and one that does not set up an SDK does not link that.
func TestWhatIsLinked(t *testing.T) {
	for pkg, forbidden := range map[string]string{
		"../../handler":          "go.opentelemetry.io/",
		"../../examples/orders":  "go.opentelemetry.io/",
		"../../cmd/sqsbatch":     "go.opentelemetry.io/",
		"../../emulator/sqs/...": "go.opentelemetry.io/",
		".":                      "go.opentelemetry.io/otel/sdk",
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatal(pkg, ": ", err)
		}
		if len(out) == 0 {
			t.Errorf("%s: no packages are listed", pkg)
		}
		for _, dep := range strings.Fields(string(out)) {
			if strings.HasPrefix(dep, forbidden) {
				t.Errorf("%s links %s", pkg, dep)
				break
			}
		}
	}
}
