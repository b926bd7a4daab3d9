package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

// complete asks, as the scripts of the shells do, what may follow args. The last one is
// what is already written of the word. Values of flags come whole: the scripts choose
// those that begin like the word.
func complete(t *testing.T, args ...string) (values []string, directive string) {
	t.Helper()
	var out bytes.Buffer
	tio := cli.IO{Args: append([]string{cobra.ShellCompNoDescRequestCmd}, args...), Stdout: &out, Stderr: io.Discard}
	if status := cli.Run(t.Context(), root(tio)); status != 0 {
		t.Fatalf("%q: status %d", args, status)
	}
	lines := strings.Fields(out.String())
	return lines[:len(lines)-1], lines[len(lines)-1]
}

func TestCompletion_KnowsCommandsFlagsAndValues(t *testing.T) {
	const files, none, directories = ":0", ":4", ":16"
	for _, tt := range []struct {
		args      []string
		values    []string
		directive string
	}{
		{[]string{""}, []string{"local", "sqs", "dlq", "lint", "reply", "version", "completion", "help"}, none},
		{[]string{"l"}, []string{"local", "lint"}, none},
		{[]string{"help", "s"}, []string{"sqs"}, none},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish", "powershell"}, none},
		{[]string{"local", "--mode", ""}, []string{"lambda", "poll"}, none},
		{[]string{"local", "--mode="}, []string{"lambda", "poll"}, none},
		{[]string{"local", "--output", ""}, []string{"text", "json"}, none},
		{[]string{"sqs", "--output", ""}, []string{"text", "json"}, none},
		{[]string{"local", "--event", ""}, nil, files},
		{[]string{"local", "--template", ""}, nil, files},
		{[]string{"local", "--function", ""}, nil, none},
		{[]string{"local", "--timeout", ""}, nil, none},
		{[]string{"local", ""}, nil, directories},
		{[]string{"sqs", "--ready-file", ""}, nil, files},
		{[]string{"lint", "--output", ""}, []string{"text", "json", "sarif", "github"}, none},
		{[]string{"lint", "--severity", ""}, []string{"error", "warning", "note"}, none},
		{[]string{"lint", ""}, nil, files},
		{[]string{"sqs", ""}, nil, none},
		{[]string{"dlq", ""}, []string{"stats", "show", "export", "import", "try", "replay", "move", "delete"}, none},
		{[]string{"dlq", "replay", ""}, nil, none},
		{[]string{"dlq", "replay", "--by", ""}, []string{"auto", "task", "send"}, none},
		{[]string{"dlq", "replay", "--journal", ""}, nil, files},
		{[]string{"dlq", "import", "orders", ""}, nil, files},
		{[]string{"local", "--pro"}, []string{"--processes"}, none},
	} {
		values, directive := complete(t, tt.args...)
		slices.Sort(values)
		slices.Sort(tt.values)
		if !slices.Equal(values, tt.values) || directive != tt.directive {
			t.Errorf("%q: %q %s, want %q %s", tt.args, values, directive, tt.values, tt.directive)
		}
	}
}

// The script of each shell asks the command __complete.
func TestCompletion_HasAScriptForEachShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out bytes.Buffer
		status := cli.Run(t.Context(), root(cli.IO{Args: []string{"completion", shell}, Stdout: &out, Stderr: io.Discard}))
		if status != 0 || !strings.Contains(out.String(), "__complete") {
			t.Errorf("%s: status %d, %d bytes", shell, status, out.Len())
		}
	}
}
