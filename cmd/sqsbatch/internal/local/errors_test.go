package local_test

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// TestUsersErrors: the error of each mistake contains the fix.
func TestUsersErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	golden.OK(t, err)
	defer taken.Close()
	noEvent := golden.File(t, "none.yaml", "Resources: {F: {Type: AWS::Serverless::Function}}")
	wideBatch := golden.File(t, "wide.yaml", `
Resources:
  Q: {Type: AWS::SQS::Queue}
  F: {Type: AWS::Serverless::Function, Properties: {Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, BatchSize: 11}}}}}`)
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"does not build", []string{"testdata/broken", "--template", own, "--no-samples"}, []string{"does not build", filepath.Join("testdata", "broken", "main.go") + ":4:15: undefined: missing"}},
		{"no such package", []string{"./nowhere", "--template", own}, []string{"nowhere"}},
		{"not a main package", []string{filepath.Join(root, "batch"), "--template", own}, []string{"is package batch", "package main"}},
		{"many packages", []string{root + "/...", "--template", own}, []string{"give the one"}},
		{"no template", nil, []string{"no template.yaml", "--template FILE", "`sqsbatch local .`"}},
		{"no template for a flag", []string{ordersPackage, "--queue", "q"}, []string{"no template.yaml", "--template FILE", "--queue"}},
		{"missing template", []string{"--template", "nope.yaml"}, []string{"no template nope.yaml; --template names a SAM or CloudFormation template"}},
		{"no function", []string{"--template", noEvent}, []string{"no function with an event of type SQS", "add one"}},
		{"several functions", []string{"testdata/foreign"}, []string{"Foreign, Slow", "--function NAME"}},
		{"unknown function", []string{"testdata/foreign", "--function", "X"}, []string{"no function X", "Foreign, Slow"}},
		{"nothing to build", []string{"--template", wideBatch}, []string{"no package to build", "sqsbatch local ./"}},
		{"a batch without window", []string{"testdata/foreign", "--template", wideBatch, "--no-samples"}, []string{"event E", "BatchSize 11 needs MaximumBatchingWindowInSeconds"}},
		{"visibility below timeout", []string{"testdata/foreign", "--function", "Slow", "--no-samples"}, []string{filepath.Join("testdata", "foreign", "template.yaml") + ":6: queue Work", "VisibilityTimeout of 1 seconds", "Timeout of 40", "Set it to 240"}},
		{"port in use", []string{"--template", own, "--addr", taken.Addr().String()}, []string{taken.Addr().String(), "another address with --addr"}},
		{"not loopback", []string{"--template", own, "--addr", "0.0.0.0:0"}, []string{"--addr 0.0.0.0:0", "loopback"}},
		{"exits at once", []string{"testdata/exits", "--template", own, "--event", golden.File(t, "one.json", `{"id":1}`)}, []string{"cannot start", "exit status 3", "no configuration", "handler.Run"}},
		{"no event file", []string{"--template", own, "--event", "nope.json"}, []string{"--event", "nope.json"}},
		{"no event", []string{"--template", own, "--event", golden.File(t, "e.json", `{"Records":null}`)}, []string{"--event ", "e.json: not an SQS event: its Records are null", "aws sqs receive-message"}},
		{"no samples", []string{"testdata/foreign", "--function", "Foreign"}, []string{
			"testdata/foreign names no samples", "\n  sqsbatch local testdata/foreign --function Foreign --timeout 1m --event FILE\n",
			"| sqsbatch local testdata/foreign --function Foreign --timeout 1m -\n", "--no-samples\n", "\n  //sqsbatch:samples events/one.json",
		}},
		{"unknown parameter", []string{"--template", own, "--parameter-overrides", "A=1"}, []string{"no parameter A"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, _, err := output(t, "", append(tt.args, "--timeout", "1m")...)
			if err == nil {
				t.Fatalf("no error; it printed\n%s", stdout)
			}
			golden.Says(t, "the error", err.Error(), tt.want...)
		})
	}
}

// TestCommandLine: the error of a wrong command line is a UsageError.
func TestCommandLine(t *testing.T) {
	tests := []struct {
		args string
		want string
	}{
		{"--timeout -1s", "--timeout is -1s"},
		{"a b", "two packages, a and b"},
		{"a --once b", "two packages, a and b"},
		{"- --event x", "give one"},
		{"--no-samples -", "give one"},
		{"--no-samples --once", "give one"},
		{"--mode poll --processes 0", "--processes is 0; it must be 1 to 100"},
		{"--processes 2", "--processes is for --mode poll"},
		{"--env X", "KEY=VALUE"},
		{"--allow-host http://sqs:9324", "without scheme and port"},
		{"--parameter-overrides X", "KEY=VALUE"},
		{"--parameter-overrides A=1 =2", "KEY=VALUE"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			err := runLocal(t.Context(), strings.Fields(tt.args), cli.IO{})
			var usage *cli.UsageError
			if !errors.As(err, &usage) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "-h") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
