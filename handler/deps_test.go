package handler_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const own = "github.com/sqsbatch/sqsbatch/"

// linked lists what a package links besides the standard library.
func linked(t *testing.T, p string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", own+p).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(out))
}

// A function links what it imports and no other: package handler has the core
// and the log, no adapter, envelope or middleware, and of modules those that a
// cold start can bear.
func TestAFunctionLinksNothingThatItDoesNotImport(t *testing.T) {
	packages := linked(t, "handler")
	if !slices.Contains(packages, own+"telemetry/log") {
		t.Fatalf("no %stelemetry/log among %d packages", own, len(packages))
	}
	optional := func(p string) bool {
		return slices.ContainsFunc([]string{"telemetry", "envelope", "payload", "classify", "middleware", "bulk", "idempotency"}, func(room string) bool {
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
		}) || strings.Contains(p, "/service/dynamodb") {
			t.Errorf("handler links %s", p)
		}
	}
}

// A classifier or middleware links, besides package batch and leaves, what it is
// made of and nothing more.
func TestClassifiersAndMiddlewareLinkWhatTheyAreMadeOf(t *testing.T) {
	for p, links := range map[string][]string{
		"classify/httpstatus":   {own + "classify/internal"},
		"classify/awserr":       {own + "classify/", "github.com/aws/smithy-go", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/internal/"},
		"middleware/ratelimit":  {"golang.org/x/time/rate"},
		"middleware/breaker":    {"github.com/sony/gobreaker/v2"},
		"idempotency":           {"github.com/aws/aws-lambda-go/events"},
		"idempotency/storetest": {own + "idempotency", "github.com/aws/aws-lambda-go/events"},
	} {
		for _, d := range linked(t, p) {
			if d != own+p && d != own+"batch" && !strings.HasPrefix(d, own+"internal/") && !slices.ContainsFunc(links, func(prefix string) bool { return strings.HasPrefix(d, prefix) }) {
				t.Errorf("%s links %s", p, d)
			}
		}
	}
}
