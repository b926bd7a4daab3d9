package local_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

// TestCommandLine: a command line that cannot be meant is a UsageError.
func TestCommandLine(t *testing.T) {
	tests := []struct {
		args string
		want string
	}{
		{"--bogus", "unknown flag --bogus"},
		{"--timeout soon", "timeout"},
		{"--timeout -1s", "--timeout is -1s"},
		{"--output xml", `--output is "xml"; it must be text or json`},
		{"a b", "two packages, a and b"},
		{"a --once b", "two packages, a and b"},
		{"- --event x", "give one"},
		{"--no-samples -", "give one"},
		{"--no-samples --once", "give one"},
		{"--mode ecs", `--mode is "ecs"; it must be lambda or poll`},
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

// TestHelp: the help names every flag and goes to standard output.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if err := runLocal(t.Context(), []string{"./x", "-h"}, cli.IO{Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"event", "no-samples", "template", "function", "queue", "parameter-overrides", "env", "mode", "processes", "addr", "allow-host", "once", "timeout", "output"} {
		if !strings.Contains(out.String(), "  --"+flag+" ") {
			t.Errorf("the help does not explain --%s", flag)
		}
	}
}
