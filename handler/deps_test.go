package handler_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A function links what it imports and no other: package handler has the core
// and the log, no adapter, envelope or middleware, and of modules those that a
// cold start can bear.
func TestAFunctionLinksNothingThatItDoesNotImport(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "github.com/sqsbatch/sqsbatch/handler").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := strings.Fields(string(out))
	const own = "github.com/sqsbatch/sqsbatch/"
	if !slices.Contains(packages, own+"telemetry/log") {
		t.Fatalf("no %stelemetry/log among %d packages", own, len(packages))
	}
	optional := func(p string) bool {
		return slices.ContainsFunc([]string{"telemetry", "envelope", "payload", "classify", "middleware", "bulk"}, func(room string) bool {
			return p == own+room || strings.HasPrefix(p, own+room+"/")
		})
	}
	for _, p := range packages {
		if optional(p) && p != own+"telemetry/log" {
			t.Errorf("handler links %s", p)
		}
		if strings.HasPrefix(p, own) {
			continue
		}
		if !slices.ContainsFunc([]string{"github.com/aws/aws-lambda-go/", "github.com/aws/aws-sdk-go-v2/", "github.com/aws/smithy-go"}, func(module string) bool {
			return strings.HasPrefix(p, module)
		}) {
			t.Errorf("handler links %s", p)
		}
	}
}
