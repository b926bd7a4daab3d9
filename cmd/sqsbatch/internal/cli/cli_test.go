package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// run runs a tree with the commands "dlq list QUEUE" and "dlq redrive QUEUE".
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	tio := cli.IO{Args: args, Stdout: show.To(&out), Stderr: show.To(&errOut)}
	status = cli.Run(t.Context(), cli.Root(tio, dlq()))
	return status, out.String(), errOut.String()
}

func dlq() *cobra.Command {
	output, file, limit := "text", "", 10
	list := &cobra.Command{
		Use: "list QUEUE", Short: "list the messages", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cmd.Println(args[0], output)
			return nil
		},
	}
	cli.Section(list, "What is shown", func(f *pflag.FlagSet) {
		f.Var(cli.Choice(&output, "text", "json", "raw"), "output", "the form of the output\njson: one object a line")
	})
	cli.Section(list, "What is read", func(f *pflag.FlagSet) {
		f.IntVar(&limit, "limit", limit, "how many messages")
		f.Duration("since", time.Minute, "how old they may be")
		f.Var(cli.Text(&file, "FILE"), "file", "a file")
	})
	cli.Notes(list, "## One\n\nThe first "+strings.Repeat("paragraph ", 20)+"\n\n## Two\n\n  verbatim   text")
	redrive := &cobra.Command{Use: "redrive QUEUE", Short: "move messages back", RunE: func(*cobra.Command, []string) error { return nil }}
	redrive.Flags().String("to", "", "the queue")
	_ = redrive.MarkFlagRequired("to") // the flag exists
	group := &cobra.Command{Use: "dlq", Short: "dead letters"}
	group.AddCommand(list, redrive)
	return group
}

// Every wrong command line has status 2, and an error that names the problem.
func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"dlq lst":                       "sqsbatch dlq: unknown command \"lst\" (is list meant?); `sqsbatch help dlq` lists them",
		"dlq lst --limit 1":             "sqsbatch dlq: unknown command \"lst\" (is list meant?)",
		"dlq list":                      "sqsbatch dlq list: the number of arguments is 0; write sqsbatch dlq list QUEUE [flags]; `sqsbatch dlq list -h` explains the flags",
		"dlq list q --lmit 1":           "sqsbatch dlq list: unknown flag --lmit: is --limit meant?; `sqsbatch dlq list -h` explains the flags",
		"dlq list q --limit many":       "--limit is \"many\": must be a whole number",
		"dlq list q --limit":            "--limit has no value; write --limit N",
		"dlq list q --since 5":          "--since is \"5\": 5 what? For seconds write 5s",
		"dlq list q --since soon":       "--since is \"soon\": must be a duration, like 30s or 2m",
		"dlq list q --output xml":       "--output is \"xml\"; it must be text, json or raw",
		"dlq list q --output":           "--output has no value; write --output text|json|raw",
		"dlq list q -limit 1":           "unknown flag -limit: is --limit meant?",
		"dlq list q --=1":               "bad flag syntax: --=1",
		"dlq redrive q":                 "sqsbatch dlq redrive: required flag(s) \"to\" not set; `sqsbatch dlq redrive -h` explains the flags",
		"help dlq lst":                  "unknown command \"lst\" (is list meant?); `sqsbatch help dlq` lists them",
		"nothing-like-it":               "sqsbatch: unknown command \"nothing-like-it\"; `sqsbatch help` lists them",
		"completion bash --description": "unknown flag --description",
	} {
		status, stdout, stderr := run(t, strings.Fields(args)...)
		if status != 2 || stdout != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %q %q, want %q", args, status, stdout, stderr, want)
		}
	}
}

func TestHelp_HasHeadingsDefaultsAndNotes(t *testing.T) {
	for _, args := range [][]string{{"help", "dlq", "list"}, {"dlq", "list", "--help"}, {"dlq", "list", "-h"}} {
		status, help, stderr := run(t, args...)
		if status != 0 || stderr != "" {
			t.Errorf("%q: status %d, %s", args, status, stderr)
		}
		const want = `list the messages

Usage:
  sqsbatch dlq list QUEUE [flags]

What is shown:
  --output text|json|raw
                     the form of the output (default text)
                     json: one object a line

What is read:
  --limit N          how many messages (default 10)
  --since DURATION   how old they may be (default 1m0s)
  --file FILE        a file

One:
  The first paragraph paragraph paragraph paragraph paragraph paragraph
  paragraph paragraph paragraph paragraph paragraph paragraph paragraph
  paragraph paragraph paragraph paragraph paragraph paragraph paragraph

Two:
  verbatim   text
`
		if help != want {
			t.Errorf("%q: got\n%s\nwant\n%s", args, help, want)
		}
	}
}

// A group of commands shows its commands.
func TestGroups_ShowTheirCommands(t *testing.T) {
	for _, args := range [][]string{{"dlq"}, {"help", "dlq"}, {"dlq", "-h"}} {
		status, help, _ := run(t, args...)
		if status != 0 || !strings.Contains(help, "\n  list               list the messages\n") || !strings.Contains(help, "sqsbatch help dlq COMMAND explains") {
			t.Errorf("%q: status %d\n%s", args, status, help)
		}
	}
}
