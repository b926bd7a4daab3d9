package cloudwatch_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Only who imports this package links the client of CloudWatch.
func TestWhatIsLinked(t *testing.T) {
	const client, own = "github.com/aws/aws-sdk-go-v2/service/cloudwatch", "github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
	for pkg, want := range map[string]bool{
		".": true, "../../handler": false, "../../longpoll": false, "../metric": false, "../../examples/orders": false, "../../cmd/sqsbatch": false,
	} {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatal(pkg, ": ", err)
		}
		packages := strings.Fields(string(out))
		if slices.Contains(packages, client) != want || slices.Contains(packages, own) != want {
			t.Errorf("%s links the client of CloudWatch: %v, want %v", pkg, !want, want)
		}
	}
}
