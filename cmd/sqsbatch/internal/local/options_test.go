package local_test

import (
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
