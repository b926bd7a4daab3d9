package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

func TestCommands(t *testing.T) {
	tests := []struct {
		args        string
		status      int
		out, errOut string
	}{
		{"", 0, "sqsbatch local", ""},
		{"help", 0, "sqsbatch local", ""},
		{"version", 0, "sqsbatch ", ""},
		{"local -h", 0, "--once", ""},
		{"help", 0, "sqsbatch sqs", ""},
		{"sqs -h", 0, "--queue NAME", ""},
		{"sqs --bogus", 2, "", "sqsbatch sqs: unknown flag --bogus"},
		{"sqs --template nope.yaml", 1, "", "sqsbatch sqs: --template: there is no file nope.yaml"},
		{"lokal", 2, "", "unknown command \"lokal\"; `sqsbatch help`"},
		{"local --bogus", 2, "", "sqsbatch local: unknown flag --bogus"},
		{"local --template nope.yaml", 1, "", "sqsbatch local: no template nope.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			var out, errOut bytes.Buffer
			status := run(strings.Fields(tt.args), cli.IO{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut})
			if status != tt.status || !strings.Contains(out.String(), tt.out) || !strings.Contains(errOut.String(), tt.errOut) {
				t.Errorf("status %d\n%s\n%s", status, out.String(), errOut.String())
			}
			if (errOut.Len() > 0) != (tt.status != 0) {
				t.Errorf("standard error: %q", errOut.String())
			}
		})
	}
}
